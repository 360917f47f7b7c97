/* SPDX-License-Identifier: BSD-3-Clause */
/* What an experiment holds, merged: the one thing that the writers and the reports read. Each kind of thing in it has a
 * header of its own in this folder.
 *
 * Indices are dense from 0. Times are nanoseconds; points in time are counted from sp_model.begin_ns. Everything
 * lives in the model's arena until sp_model_free(). */
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
struct sp_value;
struct sp_win;
struct sp_world;

struct sp_problem {
	struct sp_str text; /* "raw/h-12-0.raw at 0x5000: …" */
};

struct sp_model {
	struct sp_str dir;
	uint64_t begin_ns; /* since the epoch: the earliest start of a process */
	uint64_t end_ns;   /* since the epoch */
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
	double *each;            /* of these the sum of all single durations: mean = each / (visits + resumed) */
	struct sp_row *values;   /* for each location a sorted run of rows; see sp_model_rows() */
	size_t n_values;
	struct sp_str *counters, *parameters, *strings; /* definitions that events refer to */
	size_t n_counters, n_parameters, n_strings;
	struct sp_parameter_value *parameter_values;
	size_t n_parameter_values;
	struct sp_metric *metrics;
	size_t n_metrics;
	uint64_t *row_metrics; /* n_metrics for each row of values; NULL: there are none */
	uint64_t
	    *total_metrics; /* n_metrics for each path; of the root, and of what is not own, the sum of its children */
	struct sp_io_handle *io_handles;
	size_t n_io_handles;
	struct sp_world *worlds; /* in the order of their first processes */
	size_t n_worlds;
	struct sp_comm *comms;
	size_t n_comms;
	struct sp_win *wins;
	size_t n_wins;
	struct sp_group *groups; /* that events RMA_GROUP_SYNC refer to */
	size_t n_groups;
	struct sp_task *tasks; /* by process and number */
	size_t n_tasks;
	struct sp_task_rest *task_rests;
	size_t n_task_rests;
	struct sp_task_awaited *task_awaited;
	size_t n_task_awaited;
	struct sp_handed handed; /* in all processes */
	struct sp_line *lines;   /* by location, region, line; each once */
	size_t n_lines;
	struct sp_site *sites; /* NULL: none, or from the merged file */
	size_t n_sites;
	struct sp_heap *heaps; /* of each process; NULL as sites */
	struct sp_lock *locks; /* by process and number */
	size_t n_locks;
	struct sp_lock_wait *lock_waits; /* by location and number */
	size_t n_lock_waits;
	struct sp_lock_circle *lock_circles; /* those that were interrupted first */
	size_t n_lock_circles;
	struct sp_problem *problems; /* damage found and survived */
	size_t n_problems;
	bool traced;
	bool compensated;              /* the cost of measuring was taken out of all times */
	struct sp_model_private *priv; /* owned */
};

enum {
	SP_MODEL_COMPENSATE = 1, /* take the measured cost of measuring out of all times */
	SP_MODEL_RAW = 2         /* from the raw files, also where they have been merged */
};                               /* flags */

/* Loads the experiment in directory dir, from its merged file if that is there and current. Damage that leaves
 * something to read becomes a problem in the model, a directory without one readable process an error. Returns 0, or -1
 * with e set. */
int sp_model_load(struct sp_model **out, const char *dir, unsigned flags, struct sp_err *e);
void sp_model_free(struct sp_model *m);
/* To be called before sp_model.values and row_metrics are looked at: those of a merged experiment are not checked
 * before they are needed. If they are damaged, they are made anew from the raw files. */
int sp_model_rows(const struct sp_model *m, struct sp_err *e);

#endif
