/* SPDX-License-Identifier: BSD-3-Clause */
/* The charts; each function draws a chart that was opened for it. */
#ifndef SP_WRITE_PICTURE_PLOT_H
#define SP_WRITE_PICTURE_PLOT_H

#include "model/model.h"
#include "model/str.h"
#include "write/picture/svg.h"

struct sp_plot {
	const struct sp_model *m;
	const struct sp_plot_options *o;
	const char *path;
	struct sp_plot_done *done;
	struct sp_err *e;
};

/* Return 0, or -1 with e set. */
int sp_plot_boxes(struct sp_plot *p); /* flame graph and icicle */
int sp_plot_sunburst(struct sp_plot *p);
int sp_plot_balance(struct sp_plot *p);
int sp_plot_timeline(struct sp_plot *p);

/* ---- layout of the call tree (plot_tree.c) ---- */

struct sp_plot_box {
	uint32_t path;   /* SP_NONE: `hidden` calls that are too small, below the box `parent` */
	uint32_t depth;  /* 0: no caller, or a call that matches */
	double x, w;     /* share of the total: 0 to 1 */
	uint64_t hidden; /* calls that are too small or too deep to be drawn, except for those in a separate box */
	double time;     /* ns */
};

struct sp_plot_tree {
	struct sp_shown shown;
	struct sp_plot_box *boxes; /* owned; callers before their callees */
	size_t n, capacity;
	uint32_t depth; /* number of rows */
	double total;   /* ns of the whole */
};

/* Lays out the tree. least: for each depth, the minimum share of a separate box; smaller calls are combined. */
int sp_plot_tree_open(struct sp_plot_tree *t, struct sp_plot *p, uint32_t depth, const double *least);
void sp_plot_tree_close(struct sp_plot_tree *t);
/* Writes the tooltip and the text of a box. */
#define SP_PLOT_TIP 2400
void sp_plot_tip(char tip[SP_PLOT_TIP], const struct sp_plot_tree *t, const struct sp_model *m,
                 const struct sp_plot_box *b);
struct sp_str sp_plot_label(char text[SP_SVG_TEXT], const struct sp_model *m, const struct sp_plot_box *b);
struct sp_colour sp_plot_colour(const struct sp_model *m, const struct sp_plot_box *b, enum sp_picture_theme t);
/* Sums exclusive times by module over the whole chart, including calls that are too small for a separate box. */
int sp_plot_legend(struct sp_legend *l, const struct sp_plot_tree *t, const struct sp_model *m);

#endif
