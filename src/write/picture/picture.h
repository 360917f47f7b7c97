/* SPDX-License-Identifier: BSD-3-Clause */
/* Pictures for papers and READMEs: the call graph in Graphviz's language, and charts in SVG. */
#ifndef SP_WRITE_PICTURE_PICTURE_H
#define SP_WRITE_PICTURE_PICTURE_H

#include "model/model.h"
#include "model/path.h"
#include "model/region.h"
#include "model/report/report.h"
#include "model/str.h"
#include "write/common/writer.h"

enum sp_picture_theme { SP_THEME_LIGHT, SP_THEME_DARK, SP_THEME_GREY, SP_THEMES };

/* Red, green and blue, each 0 to 255. */
struct sp_colour {
	uint8_t r, g, b;
};

/* The contents of a picture; process and location may be SP_NONE: all. */
struct sp_picture {
	uint32_t process, location;
	/* only functions that match, with their callees, as in sp_report_flat(); NULL or "": all */
	const char *match;
	const char *title; /* NULL: no title */
	enum sp_picture_theme theme;
};

struct sp_dot_options {
	struct sp_picture of;
	double node_share; /* minimum share of the total time of a function, */
	double edge_share; /* and of a call, to be drawn */
	size_t limit;      /* maximum number of functions, those with the most inclusive time; 0: all */
};

/* Numbers of what was drawn. */
struct sp_dot_done {
	size_t nodes, edges;               /* drawn */
	size_t hidden_nodes, hidden_edges; /* left out */
};

/* Writes the call graph for Graphviz, complete or not at all. Returns 0, or -1 with e set, also if there is nothing to
 * draw. */
int sp_dot_write(const struct sp_model *m, const char *path, const struct sp_dot_options *o, struct sp_dot_done *done,
                 struct sp_err *e);

/* The same as an SVG picture with built-in layout, for use without Graphviz. */
int sp_graph_svg(const struct sp_model *m, const char *path, const struct sp_dot_options *o, struct sp_dot_done *done,
                 struct sp_err *e);

enum sp_plot_kind { SP_PLOT_FLAME, SP_PLOT_ICICLE, SP_PLOT_SUNBURST, SP_PLOT_BALANCE, SP_PLOT_TIMELINE, SP_PLOTS };

struct sp_plot_options {
	struct sp_picture of;
	enum sp_plot_kind kind;
	double width, height; /* px; height 0: as high as needed */
};

struct sp_plot_done {
	/* call paths, functions or threads; hidden ones are combined in a part that is marked as such */
	uint64_t drawn, hidden;
};

/* Writes an SVG chart, complete or not at all. Returns 0, or -1 with e set, also if there is nothing to draw. */
int sp_plot_write(const struct sp_model *m, const char *path, const struct sp_plot_options *o,
                  struct sp_plot_done *done, struct sp_err *e);

/* ---- what pictures share (picture.c) ---- */

/* The values to draw. Paths that neither match nor are below a matching call have no time. total: ns of the whole
 * process or location, to which shares refer, even if only some functions match. If memory was recorded and nothing has
 * time, values are allocated bytes instead of ns, and blocks instead of visits. sp_shown_open() returns 0, or -1 with e
 * set, also if nothing matches. */
struct sp_shown {
	struct sp_view view;
	bool bytes;
	struct sp_value *owned; /* owned; NULL: values are those of the view */
	const struct sp_value *values;
	double total;
};
int sp_shown_open(struct sp_shown *s, const struct sp_model *m, const struct sp_picture *p, struct sp_err *e);
void sp_shown_close(struct sp_shown *s);
#define SP_TIME_TEXT 24
/* Writes a value as sp_time_text() does, or as a number of bytes: 12.3 MiB. */
void sp_amount_text(char out[SP_TIME_TEXT], double value, bool bytes);
void sp_shown_text(const struct sp_shown *s, char out[SP_TIME_TEXT], double value);
/* Writes "12×", or "12 blocks". */
void sp_shown_often(const struct sp_shown *s, char out[SP_TIME_TEXT], uint64_t n);

/* The contrast ratio of WCAG 2: 1 to 21. */
double sp_contrast(struct sp_colour a, struct sp_colour b);
/* The theme's text colour, or white or black if that is not readable on c (contrast below 4.5). */
struct sp_colour sp_ink_on(struct sp_colour c, enum sp_picture_theme t);
struct sp_colour sp_paper(enum sp_picture_theme t);
/* The colour of a share, 0 to 1. */
struct sp_colour sp_heat(double share, enum sp_picture_theme t);
/* The hue of a module, which depends only on its name; the same as in viewer/src/draw/colour.ts. */
struct sp_colour sp_module_colour(struct sp_str module, enum sp_picture_theme t);
/* The module of a region; without one, "MPI" for MPI functions, otherwise "". */
struct sp_str sp_module_of(const struct sp_region *r);

/* Writes nanoseconds with four digits and a unit, as in tables. */
void sp_time_text(char out[SP_TIME_TEXT], double ns);
/* Writes at most n characters (UTF-8) of s; an ellipsis replaces the middle of a longer text. out: 4 * n + 4 bytes. */
void sp_shorten(char *out, struct sp_str s, size_t n);

#endif
