/* SPDX-License-Identifier: BSD-3-Clause */
/* The fields of what a model holds, walked for writing and for reading: a new field of these structs has its line here,
 * and makes a new SP_IMAGE_VERSION. */
#ifndef SP_MODEL_MERGE_FIELDS_H
#define SP_MODEL_MERGE_FIELDS_H

#include "model/builder/loading.h"
#include "model/builder/source.h"
#include "model/file.h"
#include "model/merge/pack.h"
#include "model/model.h"
#include "model/process.h"

void sp_fields_definitions(struct sp_pack *k, struct sp_model *m); /* regions, metrics, strings, … */
void sp_fields_process(struct sp_pack *k, struct sp_process *p);   /* indices are not looked at */
void sp_fields_children(struct sp_pack *k, struct sp_model *m);
void sp_fields_location(struct sp_pack *k, struct sp_location *l); /* nor here */
void sp_fields_place(struct sp_pack *k, struct sp_place *p);
/* The ids, all of which m defines; those of MPI and of handles stand for themselves. */
void sp_fields_source(struct sp_pack *k, const struct sp_model *m, struct sp_source *s);
void sp_fields_handles(struct sp_pack *k, struct sp_io_handle **handles, size_t *n);
void sp_fields_communicators(struct sp_pack *k, struct sp_model *m); /* worlds, windows and groups too */
void sp_fields_source_mpi(struct sp_pack *k, const struct sp_model *m, struct sp_source *s);
void sp_fields_stack(struct sp_pack *k, struct sp_stack *s, size_t regions); /* regions: indices are less than that */
void sp_fields_tasks(struct sp_pack *k, struct sp_model *m);
/* What one process says of tasks, before sp_build_tasks(); m: where the regions and strings are. */
void sp_fields_process_tasks(struct sp_pack *k, const struct sp_model *m, struct sp_task_defs *d);
/* The ids that stand for so many tasks and locations at most. */
void sp_fields_source_tasks(struct sp_pack *k, struct sp_source *s, size_t tasks, size_t locations);
void sp_fields_lines(struct sp_pack *k, struct sp_model *m);
/* What one process says of lines, before sp_build_lines(). */
void sp_fields_process_lines(struct sp_pack *k, const struct sp_model *m, struct sp_line_defs *d, size_t locations);
void sp_fields_locks(struct sp_pack *k, struct sp_model *m);
/* What one process says of locks and waits, before sp_build_locks(). */
void sp_fields_process_locks(struct sp_pack *k, const struct sp_model *m, struct sp_lock_defs *d, size_t locations);
void sp_fields_problems(struct sp_pack *k, struct sp_model *m);

#endif
