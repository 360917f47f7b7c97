/* SPDX-License-Identifier: BSD-3-Clause */
/* The contents of an experiment, merged: the only input of the writers and the reports. Each kind of contents has a
 * header in this folder.
 *
 * Indices are dense from 0. Times are nanoseconds; points in time are counted from sp_model.begin_ns. The model's arena
 * owns everything until sp_model_free(). */
#ifndef SP_MODEL_MODEL_H
#define SP_MODEL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/lock.h"
#include "model/str.h"
#include "model/task.h"

struct sp_child;
struct sp_comm;
struct sp_group;
struct sp_heap;
struct sp_io_handle;
struct sp_line;
struct sp_location;
struct sp_metric;
struct sp_parameter_value;
struct sp_path;
struct sp_process;
struct sp_region;
struct sp_row;
struct sp_site;
struct sp_tally;
struct sp_value;
struct sp_win;
struct sp_world;

struct sp_problem {
	struct sp_str text; /* "raw/h-12-0.raw at 0x5000: …" */
};

struct sp_model {
	struct sp_str dir;
	uint64_t begin_ns; /* ns since the epoch: the earliest start of a process */
	uint64_t end_ns;   /* ns since the epoch */
	struct sp_region *regions;
	size_t n_regions;
	struct sp_process *processes;
	size_t n_processes;
	struct sp_child *children;
	size_t n_children;
	struct sp_location *locations;
	size_t n_locations;
	struct sp_path *paths;
	size_t n_paths;
	struct sp_value *totals; /* for each path, summed over all locations */
	double *each;            /* for each path: sum of the durations in totals; mean = each / (visits + resumed) */
	struct sp_row *values;   /* for each location a run of rows sorted by path; see sp_model_rows() */
	size_t n_values;
	struct sp_str *counters, *parameters, *strings; /* definitions that events refer to */
	size_t n_counters, n_parameters, n_strings;
	struct sp_parameter_value *parameter_values;
	size_t n_parameter_values;
	struct sp_metric *metrics;
	size_t n_metrics;
	uint64_t *row_metrics; /* n_metrics for each row of values; NULL: no metrics */
	uint64_t
	    /* n_metrics for each path; for the root and for inclusive metrics, the sum of the children */
	    *total_metrics;
	struct sp_io_handle *io_handles;
	size_t n_io_handles;
	struct sp_world *worlds; /* in the order of their first processes */
	size_t n_worlds;
	struct sp_comm *comms;
	size_t n_comms;
	struct sp_win *wins;
	size_t n_wins;
	struct sp_group *groups; /* that RMA_GROUP_SYNC events refer to */
	size_t n_groups;
	struct sp_task *tasks; /* sorted by process and number */
	size_t n_tasks;
	struct sp_task_rest *task_rests;
	size_t n_task_rests;
	struct sp_task_awaited *task_awaited;
	size_t n_task_awaited;
	struct sp_handed handed; /* sum over all processes */
	struct sp_line *lines;   /* sorted by location, region, line; no duplicates */
	size_t n_lines;
	struct sp_tally *tallies; /* sorted by location, path, kind, generation; no duplicates */
	size_t n_tallies;
	struct sp_site *sites; /* NULL: no sites, or the model is from the merged file, which does not contain them */
	size_t n_sites;
	struct sp_heap *heaps; /* one for each process; NULL in the same cases as sites */
	struct sp_lock *locks; /* sorted by process and number */
	size_t n_locks;
	struct sp_lock_wait *lock_waits; /* sorted by location and number */
	size_t n_lock_waits;
	struct sp_lock_cycle *lock_cycles; /* deadlock cycles, the interrupted ones first */
	size_t n_lock_cycles;
	struct sp_problem *problems; /* damage that was found and left something to read */
	size_t n_problems;
	bool traced;
	bool compensated;              /* the measurement overhead was subtracted from all times */
	struct sp_model_private *priv; /* owned */
};

enum {
	SP_MODEL_COMPENSATE = 1, /* subtract the measurement overhead from all times */
	SP_MODEL_RAW = 2         /* read the raw files even if there is a merged file */
};                               /* flags of sp_model_load() */

/* Loads the experiment in directory dir, from its merged file if that exists and is current. Damage that leaves
 * something to read becomes a problem in the model; a directory without any readable process is an error. Returns 0, or
 * -1 with e set. */
int sp_model_load(struct sp_model **out, const char *dir, unsigned flags, struct sp_err *e);
void sp_model_free(struct sp_model *m);
/* Sets the owner of each region, from the directories that the processes recorded. own: paths of the program's own
 * code, one in each line, instead of those that were recorded; NULL: as recorded. sp_model_load() does this with NULL;
 * only the thread that loaded m may call it again, before others use m. Returns 0, or -1 with e set. */
int sp_model_own(struct sp_model *m, const char *own, struct sp_err *e);
/* Call before reading sp_model.values and row_metrics: those of a merged experiment are checked only when they are
 * needed. If they are damaged, they are made again from the raw files. Returns 0, or -1 with e set. */
int sp_model_rows(const struct sp_model *m, struct sp_err *e);
/* Call after reading the rows of one of many locations: releases the memory of those in a merged file, so that a run
 * with thousands of ranks needs no more of it than one with a few. */
void sp_model_rows_done(const struct sp_model *m, const struct sp_location *l);
/* Releases the memory of a large call tree in a merged file; what is needed of it is read again. Call it after work
 * that has touched all call paths. */
void sp_model_settle(const struct sp_model *m);

#endif
