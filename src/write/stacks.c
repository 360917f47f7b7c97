/* SPDX-License-Identifier: BSD-3-Clause */
#include "write/stacks.h"

#include <errno.h>
#include <stdlib.h>

/* The greatest depth with which all stacks together have no more than SP_STACKS_FRAMES frames. */
static uint32_t limit_for(const struct sp_stacks *s)
{
	size_t deeper[SP_STACKS_DEPTH] = {0}; /* how many paths are deeper than the index */
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

int sp_stacks_open(struct sp_stacks *s, const struct sp_model *m, struct sp_err *e)
{
	size_t n = m->n_paths ? m->n_paths : 1;

	s->m = m;
	s->depth = calloc(n, sizeof *s->depth);
	s->shown = calloc(n, sizeof *s->shown);
	s->deeper = calloc(n, sizeof *s->deeper);
	s->touched = calloc(n, sizeof *s->touched);
	s->n_touched = 0;
	if (!s->depth || !s->shown || !s->deeper || !s->touched) {
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
	free(s->touched);
}

static void give(struct sp_stacks *s, uint32_t p, bool deeper, double excl, sp_stack_fn *f, void *arg)
{
	size_t n = s->depth[p];

	for (size_t i = n; i > 0; p = s->m->paths[p].parent)
		s->stack[--i] = p;
	f(arg, s->stack, n, deeper, excl);
}

void sp_stacks_path(struct sp_stacks *s, uint32_t p, double excl, sp_stack_fn *f, void *arg)
{
	uint32_t shown = s->shown[p];

	if (excl <= 0)
		return;
	if (shown == p) {
		give(s, p, false, excl, f, arg);
		return;
	}
	if (s->deeper[shown] == 0)
		s->touched[s->n_touched++] = shown;
	s->deeper[shown] += excl;
}

void sp_stacks_rest(struct sp_stacks *s, sp_stack_fn *f, void *arg)
{
	for (size_t i = 0; i < s->n_touched; i++) {
		uint32_t p = s->touched[i];
		give(s, p, true, s->deeper[p], f, arg);
		s->deeper[p] = 0;
	}
	s->n_touched = 0;
}
