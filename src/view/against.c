/* SPDX-License-Identifier: BSD-3-Clause */
#include "view/against.h"
#include "model/compare/table.h"
#include "model/model.h"
#include "model/path.h"
#include "model/process.h"
#include "model/region.h"
#include "model/str.h"

#include <errno.h>
#include <stdlib.h>

/* Copies each region and path from the first experiment that has it, and makes new lists of children. */
static int make_tree(struct sp_against *a, const struct sp_model *m)
{
	const struct sp_compare *c = &a->compare;
	struct sp_region *regions = sp_arena_alloc(&a->compare.arena, c->n_regions * sizeof(*regions));
	struct sp_path *paths = sp_arena_alloc(&a->compare.arena, c->n_paths * sizeof(*paths));
	uint32_t i;

	if (!regions || !paths)
		return -1;
	for (i = 0; i < c->n_regions; i++)
		regions[i] = *sp_compare_name(c, i);
	for (i = 0; i < c->n_paths; i++) {
		const struct sp_compare_path *p = &c->paths[i];
		uint32_t value = c->models[p->model]->paths[p->path].parameter;

		if (p->model && value != SP_NONE)
			value += (uint32_t)m->n_parameter_values;
		paths[i] = (struct sp_path){p->parent, p->region, value, SP_NONE, SP_NONE};
	}
	for (i = (uint32_t)c->n_paths; i-- > 1;) {
		paths[i].next_sibling = paths[paths[i].parent].first_child;
		paths[paths[i].parent].first_child = i;
	}
	a->all.regions = regions;
	a->all.n_regions = c->n_regions;
	a->all.paths = paths;
	a->all.n_paths = c->n_paths;
	return 0;
}

/* The parameter values of m, followed by those of the base. */
static int make_parameters(struct sp_against *a, const struct sp_model *m)
{
	const struct sp_model *b = a->base;
	const size_t n = m->n_parameters + b->n_parameters, values = m->n_parameter_values + b->n_parameter_values;
	struct sp_str *names = sp_arena_alloc(&a->compare.arena, n * sizeof(*names));
	struct sp_parameter_value *v = sp_arena_alloc(&a->compare.arena, values * sizeof(*v));
	size_t i;

	if (!names || !v)
		return -1;
	for (i = 0; i < n; i++)
		names[i] = i < m->n_parameters ? m->parameters[i] : b->parameters[i - m->n_parameters];
	for (i = 0; i < values; i++) {
		if (i < m->n_parameter_values) {
			v[i] = m->parameter_values[i];
			continue;
		}
		v[i] = b->parameter_values[i - m->n_parameter_values];
		v[i].parameter += (uint32_t)m->n_parameters;
		if (v[i].before != SP_NONE)
			v[i].before += (uint32_t)m->n_parameter_values;
	}
	a->all.parameters = names;
	a->all.n_parameters = n;
	a->all.parameter_values = v;
	a->all.n_parameter_values = values;
	return 0;
}

int sp_against_open(struct sp_against **out, const struct sp_model *m, const struct sp_model *base, struct sp_err *e)
{
	const struct sp_model *both[2] = {m, base};
	struct sp_against *a = calloc(1, sizeof(*a));

	*out = NULL;
	if (!a)
		return sp_fail(e, ENOMEM, "not enough memory");
	a->base = base;
	if (sp_compare_open(&a->compare, both, 2, e)) {
		sp_against_close(a);
		return -1;
	}
	a->without_preempted = sp_compare_without_preempted(&a->compare);
	if (make_tree(a, m) || make_parameters(a, m)) {
		sp_against_close(a);
		return sp_fail(e, ENOMEM, "not enough memory");
	}
	*out = a;
	return 0;
}

void sp_against_close(struct sp_against *a)
{
	if (!a)
		return;
	sp_compare_close(&a->compare);
	free(a);
}

/* The position of a process among those without MPI. */
static uint32_t place(const struct sp_model *m, uint32_t process)
{
	uint32_t i, n = 0;

	for (i = 0; i < process; i++)
		n += m->processes[i].rank == SP_NONE;
	return n;
}

static uint32_t same_process(const struct sp_model *base, const struct sp_model *m, uint32_t process)
{
	const struct sp_process *p = &m->processes[process], *q;
	uint32_t left = p->rank == SP_NONE ? place(m, process) : 0, i;

	for (i = 0; i < base->n_processes; i++) {
		q = &base->processes[i];
		if (q->rank != p->rank || (p->rank != SP_NONE && q->world_index != p->world_index))
			continue;
		if (left-- == 0)
			return i;
	}
	return SP_NONE;
}

bool sp_against_selection(const struct sp_against *a, const struct sp_model *m, uint32_t *process, uint32_t *location)
{
	uint32_t own, of, k;

	if (*process != SP_NONE) {
		*process = same_process(a->base, m, *process);
		if (*process == SP_NONE)
			return false;
	}
	if (*location == SP_NONE)
		return true;
	own = m->locations[*location].process;
	of = same_process(a->base, m, own);
	k = *location - m->processes[own].first_location;
	if (of == SP_NONE || k >= a->base->processes[of].locations)
		return false;
	*location = a->base->processes[of].first_location + k;
	return true;
}
