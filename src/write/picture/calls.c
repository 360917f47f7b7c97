/* SPDX-License-Identifier: BSD-3-Clause */
#include "write/picture/calls.h"
#include "model/model.h"
#include "model/region.h"
#include "model/str.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static struct sp_graph_key key_of(const struct sp_region *r)
{
	return (struct sp_graph_key){r->file, r->name, r->line};
}

struct sorted {
	double total;
	uint32_t node;
};

static int by_total(const void *a, const void *b)
{
	const struct sorted *p = a, *q = b;

	if (p->total != q->total)
		return p->total > q->total ? -1 : 1;
	return p->node < q->node ? -1 : p->node > q->node;
}

bool sp_calls_drawn(const struct sp_calls *c, const struct sp_graph_edge *edge)
{
	return c->drawn[edge->caller] && c->drawn[edge->callee] && edge->sum.total >= c->o->edge_share * c->total;
}

static int choose_nodes(struct sp_calls *c, struct sp_err *e)
{
	struct sorted *all = malloc((c->g.n_nodes + 1) * sizeof(*all));
	size_t n = 0;

	if (!all)
		return sp_fail(e, ENOMEM, "out of memory");
	for (uint32_t i = 1; i < c->g.n_nodes; i++)
		if (c->g.nodes[i].sum.calls || c->g.nodes[i].sum.total > 0)
			all[n++] = (struct sorted){c->g.nodes[i].sum.total, i};
	qsort(all, n, sizeof(*all), by_total);
	for (size_t i = 0; i < n; i++) {
		if (all[i].total < c->o->node_share * c->total || (c->o->limit && i >= c->o->limit))
			break;
		c->order[c->done.nodes++] = all[i].node;
		c->drawn[all[i].node] = true;
	}
	c->done.hidden_nodes = n - c->done.nodes;
	free(all);
	return c->done.nodes ? 0 : sp_fail(e, 0, "no function has %g %% of the time or more", c->o->node_share * 100);
}

static void choose_edges(struct sp_calls *c)
{
	for (size_t i = 0; i < c->g.n_edges; i++) {
		const struct sp_graph_edge *edge = &c->g.edges[i];

		if (!sp_calls_drawn(c, edge)) {
			c->done.hidden_edges += edge->caller != 0;
			continue;
		}
		c->done.edges++;
		if (edge->caller != edge->callee) {
			c->exits[edge->caller]++;
			c->in[edge->callee]++;
		}
	}
}

/* Chooses the modules of the program with at least two drawn functions. */
static int choose_clusters(struct sp_calls *c, struct sp_err *e)
{
	uint32_t *members = calloc(c->done.nodes + 1, sizeof(*members));

	if (!members)
		return sp_fail(e, ENOMEM, "out of memory");
	for (size_t i = 0; i < c->done.nodes; i++) {
		const struct sp_region *r = &c->m->regions[c->g.nodes[c->order[i]].region];
		uint32_t id = SP_NONE;

		if (sp_region_is_own(r) &&
		    (id = sp_intern(&c->modules, r->module.p, r->module.n)) == SP_INTERN_FAILED) {
			free(members);
			return sp_fail(e, ENOMEM, "out of memory");
		}
		c->cluster[c->order[i]] = id;
		if (id != SP_NONE)
			members[id]++;
	}
	for (size_t i = 0; i < c->done.nodes; i++)
		if (c->cluster[c->order[i]] != SP_NONE && members[c->cluster[c->order[i]]] < 2)
			c->cluster[c->order[i]] = SP_NONE;
	free(members);
	return 0;
}

static bool leaf(const struct sp_calls *c, const struct sp_graph_edge *edge)
{
	return !c->exits[edge->callee] && c->in[edge->callee] == 1;
}

bool sp_calls_moves(const struct sp_calls *c, const struct sp_calls_rows *r, const struct sp_graph_edge *edge)
{
	return r->rows > 1 && edge->callee != edge->caller && (r->all || leaf(c, edge));
}

struct sp_calls_rows sp_calls_rows(const struct sp_calls *c, uint32_t caller)
{
	uint32_t leaves = 0, all = 0, rows;

	for (uint32_t i = c->g.nodes[caller].callees; i != SP_NONE; i = c->g.edges[i].next_callee) {
		const struct sp_graph_edge *edge = &c->g.edges[i];

		if (!sp_calls_drawn(c, edge) || edge->callee == caller)
			continue;
		leaves += leaf(c, edge);
		all++;
	}
	bool wide = all - leaves > SP_CALLS_ABREAST;
	rows =
	    wide ? (all + SP_CALLS_ABREAST - 1) / SP_CALLS_ABREAST : (leaves + SP_CALLS_LEAVES - 1) / SP_CALLS_LEAVES;
	return (struct sp_calls_rows){rows > SP_CALLS_ROWS ? SP_CALLS_ROWS : rows, wide};
}

void sp_calls_share(const struct sp_calls *c, char out[SP_SHARE_TEXT], double part)
{
	double percent = 100 * part / c->total;

	snprintf(out, SP_SHARE_TEXT, percent > 0 && percent < 0.05 ? "%.2f%%" : "%.1f%%", percent);
}

static int allocate(struct sp_calls *c, struct sp_err *e)
{
	size_t n = c->g.n_nodes + 1;

	c->order = calloc(n, sizeof(*c->order));
	c->drawn = calloc(n, sizeof(*c->drawn));
	c->cluster = calloc(n, sizeof(*c->cluster));
	c->in = calloc(n, sizeof(*c->in));
	c->exits = calloc(n, sizeof(*c->exits));
	return c->order && c->drawn && c->cluster && c->in && c->exits ? 0 : sp_fail(e, ENOMEM, "out of memory");
}

int sp_calls_open(struct sp_calls *c, const struct sp_model *m, const struct sp_dot_options *o, struct sp_err *e)
{
	const struct sp_write_options quiet = {.process = SP_NONE};

	*c = (struct sp_calls){.m = m, .o = o};
	c->modules.arena = &c->g.arena;
	if (sp_shown_open(&c->shown, m, &o->of, e) ||
	    sp_graph_open(&c->g, m, &(struct sp_graph_source){c->shown.values, NULL, false, key_of}, &quiet, e))
		return -1;
	c->total = c->shown.total;
	if (allocate(c, e) || choose_nodes(c, e))
		return -1;
	choose_edges(c);
	return choose_clusters(c, e);
}

void sp_calls_close(struct sp_calls *c)
{
	free(c->order);
	free(c->drawn);
	free(c->cluster);
	free(c->in);
	free(c->exits);
	sp_intern_free(&c->modules);
	sp_graph_close(&c->g);
	sp_shown_close(&c->shown);
}
