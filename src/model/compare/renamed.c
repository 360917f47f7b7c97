/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds modules that have another name in the other experiment. Two modules without a counterpart are the same if at
 * least half of the functions of the larger one are in both, by their qualified names. Names such as <module> and
 * <lambda>, which any module may have, do not count. */
#include "model/compare/private.h"

#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "model/model.h"
#include "model/region.h"
#include "model/str.h"

/* A name in more modules is ignored: it does not identify a module, and the number of pairs grows with the square. */
enum { MAX_MODULES = 32 };

struct side {
	uint32_t *module;    /* owned; module of each candidate; SP_NONE: the candidate does not count */
	uint32_t *size;      /* owned; for each module: number of functions that count */
	bool *matched;       /* owned; for each module: it has a counterpart already */
	struct sp_str *name; /* owned */
	struct sp_intern modules;
};

struct common {
	uint32_t there, here, n;
};

static bool counts(const struct sp_region *r)
{
	return r->module.n && r->qualname.n && r->qualname.p[0] != '<';
}

static uint32_t module_of(struct side *s, const struct sp_region *r)
{
	uint32_t id = sp_intern(&s->modules, r->module.p ? r->module.p : "", r->module.n);

	if (id != SP_INTERN_FAILED)
		s->name[id] = r->module;
	return id;
}

static int side_open(struct side *s, struct sp_arena *arena, const struct sp_candidate *c, size_t n, size_t regions)
{
	size_t i;

	s->modules.arena = arena;
	s->module = calloc(n + 1, sizeof(*s->module));
	s->size = calloc(regions + 1, sizeof(*s->size));
	s->matched = calloc(regions + 1, sizeof(*s->matched));
	s->name = calloc(regions + 1, sizeof(*s->name));
	if (!s->module || !s->size || !s->matched || !s->name)
		return -1;
	for (i = 0; i < n; i++) {
		s->module[i] = c[i].r->module.n ? module_of(s, c[i].r) : SP_NONE;
		if (c[i].r->module.n && s->module[i] == SP_INTERN_FAILED)
			return -1;
		if (counts(c[i].r))
			s->size[s->module[i]]++;
	}
	return 0;
}

static void side_close(struct side *s)
{
	free(s->module);
	free(s->size);
	free(s->matched);
	free(s->name);
	sp_intern_free(&s->modules);
}

/* Modules are not renamed if one of their functions has a counterpart by name. */
static int mark_matched(struct sp_joining *j, struct side *there, struct side *here)
{
	const struct sp_model *m = j->c->models[j->model];
	uint32_t i, of, a, b;

	for (i = 1; i < m->n_regions; i++) {
		of = j->c->region_of[j->model][i];
		if (of == SP_NONE || !m->regions[i].module.n)
			continue;
		a = module_of(there, sp_compare_name(j->c, of));
		b = module_of(here, &m->regions[i]);
		if (a == SP_INTERN_FAILED || b == SP_INTERN_FAILED)
			return -1;
		there->matched[a] = here->matched[b] = true;
	}
	return 0;
}

struct work {
	struct sp_arena arena;
	struct side there, here;
	struct sp_intern names, pairs;
	/* owned; list of the candidates in the union with each qualified name, index plus 1 */
	uint32_t *first, *next;
	struct common *common; /* owned; one for each of `pairs` */
	size_t capacity;
};

static int name_all(struct sp_joining *j, struct work *w)
{
	size_t i;

	w->first = calloc(j->n_there + 1, sizeof(*w->first));
	w->next = calloc(j->n_there + 1, sizeof(*w->next));
	if (!w->first || !w->next)
		return -1;
	for (i = j->n_there; i > 0; i--) {
		const struct sp_region *r = j->there[i - 1].r;
		uint32_t k;

		if (!r->module.n || !r->qualname.n || w->there.matched[w->there.module[i - 1]])
			continue;
		k = sp_intern(&w->names, r->qualname.p, r->qualname.n);
		if (k == SP_INTERN_FAILED)
			return -1;
		w->next[i] = w->first[k];
		w->first[k] = (uint32_t)i;
	}
	return 0;
}

static int add_common(struct work *w, uint32_t there, uint32_t here)
{
	const uint32_t key[2] = {there, here};
	size_t before = w->pairs.n;
	uint32_t id = sp_intern(&w->pairs, (const char *)key, sizeof(key));
	struct common *larger;

	if (id == SP_INTERN_FAILED)
		return -1;
	if (id >= w->capacity) {
		w->capacity = w->capacity ? w->capacity * 2 : 64;
		larger = realloc(w->common, w->capacity * sizeof(*larger));
		if (!larger)
			return -1;
		w->common = larger;
	}
	if (id == before)
		w->common[id] = (struct common){there, here, 0};
	w->common[id].n++;
	return 0;
}

/* The first candidate in the union with the region's qualified name, index plus 1; 0: no such candidate. */
static uint32_t named(struct work *w, size_t names, const struct sp_region *r)
{
	uint32_t k = sp_intern(&w->names, r->qualname.p, r->qualname.n);

	return k < names ? w->first[k] : 0;
}

static int count_common(struct sp_joining *j, struct work *w, size_t names)
{
	size_t i;
	uint32_t at, n;

	for (i = 0; i < j->n_here; i++) {
		if (!counts(j->here[i].r) || w->here.matched[w->here.module[i]])
			continue;
		at = named(w, names, j->here[i].r);
		for (n = 0; at && n <= MAX_MODULES; at = w->next[at])
			n++;
		if (n > MAX_MODULES)
			continue;
		for (at = named(w, names, j->here[i].r); at; at = w->next[at])
			if (add_common(w, w->there.module[at - 1], w->here.module[i]))
				return -1;
	}
	return 0;
}

static int by_common(const void *a, const void *b)
{
	const struct common *p = a, *q = b;

	if (p->n != q->n)
		return p->n > q->n ? -1 : 1;
	if (p->there != q->there)
		return p->there < q->there ? -1 : 1;
	return p->here < q->here ? -1 : p->here > q->here;
}

static int join_modules(struct sp_joining *j, struct work *w, size_t names, const struct common *x)
{
	struct sp_compare *c = j->c;
	struct sp_compare_module *larger = sp_arena_zalloc(&c->arena, c->n_renamed + 1, sizeof(*larger));
	uint32_t regions = 0, at, *of = c->region_of[j->model];
	size_t i;

	if (!larger)
		return -1;
	for (i = 0; i < j->n_here; i++) {
		if (w->here.module[i] != x->here || of[j->here[i].id] != SP_NONE)
			continue;
		for (at = named(w, names, j->here[i].r); at; at = w->next[at])
			if (w->there.module[at - 1] == x->there && j->there[at - 1].r) {
				sp_compare_pair(j, j->there[at - 1].id, j->here[i].id);
				j->there[at - 1].r = NULL; /* has a counterpart now */
				regions++;
				break;
			}
	}
	if (c->n_renamed)
		memcpy(larger, c->renamed, c->n_renamed * sizeof(*larger));
	c->renamed = larger;
	c->renamed[c->n_renamed++] =
	    (struct sp_compare_module){w->there.name[x->there], w->here.name[x->here], j->model, regions};
	return 0;
}

static int choose(struct sp_joining *j, struct work *w, size_t names)
{
	size_t i;
	int rc = 0;

	if (w->pairs.n)
		qsort(w->common, w->pairs.n, sizeof(*w->common), by_common);
	for (i = 0; rc == 0 && i < w->pairs.n; i++) {
		const struct common *x = &w->common[i];
		uint32_t a = w->there.size[x->there], b = w->here.size[x->here];

		if (w->there.matched[x->there] || w->here.matched[x->here] || 2 * x->n < (a > b ? a : b))
			continue;
		w->there.matched[x->there] = w->here.matched[x->here] = true;
		rc = join_modules(j, w, names, x);
	}
	return rc;
}

int sp_compare_renamed(struct sp_joining *j)
{
	struct work w = {.capacity = 0};
	size_t here = j->c->models[j->model]->n_regions, names;
	int rc;

	if (!j->n_there || !j->n_here)
		return 0;
	w.names.arena = w.pairs.arena = &w.arena;
	rc = side_open(&w.there, &w.arena, j->there, j->n_there, j->c->n_regions) ||
	     side_open(&w.here, &w.arena, j->here, j->n_here, here) || mark_matched(j, &w.there, &w.here) ||
	     name_all(j, &w);
	names = w.names.n;
	if (rc == 0)
		rc = count_common(j, &w, names) || choose(j, &w, names);
	side_close(&w.there);
	side_close(&w.here);
	sp_intern_free(&w.names);
	sp_intern_free(&w.pairs);
	sp_arena_free(&w.arena);
	free(w.first);
	free(w.next);
	free(w.common);
	return rc ? -1 : 0;
}
