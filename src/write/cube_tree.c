/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "write/cube_tree.h"

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
	mark_used(t);
	for (int side = 0; side < SP_CUBE_SIDES; side++)
		if (t->cnode[side][0] != SP_NONE)
			for (uint32_t p = 0; p != SP_NONE; p = sp_cube_next(t, side, p, NULL, NULL))
				t->cnode[side][p] = t->n_cnodes++;
	return 0;
}
