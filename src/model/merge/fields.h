/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads or writes the fields of a model. A new field of these structs needs a line here and a new SP_IMAGE_VERSION. */
#ifndef SP_MODEL_MERGE_FIELDS_H
#define SP_MODEL_MERGE_FIELDS_H

#include "model/builder/loading.h"
#include "model/builder/source.h"
#include "model/file.h"
#include "model/merge/pack.h"
#include "model/model.h"
#include "model/process.h"

void sp_fields_definitions(struct sp_pack *k, struct sp_model *m); /* regions, metrics, strings, … */
void sp_fields_process(struct sp_pack *k, struct sp_process *p);   /* does not check indices */
void sp_fields_children(struct sp_pack *k, struct sp_model *m);
void sp_fields_location(struct sp_pack *k, struct sp_location *l); /* does not check indices */
void sp_fields_event_range(struct sp_pack *k, struct sp_event_range *p);
/* The id tables; ids of MPI and of handles map to themselves. m defines all others. */
void sp_fields_source(struct sp_pack *k, const struct sp_model *m, struct sp_source *s);
void sp_fields_handles(struct sp_pack *k, struct sp_io_handle **handles, size_t *n);
void sp_fields_communicators(struct sp_pack *k, struct sp_model *m); /* also worlds, windows and groups */
void sp_fields_source_mpi(struct sp_pack *k, const struct sp_model *m, struct sp_source *s);
void sp_fields_stack(struct sp_pack *k, struct sp_stack *s, size_t regions); /* regions: limit of the indices */
void sp_fields_tasks(struct sp_pack *k, struct sp_model *m);
/* The tasks of one process, before sp_build_tasks(); m has the regions and strings. */
void sp_fields_process_tasks(struct sp_pack *k, const struct sp_model *m, struct sp_task_defs *d);
/* The tables of task and thread ids; tasks, locations: limits of the indices. */
void sp_fields_source_tasks(struct sp_pack *k, struct sp_source *s, size_t tasks, size_t locations);
void sp_fields_lines(struct sp_pack *k, struct sp_model *m);
/* The lines of one process, before sp_build_lines(). */
void sp_fields_process_lines(struct sp_pack *k, const struct sp_model *m, struct sp_line_defs *d, size_t locations);
void sp_fields_tallies(struct sp_pack *k, struct sp_model *m);
/* The tallies of one process, before sp_build_tallies(); m has the paths. */
void sp_fields_process_tallies(struct sp_pack *k, const struct sp_model *m, struct sp_tally_defs *d, size_t locations);
void sp_fields_locks(struct sp_pack *k, struct sp_model *m);
/* The locks and waits of one process, before sp_build_locks(). */
void sp_fields_process_locks(struct sp_pack *k, const struct sp_model *m, struct sp_lock_defs *d, size_t locations);
void sp_fields_problems(struct sp_pack *k, struct sp_model *m);

#endif
