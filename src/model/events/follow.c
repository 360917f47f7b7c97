/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/events/follow.h"
#include "model/event.h"
#include "model/model.h"
#include "model/path.h"
#include "model/region.h"
#include "model/str.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t mix(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t h = (a << 32 ^ b) * UINT64_C(0x9e3779b97f4a7c15);

	h = (h ^ h >> 29 ^ c) * UINT64_C(0xbf58476d1ce4e5b9);
	return (size_t)(h ^ h >> 32);
}

static size_t exact_slot(const struct sp_path_index *x, uint32_t parent, uint32_t region, uint32_t parameter)
{
	const struct sp_path *p = x->m->paths;
	size_t i = mix(parent, region, parameter) & x->mask;

	for (; x->exact[i]; i = (i + 1) & x->mask)
		if (p[x->exact[i]].parent == parent && p[x->exact[i]].region == region &&
		    p[x->exact[i]].parameter == parameter)
			break;
	return i;
}

static size_t any_slot(const struct sp_path_index *x, uint32_t parent, uint32_t region)
{
	const struct sp_path *p = x->m->paths;
	size_t i = mix(parent, region, 0) & x->mask;

	for (; x->any[i]; i = (i + 1) & x->mask)
		if (p[x->any[i]].parent == parent && p[x->any[i]].region == region)
			break;
	return i;
}

static size_t hash_text(struct sp_str s)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);
	size_t i;

	for (i = 0; i < s.n; i++)
		h = (h ^ (unsigned char)s.p[i]) * UINT64_C(0x100000001b3);
	return (size_t)h;
}

static size_t value_slot(const struct sp_path_index *x, const struct sp_parameter_value *v)
{
	const struct sp_parameter_value *all = x->m->parameter_values, *w;
	size_t i = mix(v->parameter, v->before, hash_text(v->text) + v->kind) & x->value_mask;

	for (; x->values[i]; i = (i + 1) & x->value_mask) {
		w = &all[x->values[i] - 1];
		if (w->parameter == v->parameter && w->before == v->before && w->kind == v->kind &&
		    w->text.n == v->text.n && memcmp(w->text.p, v->text.p, v->text.n) == 0)
			break;
	}
	return i;
}

static size_t capacity_for(size_t n)
{
	size_t capacity = 64;

	while (capacity < n * 2)
		capacity *= 2;
	return capacity;
}

int sp_path_index_init(struct sp_path_index *x, const struct sp_model *m)
{
	size_t capacity = capacity_for(m->n_paths), values = capacity_for(m->n_parameter_values), slot;
	uint32_t i;

	*x = (struct sp_path_index){.m = m, .mask = capacity - 1, .value_mask = values - 1, .collapsed = SP_NONE};
	x->exact = calloc(capacity, sizeof(*x->exact));
	x->any = calloc(capacity, sizeof(*x->any));
	x->values = calloc(values, sizeof(*x->values));
	if (!x->exact || !x->any || !x->values)
		return -1;
	for (i = 1; i < m->n_paths; i++) {
		const struct sp_path *p = &m->paths[i];

		x->exact[exact_slot(x, p->parent, p->region, p->parameter)] = i;
		slot = any_slot(x, p->parent, p->region);
		if (!x->any[slot])
			x->any[slot] = i;
	}
	for (i = 0; i < m->n_parameter_values; i++)
		x->values[value_slot(x, &m->parameter_values[i])] = i + 1;
	for (i = 1; i < m->n_regions; i++)
		if (m->regions[i].kind == SP_REGION_COLLAPSED)
			x->collapsed = i;
	return 0;
}

void sp_path_index_free(struct sp_path_index *x)
{
	free(x->exact);
	free(x->any);
	free(x->values);
}

uint32_t sp_path_below(const struct sp_path_index *x, uint32_t parent, uint32_t region)
{
	uint32_t path = x->exact[exact_slot(x, parent, region, SP_NONE)];

	if (!path)
		path = x->any[any_slot(x, parent, region)];
	if (!path && x->collapsed != SP_NONE)
		path = x->any[any_slot(x, parent, x->collapsed)];
	return path ? path : parent;
}

int sp_follow_init(struct sp_follow *f, const struct sp_path_index *x)
{
	*f = (struct sp_follow){.x = x, .depth = 1, .capacity = 64};
	f->stack = malloc(f->capacity * sizeof(*f->stack));
	if (!f->stack)
		return -1;
	f->stack[0] = (struct sp_followed){0, SP_NONE};
	return 0;
}

void sp_follow_free(struct sp_follow *f)
{
	free(f->stack);
}

static int push(struct sp_follow *f, uint32_t region)
{
	struct sp_followed *larger;

	if (f->depth == f->capacity) {
		larger = realloc(f->stack, f->capacity * 2 * sizeof(*larger));
		if (!larger)
			return -1;
		f->stack = larger;
		f->capacity *= 2;
	}
	f->stack[f->depth] = (struct sp_followed){sp_path_below(f->x, sp_follow_path(f), region), SP_NONE};
	f->depth++;
	return 0;
}

uint32_t sp_path_with(const struct sp_path_index *x, uint32_t path, uint32_t *parameter, const struct sp_event *ev)
{
	const struct sp_model *m = x->m;
	const struct sp_path *p = &m->paths[path];
	struct sp_parameter_value v = {.parameter = ev->id, .kind = ev->kind, .before = *parameter};
	char digits[32];
	uint32_t is;

	if (ev->kind == SP_EVENT_PARAMETER_STRING) {
		v.text = m->strings[ev->u.string];
	} else {
		if (ev->kind == SP_EVENT_PARAMETER_INT)
			v.text.n = (size_t)snprintf(digits, sizeof(digits), "%" PRId64, ev->u.sint);
		else
			v.text.n = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, ev->u.uint);
		v.text.p = digits;
	}
	*parameter = x->values[value_slot(x, &v)] - 1; /* SP_NONE if the value is in no path */
	if (*parameter == SP_NONE)
		return path;
	is = x->exact[exact_slot(x, p->parent, p->region, *parameter)];
	return is ? is : path;
}

/* The innermost call has the event's parameter value from now on. */
static void set_parameter(struct sp_follow *f, const struct sp_event *ev)
{
	struct sp_followed *top = &f->stack[f->depth - 1];

	top->path = sp_path_with(f->x, top->path, &top->parameter, ev);
}

int sp_follow_event(struct sp_follow *f, const struct sp_event *ev)
{
	switch (ev->kind) {
	case SP_EVENT_ENTER:
	case SP_EVENT_RESUME:
	case SP_EVENT_INHERIT:
		return push(f, ev->id);
	case SP_EVENT_LEAVE:
	case SP_EVENT_SUSPEND:
		if (f->depth > 1)
			f->depth--;
		return 0;
	case SP_EVENT_PARAMETER_INT:
	case SP_EVENT_PARAMETER_UINT:
	case SP_EVENT_PARAMETER_STRING:
		if (f->depth > 1)
			set_parameter(f, ev);
	}
	return 0;
}
