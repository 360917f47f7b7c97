/* SPDX-License-Identifier: BSD-3-Clause */
/* What samples have found in a location, kept so that any part of a run is drawn and summed up without reading files.
 */
#ifndef SP_VIEW_LOOKS_H
#define SP_VIEW_LOOKS_H

#include "model/events/sampled_events.h"
#include "model/metric.h"
#include "model/model.h"
#include "model/path.h"
#include "view/view.h"

enum { SP_LOOKS_BLOCK = 64 };

/* Looks that follow each other, summed up. */
struct sp_looks_block {
	uint32_t path;                    /* that was found for the longest time, */
	uint64_t ns;                      /* so long */
	uint64_t state[SP_SAMPLE_STATES]; /* ns in each */
};

/* Look k lasts until look k + 1, the last one until `end`; but not longer than sp_sampled_until() says. */
struct sp_looks {
	uint64_t *time;  /* owned; ns, ascending */
	uint64_t *until; /* owned */
	uint32_t *path;  /* owned; 0: no function that is known */
	uint32_t *cpu;   /* owned; ns of a processor since the look before */
	uint8_t *state;  /* owned */
	size_t n;
	uint64_t end;
	struct sp_looks_block *blocks; /* owned; of n / SP_LOOKS_BLOCK whole blocks */
	bool known, failed;            /* they were read; with what outcome */
};

static inline uint64_t sp_looks_until(const struct sp_looks *l, size_t k)
{
	return l->until[k];
}
/* The first look that ends after the moment; n: none. */
size_t sp_looks_at(const struct sp_looks *l, uint64_t moment);

/* Makes the blocks. 0, or -1: no memory. */
int sp_looks_sum_up(struct sp_looks *l);
/* Reads those of a location, and sums them up. 0, or -1 with e set; sp_looks_free() either way. To be guarded. */
int sp_looks_read(struct sp_looks *l, const struct sp_model *m, uint32_t location, struct sp_err *e);
void sp_looks_free(struct sp_looks *l);

/* What was found in [begin, end), in the order of time: a path (the one found longest, where several looks are told as
 * one), for how many of these ns, how many in each state, and of how many looks. */
typedef void sp_looks_fn(void *arg, uint64_t begin, uint64_t end, uint32_t path, uint64_t ns, const uint64_t *state,
                         uint64_t looks);
/* All of [begin, end], which is divided into `pixels` equal parts: only looks within one part are told as one. */
void sp_looks_walk(const struct sp_looks *l, uint64_t begin, uint64_t end, uint32_t pixels, sp_looks_fn *told,
                   void *arg);

/* Whether samples say what the location did when: where it has no trace. */
bool sp_looks_stand(const struct sp_model *m, uint32_t location);

/* Adds to the exclusive time of each path how long it was found in [begin, end], as sp_lod_range() does. */
void sp_looks_range(const struct sp_looks *l, uint64_t begin, uint64_t end, struct sp_value *values);

/* What samples can tell of a metric of theirs within a range of time: ns of a processor, or in a state. */
enum sp_looks_metric { SP_LOOKS_CPU = SP_SAMPLE_STATES, SP_LOOKS_NOT };
enum sp_looks_metric sp_looks_metric_of(const struct sp_metric *x);
/* Adds it, of the look's own path, to grown[path * width]. */
void sp_looks_grown(const struct sp_looks *l, uint64_t begin, uint64_t end, enum sp_looks_metric which, double *grown,
                    size_t width);

#endif
