/* SPDX-License-Identifier: BSD-3-Clause */
/* The level-of-detail index: summaries of all traces of an experiment, so that any part of 10^8 events is drawn and
 * summed up without reading them all (INDEX.md). The index is a file of the experiment. If there is no current file,
 * sp_lod_open() makes it; if it cannot be written there, it is in a temporary file for as long as it is open.
 *
 * Several threads may query one index at once. Times are ns since sp_model.begin_ns. */
#ifndef SP_MODEL_LOD_LOD_H
#define SP_MODEL_LOD_LOD_H

#include <stdbool.h>

#include "base/err.h"
#include "model/event.h"
#include "model/model.h"
#include "model/path.h"

#define SP_LOD_NAME "lod"

struct sp_lod;

/* Reports progress while the index is made: `done` of `total` event words were read. A result other than 0 cancels it,
 * with e->code ECANCELED. The thread that called sp_lod_open() calls it regularly, also if other threads do the
 * work. */
typedef int sp_lod_progress_fn(void *arg, uint64_t done, uint64_t total);

struct sp_lod_options {
	unsigned threads;             /* number of threads that make the index; 0: one per processor, at most two */
	bool fresh;                   /* make the index even if there is a current one */
	bool keep;                    /* write nothing into the experiment: use a temporary file */
	bool lasting;                 /* write into the experiment, or fail with -1 */
	sp_lod_progress_fn *progress; /* NULL: no progress reports */
	void *arg;
};

/* Opens the index of m, which must outlive it. o NULL: defaults. Returns 0, or -1 with e set. */
int sp_lod_open(struct sp_lod **out, const struct sp_model *m, const struct sp_lod_options *o, struct sp_err *e);
void sp_lod_close(struct sp_lod *p);
/* Whether sp_lod_open() made the index; the size of the index in bytes. */
bool sp_lod_made(const struct sp_lod *p);
uint64_t sp_lod_bytes(const struct sp_lod *p);

/* Draws calls of one depth of a location, in the order of time: `calls` calls in [begin, end] that take `busy` ns, of
 * which `region` takes `longest` as far as the summaries know. A single call has its exact begin and end, also outside
 * the requested interval. */
typedef void sp_lod_draw_fn(void *arg, uint32_t depth, uint64_t begin, uint64_t end, uint64_t calls, uint64_t busy,
                            uint32_t region, uint64_t longest);
/* Draws all calls that overlap [begin, end]; calls within `pixel` ns may be drawn as one. Returns 0, or -1 with e
 * set. */
int sp_lod_draw(struct sp_lod *p, uint32_t location, uint64_t begin, uint64_t end, uint64_t pixel, sp_lod_draw_fn *draw,
                void *arg, struct sp_err *e);

/* Reports what ran in [begin, end], in the order of time: `region` (SP_NONE: no region) with `ns` of exclusive time,
 * and the number of events. */
typedef void sp_lod_ran_fn(void *arg, uint64_t begin, uint64_t end, uint32_t region, double ns, uint64_t events);
/* Covers all of [begin, end]. If there are many events, several regions may be reported as the one that ran longest,
 * with its exclusive time: those of 64 events within `pixel` ns, or of any number of events within a fourth of that.
 * Returns 0, or -1 with e set. */
int sp_lod_ran(struct sp_lod *p, uint32_t location, uint64_t begin, uint64_t end, uint64_t pixel, sp_lod_ran_fn *ran,
               void *arg, struct sp_err *e);

/* Adds the numbers of a location in [begin, end] to the values of all paths: exclusive time within the interval;
 * visits, resumptions, min, max, sumsq and `each` (as sp_model.each) of the calls that ended in it, at their full
 * length. Other paths do not change. After all locations were added, sp_lod_inclusive() derives inclusive times.
 * Returns 0, or -1 with e set. */
int sp_lod_range(struct sp_lod *p, uint32_t location, uint64_t begin, uint64_t end, struct sp_value *values,
                 double *each, struct sp_err *e);
void sp_lod_inclusive(const struct sp_model *m, struct sp_value *values);

/* Reports the markers in [begin, end], in the order of time; string: index in sp_model.strings. At most `limit` markers
 * are reported; *all is their number. */
typedef void sp_lod_marker_fn(void *arg, uint64_t time, uint32_t string);
int sp_lod_markers(struct sp_lod *p, uint32_t location, uint64_t begin, uint64_t end, size_t limit,
                   sp_lod_marker_fn *report, void *arg, size_t *all, struct sp_err *e);

/* Reports n values of a counter, from `time` on, in the order of counters and time. */
typedef void sp_lod_counter_fn(void *arg, uint32_t counter, uint64_t time, uint64_t n, double min, double max,
                               double mean);
struct sp_lod_asked {
	uint32_t counter;    /* index in sp_model.counters; SP_NONE: all counters */
	uint64_t begin, end; /* begin < end */
	uint32_t pixels;     /* number of equal parts of the interval; the values in each are reported together */
};
/* Reports the values in [begin, end], and the last one of each counter before that. Returns 0, or -1 with e set. */
int sp_lod_counters(struct sp_lod *p, uint32_t location, const struct sp_lod_asked *q, sp_lod_counter_fn *report,
                    void *arg, struct sp_err *e);

/* Reports steps of a task: in [begin, end] the location ran it `n` times, for `ran` ns together. A single step has its
 * exact begin and end, also outside the requested interval. */
typedef void sp_lod_step_fn(void *arg, uint32_t task, uint64_t begin, uint64_t end, uint64_t n, uint64_t ran);
/* Reports all steps of the task that overlap [q->begin, q->end], in the order of time. Steps that begin within one
 * pixel and are narrower than it are reported together. q->counter is unused. Returns 0, or -1 with e set. */
int sp_lod_steps(struct sp_lod *p, uint32_t location, uint32_t task, const struct sp_lod_asked *q,
                 sp_lod_step_fn *report, void *arg, struct sp_err *e);

/* ---- off-CPU time ---- */

/* Sets share[i] to the share of the i-th of q->pixels equal parts of [q->begin, q->end] in which the location waited
 * (0 to 1). q->counter is unused. When within the time between two events it waited is not recorded: each part of that
 * time has the same share. Returns 0, or -1 with e set. */
int sp_lod_waiting(struct sp_lod *p, uint32_t location, const struct sp_lod_asked *q, float *share, struct sp_err *e);
/* Adds the ns in [begin, end] in which the location did not run to off[path][enum sp_off_cpu_kind]. Returns 0, or -1
 * with e set. */
int sp_lod_off_cpu(struct sp_lod *p, uint32_t location, uint64_t begin, uint64_t end, double (*off)[SP_OFF_CPU_KINDS],
                   struct sp_err *e);

/* ---- metrics that are read at each enter and leave ---- */

/* The number of inclusive metrics, which are read at each enter and leave. */
size_t sp_lod_metrics(const struct sp_model *m);
/* The number of one of them, by its index in sp_model.metrics; SP_NONE: an exclusive metric. */
uint32_t sp_lod_metric(const struct sp_model *m, uint32_t metric);

/* Adds the growth of metrics in a location in [begin, end] to `grown`, sp_lod_metrics() numbers for each path: the
 * growth in the path itself, without callees. If one of two readings is outside the interval, their growth counts in
 * proportion to the time inside. Growth while recording was off or no call was open is in no path. Returns 0, or -1
 * with e set. */
int sp_lod_grown(struct sp_lod *p, uint32_t location, uint64_t begin, uint64_t end, double *grown, struct sp_err *e);

/* Reports a reading of a metric: `time`, `value` (since the location's first reading; of a level, its height), and the
 * smallest and largest growth per second between readings since the previously reported one (NaN: it is the first). */
typedef void sp_lod_metric_fn(void *arg, uint32_t metric, uint64_t time, double value, double low, double high);
/* Reports readings in the order of metrics and time; q->counter is an index in sp_model.metrics, or SP_NONE. Of the
 * readings within one pixel it reports the last one; also the last one before q->begin (or the first of all), and the
 * first one after q->end. If a pixel has fewer than 512 events, the growth is that between successive readings,
 * otherwise that between readings 512 events apart. Returns 0, or -1 with e set. */
int sp_lod_metric_curve(struct sp_lod *p, uint32_t location, const struct sp_lod_asked *q, sp_lod_metric_fn *report,
                        void *arg, struct sp_err *e);

#endif
