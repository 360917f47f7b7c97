/* SPDX-License-Identifier: BSD-3-Clause */
#include "write/common/stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"
#include "model/str.h"
#include "write/common/scorep.h"

/* The maximum depth with which all stacks together have at most SP_STACKS_FRAMES frames. */
static uint32_t limit_for(const struct sp_stacks *s)
{
	size_t deeper[SP_STACKS_DEPTH] = {0}; /* number of paths that are deeper than the index */
	uint64_t frames = 0;
	uint32_t limit = 0;

	for (size_t p = 1; p < s->m->n_paths; p++)
		deeper[(s->depth[p] < SP_STACKS_DEPTH ? s->depth[p] : SP_STACKS_DEPTH) - 1]++;
	for (size_t d = SP_STACKS_DEPTH - 1; d > 0; d--)
		deeper[d - 1] += deeper[d];
	while (limit < SP_STACKS_DEPTH && (frames += deeper[limit]) <= SP_STACKS_FRAMES)
		limit++;
	return limit ? limit : 1;
}

int sp_stacks_open(struct sp_stacks *s, const struct sp_model *m, size_t width, struct sp_err *e)
{
	size_t n = m->n_paths ? m->n_paths : 1;

	s->m = m;
	s->width = width;
	s->depth = calloc(n, sizeof *s->depth);
	s->shown = calloc(n, sizeof *s->shown);
	s->deeper = calloc(n * width, sizeof *s->deeper);
	s->waits = calloc(n, sizeof *s->waits);
	s->touched = calloc(n, sizeof *s->touched);
	s->n_touched = 0;
	if (!s->depth || !s->shown || !s->deeper || !s->waits || !s->touched) {
		sp_stacks_close(s);
		return sp_fail(e, ENOMEM, "out of memory");
	}
	for (uint32_t p = 1; p < m->n_paths; p++)
		s->depth[p] = s->depth[m->paths[p].parent] + 1;
	uint32_t limit = limit_for(s);
	for (uint32_t p = 1; p < m->n_paths; p++)
		s->shown[p] = s->depth[p] > limit ? s->shown[m->paths[p].parent] : p;
	return 0;
}

void sp_stacks_close(struct sp_stacks *s)
{
	free(s->depth);
	free(s->shown);
	free(s->deeper);
	free(s->waits);
	free(s->touched);
}

uint32_t sp_stacks_metric(const struct sp_model *m, const struct sp_pick *k)
{
	for (size_t p = 1; p < m->n_paths; p++)
		if (k->totals[p].excl > 0)
			return SP_NONE;
	return sp_scorep_metric(m, "peak_bytes");
}

static void give(struct sp_stacks *s, uint32_t p, bool deeper, const double *values, sp_stack_fn *f, void *arg)
{
	size_t n = s->depth[p];

	for (size_t i = n; i > 0; p = s->m->paths[p].parent)
		s->stack[--i] = p;
	f(arg, s->stack, n, deeper, values);
}

void sp_stacks_path(struct sp_stacks *s, uint32_t p, const double *values, sp_stack_fn *f, void *arg)
{
	const uint32_t shown = s->shown[p];
	double *deeper = s->deeper + shown * s->width;
	bool some = false;

	for (size_t i = 0; i < s->width; i++)
		some |= values[i] > 0;
	if (!some)
		return;
	if (shown == p) {
		give(s, p, false, values, f, arg);
		return;
	}
	if (!s->waits[shown])
		s->touched[s->n_touched++] = shown;
	s->waits[shown] = true;
	for (size_t i = 0; i < s->width; i++)
		deeper[i] += values[i];
}

void sp_stacks_rest(struct sp_stacks *s, sp_stack_fn *f, void *arg)
{
	for (size_t i = 0; i < s->n_touched; i++) {
		uint32_t p = s->touched[i];
		double *deeper = s->deeper + p * s->width;
		give(s, p, true, deeper, f, arg);
		memset(deeper, 0, s->width * sizeof *deeper);
		s->waits[p] = false;
	}
	s->n_touched = 0;
}
