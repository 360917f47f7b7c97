/* SPDX-License-Identifier: BSD-3-Clause */
/* Flat profile, call tree, callers and callees: the numbers of `spartito report`, without their format. */
#ifndef SP_MODEL_REPORT_REPORT_H
#define SP_MODEL_REPORT_REPORT_H

#include "base/err.h"
#include "model/metric.h"
#include "model/path.h"
#include "model/str.h"

#include <stdbool.h>

/* The values of each path, of the whole run or of some locations. */
struct sp_view {
	const struct sp_model *m;
	const struct sp_value *values;
	const double *each;      /* as sp_model.each */
	struct sp_value *owned;  /* owned; NULL: the values are the model's totals */
	double *owned_each;      /* owned */
	const uint64_t *metrics; /* sp_model.n_metrics for each path */
	uint64_t *owned_metrics; /* owned */
	struct sp_off_cpu_columns off;
};

/* process, location: an index, or SP_NONE: all. Returns 0, or -1 with e set; call sp_view_close() in both cases. */
int sp_view_open(struct sp_view *v, const struct sp_model *m, uint32_t process, uint32_t location, struct sp_err *e);
/* The same for the locations with a flag in chosen; NULL: all. */
int sp_view_open_some(struct sp_view *v, const struct sp_model *m, const bool *chosen, struct sp_err *e);
void sp_view_close(struct sp_view *v);

/* The time of a path off the processor. */
struct sp_off_cpu sp_view_off_cpu(const struct sp_view *v, uint32_t path);

/* Times in which the threads ran and waited, ns. The rest of a time is that in which they were preempted. */
struct sp_split {
	double running, waiting;
};
/* Of a path, with callees (incl: the sum over the paths below) and without (excl). */
struct sp_path_split {
	struct sp_split incl, excl;
};

/* The split of each path's times; *splits is NULL if times are not split. The caller frees *splits with free(). Returns
 * 0, or -1 with e set. */
int sp_view_split(const struct sp_view *v, struct sp_path_split **splits, struct sp_err *e);
void sp_split_add(struct sp_split *to, struct sp_split more);

/* Takes the time in which threads were preempted out of the inclusive and exclusive times of all paths, and of the
 * view's off-CPU time. min, max and sumsq stay as they are. *preempted: this time, ns; 0 if the model does not know it.
 * Returns 0, or -1 with e set. */
int sp_view_leave_out_preempted(struct sp_view *v, double *preempted, struct sp_err *e);

/* The counts of a metric with callees (incl) and without (excl). For an exclusive metric, incl is the sum over the
 * paths below; for an inclusive metric, excl is the rest without the callees. */
struct sp_sum {
	uint64_t incl, excl;
};

/* sp_model.n_metrics sums for each path, or for each region (recursion counts once). The caller frees *sums with
 * free(). Returns 0, or -1 with e set. */
int sp_metric_paths(const struct sp_view *v, struct sp_sum **sums, struct sp_err *e);
int sp_metric_regions(const struct sp_view *v, struct sp_sum **sums, struct sp_err *e);

/* The trace's operations on a file, over all its openings. Times are ns from the begin of an operation to its end. */
struct sp_io_file {
	struct sp_str path; /* empty: all handles whose file is unknown */
	uint64_t opens, reads, writes, flushes, seeks;
	uint64_t failed; /* of all operations except opening */
	uint64_t bytes_read, bytes_written;
	double read_time, write_time, flush_time;
};

/* The files in the order of sp_model.io_handles. Reads the whole trace. The caller frees *files with free(). Returns 0,
 * or -1 with e set. */
int sp_report_io(const struct sp_model *m, struct sp_io_file **files, size_t *n, struct sp_err *e);

enum sp_sort {
	SP_SORT_INCL,
	SP_SORT_EXCL,
	SP_SORT_VISITS,
	SP_SORT_MEAN,
	SP_SORT_MAX,
	SP_SORT_NAME,
	SP_SORT_RUNNING,
	SP_SORT_WAITING,
	SP_SORTS
};
/* The sort key of a name; SP_SORTS: no such key. */
enum sp_sort sp_sort_find(const char *name);

/* The numbers of a row. In sums over several paths incl counts recursion once; `each` is the sum of all durations,
 * which min, max and sumsq describe. */
struct sp_numbers {
	struct sp_value v;
	double each;
	struct sp_off_cpu off;
	struct sp_split below; /* of v.incl; if times are not split, all of it is running */
};

/* The exclusive time in which the threads ran, ns. */
double sp_numbers_running(const struct sp_numbers *n);

double sp_numbers_mean(const struct sp_numbers *n);
double sp_numbers_std(const struct sp_numbers *n);

struct sp_flat_row {
	uint32_t region;
	struct sp_numbers n;
};

/* Rows of regions that were called, have time or allocated memory (if nothing has time: regions with any count),
 * sorted, at most limit (0: all). match: a substring of the name, or a shell pattern if it contains one of *?[ (NULL or
 * "": all). The caller frees *rows with free(). Returns 0, or -1 with e set. */
int sp_report_flat(const struct sp_view *v, enum sp_sort sort, size_t limit, const char *match,
                   struct sp_flat_row **rows, size_t *n, struct sp_err *e);

struct sp_tree_options {
	enum sp_sort sort; /* of the children of a path; SP_SORT_RUNNING, SP_SORT_WAITING: by inclusive times */
	uint32_t depth;    /* 0: no limit */
	double threshold;  /* minimum share of the total time */
	size_t limit;      /* number of paths with the most inclusive time to keep; 0: all */
};

struct sp_tree_row {
	uint32_t path;
	uint32_t depth;     /* 0: no caller */
	uint64_t hidden;    /* number of children that were left out */
	double hidden_time; /* inclusive time of these children */
	struct sp_split hidden_split;
	struct sp_split split; /* of the path's inclusive time; if times are not split, all of it is running */
};

/* Rows in the order of printing. The root has a row, the first, only if some of its children are left out. The caller
 * frees *rows with free(). Returns 0, or -1 with e set. */
int sp_report_tree(const struct sp_view *v, const struct sp_tree_options *o, struct sp_tree_row **rows, size_t *n,
                   struct sp_err *e);

struct sp_edge {
	uint32_t caller, callee; /* regions; caller 0: the root */
	struct sp_numbers n;
};

/* All pairs of regions of which one matches, sorted by inclusive time. The caller frees *edges with free(). Returns 0,
 * or -1 with e set. */
int sp_report_edges(const struct sp_view *v, const char *match, struct sp_edge **edges, size_t *n, struct sp_err *e);

#endif
