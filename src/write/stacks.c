/* SPDX-License-Identifier: BSD-3-Clause */
#include "write/stacks.h"

#include <errno.h>
#include <stdlib.h>

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
	for (uint32_t p = 1; p < m->n_paths; p++) {
		uint32_t parent = m->paths[p].parent;
		s->depth[p] = s->depth[parent] + 1;
		s->shown[p] = s->depth[p] > SP_STACKS_DEPTH ? s->shown[parent] : p;
	}
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
		s->stack[--i] = s->m->paths[p].region;
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
