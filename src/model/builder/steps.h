/* SPDX-License-Identifier: BSD-3-Clause */
/* The steps from raw files to a model. Functions return 0, or -1 with e set; functions without e return -1 if memory
 * ran out. */
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

/* load.c calls these in this order: for each file, for each process, at the end. */
int sp_build_process(struct sp_builder *b, struct sp_loading *l, struct sp_raw_file *raw, struct sp_err *e);
int sp_build_definitions(struct sp_builder *b, struct sp_loading *l, struct sp_err *e);
/* The time at which open calls of a thread end, in the ticks of its file. */
uint64_t sp_build_thread_end(struct sp_loading *l, struct sp_raw_thread *t);
/* Reads a thread into *out. t is NULL if only the samples contain the thread; samples is NULL without samples. */
int sp_build_thread(struct sp_builder *b, struct sp_loading *l, struct sp_raw_thread *t, struct sp_raw_thread *samples,
                    struct sp_location *out, uint64_t end, struct sp_err *e);
int sp_build_order(struct sp_builder *b, struct sp_err *e); /* sorts processes and locations */
/* merges a path into its only child with a parameter value, if all its calls have that value */
int sp_build_fold(struct sp_builder *b, struct sp_err *e);
int sp_build_drop_unused(struct sp_builder *b, struct sp_err *e); /* drops regions that nothing refers to */
/* derives exclusive times, totals, lists of children */
int sp_build_values(struct sp_builder *b, struct sp_err *e);

/* image.c: the merged model as a file (IMAGE.md). Returns 0, 1 if there is no current merged file, or -1 with e set if
 * it is damaged. */
struct sp_image;
int sp_image_load(struct sp_model **out, const char *dir, const struct sp_listing *now, struct sp_err *e);
void sp_image_close(struct sp_image *i);

/* Finds or makes the region for the parts of a key. Returns its index; SP_NONE: no memory. */
uint32_t sp_build_region(struct sp_builder *b, const struct sp_str part[3], uint32_t line, unsigned flags);
/* The same for a compiled function. part: as in its definition; build: build id of the object file (.p is
 * NUL-terminated, may be empty). */
uint32_t sp_build_native(struct sp_builder *b, const struct sp_str part[3], uint32_t address,
                         const struct sp_str *build);

/* The region of b that equals r, a region of another builder. */
uint32_t sp_build_known_region(struct sp_builder *b, const struct sp_region *r);
void sp_build_code(struct sp_builder *b, uint32_t region, const struct sp_code *code);
/* Finds or makes the path. Returns its index; SP_NONE: no memory. */
uint32_t sp_build_path(struct sp_builder *b, uint32_t parent, uint32_t region, uint32_t parameter);
/* Finds the metric with the kind and name of *x, or copies *x. Returns its index; SP_NONE: no memory. */
uint32_t sp_build_metric(struct sp_builder *b, const struct sp_metric *x);
/* The region of calls whose own region could not be defined. */
uint32_t sp_build_unknown_region(struct sp_builder *b);

/* Finds or makes the parameter value of a region of kind PARAMETER. before: the value set before it in the same call,
 * or SP_NONE. Returns its index; SP_NONE: no memory. */
uint32_t sp_build_parameter(struct sp_builder *b, uint32_t region, uint32_t before);

/* Reads the file handles of a process from its events. Returns 0, or -1: no memory. */
int sp_build_io(struct sp_builder *b, struct sp_loading *l);
/* Collects the file handles of all processes, after these are sorted. */
int sp_build_io_handles(struct sp_builder *b, struct sp_err *e);

/* define_mpi.c: reads a record of kind COMM, WIN, GROUP or CART. Returns 0, or -1: no memory. */
int sp_build_mpi_record(struct sp_builder *b, struct sp_loading *l, const struct sp_raw_def *d, uint64_t at,
                        const struct sp_str part[4]);
/* Call after all records and META of a process are read: keeps each MPI id once, and sets the rank. */
void sp_build_mpi_process(struct sp_loading *l);
void sp_mpi_defs_free(struct sp_mpi_defs *d);
/* children.c: sp_build_child_record() reads a record of kind CHILD; -1: no memory. sp_build_children() connects parents
 * and children after the processes are sorted. */
int sp_build_child_record(struct sp_builder *b, struct sp_loading *l, const struct sp_raw_def *d, uint64_t at,
                          const struct sp_str part[2]);
int sp_build_children(struct sp_builder *b, struct sp_err *e);
/* Sets the end in the header of a killed process's file to the time at which another process saw it end. Call before
 * the file is read. */
void sp_build_seen_end(struct sp_builder *b, struct sp_raw_file *raw);
/* mpi.c: builds the worlds, communicators, windows and groups of all processes, after these are sorted. */
int sp_build_mpi(struct sp_builder *b, struct sp_err *e);

/* task.c. sp_build_task_record() reads a TASK record; sp_build_task_process() builds the tasks of a process after its
 * other definitions; sp_build_tasks() collects those of all processes after these are sorted. -1: no memory. */
int sp_build_task_record(struct sp_loading *l, const struct sp_raw_def *d, uint64_t at, const struct sp_str part[2]);
int sp_build_task_process(struct sp_builder *b, struct sp_loading *l);
int sp_build_tasks(struct sp_builder *b, struct sp_err *e);
void sp_task_defs_free(struct sp_task_defs *d);
/* Adds the losses in a thread's state. */
void sp_build_losses(struct sp_loading *l, struct sp_location *out, const struct sp_raw_location *state);
/* Calls visit for each region index in tasks, which may be SP_NONE. */
void sp_build_task_regions(struct sp_model *m, void (*visit)(void *arg, uint32_t *region), void *arg);

/* line.c. sp_build_line_process() builds the lines of a process after its other definitions; sp_build_lines() collects
 * those of all processes. -1: no memory. */
int sp_build_line_process(struct sp_builder *b, struct sp_loading *l);
int sp_build_lines(struct sp_builder *b, struct sp_err *e);

/* tally.c: collects the tallies of all processes, after these are sorted. */
int sp_build_tallies(struct sp_builder *b, struct sp_err *e);

/* role.c: finds the roles of a process and of its threads by their call paths, names and command line. -1: no memory.
 */
int sp_build_roles(struct sp_builder *b, struct sp_loading *l);

/* lock.c. sp_build_lock_record() reads a DEADLOCK record; sp_build_lock_process() builds the locks and waits of a
 * process after its other definitions; sp_build_locks() collects those of all processes after these are sorted. -1: no
 * memory. */
int sp_build_lock_record(struct sp_loading *l, const struct sp_str *text);
int sp_build_lock_process(struct sp_builder *b, struct sp_loading *l);
int sp_build_locks(struct sp_builder *b, struct sp_err *e);
void sp_lock_defs_free(struct sp_lock_defs *d);
/* Call visit for each region index in locks and waits. */
void sp_lock_def_regions(struct sp_lock_defs *d, void (*visit)(void *arg, uint32_t *region), void *arg);
void sp_build_lock_regions(struct sp_model *m, void (*visit)(void *arg, uint32_t *region), void *arg);

#endif
