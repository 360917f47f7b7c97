/* SPDX-License-Identifier: BSD-3-Clause */
/* Flame graph, icicle (the same upside down), and sunburst (the same on rings). */
#include "write/picture/plot.h"
#include "model/model.h"
#include "model/str.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	ROW = 18,       /* px */
	MAX_ROWS = 40,  /* limit if the height is not given */
	CAPACITY = 1024 /* limit in any case */
};
static const double LEAST = 3; /* px; narrower boxes are combined */

static struct sp_colour edge_of(enum sp_picture_theme t)
{
	return sp_paper(t);
}

/* ---- boxes ---- */

static void draw_box(struct sp_svg *s, const struct sp_plot_tree *t, const struct sp_plot *p,
                     const struct sp_plot_box *b, double x, double y, double w)
{
	const struct sp_colour fill = sp_plot_colour(p->m, b, s->theme);
	char tip[SP_PLOT_TIP], text[SP_SVG_TEXT];

	sp_plot_tip(tip, t, p->m, b);
	sp_svg_open(s, tip);
	sp_out_f(&s->out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%d\" stroke-width=\"0.6\"", x, y, w,
	         ROW);
	sp_svg_colour(s, "fill", fill);
	sp_svg_colour(s, "stroke", edge_of(s->theme));
	sp_out_text(&s->out, "/>");
	sp_svg_text(s, x + 4, y + ROW - 5, sp_plot_label(text, p->m, b), w - 7, "start", SP_SVG_FONT,
	            sp_ink_on(fill, s->theme));
	sp_svg_close(s);
}

static int draw_boxes(struct sp_plot *p, struct sp_plot_tree *t, const struct sp_legend *l)
{
	const double width = p->o->width, inner = width - 2 * SP_SVG_MARGIN, top = sp_svg_top(&p->o->of);
	const double foot = sp_legend_height(l, width) + SP_SVG_MARGIN, tree = (double)t->depth * ROW;
	const double height = p->o->height > 0 ? p->o->height : top + tree + foot;
	struct sp_svg s;

	if (sp_svg_begin(&s, p->path, &p->o->of, width, height, p->e))
		return -1;
	for (size_t i = 0; i < t->n; i++) {
		const struct sp_plot_box *b = &t->boxes[i];
		double y = p->o->kind == SP_PLOT_ICICLE ? top + (double)b->depth * ROW
		                                        : height - foot - (double)(b->depth + 1) * ROW;

		draw_box(&s, t, p, b, SP_SVG_MARGIN + b->x * inner, y, b->w * inner);
	}
	sp_legend_draw(l, &s, height - foot);
	return sp_svg_end(&s, 0, p->e);
}

int sp_plot_boxes(struct sp_plot *p)
{
	const double capacity = p->o->height - sp_svg_top(&p->o->of) - SP_SVG_MARGIN - 2 * SP_SVG_LEGEND_ROW - 10;
	double least[CAPACITY], rows = p->o->height > 0 ? floor(capacity / ROW) : MAX_ROWS;
	struct sp_plot_tree t;
	struct sp_legend l;
	int rc;

	if (rows < 2)
		return sp_fail(p->e, 0, "a height of %.0f has no room for two rows of boxes", p->o->height);
	for (int i = 0; i < CAPACITY; i++)
		least[i] = LEAST / (p->o->width - 2 * SP_SVG_MARGIN);
	sp_legend_init(&l);
	rc = sp_plot_tree_open(&t, p, (uint32_t)fmin(rows, CAPACITY), least);
	if (rc == 0 && sp_plot_legend(&l, &t, p->m))
		rc = sp_fail(p->e, ENOMEM, "out of memory");
	if (rc == 0)
		rc = draw_boxes(p, &t, &l);
	sp_plot_tree_close(&t);
	sp_legend_free(&l);
	return rc;
}

/* ---- sunburst ---- */

struct rings {
	double cx, cy, hole, ring; /* px */
};

/* Converts polar coordinates; turns count clockwise from the top. */
static void at(const struct rings *r, double radius, double turn, double *x, double *y)
{
	*x = r->cx + radius * sin(2 * M_PI * turn);
	*y = r->cy - radius * cos(2 * M_PI * turn);
}

static void draw_arc(struct sp_svg *s, const struct rings *r, const struct sp_plot_box *b, struct sp_colour fill)
{
	const double in = r->hole + (double)b->depth * r->ring, out = in + r->ring, to = b->x + fmin(b->w, 0.99999);
	const int large = b->w > 0.5;
	double x[4], y[4];

	at(r, out, b->x, &x[0], &y[0]);
	at(r, out, to, &x[1], &y[1]);
	at(r, in, to, &x[2], &y[2]);
	at(r, in, b->x, &x[3], &y[3]);
	sp_out_f(&s->out,
	         "<path stroke-width=\"0.6\" d=\"M%.2f %.2fA%.2f %.2f 0 %d 1 %.2f %.2fL%.2f %.2fA%.2f %.2f 0 %d 0 %.2f "
	         "%.2fZ\"",
	         x[0], y[0], out, out, large, x[1], y[1], x[2], y[2], in, in, large, x[3], y[3]);
	sp_svg_colour(s, "fill", fill);
	sp_svg_colour(s, "stroke", edge_of(s->theme));
	sp_out_text(&s->out, "/>");
}

/* Draws the label along the ring if the arc is long enough, otherwise across it. */
static void draw_arc_label(struct sp_svg *s, const struct rings *r, const struct sp_plot_box *b, struct sp_str label,
                           struct sp_colour fill)
{
	const double middle = b->x + b->w / 2, radius = r->hole + ((double)b->depth + 0.5) * r->ring;
	/* straight text in a ring must keep its height away from both edges */
	const double half = acos(fmin(1, (radius - r->ring / 2 + SP_SVG_FONT) / (radius + r->ring / 2 - 2)));
	const double along = 2 * radius * sin(fmin(fmin(M_PI * b->w, half), M_PI / 2)) - 4;
	const double across = 2 * M_PI * radius * b->w >= SP_SVG_FONT + 3 ? r->ring - 6 : 0;
	double x, y, turn = 360 * middle, wide = fmax(along, across);
	char fitted[SP_SVG_TEXT];

	if (along < across)
		turn += middle < 0.5 ? -90 : 90;
	else if (middle > 0.25 && middle < 0.75)
		turn += 180;
	sp_svg_fit(fitted, label, wide, SP_SVG_FONT);
	if (!fitted[0])
		return;
	at(r, radius, middle, &x, &y);
	sp_out_f(&s->out, "<text transform=\"translate(%.1f %.1f) rotate(%.1f)\" y=\"4\" text-anchor=\"middle\"", x, y,
	         turn);
	sp_svg_colour(s, "fill", sp_ink_on(fill, s->theme));
	sp_out_byte(&s->out, '>');
	sp_svg_escaped(s, fitted);
	sp_out_text(&s->out, "</text>");
}

static int draw_sunburst(struct sp_plot *p, struct sp_plot_tree *t, const struct rings *r, const struct sp_legend *l,
                         double height)
{
	const struct sp_colour ink = sp_ink_on(sp_paper(p->o->of.theme), p->o->of.theme);
	char tip[SP_PLOT_TIP], text[SP_SVG_TEXT], time[SP_TIME_TEXT];
	struct sp_svg s;

	if (sp_svg_begin(&s, p->path, &p->o->of, p->o->width, height, p->e))
		return -1;
	for (size_t i = 0; i < t->n; i++) {
		const struct sp_plot_box *b = &t->boxes[i];
		const struct sp_colour fill = sp_plot_colour(p->m, b, s.theme);

		sp_plot_tip(tip, t, p->m, b);
		sp_svg_open(&s, tip);
		draw_arc(&s, r, b, fill);
		draw_arc_label(&s, r, b, sp_plot_label(text, p->m, b), fill);
		sp_svg_close(&s);
	}
	sp_shown_text(&t->shown, time, t->total);
	sp_svg_text(&s, r->cx, r->cy + 5, sp_text(time), 2 * r->hole - 6, "middle", 13, ink);
	sp_legend_draw(l, &s, height - sp_legend_height(l, p->o->width) - SP_SVG_MARGIN);
	return sp_svg_end(&s, 0, p->e);
}

int sp_plot_sunburst(struct sp_plot *p)
{
	enum { MAX_RINGS = 12 };
	const double top = sp_svg_top(&p->o->of), foot = 2 * SP_SVG_LEGEND_ROW + 10 + SP_SVG_MARGIN;
	const double height = p->o->height > 0 ? p->o->height : top + fmin(p->o->width, 900) - 2 * SP_SVG_MARGIN + foot;
	const double radius = fmin(p->o->width - 2 * SP_SVG_MARGIN, height - top - foot) / 2;
	struct rings r = {p->o->width / 2, top + radius, 36, (radius - 36) / MAX_RINGS};
	double least[MAX_RINGS];
	struct sp_plot_tree t;
	struct sp_legend l;
	int rc;

	if (r.ring < 8)
		return sp_fail(p->e, 0, "%.0f by %.0f is too small for a sunburst", p->o->width, height);
	for (int i = 0; i < MAX_RINGS; i++)
		least[i] = LEAST / (2 * M_PI * (r.hole + (i + 0.5) * r.ring));
	sp_legend_init(&l);
	rc = sp_plot_tree_open(&t, p, MAX_RINGS, least);
	if (rc == 0 && sp_plot_legend(&l, &t, p->m))
		rc = sp_fail(p->e, ENOMEM, "out of memory");
	if (rc == 0) {
		r.ring = (radius - r.hole) / fmax(t.depth, 4); /* a flat tree gets wider rings */
		rc = draw_sunburst(p, &t, &r, &l, height);
	}
	sp_plot_tree_close(&t);
	sp_legend_free(&l);
	return rc;
}

/* ---- interface ---- */

int sp_plot_write(const struct sp_model *m, const char *path, const struct sp_plot_options *o,
                  struct sp_plot_done *done, struct sp_err *e)
{
	struct sp_plot p = {m, o, path, done, e};

	*done = (struct sp_plot_done){0, 0};
	switch (o->kind) {
	case SP_PLOT_SUNBURST:
		return sp_plot_sunburst(&p);
	case SP_PLOT_BALANCE:
		return sp_plot_balance(&p);
	case SP_PLOT_TIMELINE:
		return sp_plot_timeline(&p);
	default:
		return sp_plot_boxes(&p);
	}
}
