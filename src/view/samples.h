/* SPDX-License-Identifier: BSD-3-Clause */
/* The samples of a location in memory, so that any part of a run is drawn and summed up without reading files. */
#ifndef SP_VIEW_SAMPLES_H
#define SP_VIEW_SAMPLES_H

#include "model/events/sampled_events.h"
#include "model/metric.h"
#include "model/model.h"
#include "model/path.h"
#include "view/view.h"

enum { SP_VIEW_SAMPLES_BLOCK = 64 };

/* The summary of a block of successive samples. */
struct sp_view_samples_block {
	uint32_t path;                    /* the path with the most time, */
	uint64_t ns;                      /* and this time, ns */
	uint64_t state[SP_SAMPLE_STATES]; /* ns in each state */
};

/* Sample k is valid until sample k + 1, the last one until `end`, but not longer than sp_sampled_until() returns. */
struct sp_view_samples {
	uint64_t *time;  /* owned; ns, ascending */
	uint64_t *until; /* owned */
	uint32_t *path;  /* owned; 0: no known function */
	uint32_t *cpu;   /* owned; ns of processor time since the previous sample */
	uint8_t *state;  /* owned */
	size_t n;
	uint64_t end;
	struct sp_view_samples_block *blocks; /* owned; one for each of the n / SP_VIEW_SAMPLES_BLOCK complete blocks */
	bool known, failed;                   /* known: they were read; failed: reading failed */
};

static inline uint64_t sp_view_samples_until(const struct sp_view_samples *l, size_t k)
{
	return l->until[k];
}
/* The first sample that ends after `at` (ns); n: no such sample. */
size_t sp_view_samples_find(const struct sp_view_samples *l, uint64_t at);

/* Makes the blocks. Returns 0, or -1: no memory. */
int sp_view_samples_sum_up(struct sp_view_samples *l);
/* Reads the samples of a location and makes the blocks. Call under sp_guarded(). Returns 0, or -1 with e set; call
 * sp_view_samples_free() in both cases. */
int sp_view_samples_read(struct sp_view_samples *l, const struct sp_model *m, uint32_t location, struct sp_err *e);
void sp_view_samples_free(struct sp_view_samples *l);

/* Reports samples in [begin, end), in the order of time: a path (the one with the most time, if several samples are
 * combined), its ns, the ns in each state, and the number of samples. */
typedef void sp_view_samples_fn(void *arg, uint64_t begin, uint64_t end, uint32_t path, uint64_t ns,
                                const uint64_t *state, uint64_t samples);
/* Reports all of [begin, end), which is divided into `pixels` equal parts; only samples within one part are
 * combined. */
void sp_view_samples_walk(const struct sp_view_samples *l, uint64_t begin, uint64_t end, uint32_t pixels,
                          sp_view_samples_fn *report, void *arg);

/* Sets share[i] to the shares of the states in the i-th of `pixels` equal parts of [begin, end) (0 to 1). */
void sp_view_samples_shares(const struct sp_view_samples *l, uint64_t begin, uint64_t end, uint32_t pixels,
                            float (*share)[SP_SAMPLE_STATES]);

/* Whether samples replace the trace of the location, because no trace was recorded. */
bool sp_view_samples_only(const struct sp_model *m, uint32_t location);

/* Adds the time in which each path was found in [begin, end) to its exclusive time, as sp_lod_range() does. */
void sp_view_samples_range(const struct sp_view_samples *l, uint64_t begin, uint64_t end, struct sp_value *values);

/* Metrics of samples that are known within a range of time: ns of processor time, or ns in a state. */
enum sp_view_samples_metric { SP_VIEW_SAMPLES_CPU = SP_SAMPLE_STATES, SP_VIEW_SAMPLES_NONE };
enum sp_view_samples_metric sp_view_samples_metric_of(const struct sp_metric *x);
/* Adds the metric of each sample to its path, at grown[path * width]. */
void sp_view_samples_grown(const struct sp_view_samples *l, uint64_t begin, uint64_t end,
                           enum sp_view_samples_metric which, double *grown, size_t width);

#endif
