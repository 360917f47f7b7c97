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

/* Red, green and blue, 0 to 255 each. */
struct sp_colour {
	uint8_t r, g, b;
};

/* What is shown, of which process or location (SP_NONE: of all). */
struct sp_picture {
	uint32_t process, location;
	const char *match; /* only what the functions that match do, as in sp_report_flat(); NULL or "": all */
	const char *title; /* NULL: none */
	enum sp_picture_theme theme;
};

struct sp_dot_options {
	struct sp_picture of;
	double node_share; /* of the whole time: functions with less are left out, */
	double edge_share; /* and calls with less */
	size_t limit;      /* the functions with the most inclusive time; 0: all */
};

/* What became of it. */
struct sp_dot_done {
	size_t nodes, edges;               /* drawn */
	size_t hidden_nodes, hidden_edges; /* not drawn */
};

/* Complete or not at all, as all writers. -1 with e set, also if there is nothing to draw. */
int sp_dot_write(const struct sp_model *m, const char *path, const struct sp_dot_options *o, struct sp_dot_done *done,
                 struct sp_err *e);

/* The same as a picture, in layers of our own: for where there is no Graphviz. */
int sp_graph_svg(const struct sp_model *m, const char *path, const struct sp_dot_options *o, struct sp_dot_done *done,
                 struct sp_err *e);

enum sp_plot_kind { SP_PLOT_FLAME, SP_PLOT_ICICLE, SP_PLOT_SUNBURST, SP_PLOT_BALANCE, SP_PLOT_TIMELINE, SP_PLOTS };

struct sp_plot_options {
	struct sp_picture of;
	enum sp_plot_kind kind;
	double width, height; /* px; height 0: as much as it takes */
};

struct sp_plot_done {
	uint64_t drawn, hidden; /* call paths, functions or threads; hidden ones are in a part that says so */
};

/* SVG, complete or not at all. -1 with e set, also if there is nothing to draw. */
int sp_plot_write(const struct sp_model *m, const char *path, const struct sp_plot_options *o,
                  struct sp_plot_done *done, struct sp_err *e);

/* ---- what pictures share (picture.c) ---- */

/* A view of what is shown: what is neither a call that matches nor below one has no time. total: ns that shares are of,
 * the whole process's or location's also where only some functions match. Where memory was recorded and nothing has
 * time, values are bytes allocated in the place of ns, and blocks in the place of visits. -1 with e set, also if
 * nothing matches. */
struct sp_shown {
	struct sp_view view;
	bool bytes;
	struct sp_value *owned; /* owned; NULL: values are the view's */
	const struct sp_value *values;
	double total;
};
int sp_shown_open(struct sp_shown *s, const struct sp_model *m, const struct sp_picture *p, struct sp_err *e);
void sp_shown_close(struct sp_shown *s);
#define SP_TIME_TEXT 24
/* A value as sp_time_text() has it, or so many bytes: 12.3 MiB. */
void sp_amount_text(char out[SP_TIME_TEXT], double value, bool bytes);
void sp_shown_text(const struct sp_shown *s, char out[SP_TIME_TEXT], double value);
/* 12×, or 12 blocks. */
void sp_shown_often(const struct sp_shown *s, char out[SP_TIME_TEXT], uint64_t n);

/* Of WCAG 2: 1 to 21. */
double sp_contrast(struct sp_colour a, struct sp_colour b);
/* The theme's ink, or white or black where that is not readable (4.5) on it. */
struct sp_colour sp_ink_on(struct sp_colour c, enum sp_picture_theme t);
struct sp_colour sp_paper(enum sp_picture_theme t);
/* 0 to 1: from nothing to all of the time. */
struct sp_colour sp_heat(double share, enum sp_picture_theme t);
/* The hue of a module, by its name alone; as viewer/src/draw/colour.ts has them. */
struct sp_colour sp_module_colour(struct sp_str module, enum sp_picture_theme t);
/* The module; where there is none "MPI" for its functions, else "". */
struct sp_str sp_module_of(const struct sp_region *r);
/* A function of the program and not of Python's library or an installed package. */
bool sp_own(const struct sp_region *r);

/* Nanoseconds with four digits and a unit, as tables have them. */
void sp_time_text(char out[SP_TIME_TEXT], double ns);
/* s with at most n characters of UTF-8: the middle of a longer one is an ellipsis. out: 4 * n + 4 bytes. */
void sp_shorten(char *out, struct sp_str s, size_t n);

#endif
