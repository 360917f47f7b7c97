/* SPDX-License-Identifier: BSD-3-Clause */
/* What the charts share: SVG pictures with texts that fit and tooltips for their parts. */
#ifndef SP_WRITE_PICTURE_SVG_H
#define SP_WRITE_PICTURE_SVG_H

#include "base/intern.h"
#include "model/str.h"
#include "write/common/out.h"
#include "write/picture/picture.h"

enum {
	SP_SVG_MARGIN = 12,
	SP_SVG_HEAD = 34, /* height of the title */
	SP_SVG_FONT = 11,
	SP_SVG_LEGEND_ROW = 18
};

struct sp_svg {
	struct sp_out out;
	enum sp_picture_theme theme;
	double width, height;
};

/* Space above the chart, with or without a title. */
double sp_svg_top(const struct sp_picture *p);
/* Begins the picture. Returns 0, or -1 with e set: then do not call sp_svg_end(). */
int sp_svg_begin(struct sp_svg *s, const char *path, const struct sp_picture *p, double width, double height,
                 struct sp_err *e);
/* Ends the picture; returns as sp_out_close(). */
int sp_svg_end(struct sp_svg *s, int rc, struct sp_err *e);

/* Writes a text escaped for XML. */
void sp_svg_escaped(struct sp_svg *s, const char *text);
void sp_svg_colour(struct sp_svg *s, const char *attribute, struct sp_colour c);
/* Approximate width of a text in a wide sans-serif font, px. */
double sp_svg_wide(const char *text, double size);
/* Shortens a text to a width, leaving out its middle; "": too little space for a useful text. */
#define SP_SVG_TEXT 512
void sp_svg_fit(char out[SP_SVG_TEXT], struct sp_str text, double width, double size);
/* Writes a text. anchor: "start", "middle" or "end". A text wider than `wide` is shortened. */
void sp_svg_text(struct sp_svg *s, double x, double y, struct sp_str text, double wide, const char *anchor, double size,
                 struct sp_colour c);
/* Begins a group with a tooltip; tip: one or more lines. */
void sp_svg_open(struct sp_svg *s, const char *tip);
void sp_svg_close(struct sp_svg *s);
void sp_svg_rect(struct sp_svg *s, double x, double y, double w, double h, struct sp_colour c);
void sp_svg_line(struct sp_svg *s, double x1, double y1, double x2, double y2, struct sp_colour c, double width);
/* Mixes two colours. */
struct sp_colour sp_mixed(struct sp_colour a, struct sp_colour b, double part);

/* The legend: the colours of the modules with the most time, as many as its rows have room for. */
struct sp_legend {
	bool bytes; /* values are bytes instead of times, as in struct sp_shown */
	struct sp_intern modules;
	struct sp_arena arena;
	double *time; /* owned; ns of each module */
	size_t capacity;
	bool untold; /* the times are those of the drawn parts, not of the whole modules: they are not shown */
};
void sp_legend_init(struct sp_legend *l);
void sp_legend_free(struct sp_legend *l);
/* Returns 0, or -1: no memory. */
int sp_legend_add(struct sp_legend *l, struct sp_str module, double time);
/* px; 0 if nothing was added. */
double sp_legend_height(const struct sp_legend *l, double width);
void sp_legend_draw(const struct sp_legend *l, struct sp_svg *s, double y);

#endif
