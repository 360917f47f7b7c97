/* SPDX-License-Identifier: BSD-3-Clause */
/* Folds call paths with parameter values. */

#include <stdlib.h>
#include <string.h>

#include "model/builder/builder.h"
#include "model/builder/loading.h"
#include "model/builder/problem.h"
#include "model/builder/rows.h"
#include "model/builder/source.h"
#include "model/builder/steps.h"
#include "model/event.h"
#include "model/model.h"
#include "model/path.h"
#include "model/process.h"
#include "model/region.h"
#include "model/str.h"

static uint32_t kind_of(const struct sp_region *r)
{
	if (strcmp(r->module.p, "int") == 0)
		return SP_EVENT_PARAMETER_INT;
	return strcmp(r->module.p, "uint") == 0 ? SP_EVENT_PARAMETER_UINT : SP_EVENT_PARAMETER_STRING;
}

uint32_t sp_build_parameter(struct sp_builder *b, uint32_t region, uint32_t before)
{
	const uint32_t key[2] = {region, before};
	const struct sp_region *r = &b->m->regions[region];
	struct sp_parameter_value *v;
	uint32_t name, id = sp_intern(&b->parameter_values, (const char *)key, sizeof(key));
	size_t capacity;

	if (id == SP_INTERN_FAILED || id < b->m->n_parameter_values)
		return id;
	name = sp_intern(&b->parameters, r->qualname.p, r->qualname.n);
	if (name == SP_INTERN_FAILED)
		return SP_NONE;
	if (id >= b->priv->parameter_value_capacity) {
		capacity = b->priv->parameter_value_capacity * 2 + 64;
		v = realloc(b->priv->parameter_values, capacity * sizeof(*v));
		if (!v)
			return SP_NONE;
		b->m->parameter_values = b->priv->parameter_values = v;
		b->priv->parameter_value_capacity = capacity;
	}
	b->m->parameter_values[id] = (struct sp_parameter_value){name, kind_of(r), r->file, before};
	b->m->n_parameter_values++;
	return id;
}

/* Paths that become one path of the folded tree. All paths of a level are processed before the next level: if two paths
 * become one, equal paths below them do too. */
struct class
{
	uint64_t visits;    /* visits and resumptions */
	uint32_t into;      /* the class it is folded into, or itself */
	uint32_t before;    /* the class of the calls before the parameter was set; SP_NONE: no parameter */
	uint32_t followers; /* number of classes whose `before` this is */
	uint32_t parameter; /* of all classes that are folded into it */
	uint32_t first;     /* the first of its paths */
};

struct folding {
	struct sp_builder *b;
	struct sp_arena arena;
	struct sp_intern keys; /* table (class of the parent, region, parameter) -> class */
	struct class *classes; /* owned */
	uint64_t *visits;      /* owned, as the arrays below; for each path, over all locations */
	uint32_t *order;       /* paths sorted by depth */
	uint32_t *depth, *to;  /* depth: for each path its depth, then its new index; to: its class */
	bool any;
};

static int prepare(struct folding *f)
{
	const struct sp_model *m = f->b->m;
	const size_t n = m->n_paths;
	size_t i, *level;
	uint32_t deepest = 0;

	f->keys.arena = &f->arena;
	f->classes = calloc(n, sizeof(*f->classes));
	f->visits = calloc(n, sizeof(*f->visits));
	f->order = calloc(n, sizeof(*f->order));
	f->depth = calloc(n, sizeof(*f->depth));
	f->to = calloc(n, sizeof(*f->to));
	if (!f->classes || !f->visits || !f->order || !f->depth || !f->to)
		return -1;
	for (i = 0; i < n && f->b->merging; i++)
		f->visits[i] = f->b->visits[i];
	for (i = 0; i < m->n_values; i++)
		f->visits[m->values[i].path] += m->values[i].v.visits + m->values[i].v.resumed;
	for (i = 1; i < n; i++) {
		f->depth[i] = f->depth[m->paths[i].parent] + 1;
		if (f->depth[i] > deepest)
			deepest = f->depth[i];
	}
	level = calloc((size_t)deepest + 2, sizeof(*level));
	if (!level)
		return -1;
	for (i = 0; i < n; i++)
		level[f->depth[i] + 1]++;
	for (i = 0; i < deepest; i++)
		level[i + 1] += level[i];
	for (i = 0; i < n; i++)
		f->order[level[f->depth[i]]++] = (uint32_t)i;
	free(level);
	return 0;
}

static uint32_t class_of(struct folding *f, uint32_t parent, uint32_t region, uint32_t parameter)
{
	const uint32_t key[3] = {parent, region, parameter};

	return sp_intern(&f->keys, (const char *)key, sizeof(key));
}

static int classify(struct folding *f, uint32_t path)
{
	const struct sp_model *m = f->b->m;
	const struct sp_path *p = &m->paths[path];
	const size_t known = f->keys.n;
	uint32_t parent = path ? f->to[p->parent] : SP_NONE, id = class_of(f, parent, p->region, p->parameter);

	if (id == SP_INTERN_FAILED)
		return -1;
	f->to[path] = id;
	if (id == known) {
		struct class *c = &f->classes[id];

		*c = (struct class){.into = id, .before = SP_NONE, .parameter = p->parameter, .first = path};
		if (p->parameter != SP_NONE) {
			/* its id is smaller, as its path is older */
			c->before = class_of(f, parent, p->region, m->parameter_values[p->parameter].before);
			if (c->before >= id)
				return -1;
			f->classes[c->before].followers++;
		}
	}
	f->classes[id].visits += f->visits[path];
	return 0;
}

static void fold(struct folding *f, uint32_t id)
{
	struct class *c = &f->classes[id], *before;

	if (c->before == SP_NONE)
		return;
	before = &f->classes[c->before];
	if (before->followers != 1 || before->visits)
		return;
	c->into = before->into;
	f->classes[c->into].parameter = c->parameter;
	f->any = true;
}

static int classify_all(struct folding *f)
{
	const size_t n = f->b->m->n_paths;
	size_t i, k, first;
	uint32_t id, known = 0;

	for (first = 0; first < n; first = i) {
		for (i = first; i < n && f->depth[f->order[i]] == f->depth[f->order[first]]; i++)
			if (classify(f, f->order[i]))
				return -1;
		for (id = known, known = (uint32_t)f->keys.n; id < known; id++)
			fold(f, id);
		for (k = first; k < i; k++)
			f->to[f->order[k]] = f->classes[f->to[f->order[k]]].into;
	}
	return 0;
}

/* Renumbers the paths. A class gets the position of its first path, so that parents still come before their
 * children. */
static void renumber(struct folding *f)
{
	struct sp_model *m = f->b->m;
	uint32_t *index = f->depth;
	size_t i, n = 0;

	for (i = 0; i < m->n_paths; i++) {
		const struct class *c = &f->classes[f->to[i]];
		struct sp_path p = m->paths[i];

		if (c->first == i) {
			p.parameter = c->parameter;
			p.parent = i ? index[p.parent] : SP_NONE;
			m->paths[n] = p;
			index[i] = (uint32_t)n++;
		} else {
			index[i] = index[c->first];
		}
	}
	m->n_paths = n;
}

static int move_rows(struct folding *f)
{
	struct sp_builder *b = f->b;
	struct sp_row *rows = b->priv->rows;
	const size_t width = b->m->n_metrics;
	size_t i, k, r, at = 0;

	for (i = 0; i < b->n_loading; i++)
		for (k = 0; k < b->loading[i].process.locations; k++) {
			struct sp_location *l = &b->loading[i].locations[k];

			for (r = l->first_value; r < l->first_value + l->values; r++)
				rows[r].path = f->depth[rows[r].path];
			if (sp_rows_order(b, l->first_value, &l->values))
				return -1;
			if (l->values)
				memmove(rows + at, rows + l->first_value, l->values * sizeof(*rows));
			if (width && l->values)
				memmove(b->priv->row_metrics + at * width,
				        b->priv->row_metrics + l->first_value * width,
				        l->values * width * sizeof(*b->priv->row_metrics));
			l->first_value = at;
			at += l->values;
		}
	b->m->n_values = at;
	return 0;
}

int sp_build_fold(struct sp_builder *b, struct sp_err *e)
{
	struct folding f = {.b = b};
	const size_t before = b->m->n_paths;
	int rc = 0;

	if (b->m->n_parameter_values == 0)
		return 0;
	if (prepare(&f) || classify_all(&f))
		rc = -1;
	if (rc == 0 && f.any) {
		renumber(&f);
		if (b->merging) { /* its rows are renumbered when they are read back */
			b->folded = f.depth;
			f.depth = NULL;
		} else {
			rc = move_rows(&f);
			b->path_moves = f.depth; /* needed by the allocation sites */
			b->path_moved = before;
			f.depth = NULL;
		}
	}
	sp_intern_free(&f.keys);
	sp_arena_free(&f.arena);
	free(f.classes);
	free(f.visits);
	free(f.order);
	free(f.depth);
	free(f.to);
	return rc ? sp_model_no_memory(e) : 0;
}
