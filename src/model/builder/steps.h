/* SPDX-License-Identifier: BSD-3-Clause */
/* The steps from raw files to a model. Functions return 0, or -1 with e set; those without e return -1 where memory ran
 * out. */
#ifndef SP_MODEL_BUILDER_STEPS_H
#define SP_MODEL_BUILDER_STEPS_H

#include <stdint.h>

#include "model/lock.h"
#include "model/metric.h"
#include "model/process.h"
#include "model/region.h"
#include "model/str.h"
#include "reader/reader.h"

struct sp_builder;
struct sp_listing;
struct sp_loading;
struct sp_lock_defs;
struct sp_mpi_defs;
struct sp_task_defs;

/* load.c calls these, in this order: for each file, for each process, at the end. */
int sp_build_process(struct sp_builder *b, struct sp_loading *l, struct sp_raw_file *raw, struct sp_err *e);
int sp_build_definitions(struct sp_builder *b, struct sp_loading *l, struct sp_err *e);
/* Where what is still open in a thread ends, in the ticks of its file. */
uint64_t sp_build_thread_end(struct sp_loading *l, struct sp_raw_thread *t);
/* t: NULL, where only samples speak of it; samples: NULL, where none do. */
int sp_build_thread(struct sp_builder *b, struct sp_loading *l, struct sp_raw_thread *t, struct sp_raw_thread *samples,
                    struct sp_location *out, uint64_t end, struct sp_err *e);
int sp_build_order(struct sp_builder *b, struct sp_err *e); /* processes and locations of the model, in order */
int sp_build_fold(struct sp_builder *b, struct sp_err *e);  /* paths that all calls left for one with a parameter */
int sp_build_drop_unused(struct sp_builder *b, struct sp_err *e); /* regions that nothing refers to */
int sp_build_values(struct sp_builder *b, struct sp_err *e);      /* exclusive times, totals, lists of children */

/* image.c: the merged model as a file (IMAGE.md). Returns 1 where there is none that is current, -1 with e set where it
 * is damaged. */
struct sp_image;
int sp_image_load(struct sp_model **out, const char *dir, const struct sp_listing *now, struct sp_err *e);
void sp_image_close(struct sp_image *i);

/* The region for a key's parts, made when new; SP_NONE without memory. */
uint32_t sp_build_region(struct sp_builder *b, const struct sp_str part[3], uint32_t line, unsigned flags);
/* The same for a compiled function: what its definition says, and which build of the object file (.p NUL-terminated,
 * may be empty) that speaks of. */
uint32_t sp_build_native(struct sp_builder *b, const struct sp_str part[3], uint32_t address,
                         const struct sp_str *build);

/* The region that is r, of another builder. */
uint32_t sp_build_known_region(struct sp_builder *b, const struct sp_region *r);
void sp_build_code(struct sp_builder *b, uint32_t region, const struct sp_code *code);
/* The path, made when new; SP_NONE without memory. */
uint32_t sp_build_path(struct sp_builder *b, uint32_t parent, uint32_t region, uint32_t parameter);
/* The metric with the same kind and name, made when new: a copy of *x; SP_NONE without memory. */
uint32_t sp_build_metric(struct sp_builder *b, const struct sp_metric *x);
/* The region of calls whose own could not be defined. */
uint32_t sp_build_unknown_region(struct sp_builder *b);

/* The value that a region of kind PARAMETER stands for, after the ones set before; SP_NONE without memory. */
uint32_t sp_build_parameter(struct sp_builder *b, uint32_t region, uint32_t before);

/* A process's handles of files, from its events; -1 without memory. */
int sp_build_io(struct sp_builder *b, struct sp_loading *l);
/* Those of all processes, when these are in order. */
int sp_build_io_handles(struct sp_builder *b, struct sp_err *e);

/* define_mpi.c: a record of kind COMM, WIN, GROUP or CART; -1 without memory. */
int sp_build_mpi_record(struct sp_builder *b, struct sp_loading *l, const struct sp_raw_def *d, uint64_t at,
                        const struct sp_str part[4]);
/* The same, when all records and META of a process are read: its ids once each, its rank. */
void sp_build_mpi_process(struct sp_loading *l);
void sp_mpi_defs_free(struct sp_mpi_defs *d);
/* children.c: a record of kind CHILD, -1 without memory; and, when the processes are in order, what follows. */
int sp_build_child_record(struct sp_builder *b, struct sp_loading *l, const struct sp_raw_def *d, uint64_t at,
                          const struct sp_str part[2]);
int sp_build_children(struct sp_builder *b, struct sp_err *e);
/* A killed process was alive until another one saw it end: in the header of its file, before the file is read. */
void sp_build_seen_end(struct sp_builder *b, struct sp_raw_file *raw);
/* mpi.c: the worlds, communicators, windows and groups of all processes, when these are in order. */
int sp_build_mpi(struct sp_builder *b, struct sp_err *e);

/* task.c. A TASK record of a process; all of them, when its other definitions are known; those of all processes, when
 * these are in order. -1: no memory. */
int sp_build_task_record(struct sp_loading *l, const struct sp_raw_def *d, uint64_t at, const struct sp_str part[2]);
int sp_build_task_process(struct sp_builder *b, struct sp_loading *l);
int sp_build_tasks(struct sp_builder *b, struct sp_err *e);
void sp_task_defs_free(struct sp_task_defs *d);
/* What a thread's state says that was lost. */
void sp_build_losses(struct sp_loading *l, struct sp_location *out, const struct sp_raw_location *state);
/* Calls visit for each region that tasks refer to; SP_NONE among them. */
void sp_build_task_regions(struct sp_model *m, void (*visit)(void *arg, uint32_t *region), void *arg);

/* line.c. The lines of a process, when its other definitions are known; those of all, when these are in order. -1: no
 * memory. */
int sp_build_line_process(struct sp_builder *b, struct sp_loading *l);
int sp_build_lines(struct sp_builder *b, struct sp_err *e);

/* lock.c. A DEADLOCK record; what a process says of locks and waits, when its other definitions are known; all of them,
 * when processes are in order. -1: no memory. */
int sp_build_lock_record(struct sp_loading *l, const struct sp_str *text);
int sp_build_lock_process(struct sp_builder *b, struct sp_loading *l);
int sp_build_locks(struct sp_builder *b, struct sp_err *e);
void sp_lock_defs_free(struct sp_lock_defs *d);
/* Calls visit for each region that they refer to. */
void sp_lock_def_regions(struct sp_lock_defs *d, void (*visit)(void *arg, uint32_t *region), void *arg);
void sp_build_lock_regions(struct sp_model *m, void (*visit)(void *arg, uint32_t *region), void *arg);

#endif
