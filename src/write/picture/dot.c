/* SPDX-License-Identifier: BSD-3-Clause */
/* The call graph in Graphviz's language: the functions that take time, coloured by their share, with boxes around the
 * program's own modules. */
#include <inttypes.h>
#include <math.h>

#include "model/model.h"
#include "model/region.h"
#include "model/str.h"
#include "write/common/out.h"
#include "write/picture/calls.h"

enum { TIP_CHARACTERS = 400 }; /* Graphviz cannot read strings longer than 16 KiB */

struct dot {
	struct sp_out out;
	struct sp_calls *c;
};

/* Writes text inside of quotes; in a label, & would begin a character entity. */
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

static void put_share(struct dot *d, double part)
{
	char text[SP_SHARE_TEXT];

	sp_calls_share(d->c, text, part);
	sp_out_text(&d->out, text);
}

/* ---- writing ---- */

static void put_head(struct dot *d)
{
	const enum sp_picture_theme t = d->c->o->of.theme;
	const struct sp_colour none = sp_heat(0, t), paper = sp_paper(t);

	sp_out_text(&d->out,
	            "digraph calls {\n\tgraph [fontname=\"Helvetica,Arial,sans-serif\", fontsize=13, ranksep=0.3, "
	            "nodesep=0.15, tooltip=\" \", ");
	put_colour(d, "bgcolor", paper);
	sp_out_text(&d->out, ", ");
	put_colour(d, "fontcolor", sp_ink_on(paper, t));
	if (d->c->o->of.title && *d->c->o->of.title) {
		sp_out_text(&d->out, ", labelloc=t, label=\"");
		put_text(d, sp_text(d->c->o->of.title), TIP_CHARACTERS);
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
	const struct sp_graph_node *n = &d->c->g.nodes[id];
	const struct sp_region *r = &d->c->m->regions[n->region];
	const enum sp_picture_theme t = d->c->o->of.theme;
	const struct sp_colour fill = sp_heat(n->sum.total / d->c->total, t);
	char own[SP_TIME_TEXT], total[SP_TIME_TEXT], often[SP_TIME_TEXT];

	sp_shown_text(&d->c->shown, own, n->sum.own);
	sp_shown_text(&d->c->shown, total, n->sum.total);
	sp_shown_often(&d->c->shown, often, n->sum.calls);
	sp_out_f(&d->out, "\tn%" PRIu32 " [label=\"", id);
	if (r->module.n && d->c->cluster[id] == SP_NONE) {
		put_text(d, r->module, SP_CALLS_NAME);
		sp_out_text(&d->out, "\\n");
	}
	put_text(d, r->qualname.n ? r->qualname : r->name, SP_CALLS_NAME);
	sp_out_text(&d->out, "\\n");
	put_share(d, n->sum.total);
	sp_out_text(&d->out, "\\n(");
	put_share(d, n->sum.own);
	sp_out_f(&d->out, ")\\n%s\", tooltip=\"", often);
	put_text(d, r->name, TIP_CHARACTERS);
	sp_out_f(&d->out, "\\ntotal %s, self %s\\n", total, own);
	put_text(d, r->file, TIP_CHARACTERS);
	if (r->line)
		sp_out_f(&d->out, ":%" PRIu32, r->line);
	sp_out_text(&d->out, "\", ");
	put_colour(d, "fillcolor", fill);
	sp_out_text(&d->out, ", ");
	put_colour(d, "color", sp_heat(fmin(1, n->sum.total / d->c->total + 0.15), t));
	sp_out_text(&d->out, ", ");
	put_colour(d, "fontcolor", sp_ink_on(fill, t));
	sp_out_text(&d->out, "];\n");
}

static void put_edge(struct dot *d, const struct sp_graph_edge *edge, unsigned ranks)
{
	double share = edge->sum.total / d->c->total, width = fmax(0.5, 4 * share);
	char time[SP_TIME_TEXT], often[SP_TIME_TEXT];

	sp_shown_text(&d->c->shown, time, edge->sum.total);
	sp_shown_often(&d->c->shown, often, edge->sum.calls);
	sp_out_f(&d->out, "\tn%" PRIu32 " -> n%" PRIu32 " [label=\"", edge->caller, edge->callee);
	put_share(d, edge->sum.total);
	sp_out_f(&d->out, "\\n%s\", penwidth=%.2f, arrowsize=%.2f, ", often, width, 0.5 * sqrt(width));
	if (ranks > 1)
		sp_out_f(&d->out, "minlen=%u, ", ranks);
	put_colour(d, "color", sp_heat(fmax(share, 0.15), d->c->o->of.theme));
	for (int i = 0; i < 2; i++) {
		sp_out_text(&d->out, i ? ", labeltooltip=\"" : ", tooltip=\"");
		put_text(d, d->c->g.nodes[edge->caller].key.name, TIP_CHARACTERS);
		sp_out_text(&d->out, " calls ");
		put_text(d, d->c->g.nodes[edge->callee].key.name, TIP_CHARACTERS);
		sp_out_f(&d->out, ": %s\"", time);
	}
	sp_out_text(&d->out, "];\n");
}

/* Writes the edges of one caller. */
static void put_edges(struct dot *d, uint32_t caller)
{
	const struct sp_calls_rows rows = sp_calls_rows(d->c, caller);
	uint32_t at = 0;

	for (uint32_t i = d->c->g.nodes[caller].callees; i != SP_NONE; i = d->c->g.edges[i].next_callee) {
		const struct sp_graph_edge *edge = &d->c->g.edges[i];

		if (sp_calls_drawn(d->c, edge))
			put_edge(d, edge, sp_calls_moves(d->c, &rows, edge) ? 1 + at++ % rows.rows : 1);
	}
}

static void put_cluster(struct dot *d, uint32_t id)
{
	const enum sp_picture_theme t = d->c->o->of.theme;
	const struct sp_intern_entry *module = &d->c->modules.entries[id];

	sp_out_f(&d->out, "\tsubgraph cluster_%" PRIu32 " {\n\t\tstyle=\"rounded\"; ", id);
	put_colour(d, "color", sp_module_colour((struct sp_str){module->p, module->n}, t));
	sp_out_text(&d->out, "; penwidth=2; labelloc=t; labeljust=l; fontsize=11; label=\"");
	put_text(d, (struct sp_str){module->p, module->n}, SP_CALLS_NAME);
	sp_out_text(&d->out, "\"; tooltip=\"");
	put_text(d, (struct sp_str){module->p, module->n}, TIP_CHARACTERS);
	sp_out_text(&d->out, "\";\n");
	for (size_t i = 0; i < d->c->done.nodes; i++)
		if (d->c->cluster[d->c->order[i]] == id)
			put_node(d, d->c->order[i]);
	sp_out_text(&d->out, "\t}\n");
}

static void put_all(struct dot *d)
{
	put_head(d);
	for (uint32_t c = 0; c < d->c->modules.n; c++) {
		bool any = false;

		for (size_t i = 0; i < d->c->done.nodes && !any; i++)
			any = d->c->cluster[d->c->order[i]] == c;
		if (any)
			put_cluster(d, c);
	}
	for (size_t i = 0; i < d->c->done.nodes; i++)
		if (d->c->cluster[d->c->order[i]] == SP_NONE)
			put_node(d, d->c->order[i]);
	for (size_t i = 0; i < d->c->done.nodes; i++)
		put_edges(d, d->c->order[i]);
	sp_out_text(&d->out, "}\n");
}

int sp_dot_write(const struct sp_model *m, const char *path, const struct sp_dot_options *o, struct sp_dot_done *done,
                 struct sp_err *e)
{
	struct sp_calls c;
	struct dot d = {.c = &c};
	int rc = sp_calls_open(&c, m, o, e);

	if (rc == 0)
		rc = sp_out_open(&d.out, path, e);
	if (rc == 0) {
		put_all(&d);
		rc = sp_out_close(&d.out, 0, e);
	}
	*done = c.done;
	sp_calls_close(&c);
	return rc;
}
