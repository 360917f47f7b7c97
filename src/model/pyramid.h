/* SPDX-License-Identifier: BSD-3-Clause */
/* Summaries of all traces of an experiment, so that any part of 10^8 events is drawn and summed up without reading them
 * all: PYRAMID.md. They are in a file of the experiment; where there is none that is current, it is made, and where it
 * cannot be put there, it is kept elsewhere as long as it is used.
 *
 * Several threads may ask of one pyramid at once. Times are ns since sp_model.begin_ns. */
#ifndef SP_MODEL_PYRAMID_H
#define SP_MODEL_PYRAMID_H

#include "model/model.h"

#define SP_PYRAMID_NAME "pyramid"

struct sp_pyramid;

/* Called with the event words that are read, of how many, while it is made; a value other than 0 ends it, with e->code
 * ECANCELED. From any thread, but from one at a time. */
typedef int sp_pyramid_progress_fn(void *arg, uint64_t done, uint64_t total);

struct sp_pyramid_options {
	unsigned threads;                 /* that make it; 0: as many as there are processors, at most two */
	bool fresh;                       /* made anew, whether there is one or not */
	bool keep;                        /* only elsewhere: nothing is written into the experiment */
	sp_pyramid_progress_fn *progress; /* NULL: none */
	void *arg;
};

/* The model outlives the pyramid. o: NULL: nothing special. 0, or -1 with e set. */
int sp_pyramid_open(struct sp_pyramid **out, const struct sp_model *m, const struct sp_pyramid_options *o,
                    struct sp_err *e);
void sp_pyramid_close(struct sp_pyramid *p);
/* Whether it was made by sp_pyramid_open(), and how many bytes it has. */
bool sp_pyramid_made(const struct sp_pyramid *p);
uint64_t sp_pyramid_bytes(const struct sp_pyramid *p);

/* What is drawn of a location: calls of one depth in the order of time. `calls` of them in [begin, end], filling it for
 * `busy` ns, of which the region has `most`, as far as the summaries know it; one call alone is that very one, also
 * where it reaches beyond what was asked for. */
typedef void sp_pyramid_draw_fn(void *arg, uint32_t depth, uint64_t begin, uint64_t end, uint64_t calls, uint64_t busy,
                                uint32_t region, uint64_t most);
/* All calls that touch [begin, end]; several are drawn as one where they lie within `pixel` ns. */
int sp_pyramid_draw(struct sp_pyramid *p, uint32_t location, uint64_t begin, uint64_t end, uint64_t pixel,
                    sp_pyramid_draw_fn *draw, void *arg, struct sp_err *e);

/* What ran in [begin, end], in the order of time: `region` (SP_NONE: nothing) itself for `ns`, and so many events. */
typedef void sp_pyramid_ran_fn(void *arg, uint64_t begin, uint64_t end, uint32_t region, double ns, uint64_t events);
/* All of [begin, end]. Where there are many events, several regions may be told as the one that ran longest, with its
 * own time: those of 64 events within `pixel` ns, or of any number within a fourth of that. */
int sp_pyramid_ran(struct sp_pyramid *p, uint32_t location, uint64_t begin, uint64_t end, uint64_t pixel,
                   sp_pyramid_ran_fn *ran, void *arg, struct sp_err *e);

/* Adds what a location did in [begin, end] to the values of all paths: exclusive time in it; visits, resumptions, min,
 * max, sumsq, and `each` (as sp_model.each), of the calls that ended in it, at their full length. Paths without are
 * left alone; inclusive times are sp_pyramid_inclusive()'s, when all locations have been added. */
int sp_pyramid_range(struct sp_pyramid *p, uint32_t location, uint64_t begin, uint64_t end, struct sp_value *values,
                     double *each, struct sp_err *e);
void sp_pyramid_inclusive(const struct sp_model *m, struct sp_value *values);

/* The markers in [begin, end], in the order of time; string: index in sp_model.strings. */
typedef void sp_pyramid_marker_fn(void *arg, uint64_t time, uint32_t string);
int sp_pyramid_markers(struct sp_pyramid *p, uint32_t location, uint64_t begin, uint64_t end,
                       sp_pyramid_marker_fn *told, void *arg, struct sp_err *e);

/* n values of a counter, from `time` on; in the order of counters and time. */
typedef void sp_pyramid_counter_fn(void *arg, uint32_t counter, uint64_t time, uint64_t n, double min, double max,
                                   double mean);
struct sp_pyramid_asked {
	uint32_t counter;    /* index in sp_model.counters; SP_NONE: all */
	uint64_t begin, end; /* begin < end */
	uint32_t pixels;     /* equal parts; the values of each are told together */
};
/* The values in [begin, end], and of each counter the last one before. */
int sp_pyramid_counters(struct sp_pyramid *p, uint32_t location, const struct sp_pyramid_asked *q,
                        sp_pyramid_counter_fn *told, void *arg, struct sp_err *e);

#endif
