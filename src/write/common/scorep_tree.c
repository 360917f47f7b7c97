/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "write/common/scorep_tree.h"
#include "model/model.h"
#include "model/path.h"
#include "model/process.h"
#include "model/str.h"

int sp_cube_side(const struct sp_model *m, uint32_t location)
{
	const struct sp_location *l = &m->locations[location];

	return location == m->processes[l->process].first_location ? SP_CUBE_PROGRAM : SP_CUBE_THREADS;
}

uint32_t sp_cube_below(const struct sp_cube_tree *t, int side, uint32_t path)
{
	while (path != SP_NONE && t->cnode[side][path] == SP_NONE)
		path = t->m->paths[path].next_sibling;
	return path;
}

uint32_t sp_cube_next(const struct sp_cube_tree *t, int side, uint32_t path, sp_cube_leave_fn *leave, void *arg)
{
	const struct sp_path *paths = t->m->paths;
	uint32_t next = sp_cube_below(t, side, paths[path].first_child);

	if (next != SP_NONE)
		return next;
	for (; path != SP_NONE; path = paths[path].parent) {
		if (leave)
			leave(arg, side, path);
		next = path == 0 ? SP_NONE : sp_cube_below(t, side, paths[path].next_sibling);
		if (next != SP_NONE)
			return next;
	}
	return SP_NONE;
}

/* ---- time before a parameter is set ---- */

/* The paths that may have no cnode, and paths below the same parent that differ only by parameters. */
struct early {
	uint32_t parent, region, parameter, path;
};

static int by_place(const void *x, const void *y)
{
	const struct early *a = x, *b = y;

	if (a->parent != b->parent)
		return a->parent < b->parent ? -1 : 1;
	if (a->region != b->region)
		return a->region < b->region ? -1 : 1;
	return a->parameter < b->parameter ? -1 : a->parameter > b->parameter;
}

static int by_path(const void *x, const void *y)
{
	const struct sp_cube_share *a = x, *b = y;

	if (a->path != b->path)
		return a->path < b->path ? -1 : 1;
	return a->follower < b->follower ? -1 : a->follower > b->follower;
}

static int add_share(struct sp_cube_tree *t, size_t *capacity, uint32_t path, uint32_t follower)
{
	if (t->n_shares == *capacity) {
		*capacity = 2 * *capacity + 64;
		struct sp_cube_share *grown = realloc(t->shares, *capacity * sizeof *grown);
		if (!grown)
			return -1;
		t->shares = grown;
	}
	t->shares[t->n_shares++] = (struct sp_cube_share){path, follower};
	return 0;
}

/* Adds the path as a follower of all early paths whose calls continued in it after further parameters were set. */
static int follow(struct sp_cube_tree *t, size_t *capacity, const struct early *early, size_t n, uint32_t path)
{
	const struct sp_path *p = &t->m->paths[path];

	for (uint32_t i = p->parameter; i != SP_NONE; i = t->m->parameter_values[i].before) {
		const struct early key = {p->parent, p->region, t->m->parameter_values[i].before, 0};
		const struct early *found = bsearch(&key, early, n, sizeof key, by_place);
		if (found && add_share(t, capacity, found->path, path))
			return -1;
	}
	return 0;
}

static int find_shares(struct sp_cube_tree *t, const struct sp_value *totals)
{
	const struct sp_model *m = t->m;
	size_t n = 0, capacity = 0;

	if (!m->n_parameter_values)
		return 0;
	struct early *early = malloc(m->n_paths * sizeof *early);
	if (!early)
		return -1;
	for (uint32_t p = 1; p < m->n_paths; p++)
		if (!totals[p].visits && !totals[p].resumed && m->paths[p].first_child == SP_NONE)
			early[n++] = (struct early){m->paths[p].parent, m->paths[p].region, m->paths[p].parameter, p};
	qsort(early, n, sizeof *early, by_place);
	int rc = 0;
	for (uint32_t p = 1; p < m->n_paths && rc == 0; p++)
		if (totals[p].visits || totals[p].resumed)
			rc = follow(t, &capacity, early, n, p);
	free(early);
	if (t->n_shares)
		qsort(t->shares, t->n_shares, sizeof *t->shares, by_path);
	return rc;
}

const struct sp_cube_share *sp_cube_shares(const struct sp_cube_tree *t, uint32_t path, size_t *n)
{
	size_t begin = 0, end = t->n_shares;

	while (begin < end) {
		size_t middle = begin + (end - begin) / 2;
		if (t->shares[middle].path < path)
			begin = middle + 1;
		else
			end = middle;
	}
	for (*n = 0; begin + *n < t->n_shares && t->shares[begin + *n].path == path;)
		(*n)++;
	return t->shares + begin;
}

void sp_cube_tree_free(struct sp_cube_tree *t)
{
	free(t->shares);
	t->shares = NULL;
	t->n_shares = 0;
}

/* ---- cnodes ---- */

static void mark_used(struct sp_cube_tree *t)
{
	const struct sp_model *m = t->m;

	for (uint32_t l = t->first; l < t->end; l++) {
		const struct sp_location *location = &m->locations[l];
		uint32_t *used = t->cnode[sp_cube_side(m, l)];
		for (size_t i = 0; i < location->values; i++)
			if (m->values[location->first_value + i].path)
				used[m->values[location->first_value + i].path] = 0;
	}
	for (int side = 0; side < SP_CUBE_SIDES; side++)
		for (size_t i = 0; i < t->n_shares; i++)
			t->cnode[side][t->shares[i].path] = SP_NONE;
	for (int side = 0; side < SP_CUBE_SIDES; side++)
		for (size_t p = m->n_paths; p-- > 1;)
			if (t->cnode[side][p] == 0)
				t->cnode[side][m->paths[p].parent] = 0;
	t->cnode[SP_CUBE_PROGRAM][0] = 0;
}

int sp_cube_tree(struct sp_cube_tree *t, const struct sp_model *m, const struct sp_pick *k, struct sp_arena *arena,
                 struct sp_err *e)
{
	*t = (struct sp_cube_tree){.m = m, .first = k->first, .end = k->end};
	for (int side = 0; side < SP_CUBE_SIDES; side++) {
		t->cnode[side] = sp_arena_alloc(arena, m->n_paths * sizeof **t->cnode);
		if (!t->cnode[side])
			return sp_fail(e, ENOMEM, "out of memory");
		memset(t->cnode[side], 0xff, m->n_paths * sizeof **t->cnode);
	}
	if (find_shares(t, k->totals))
		return sp_fail(e, ENOMEM, "out of memory");
	mark_used(t);
	for (int side = 0; side < SP_CUBE_SIDES; side++)
		for (size_t p = 0; p < m->n_paths; p++)
			if (t->cnode[side][p] == 0)
				t->cnode[side][p] = t->n_cnodes++;
	return 0;
}

void sp_cube_depth_first(struct sp_cube_tree *t)
{
	t->n_cnodes = 0;
	for (int side = 0; side < SP_CUBE_SIDES; side++)
		if (t->cnode[side][0] != SP_NONE)
			for (uint32_t p = 0; p != SP_NONE; p = sp_cube_next(t, side, p, NULL, NULL))
				t->cnode[side][p] = t->n_cnodes++;
}
