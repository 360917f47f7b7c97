/* SPDX-License-Identifier: BSD-3-Clause */
/* The call graph in SVG, for systems without Graphviz. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"
#include "model/region.h"
#include "model/str.h"
#include "write/picture/calls.h"
#include "write/picture/layers.h"
#include "write/picture/svg.h"

enum { LINE = 13, SIDE = 8, RISE = 46, GAP = 16, SMALL = 9 };

struct picture {
	struct sp_calls c;
	struct sp_layers l;
	struct sp_svg s;
	uint32_t *index;                   /* owned; for each node of the graph: index among the drawn nodes */
	const struct sp_graph_edge **edge; /* owned; for each edge of the layers */
	double left, top;
};

static const struct sp_region *region_of(const struct picture *p, uint32_t node)
{
	return &p->c.m->regions[p->c.g.nodes[node].region];
}

/* Makes the lines of a box: module, name, shares, calls. Returns their number. */
static int lines_of(const struct picture *p, uint32_t node, char lines[5][SP_SVG_TEXT])
{
	const struct sp_graph_node *n = &p->c.g.nodes[node];
	const struct sp_region *r = region_of(p, node);
	char share[SP_SHARE_TEXT], often[SP_TIME_TEXT];
	int count = 0;

	if (r->module.n)
		sp_shorten(lines[count++], r->module, SP_CALLS_NAME);
	sp_shorten(lines[count++], r->qualname.n ? r->qualname : r->name, SP_CALLS_NAME);
	sp_calls_share(&p->c, share, n->sum.total);
	snprintf(lines[count++], SP_SVG_TEXT, "%s", share);
	sp_calls_share(&p->c, share, n->sum.own);
	snprintf(lines[count++], SP_SVG_TEXT, "(%s)", share);
	sp_shown_often(&p->c.shown, often, n->sum.calls);
	snprintf(lines[count++], SP_SVG_TEXT, "%s", often);
	return count;
}

static int lay_out(struct picture *p)
{
	struct sp_calls *c = &p->c;
	char lines[5][SP_SVG_TEXT];

	p->index = malloc((c->g.n_nodes + 1) * sizeof(*p->index));
	p->edge = malloc((c->done.edges + 1) * sizeof(*p->edge));
	p->l = (struct sp_layers){.gap = GAP, .rise = RISE};
	p->l.nodes = sp_arena_zalloc(&p->l.arena, c->done.nodes + 1, sizeof(*p->l.nodes));
	p->l.edges = sp_arena_zalloc(&p->l.arena, c->done.edges + 1, sizeof(*p->l.edges));
	if (!p->index || !p->edge || !p->l.nodes || !p->l.edges)
		return -1;
	for (size_t i = 0; i < c->done.nodes; i++) {
		struct sp_layers_node *n = &p->l.nodes[p->l.n_nodes];
		int count = lines_of(p, c->order[i], lines);

		p->index[c->order[i]] = (uint32_t)p->l.n_nodes++;
		for (int k = 0; k < count; k++)
			n->w = fmax(n->w, sp_svg_wide(lines[k], SP_SVG_FONT) + 2 * SIDE);
		n->h = count * LINE + 8;
	}
	for (size_t i = 0; i < c->done.nodes; i++) {
		const struct sp_calls_rows rows = sp_calls_rows(c, c->order[i]);
		uint32_t at = 0;

		for (uint32_t k = c->g.nodes[c->order[i]].callees; k != SP_NONE; k = c->g.edges[k].next_callee) {
			const struct sp_graph_edge *e = &c->g.edges[k];

			if (!sp_calls_drawn(c, e) || e->caller == e->callee)
				continue;
			p->edge[p->l.n_edges] = e;
			p->l.edges[p->l.n_edges++] =
			    (struct sp_layers_edge){.from = p->index[e->caller],
			                            .to = p->index[e->callee],
			                            .span = sp_calls_moves(c, &rows, e) ? 1 + at++ % rows.rows : 1};
		}
	}
	return sp_layers(&p->l);
}

/* ---- drawing ---- */

static void tip_of_edge(const struct picture *p, const struct sp_graph_edge *e, char tip[2400])
{
	char caller[4 * 200 + 4], callee[4 * 200 + 4], time[SP_TIME_TEXT], often[SP_TIME_TEXT];

	sp_shorten(caller, p->c.g.nodes[e->caller].key.name, 200);
	sp_shorten(callee, p->c.g.nodes[e->callee].key.name, 200);
	sp_shown_text(&p->c.shown, time, e->sum.total);
	sp_shown_often(&p->c.shown, often, e->sum.calls);
	snprintf(tip, 2400, "%s calls %s: %s, %s", caller, callee, time, often);
}

/* Draws two lines: share and calls. */
static void draw_edge_label(struct picture *p, const struct sp_graph_edge *e, double x, double y)
{
	const struct sp_colour paper = sp_paper(p->s.theme), ink = sp_ink_on(paper, p->s.theme);
	char share[SP_SHARE_TEXT], often[SP_TIME_TEXT];

	sp_calls_share(&p->c, share, e->sum.total);
	sp_shown_often(&p->c.shown, often, e->sum.calls);
	sp_out_f(&p->s.out,
	         "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" font-size=\"%d\" paint-order=\"stroke\" "
	         "stroke-width=\"3\"",
	         x, y, SMALL);
	sp_svg_colour(&p->s, "stroke", paper);
	sp_svg_colour(&p->s, "fill", ink);
	sp_out_f(&p->s.out, ">%s<tspan x=\"%.1f\" dy=\"10\">%s</tspan></text>", share, x, often);
}

static void draw_arrow(struct picture *p, double x, double y, bool upwards, double size, struct sp_colour c)
{
	const double to = upwards ? 1 : -1;

	sp_out_f(&p->s.out, "<path d=\"M%.1f %.1fl%.1f %.1fh%.1fz\"", x, y, -size / 2, to * size, size);
	sp_svg_colour(&p->s, "fill", c);
	sp_out_text(&p->s.out, "/>");
}

static void draw_edge(struct picture *p, const struct sp_layers_edge *l, const struct sp_graph_edge *e)
{
	const double share = e->sum.total / p->c.total, width = fmax(0.6, 4 * share), head = 5 + width;
	const struct sp_colour c = sp_heat(fmax(share, 0.15), p->s.theme);
	char tip[2400];
	double x = p->left + l->x[0], y = p->top + l->y[0];

	tip_of_edge(p, e, tip);
	sp_svg_open(&p->s, tip);
	sp_out_f(&p->s.out, "<path fill=\"none\" stroke-width=\"%.2f\" d=\"M%.1f %.1f", width, x,
	         y + (l->back ? head : 0));
	for (size_t i = 1; i < l->n; i++) {
		const double to_x = p->left + l->x[i], to_y = p->top + l->y[i] - (!l->back && i + 1 == l->n ? head : 0);

		if (i % 2)
			sp_out_f(&p->s.out, "C%.1f %.1f %.1f %.1f %.1f %.1f", x, (y + to_y) / 2, to_x, (y + to_y) / 2,
			         to_x, to_y);
		else
			sp_out_f(&p->s.out, "L%.1f %.1f", to_x, to_y);
		x = to_x;
		y = to_y;
	}
	sp_out_byte(&p->s.out, '"');
	sp_svg_colour(&p->s, "stroke", c);
	sp_out_text(&p->s.out, "/>");
	const size_t end = l->back ? 0 : l->n - 1;
	draw_arrow(p, p->left + l->x[end], p->top + l->y[end], l->back, head, c);
	sp_svg_close(&p->s);
}

/* Draws a recursive call, at the right side of the box. */
static void draw_loop(struct picture *p, const struct sp_layers_node *n, const struct sp_graph_edge *e)
{
	const double x = p->left + n->x + n->w / 2, y = p->top + n->y;
	const struct sp_colour c = sp_heat(fmax(e->sum.total / p->c.total, 0.15), p->s.theme);
	char tip[2400];

	tip_of_edge(p, e, tip);
	sp_svg_open(&p->s, tip);
	sp_out_f(&p->s.out, "<path fill=\"none\" d=\"M%.1f %.1fc14 -8 14 20 0 12\"", x, y - 6);
	sp_svg_colour(&p->s, "stroke", c);
	sp_out_text(&p->s.out, "/>");
	sp_svg_close(&p->s);
}

static void draw_node(struct picture *p, uint32_t node, const struct sp_layers_node *l)
{
	const struct sp_graph_node *n = &p->c.g.nodes[node];
	const struct sp_region *r = region_of(p, node);
	const struct sp_colour fill = sp_heat(n->sum.total / p->c.total, p->s.theme), ink = sp_ink_on(fill, p->s.theme);
	const double x = p->left + l->x - l->w / 2, y = p->top + l->y - l->h / 2;
	char lines[5][SP_SVG_TEXT], name[4 * 400 + 4], tip[2400], own[SP_TIME_TEXT], total[SP_TIME_TEXT];
	const int count = lines_of(p, node, lines);

	sp_shorten(name, r->name, 400);
	sp_shown_text(&p->c.shown, own, n->sum.own);
	sp_shown_text(&p->c.shown, total, n->sum.total);
	snprintf(tip, sizeof tip, "%s\ntotal %s, self %s", name, total, own);
	sp_svg_open(&p->s, tip);
	sp_out_f(&p->s.out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"5\" stroke-width=\"%s\"",
	         x, y, l->w, l->h, sp_region_is_own(r) ? "3" : "1");
	sp_svg_colour(&p->s, "fill", fill);
	/* the program's own modules have the same colours as in the viewer */
	sp_svg_colour(&p->s, "stroke",
	              sp_region_is_own(r) ? sp_module_colour(r->module, p->s.theme)
	                                  : sp_heat(fmin(1, n->sum.total / p->c.total + 0.15), p->s.theme));
	sp_out_text(&p->s.out, "/>");
	for (int i = 0; i < count; i++)
		sp_svg_text(&p->s, p->left + l->x, y + 14 + i * LINE, sp_text(lines[i]), l->w, "middle", SP_SVG_FONT,
		            ink);
	sp_svg_close(&p->s);
}

static int draw(struct picture *p, const char *path, struct sp_err *e)
{
	const double width = fmax(p->l.width + 2 * SP_SVG_MARGIN + 14, 300);

	p->top = sp_svg_top(&p->c.o->of);
	p->left = (width - p->l.width) / 2;
	if (sp_svg_begin(&p->s, path, &p->c.o->of, width, p->top + p->l.height + SP_SVG_MARGIN, e))
		return -1;
	for (size_t i = 0; i < p->l.n_edges; i++)
		draw_edge(p, &p->l.edges[i], p->edge[i]);
	for (size_t i = 0; i < p->c.done.nodes; i++) {
		const uint32_t node = p->c.order[i];

		for (uint32_t k = p->c.g.nodes[node].callees; k != SP_NONE; k = p->c.g.edges[k].next_callee)
			if (p->c.g.edges[k].callee == node && sp_calls_drawn(&p->c, &p->c.g.edges[k]))
				draw_loop(p, &p->l.nodes[i], &p->c.g.edges[k]);
		draw_node(p, node, &p->l.nodes[i]);
	}
	for (size_t i = 0; i < p->l.n_edges; i++) {
		const struct sp_layers_edge *l = &p->l.edges[i];
		/* near the callee: there fewer edges are close to each other */
		const size_t k = l->back ? 0 : l->n - 2;

		draw_edge_label(p, p->edge[i], p->left + (l->x[k] + l->x[k + 1]) / 2,
		                p->top + (l->y[k] + l->y[k + 1]) / 2 - 3);
	}
	return sp_svg_end(&p->s, 0, e);
}

int sp_graph_svg(const struct sp_model *m, const char *path, const struct sp_dot_options *o, struct sp_dot_done *done,
                 struct sp_err *e)
{
	struct picture p = {.index = NULL};
	int rc = sp_calls_open(&p.c, m, o, e), laid = rc ? 0 : lay_out(&p);

	if (laid)
		rc =
		    laid < 0
		        ? sp_fail(e, ENOMEM, "out of memory")
		        : sp_fail(e, E2BIG,
		                  "%zu functions call each other over too many levels for a picture: draw less of them",
		                  p.c.done.nodes);
	if (rc == 0)
		rc = draw(&p, path, e);
	*done = p.c.done;
	sp_layers_free(&p.l);
	free(p.index);
	free(p.edge);
	sp_calls_close(&p.c);
	return rc;
}
