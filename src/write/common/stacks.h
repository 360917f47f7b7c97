/* SPDX-License-Identifier: BSD-3-Clause */
/* Call paths as stacks of frames, for formats that repeat the whole stack for each path.
 *
 * A chain of n recursive calls makes n stacks of up to n frames: gigabytes, which no tool can open. Therefore a stack
 * has at most SP_STACKS_DEPTH frames, or fewer, so that all stacks together have at most SP_STACKS_FRAMES. The time of
 * deeper frames is in one additional frame SP_STACKS_DEEPER, once for each truncated stack. */
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
	uint32_t *depth; /* owned, as the arrays below; for each path */
	uint32_t *shown; /* the path itself, or its ancestor at the maximum depth */
	size_t width;    /* number of values of a stack */
	/* width values for each path: sums below a path at the maximum depth that were not reported yet */
	double *deeper;
	bool *waits;       /* there are such sums */
	uint32_t *touched; /* the paths with such sums */
	size_t n_touched;
	uint32_t stack[SP_STACKS_DEPTH];
};

/* Receives a stack. paths: from the outermost frame in. deeper: the frame SP_STACKS_DEEPER follows them. */
typedef void sp_stack_fn(void *arg, const uint32_t *paths, size_t n, bool deeper, const double *values);

/* width: number of values of a stack, none of which includes callees. Returns 0, or -1 with e set. */
int sp_stacks_open(struct sp_stacks *s, const struct sp_model *m, size_t width, struct sp_err *e);
void sp_stacks_close(struct sp_stacks *s);
/* Reports path p, which is not the root. If it is too deep, sp_stacks_rest() reports it with the others. It is not
 * reported if no value is above 0. */
void sp_stacks_path(struct sp_stacks *s, uint32_t p, const double *values, sp_stack_fn *f, void *arg);
void sp_stacks_rest(struct sp_stacks *s, sp_stack_fn *f, void *arg);

/* The metric that stacks show if neither calls nor samples were recorded, so that no selected path has time: bytes at
 * the peak of the process. SP_NONE: stacks show times. */
uint32_t sp_stacks_metric(const struct sp_model *m, const struct sp_pick *k);
/* The value of a row of sp_model.values: ns, or the count of the metric. */
static inline double sp_stacks_value(const struct sp_model *m, size_t row, uint32_t metric)
{
	return metric == SP_NONE ? m->values[row].v.excl : (double)m->row_metrics[row * m->n_metrics + metric];
}

#endif
