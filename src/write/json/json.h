/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the JSON writer share. */
#ifndef SP_WRITE_JSON_JSON_H
#define SP_WRITE_JSON_JSON_H

#include "model/model.h"
#include "model/str.h"
#include "write/common/out.h"

/* "key": "s", and a comma. */
void sp_json_text(struct sp_out *out, const char *key, struct sp_str s);
/* "key": v, and a comma; null for SP_NONE. */
void sp_json_index(struct sp_out *out, const char *key, uint32_t v);

/* Worlds, groups, communicators and windows of MPI, each behind a comma. -1: no memory. */
int sp_json_mpi(struct sp_out *out, const struct sp_model *m);
/* "key": the regions of a call path, and a comma. */
void sp_json_stack(struct sp_out *out, const char *key, const struct sp_stack *s);
/* Locks, waits, and threads that waited for each other, each behind a comma. */
void sp_json_waits(struct sp_out *out, const struct sp_model *m);
/* Tasks, their sums, and work handed to other threads, each behind a comma. */
void sp_json_tasks(struct sp_out *out, const struct sp_model *m);

#endif
