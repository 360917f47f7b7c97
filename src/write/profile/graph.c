/* SPDX-License-Identifier: BSD-3-Clause */
#include "write/profile/graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "model/model.h"
#include "model/path.h"
#include "model/str.h"
#include "write/common/out.h"

struct walk {
	struct sp_graph *g;
	const struct sp_model *m;
	const struct sp_graph_source *from;
	uint32_t *node_of;      /* for each region */
	uint32_t *edge_of;      /* for each path on the stack */
	struct sp_intern pairs; /* table (caller, callee) -> edge */
	size_t capacity;        /* capacity of g->edges */
};

static uint32_t node_for(struct sp_intern *keys, struct sp_graph_key k)
{
	size_t n = sizeof k.line + sizeof k.file.n + k.file.n + k.name.n;
	char *bytes = malloc(n), *p = bytes;

	if (!bytes)
		return SP_INTERN_FAILED;
	memcpy(p, &k.line, sizeof k.line);
	p += sizeof k.line;
	memcpy(p, &k.file.n, sizeof k.file.n);
	p += sizeof k.file.n;
	if (k.file.n)
		memcpy(p, k.file.p, k.file.n);
	p += k.file.n;
	if (k.name.n)
		memcpy(p, k.name.p, k.name.n);
	uint32_t id = sp_intern(keys, bytes, n);
	free(bytes);
	return id;
}

static int make_nodes(struct walk *w)
{
	struct sp_graph *g = w->g;
	struct sp_intern keys = {.arena = &g->arena};

	g->nodes = sp_arena_zalloc(&g->arena, w->m->n_regions + 1, sizeof *g->nodes);
	w->node_of = sp_arena_zalloc(&g->arena, w->m->n_regions, sizeof *w->node_of);
	w->edge_of = sp_arena_zalloc(&g->arena, w->m->n_paths, sizeof *w->edge_of);
	int rc = g->nodes && w->node_of && w->edge_of ? 0 : -1;
	if (rc == 0)
		g->nodes[g->n_nodes++] = (struct sp_graph_node){.callers = SP_NONE, .callees = SP_NONE};
	for (size_t r = 0; rc == 0 && r < w->m->n_regions; r++) {
		struct sp_graph_key k = w->from->key(&w->m->regions[r]);
		uint32_t id = node_for(&keys, k);
		if (id == SP_INTERN_FAILED)
			rc = -1;
		else if (++id == g->n_nodes)
			g->nodes[g->n_nodes++] = (struct sp_graph_node){
			    .key = k, .region = (uint32_t)r, .callers = SP_NONE, .callees = SP_NONE};
		w->node_of[r] = id;
	}
	sp_intern_free(&keys);
	return rc;
}

/* Finds or adds the edge between two nodes; SP_NONE: no memory. */
static uint32_t edge_for(struct walk *w, uint32_t caller, uint32_t callee)
{
	struct sp_graph *g = w->g;
	uint32_t pair[2] = {caller, callee};
	uint32_t id = sp_intern(&w->pairs, (const char *)pair, sizeof pair);

	if (id == SP_INTERN_FAILED || id < g->n_edges)
		return id;
	if (g->n_edges == w->capacity) {
		size_t capacity = w->capacity ? 2 * w->capacity : 256;
		struct sp_graph_edge *edges = realloc(g->edges, capacity * sizeof *edges);
		if (!edges)
			return SP_NONE;
		g->edges = edges;
		w->capacity = capacity;
	}
	g->edges[id] = (struct sp_graph_edge){
	    .caller = caller,
	    .callee = callee,
	    .next_caller = g->nodes[callee].callers,
	    .next_callee = g->nodes[caller].callees,
	};
	g->nodes[callee].callers = id;
	g->nodes[caller].callees = id;
	g->n_edges++;
	return id;
}

static void add(struct sp_graph_sum *to, const struct sp_value *v, bool resumed, bool nested)
{
	uint64_t calls = v->visits + (resumed ? v->resumed : 0);

	to->calls += calls;
	to->own += v->excl;
	if (!nested) {
		to->primitive += calls;
		to->total += v->incl;
	}
}

static int enter(struct walk *w, uint32_t p)
{
	struct sp_graph *g = w->g;
	const struct sp_value *v = &w->from->values[p];
	const struct sp_path *path = &w->m->paths[p];
	struct sp_graph_node *n = &g->nodes[w->node_of[path->region]];
	const struct sp_path_split *split = w->from->splits ? &w->from->splits[p] : NULL;
	bool used = v->visits || v->resumed || v->incl > 0 || v->excl > 0;
	bool resumed = w->from->resumed && w->m->regions[path->region].generator;

	w->edge_of[p] = SP_NONE;
	n->seen |= used;
	bool outermost = n->open++ == 0;
	add(&n->sum, v, resumed, !outermost);
	if (split)
		sp_split_add(&n->sum.own_split, split->excl);
	if (!used)
		return 0;
	uint32_t caller = path->parent ? w->node_of[w->m->paths[path->parent].region] : 0;
	uint32_t id = edge_for(w, caller, w->node_of[path->region]);
	if (id == SP_NONE)
		return -1;
	w->edge_of[p] = id;
	g->nodes[caller].seen = true;
	add(&g->edges[id].sum, v, resumed, g->edges[id].open++ != 0);
	if (outermost)
		g->edges[id].outer += v->incl;
	if (outermost && split)
		sp_split_add(&g->edges[id].outer_split, split->incl);
	return 0;
}

static void leave(struct walk *w, uint32_t p)
{
	w->g->nodes[w->node_of[w->m->paths[p].region]].open--;
	if (w->edge_of[p] != SP_NONE)
		w->g->edges[w->edge_of[p]].open--;
}

static int walk_tree(struct walk *w, const struct sp_write_options *o, struct sp_err *e)
{
	const struct sp_path *paths = w->m->paths;
	uint32_t p = w->m->n_paths ? paths[0].first_child : SP_NONE;
	uint64_t done = 0;

	while (p != SP_NONE) {
		if (++done % 65536 == 0 && sp_write_tick(o, done, w->m->n_paths, e))
			return -1;
		if (enter(w, p))
			return sp_fail(e, ENOMEM, "out of memory");
		if (paths[p].first_child != SP_NONE) {
			p = paths[p].first_child;
			continue;
		}
		leave(w, p);
		while (paths[p].next_sibling == SP_NONE) {
			p = paths[p].parent;
			if (p == 0)
				return 0;
			leave(w, p);
		}
		p = paths[p].next_sibling;
	}
	return 0;
}

int sp_graph_open(struct sp_graph *g, const struct sp_model *m, const struct sp_graph_source *from,
                  const struct sp_write_options *o, struct sp_err *e)
{
	memset(g, 0, sizeof *g);
	struct walk w = {.g = g, .m = m, .from = from, .pairs.arena = &g->arena};
	int rc = make_nodes(&w) ? sp_fail(e, ENOMEM, "out of memory") : walk_tree(&w, o, e);

	sp_intern_free(&w.pairs);
	if (rc)
		sp_graph_close(g);
	return rc;
}

void sp_graph_close(struct sp_graph *g)
{
	free(g->edges);
	g->edges = NULL;
	sp_arena_free(&g->arena);
}
