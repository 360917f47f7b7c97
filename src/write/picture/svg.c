/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/intern.h"
#include "model/str.h"
#include "write/picture/svg.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sp_svg_escaped(struct sp_svg *s, const char *text)
{
	for (; *text; text++) {
		if (*text == '&')
			sp_out_text(&s->out, "&amp;");
		else if (*text == '<')
			sp_out_text(&s->out, "&lt;");
		else if (*text == '>')
			sp_out_text(&s->out, "&gt;");
		else if (*text == '"')
			sp_out_text(&s->out, "&quot;");
		else
			sp_out_byte(&s->out, *text);
	}
}

void sp_svg_colour(struct sp_svg *s, const char *attribute, struct sp_colour c)
{
	sp_out_f(&s->out, " %s=\"#%02x%02x%02x\"", attribute, c.r, c.g, c.b);
}

struct sp_colour sp_mixed(struct sp_colour a, struct sp_colour b, double part)
{
	return (struct sp_colour){(uint8_t)lround(a.r + (b.r - a.r) * part), (uint8_t)lround(a.g + (b.g - a.g) * part),
	                          (uint8_t)lround(a.b + (b.b - a.b) * part)};
}

/* ---- texts ---- */

/* Width relative to the font size; slightly more than the widest of the usual fonts needs. */
static double character(const unsigned char *p)
{
	if (*p >= 0x80)
		return *p >= 0xe3 ? 1.05 : 0.85;
	if (memchr("mwMW@%", *p, 6))
		return 1;
	if (memchr("ijl.,:;'|!I ", *p, 12))
		return 0.36;
	if (memchr("ftr()[]-/\\\"", *p, 11))
		return 0.48;
	return (*p >= 'A' && *p <= 'Z') || *p == '_' || *p == '<' || *p == '>' || *p == '&' ? 0.8 : 0.64;
}

double sp_svg_wide(const char *text, double size)
{
	double wide = 0;

	for (const unsigned char *p = (const unsigned char *)text; *p; p++)
		if ((*p & 0xc0) != 0x80)
			wide += character(p);
	return wide * size;
}

/* Minimum characters of a shortened text; fewer are not useful. */
enum { FEWEST = 6 };

void sp_svg_fit(char out[SP_SVG_TEXT], struct sp_str text, double width, double size)
{
	size_t n = (size_t)fmax(0, width / (0.36 * size));

	if (n > (SP_SVG_TEXT - 4) / 4)
		n = (SP_SVG_TEXT - 4) / 4;
	for (; n > 0; n--) {
		sp_shorten(out, text, n);
		if (sp_svg_wide(out, size) > width)
			continue;
		if (n < FEWEST && strlen(out) < text.n)
			break;
		return;
	}
	out[0] = 0;
}

void sp_svg_text(struct sp_svg *s, double x, double y, struct sp_str text, double wide, const char *anchor, double size,
                 struct sp_colour c)
{
	char fitted[SP_SVG_TEXT];

	sp_svg_fit(fitted, text, wide, size);
	if (!fitted[0])
		return;
	sp_out_f(&s->out, "<text x=\"%.1f\" y=\"%.1f\"", x, y);
	if (strcmp(anchor, "start") != 0)
		sp_out_f(&s->out, " text-anchor=\"%s\"", anchor);
	if (size != SP_SVG_FONT)
		sp_out_f(&s->out, " font-size=\"%g\"", size);
	sp_svg_colour(s, "fill", c);
	sp_out_byte(&s->out, '>');
	sp_svg_escaped(s, fitted);
	sp_out_text(&s->out, "</text>\n");
}

/* ---- shapes ---- */

void sp_svg_open(struct sp_svg *s, const char *tip)
{
	sp_out_text(&s->out, "<g><title>");
	sp_svg_escaped(s, tip);
	sp_out_text(&s->out, "</title>");
}

void sp_svg_close(struct sp_svg *s)
{
	sp_out_text(&s->out, "</g>\n");
}

void sp_svg_rect(struct sp_svg *s, double x, double y, double w, double h, struct sp_colour c)
{
	sp_out_f(&s->out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"", x, y, w, h);
	sp_svg_colour(s, "fill", c);
	sp_out_text(&s->out, "/>");
}

void sp_svg_line(struct sp_svg *s, double x1, double y1, double x2, double y2, struct sp_colour c, double width)
{
	sp_out_f(&s->out, "<line x1=\"%.2f\" y1=\"%.2f\" x2=\"%.2f\" y2=\"%.2f\" stroke-width=\"%g\"", x1, y1, x2, y2,
	         width);
	sp_svg_colour(s, "stroke", c);
	sp_out_text(&s->out, "/>\n");
}

/* ---- the picture ---- */

double sp_svg_top(const struct sp_picture *p)
{
	return p->title && *p->title ? SP_SVG_HEAD : SP_SVG_MARGIN;
}

int sp_svg_begin(struct sp_svg *s, const char *path, const struct sp_picture *p, double width, double height,
                 struct sp_err *e)
{
	const struct sp_colour paper = sp_paper(p->theme);

	*s = (struct sp_svg){.theme = p->theme, .width = width, .height = height};
	if (sp_out_open(&s->out, path, e))
		return -1;
	sp_out_f(&s->out,
	         "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" "
	         "height=\"%.0f\" "
	         "viewBox=\"0 0 %.0f %.0f\" font-family=\"sans-serif\" font-size=\"%d\" role=\"img\">\n",
	         width, height, width, height, SP_SVG_FONT);
	if (p->title && *p->title) {
		char whole[4 * 400 + 4];

		sp_shorten(whole, sp_text(p->title), 400);
		sp_out_text(&s->out, "<title>");
		sp_svg_escaped(s, whole);
		sp_out_text(&s->out, "</title>\n");
	}
	sp_svg_rect(s, 0, 0, width, height, paper);
	sp_out_byte(&s->out, '\n');
	if (p->title && *p->title)
		sp_svg_text(s, SP_SVG_MARGIN, 21, sp_text(p->title), width - 2 * SP_SVG_MARGIN, "start", 14,
		            sp_ink_on(paper, p->theme));
	return 0;
}

int sp_svg_end(struct sp_svg *s, int rc, struct sp_err *e)
{
	sp_out_text(&s->out, "</svg>\n");
	return sp_out_close(&s->out, rc, e);
}

/* ---- legend ---- */

enum { LEGEND_MAX = 24, LEGEND_CELL = 190 };

void sp_legend_init(struct sp_legend *l)
{
	*l = (struct sp_legend){.capacity = 0};
	l->modules.arena = &l->arena;
}

void sp_legend_free(struct sp_legend *l)
{
	sp_intern_free(&l->modules);
	sp_arena_free(&l->arena);
	free(l->time);
}

int sp_legend_add(struct sp_legend *l, struct sp_str module, double time)
{
	size_t before = l->modules.n;
	uint32_t id = sp_intern(&l->modules, module.n ? module.p : "", module.n);

	if (id == SP_INTERN_FAILED)
		return -1;
	if (id >= l->capacity) {
		size_t capacity = l->capacity ? 2 * l->capacity : 64;
		double *larger = realloc(l->time, capacity * sizeof(*larger));

		if (!larger)
			return -1;
		l->time = larger;
		l->capacity = capacity;
	}
	l->time[id] = (id == before ? 0 : l->time[id]) + time;
	return 0;
}

static size_t columns(double width)
{
	size_t n = (size_t)fmax(1, (width - 2 * SP_SVG_MARGIN) / LEGEND_CELL);

	return n > LEGEND_MAX ? LEGEND_MAX : n;
}

/* The number of entries in at most two rows. */
static size_t shown(const struct sp_legend *l, double width)
{
	size_t limit = 2 * columns(width);

	limit = limit > LEGEND_MAX ? LEGEND_MAX : limit;
	return l->modules.n < limit ? l->modules.n : limit;
}

double sp_legend_height(const struct sp_legend *l, double width)
{
	size_t n = shown(l, width), c = columns(width);

	return n ? (double)((n + c - 1) / c) * SP_SVG_LEGEND_ROW + 10 : 0;
}

void sp_legend_draw(const struct sp_legend *l, struct sp_svg *s, double y)
{
	const size_t n = shown(l, s->width), c = columns(s->width);
	const struct sp_colour ink = sp_ink_on(sp_paper(s->theme), s->theme);
	bool *done = calloc(l->modules.n + 1, sizeof(*done));

	for (size_t i = 0; done && i < n; i++) {
		size_t best = SIZE_MAX;

		for (size_t k = 0; k < l->modules.n; k++)
			if (!done[k] && (best == SIZE_MAX || l->time[k] > l->time[best]))
				best = k;
		done[best] = true;
		struct sp_str name = {l->modules.entries[best].p, l->modules.entries[best].n};
		const double x = SP_SVG_MARGIN + (double)(i % c) * LEGEND_CELL,
		             row = y + 10 + (double)(i / c) * SP_SVG_LEGEND_ROW;
		char time[SP_TIME_TEXT], text[2 * SP_SVG_TEXT];
		bool last = i + 1 == n && n < l->modules.n;

		if (last)
			snprintf(text, sizeof text, "%zu more modules", l->modules.n - n + 1);
		else {
			char whole[SP_SVG_TEXT];

			time[0] = 0;
			if (!l->untold)
				sp_amount_text(time, l->time[best], l->bytes);
			sp_svg_fit(whole, name.n ? name : sp_text("(no module)"), LEGEND_CELL - 90, SP_SVG_FONT);
			snprintf(text, sizeof text, "%s  %s", whole, time);
			sp_svg_rect(s, x, row, 10, 10, sp_module_colour(name, s->theme));
		}
		sp_svg_text(s, x + 15, row + 9, sp_text(text), LEGEND_CELL - 20, "start", SP_SVG_FONT, ink);
	}
	free(done);
}
