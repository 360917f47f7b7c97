/* SPDX-License-Identifier: BSD-3-Clause */
/* Call paths as stacks of frames, for formats that repeat the whole stack for each path.
 *
 * A chain of recursive calls n deep makes n stacks of up to n frames, and no tool opens gigabytes of them. Therefore a
 * stack has at most SP_STACKS_DEPTH frames, or fewer, so that all together have at most SP_STACKS_FRAMES; the time
 * below belongs to one more frame that says so, once for each stack that was cut. */
#ifndef SP_WRITE_COMMON_STACKS_H
#define SP_WRITE_COMMON_STACKS_H

#include "model/model.h"
#include "model/str.h"
#include "write/common/out.h"

#define SP_STACKS_DEPTH  1024
#define SP_STACKS_FRAMES (32u << 20)
#define SP_STACKS_DEEPER "[deeper]"

struct sp_stacks {
	const struct sp_model *m;
	uint32_t *depth;   /* owned, as all below; of each path */
	uint32_t *shown;   /* the path itself, or its ancestor at the greatest depth */
	size_t width;      /* values of a stack */
	double *deeper;    /* width for each path: what is below one at the greatest depth, not given out yet */
	bool *waits;       /* there is some */
	uint32_t *touched; /* these paths */
	size_t n_touched;
	uint32_t stack[SP_STACKS_DEPTH];
};

/* paths: from the outermost in. deeper: the frame SP_STACKS_DEEPER follows them. */
typedef void sp_stack_fn(void *arg, const uint32_t *paths, size_t n, bool deeper, const double *values);

/* width: how many values, of which none is of callees too, a stack has. */
int sp_stacks_open(struct sp_stacks *s, const struct sp_model *m, size_t width, struct sp_err *e);
void sp_stacks_close(struct sp_stacks *s);
/* Gives out path p, which is not the root, at once or, if it is too deep, with the others of sp_stacks_rest(); not at
 * all if no value is above 0. */
void sp_stacks_path(struct sp_stacks *s, uint32_t p, const double *values, sp_stack_fn *f, void *arg);
void sp_stacks_rest(struct sp_stacks *s, sp_stack_fn *f, void *arg);

/* The metric whose own values stacks show where nothing of what was picked has a time, as neither calls nor samples
 * were recorded: bytes that were there when the process had most. SP_NONE: they show times. */
uint32_t sp_stacks_metric(const struct sp_model *m, const struct sp_pick *k);
/* Of a row of sp_model.values, ns or what metric counts. */
static inline double sp_stacks_value(const struct sp_model *m, size_t row, uint32_t metric)
{
	return metric == SP_NONE ? m->values[row].v.excl : (double)m->row_metrics[row * m->n_metrics + metric];
}

#endif
