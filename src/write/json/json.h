/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the JSON writer share. */
#ifndef SP_WRITE_JSON_JSON_H
#define SP_WRITE_JSON_JSON_H

#include "model/model.h"
#include "model/str.h"
#include "write/common/out.h"

/* Writes "key": "s", and a comma. */
void sp_json_text(struct sp_out *out, const char *key, struct sp_str s);
/* Writes "key": v, and a comma; null for SP_NONE. */
void sp_json_index(struct sp_out *out, const char *key, uint32_t v);

/* Writes MPI's worlds, groups, communicators and windows, each after a comma. Returns 0, or -1: no memory. */
int sp_json_mpi(struct sp_out *out, const struct sp_model *m);
/* Writes "key": the regions of a call path, and a comma. */
void sp_json_stack(struct sp_out *out, const char *key, const struct sp_stack *s);
/* Writes locks, waits, and deadlock cycles, each after a comma. */
void sp_json_waits(struct sp_out *out, const struct sp_model *m);
/* Writes tasks, their sums, and work handed to other threads, each after a comma. */
void sp_json_tasks(struct sp_out *out, const struct sp_model *m);

#endif
