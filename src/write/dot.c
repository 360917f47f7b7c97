/* SPDX-License-Identifier: BSD-3-Clause */
/* The call graph in Graphviz's language: what takes part of the time, coloured by its share, the program's own modules
 * in boxes of their own. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/intern.h"
#include "write/graph.h"
#include "write/out.h"
#include "write/picture.h"

enum {
	NAME_CHARACTERS = 44, /* of a function's name: boxes that are wider make strips */
	TIP_CHARACTERS = 400, /* Graphviz reads no longer strings than 16 KiB */
	LEAVES_ABREAST = 4,   /* callees without callees of their own beside each other, */
	MOST_RANKS = 8        /* in at most so many rows */
};

struct dot {
	struct sp_out out;
	const struct sp_model *m;
	const struct sp_dot_options *o;
	struct sp_graph g;
	double total;
	uint32_t *order;      /* owned; nodes, those with the most time first */
	bool *drawn;          /* owned; of each node */
	uint32_t *cluster;    /* owned; of each node: a module, SP_NONE: none */
	uint32_t *in, *exits; /* owned; of each node: edges drawn, without those to itself */
	struct sp_intern modules;
	struct sp_dot_done done;
};

static struct sp_graph_key key_of(const struct sp_region *r)
{
	return (struct sp_graph_key){r->file, r->name, r->line};
}

/* Inside of quotes; a label also takes & for the begin of a character's name. */
static void put_text(struct dot *d, struct sp_str s, size_t characters)
{
	char text[4 * TIP_CHARACTERS + 4];

	sp_shorten(text, s, characters);
	for (const char *p = text; *p; p++) {
		if (*p == '&')
			sp_out_text(&d->out, "&amp;");
		else {
			if (*p == '"' || *p == '\\')
				sp_out_byte(&d->out, '\\');
			sp_out_byte(&d->out, *p);
		}
	}
}

static void put_colour(struct dot *d, const char *name, struct sp_colour c)
{
	sp_out_f(&d->out, "%s=\"#%02x%02x%02x\"", name, c.r, c.g, c.b);
}

/* 0.25 as 25.0%; what is not nothing never looks like it. */
static void put_share(struct dot *d, double part)
{
	double percent = 100 * part / d->total;

	sp_out_f(&d->out, percent > 0 && percent < 0.05 ? "%.2f%%" : "%.1f%%", percent);
}

/* ---- what is drawn ---- */

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

static bool edge_drawn(const struct dot *d, const struct sp_graph_edge *edge)
{
	return d->drawn[edge->caller] && d->drawn[edge->callee] && edge->sum.total >= d->o->edge_share * d->total;
}

static int choose_nodes(struct dot *d, struct sp_err *e)
{
	struct sorted *all = malloc((d->g.n_nodes + 1) * sizeof(*all));
	size_t n = 0;

	if (!all)
		return sp_fail(e, ENOMEM, "out of memory");
	for (uint32_t i = 1; i < d->g.n_nodes; i++)
		if (d->g.nodes[i].sum.calls || d->g.nodes[i].sum.total > 0)
			all[n++] = (struct sorted){d->g.nodes[i].sum.total, i};
	qsort(all, n, sizeof(*all), by_total);
	for (size_t i = 0; i < n; i++) {
		if (all[i].total < d->o->node_share * d->total || (d->o->limit && i >= d->o->limit))
			break;
		d->order[d->done.nodes++] = all[i].node;
		d->drawn[all[i].node] = true;
	}
	d->done.hidden_nodes = n - d->done.nodes;
	free(all);
	return d->done.nodes ? 0 : sp_fail(e, 0, "no function has %g %% of the time or more", d->o->node_share * 100);
}

static void choose_edges(struct dot *d)
{
	for (size_t i = 0; i < d->g.n_edges; i++) {
		const struct sp_graph_edge *edge = &d->g.edges[i];

		if (!edge_drawn(d, edge)) {
			d->done.hidden_edges += edge->caller != 0;
			continue;
		}
		d->done.edges++;
		if (edge->caller != edge->callee) {
			d->exits[edge->caller]++;
			d->in[edge->callee]++;
		}
	}
}

/* Modules of the program of which two functions or more are drawn. */
static int choose_clusters(struct dot *d, struct sp_err *e)
{
	uint32_t *members = calloc(d->done.nodes + 1, sizeof(*members));

	if (!members)
		return sp_fail(e, ENOMEM, "out of memory");
	for (size_t i = 0; i < d->done.nodes; i++) {
		const struct sp_region *r = &d->m->regions[d->g.nodes[d->order[i]].region];
		uint32_t id = SP_NONE;

		if (sp_own(r) && (id = sp_intern(&d->modules, r->module.p, r->module.n)) == SP_INTERN_FAILED) {
			free(members);
			return sp_fail(e, ENOMEM, "out of memory");
		}
		d->cluster[d->order[i]] = id;
		if (id != SP_NONE)
			members[id]++;
	}
	for (size_t i = 0; i < d->done.nodes; i++)
		if (d->cluster[d->order[i]] != SP_NONE && members[d->cluster[d->order[i]]] < 2)
			d->cluster[d->order[i]] = SP_NONE;
	free(members);
	return 0;
}

/* ---- writing ---- */

static void put_head(struct dot *d)
{
	const enum sp_picture_theme t = d->o->of.theme;
	const struct sp_colour none = sp_heat(0, t), paper = sp_paper(t);

	sp_out_text(&d->out,
	            "digraph calls {\n\tgraph [fontname=\"Helvetica,Arial,sans-serif\", fontsize=13, ranksep=0.3, "
	            "nodesep=0.15, tooltip=\" \", ");
	put_colour(d, "bgcolor", paper);
	sp_out_text(&d->out, ", ");
	put_colour(d, "fontcolor", sp_ink_on(paper, t));
	if (d->o->of.title && *d->o->of.title) {
		sp_out_text(&d->out, ", labelloc=t, label=\"");
		put_text(d, sp_text(d->o->of.title), TIP_CHARACTERS);
		sp_out_byte(&d->out, '"');
	}
	sp_out_text(
	    &d->out,
	    "];\n\tnode [fontname=\"Helvetica,Arial,sans-serif\", fontsize=10, shape=box, style=\"filled,rounded\", "
	    "width=0, height=0, margin=\"0.08,0.04\", ");
	put_colour(d, "fillcolor", none);
	sp_out_text(&d->out, "];\n\tedge [fontname=\"Helvetica,Arial,sans-serif\", fontsize=9, ");
	put_colour(d, "fontcolor", sp_ink_on(paper, t));
	sp_out_text(&d->out, "];\n");
}

static void put_node(struct dot *d, uint32_t id)
{
	const struct sp_graph_node *n = &d->g.nodes[id];
	const struct sp_region *r = &d->m->regions[n->region];
	const enum sp_picture_theme t = d->o->of.theme;
	const struct sp_colour fill = sp_heat(n->sum.total / d->total, t);
	char own[SP_TIME_TEXT], total[SP_TIME_TEXT];

	sp_time_text(own, n->sum.own);
	sp_time_text(total, n->sum.total);
	sp_out_f(&d->out, "\tn%" PRIu32 " [label=\"", id);
	if (r->module.n && d->cluster[id] == SP_NONE) {
		put_text(d, r->module, NAME_CHARACTERS);
		sp_out_text(&d->out, "\\n");
	}
	put_text(d, r->qualname.n ? r->qualname : r->name, NAME_CHARACTERS);
	sp_out_text(&d->out, "\\n");
	put_share(d, n->sum.total);
	sp_out_text(&d->out, "\\n(");
	put_share(d, n->sum.own);
	sp_out_f(&d->out, ")\\n%" PRIu64 "×\", tooltip=\"", n->sum.calls);
	put_text(d, r->name, TIP_CHARACTERS);
	sp_out_f(&d->out, "\\n%s in all, %s itself\\n", total, own);
	put_text(d, r->file, TIP_CHARACTERS);
	if (r->line)
		sp_out_f(&d->out, ":%" PRIu32, r->line);
	sp_out_text(&d->out, "\", ");
	put_colour(d, "fillcolor", fill);
	sp_out_text(&d->out, ", ");
	put_colour(d, "color", sp_heat(fmin(1, n->sum.total / d->total + 0.15), t));
	sp_out_text(&d->out, ", ");
	put_colour(d, "fontcolor", sp_ink_on(fill, t));
	sp_out_text(&d->out, "];\n");
}

static void put_edge(struct dot *d, const struct sp_graph_edge *edge, unsigned ranks)
{
	double share = edge->sum.total / d->total, width = fmax(0.5, 4 * share);
	char time[SP_TIME_TEXT];

	sp_time_text(time, edge->sum.total);
	sp_out_f(&d->out, "\tn%" PRIu32 " -> n%" PRIu32 " [label=\"", edge->caller, edge->callee);
	put_share(d, edge->sum.total);
	sp_out_f(&d->out, "\\n%" PRIu64 "×\", penwidth=%.2f, arrowsize=%.2f, ", edge->sum.calls, width,
	         0.5 * sqrt(width));
	if (ranks > 1)
		sp_out_f(&d->out, "minlen=%u, ", ranks);
	put_colour(d, "color", sp_heat(fmax(share, 0.15), d->o->of.theme));
	for (int i = 0; i < 2; i++) {
		sp_out_text(&d->out, i ? ", labeltooltip=\"" : ", tooltip=\"");
		put_text(d, d->g.nodes[edge->caller].key.name, TIP_CHARACTERS);
		sp_out_text(&d->out, " calls ");
		put_text(d, d->g.nodes[edge->callee].key.name, TIP_CHARACTERS);
		sp_out_f(&d->out, ": %s\"", time);
	}
	sp_out_text(&d->out, "];\n");
}

/* The edges of one caller. Where it calls many functions that call none, these come in several rows below each other,
 * for in one they would make a strip. */
static void put_edges(struct dot *d, uint32_t caller)
{
	const struct sp_graph_node *n = &d->g.nodes[caller];
	uint32_t leaves = 0, ranks, at = 0;

	for (uint32_t i = n->callees; i != SP_NONE; i = d->g.edges[i].next_callee)
		leaves += edge_drawn(d, &d->g.edges[i]) && !d->exits[d->g.edges[i].callee] &&
		          d->in[d->g.edges[i].callee] == 1;
	ranks = (leaves + LEAVES_ABREAST - 1) / LEAVES_ABREAST;
	if (ranks > MOST_RANKS)
		ranks = MOST_RANKS;
	for (uint32_t i = n->callees; i != SP_NONE; i = d->g.edges[i].next_callee) {
		const struct sp_graph_edge *edge = &d->g.edges[i];

		if (!edge_drawn(d, edge))
			continue;
		bool leaf = !d->exits[edge->callee] && d->in[edge->callee] == 1 && edge->callee != caller;
		put_edge(d, edge, leaf && ranks > 1 ? 1 + at++ % ranks : 1);
	}
}

static void put_cluster(struct dot *d, uint32_t id)
{
	const enum sp_picture_theme t = d->o->of.theme;
	const struct sp_intern_entry *module = &d->modules.entries[id];

	sp_out_f(&d->out, "\tsubgraph cluster_%" PRIu32 " {\n\t\tstyle=\"rounded\"; ", id);
	put_colour(d, "color", sp_module_colour((struct sp_str){module->p, module->n}, t));
	sp_out_text(&d->out, "; penwidth=2; labelloc=t; labeljust=l; fontsize=11; label=\"");
	put_text(d, (struct sp_str){module->p, module->n}, NAME_CHARACTERS);
	sp_out_text(&d->out, "\"; tooltip=\"");
	put_text(d, (struct sp_str){module->p, module->n}, TIP_CHARACTERS);
	sp_out_text(&d->out, "\";\n");
	for (size_t i = 0; i < d->done.nodes; i++)
		if (d->cluster[d->order[i]] == id)
			put_node(d, d->order[i]);
	sp_out_text(&d->out, "\t}\n");
}

static void put_all(struct dot *d)
{
	put_head(d);
	for (uint32_t c = 0; c < d->modules.n; c++) {
		bool any = false;

		for (size_t i = 0; i < d->done.nodes && !any; i++)
			any = d->cluster[d->order[i]] == c;
		if (any)
			put_cluster(d, c);
	}
	for (size_t i = 0; i < d->done.nodes; i++)
		if (d->cluster[d->order[i]] == SP_NONE)
			put_node(d, d->order[i]);
	for (size_t i = 0; i < d->done.nodes; i++)
		put_edges(d, d->order[i]);
	sp_out_text(&d->out, "}\n");
}

static int allocate(struct dot *d, struct sp_err *e)
{
	size_t n = d->g.n_nodes + 1;

	d->order = calloc(n, sizeof(*d->order));
	d->drawn = calloc(n, sizeof(*d->drawn));
	d->cluster = calloc(n, sizeof(*d->cluster));
	d->in = calloc(n, sizeof(*d->in));
	d->exits = calloc(n, sizeof(*d->exits));
	d->modules.arena = &d->g.arena;
	return d->order && d->drawn && d->cluster && d->in && d->exits ? 0 : sp_fail(e, ENOMEM, "out of memory");
}

static int draw(struct dot *d, const char *path, struct sp_err *e)
{
	int rc = allocate(d, e) || choose_nodes(d, e);

	if (rc == 0) {
		choose_edges(d);
		rc = choose_clusters(d, e) || sp_out_open(&d->out, path, e);
		if (rc == 0) {
			put_all(d);
			rc = sp_out_close(&d->out, 0, e);
		}
	}
	free(d->order);
	free(d->drawn);
	free(d->cluster);
	free(d->in);
	free(d->exits);
	sp_intern_free(&d->modules);
	return rc ? -1 : 0;
}

int sp_dot_write(const struct sp_model *m, const char *path, const struct sp_dot_options *o, struct sp_dot_done *done,
                 struct sp_err *e)
{
	const struct sp_write_options quiet = {.process = SP_NONE};
	struct dot d = {.m = m, .o = o};
	struct sp_shown shown;
	int rc = sp_shown_open(&shown, m, &o->of, e);

	if (rc == 0)
		rc = sp_graph_open(&d.g, m, shown.values, false, key_of, &quiet, e);
	if (rc == 0) {
		d.total = shown.total;
		rc = draw(&d, path, e);
		sp_graph_close(&d.g);
	}
	sp_shown_close(&shown);
	*done = d.done;
	return rc;
}
