/* SPDX-License-Identifier: BSD-3-Clause */
/* Callers and callees. */
#include "model/report/report.h"

#include <stdlib.h>

#include "model/builder/problem.h"
#include "model/model.h"
#include "model/report/walk.h"
#include "model/str.h"

struct edges {
	const struct sp_view *v;
	bool *wanted;          /* owned; for each region */
	struct sp_edge *edges; /* owned */
	uint32_t *open;        /* owned; for each edge: how often it is on the current path */
	size_t n, capacity;
	uint32_t *slots; /* owned; hash table: edge + 1; 0: empty */
	size_t mask;
	bool failed;
	struct sp_path_split *splits; /* owned; NULL: times are not split */
};

static size_t slot_of(const struct edges *d, uint32_t caller, uint32_t callee)
{
	size_t i = (((uint64_t)caller << 32 | callee) * UINT64_C(0x9e3779b97f4a7c15) >> 24) & d->mask;

	for (; d->slots[i]; i = (i + 1) & d->mask)
		if (d->edges[d->slots[i] - 1].caller == caller && d->edges[d->slots[i] - 1].callee == callee)
			break;
	return i;
}

static int grow(struct edges *d)
{
	size_t capacity = d->capacity ? d->capacity * 2 : 256, i;
	struct sp_edge *edges = realloc(d->edges, capacity * sizeof(*edges));
	uint32_t *open, *slots;

	if (!edges)
		return -1;
	d->edges = edges;
	open = realloc(d->open, capacity * sizeof(*open));
	if (!open)
		return -1;
	d->open = open;
	slots = calloc(capacity * 2, sizeof(*slots));
	if (!slots)
		return -1;
	free(d->slots);
	d->slots = slots;
	d->mask = capacity * 2 - 1;
	d->capacity = capacity;
	for (i = 0; i < d->n; i++)
		slots[slot_of(d, edges[i].caller, edges[i].callee)] = (uint32_t)i + 1;
	return 0;
}

/* The edge that ends with a path; SP_NONE if it is not wanted. */
static uint32_t edge_of(struct edges *d, uint32_t path)
{
	const struct sp_model *m = d->v->m;
	uint32_t callee = m->paths[path].region, caller = m->paths[m->paths[path].parent].region;
	size_t slot;

	if (d->failed || (!d->wanted[callee] && !d->wanted[caller]))
		return SP_NONE;
	if (d->n == d->capacity && grow(d)) {
		d->failed = true;
		return SP_NONE;
	}
	slot = slot_of(d, caller, callee);
	if (!d->slots[slot]) {
		d->edges[d->n] = (struct sp_edge){.caller = caller, .callee = callee};
		d->open[d->n] = 0;
		d->slots[slot] = (uint32_t)++d->n;
	}
	return d->slots[slot] - 1;
}

static void enter(void *arg, uint32_t path)
{
	struct edges *d = arg;
	uint32_t e = edge_of(d, path);

	if (e == SP_NONE)
		return;
	if (d->open[e]++ == 0) {
		const double incl = d->v->values[path].incl;

		d->edges[e].n.v.incl += incl;
		sp_split_add(&d->edges[e].n.below, d->splits ? d->splits[path].incl : (struct sp_split){incl, 0});
	}
	sp_numbers_add(&d->edges[e].n, &d->v->values[path], d->v->each[path]);
	sp_off_cpu_add(&d->edges[e].n.off, sp_view_off_cpu(d->v, path));
}

static void leave(void *arg, uint32_t path)
{
	struct edges *d = arg;
	uint32_t e = edge_of(d, path);

	if (e != SP_NONE)
		d->open[e]--;
}

static int compare(const void *a, const void *b)
{
	const struct sp_edge *p = a, *q = b;

	if (p->n.v.incl != q->n.v.incl)
		return p->n.v.incl > q->n.v.incl ? -1 : 1;
	if (p->caller != q->caller)
		return p->caller < q->caller ? -1 : 1;
	return p->callee < q->callee ? -1 : p->callee > q->callee;
}

int sp_report_edges(const struct sp_view *v, const char *match, struct sp_edge **edges, size_t *n, struct sp_err *e)
{
	struct edges d = {.v = v};
	size_t i, k = 0;

	*edges = NULL;
	if (sp_view_split(v, &d.splits, e))
		return -1;
	d.wanted = calloc(v->m->n_regions, sizeof(*d.wanted));
	if (!d.wanted) {
		free(d.splits);
		return sp_model_no_memory(e);
	}
	for (i = 1; i < v->m->n_regions; i++)
		d.wanted[i] = sp_region_matches(&v->m->regions[i], match);
	if (grow(&d))
		d.failed = true;
	sp_paths_walk(v->m, enter, leave, &d);
	free(d.splits);
	free(d.wanted);
	free(d.open);
	free(d.slots);
	if (d.failed) {
		free(d.edges);
		return sp_model_no_memory(e);
	}
	for (i = 0; i < d.n; i++) /* skip edges that are only in paths of other processes */
		if (d.edges[i].n.v.visits + d.edges[i].n.v.resumed || d.edges[i].n.v.incl > 0)
			d.edges[k++] = d.edges[i];
	qsort(d.edges, k, sizeof(*d.edges), compare);
	*edges = d.edges;
	*n = k;
	return 0;
}
