/* SPDX-License-Identifier: BSD-3-Clause */
/* What the charts share: a picture in SVG whose texts fit and whose parts say what they are when pointed at. */
#ifndef SP_WRITE_PICTURE_SVG_H
#define SP_WRITE_PICTURE_SVG_H

#include "base/intern.h"
#include "model/str.h"
#include "write/common/out.h"
#include "write/picture/picture.h"

enum {
	SP_SVG_MARGIN = 12,
	SP_SVG_HEAD = 34, /* where a title is */
	SP_SVG_FONT = 11,
	SP_SVG_LEGEND_ROW = 18
};

struct sp_svg {
	struct sp_out out;
	enum sp_picture_theme theme;
	double width, height;
};

/* Room above what is drawn: with a title or without. */
double sp_svg_top(const struct sp_picture *p);
/* 0, or -1 with e set: nothing to end then. */
int sp_svg_begin(struct sp_svg *s, const char *path, const struct sp_picture *p, double width, double height,
                 struct sp_err *e);
/* As sp_out_close(). */
int sp_svg_end(struct sp_svg *s, int rc, struct sp_err *e);

/* Escaped for XML. */
void sp_svg_escaped(struct sp_svg *s, const char *text);
void sp_svg_colour(struct sp_svg *s, const char *attribute, struct sp_colour c);
/* About how wide a text is in a wide sans-serif font, px. */
double sp_svg_wide(const char *text, double size);
/* As much of a text as fits into that width, its middle left out; "": too little to say anything. */
#define SP_SVG_TEXT 512
void sp_svg_fit(char out[SP_SVG_TEXT], struct sp_str text, double width, double size);
/* anchor: "start", "middle" or "end". What does not fit into `wide` is shortened. */
void sp_svg_text(struct sp_svg *s, double x, double y, struct sp_str text, double wide, const char *anchor, double size,
                 struct sp_colour c);
/* A group with a tooltip begins; tip is one or more lines. */
void sp_svg_open(struct sp_svg *s, const char *tip);
void sp_svg_close(struct sp_svg *s);
void sp_svg_rect(struct sp_svg *s, double x, double y, double w, double h, struct sp_colour c);
void sp_svg_line(struct sp_svg *s, double x1, double y1, double x2, double y2, struct sp_colour c, double width);
/* A colour between two. */
struct sp_colour sp_mixed(struct sp_colour a, struct sp_colour b, double part);

/* Which modules have which colours: those with the most time, as many as rows have room for. */
struct sp_legend {
	bool bytes; /* in the place of times, as in struct sp_shown */
	struct sp_intern modules;
	struct sp_arena arena;
	double *time; /* owned; ns of each module */
	size_t room;
	bool untold; /* the times are not those of the modules, but of what is drawn of them */
};
void sp_legend_init(struct sp_legend *l);
void sp_legend_free(struct sp_legend *l);
/* 0, or -1: no memory. */
int sp_legend_add(struct sp_legend *l, struct sp_str module, double time);
/* px; 0 where nothing was added. */
double sp_legend_height(const struct sp_legend *l, double width);
void sp_legend_draw(const struct sp_legend *l, struct sp_svg *s, double y);

#endif
