/* SPDX-License-Identifier: BSD-3-Clause */
/* Summaries of all traces of an experiment, so that any part of 10^8 events is drawn and summed up without reading them
 * all: INDEX.md. They are in a file of the experiment; where there is none that is current, it is made, and where it
 * cannot be put there, it is kept elsewhere as long as it is used.
 *
 * Several threads may ask of one index at once. Times are ns since sp_model.begin_ns. */
#ifndef SP_MODEL_LOD_LOD_H
#define SP_MODEL_LOD_LOD_H

#include <stdbool.h>

#include "base/err.h"
#include "model/model.h"
#include "model/path.h"

#define SP_LOD_NAME "lod"

struct sp_lod;

/* Called with the event words that are read, of how many, while it is made; a value other than 0 ends it, with e->code
 * ECANCELED. By the thread that opens it, now and then also where others do the work. */
typedef int sp_lod_progress_fn(void *arg, uint64_t done, uint64_t total);

struct sp_lod_options {
	unsigned threads;             /* that make it; 0: as many as there are processors, at most two */
	bool fresh;                   /* made anew, whether there is one or not */
	bool keep;                    /* only elsewhere: nothing is written into the experiment */
	bool lasting;                 /* only in the experiment: -1 where it cannot be put there */
	sp_lod_progress_fn *progress; /* NULL: none */
	void *arg;
};

/* The model outlives the index. o: NULL: nothing special. 0, or -1 with e set. */
int sp_lod_open(struct sp_lod **out, const struct sp_model *m, const struct sp_lod_options *o, struct sp_err *e);
void sp_lod_close(struct sp_lod *p);
/* Whether it was made by sp_lod_open(), and how many bytes it has. */
bool sp_lod_made(const struct sp_lod *p);
uint64_t sp_lod_bytes(const struct sp_lod *p);

/* What is drawn of a location: calls of one depth in the order of time. `calls` of them in [begin, end], filling it for
 * `busy` ns, of which the region has `most`, as far as the summaries know it; one call alone is that very one, also
 * where it reaches beyond what was asked for. */
typedef void sp_lod_draw_fn(void *arg, uint32_t depth, uint64_t begin, uint64_t end, uint64_t calls, uint64_t busy,
                            uint32_t region, uint64_t most);
/* All calls that touch [begin, end]; several are drawn as one where they lie within `pixel` ns. */
int sp_lod_draw(struct sp_lod *p, uint32_t location, uint64_t begin, uint64_t end, uint64_t pixel, sp_lod_draw_fn *draw,
                void *arg, struct sp_err *e);

/* What ran in [begin, end], in the order of time: `region` (SP_NONE: nothing) itself for `ns`, and so many events. */
typedef void sp_lod_ran_fn(void *arg, uint64_t begin, uint64_t end, uint32_t region, double ns, uint64_t events);
/* All of [begin, end]. Where there are many events, several regions may be told as the one that ran longest, with its
 * own time: those of 64 events within `pixel` ns, or of any number within a fourth of that. */
int sp_lod_ran(struct sp_lod *p, uint32_t location, uint64_t begin, uint64_t end, uint64_t pixel, sp_lod_ran_fn *ran,
               void *arg, struct sp_err *e);

/* Adds what a location did in [begin, end] to the values of all paths: exclusive time in it; visits, resumptions, min,
 * max, sumsq, and `each` (as sp_model.each), of the calls that ended in it, at their full length. Paths without are
 * left alone; inclusive times are sp_lod_inclusive()'s, when all locations have been added. */
int sp_lod_range(struct sp_lod *p, uint32_t location, uint64_t begin, uint64_t end, struct sp_value *values,
                 double *each, struct sp_err *e);
void sp_lod_inclusive(const struct sp_model *m, struct sp_value *values);

/* The markers in [begin, end], in the order of time; string: index in sp_model.strings. The first `most` are told,
 * *all is how many there are. */
typedef void sp_lod_marker_fn(void *arg, uint64_t time, uint32_t string);
int sp_lod_markers(struct sp_lod *p, uint32_t location, uint64_t begin, uint64_t end, size_t most,
                   sp_lod_marker_fn *told, void *arg, size_t *all, struct sp_err *e);

/* n values of a counter, from `time` on; in the order of counters and time. */
typedef void sp_lod_counter_fn(void *arg, uint32_t counter, uint64_t time, uint64_t n, double min, double max,
                               double mean);
struct sp_lod_asked {
	uint32_t counter;    /* index in sp_model.counters; SP_NONE: all */
	uint64_t begin, end; /* begin < end */
	uint32_t pixels;     /* equal parts; the values of each are told together */
};
/* The values in [begin, end], and of each counter the last one before. */
int sp_lod_counters(struct sp_lod *p, uint32_t location, const struct sp_lod_asked *q, sp_lod_counter_fn *told,
                    void *arg, struct sp_err *e);

/* Steps of a task: in [begin, end] it ran `n` times in the location, `ran` ns in all; one alone is that very one, also
 * where it reaches beyond what was asked for. */
typedef void sp_lod_step_fn(void *arg, uint32_t task, uint64_t begin, uint64_t end, uint64_t n, uint64_t ran);
/* All steps of the task that touch [q->begin, q->end], in the order of time; those that begin within a pixel and are
 * narrower are told together. q->counter is nothing here. */
int sp_lod_steps(struct sp_lod *p, uint32_t location, uint32_t task, const struct sp_lod_asked *q, sp_lod_step_fn *told,
                 void *arg, struct sp_err *e);

/* ---- metrics that are read at each enter and leave ---- */

/* How many there are: those that are not own. */
size_t sp_lod_metrics(const struct sp_model *m);
/* The number of one of them, by its index in sp_model.metrics; SP_NONE: it is own. */
uint32_t sp_lod_metric(const struct sp_model *m, uint32_t metric);

/* Adds by how much they grew in a location in [begin, end] to `grown`, sp_lod_metrics() numbers for each path: in
 * the path itself, without callees. What grew between two readings of which one is outside has the part that the time
 * inside has in theirs. What grew while recording was off, or no call was open, is in no path. */
int sp_lod_grown(struct sp_lod *p, uint32_t location, uint64_t begin, uint64_t end, double *grown, struct sp_err *e);

/* A reading of a metric: `time`, `value` (since the location's first reading; of a level, its height), and the smallest
 * and largest growth per second in the steps since the reading told before (NaN: it is the first). */
typedef void sp_lod_metric_fn(void *arg, uint32_t metric, uint64_t time, double value, double low, double high);
/* Readings in the order of metrics and time: q->counter is the index in sp_model.metrics, or SP_NONE. Of those within
 * a pixel the last one, before them the last one before q->begin or the first of all, behind them the first one after
 * q->end. Steps are those between
 * readings where a pixel is smaller than 512 events, else those between ones that are so far apart. */
int sp_lod_metric_curve(struct sp_lod *p, uint32_t location, const struct sp_lod_asked *q, sp_lod_metric_fn *told,
                        void *arg, struct sp_err *e);

#endif
