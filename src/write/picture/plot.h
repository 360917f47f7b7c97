/* SPDX-License-Identifier: BSD-3-Clause */
/* The charts; each draws what has been opened for it. */
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

/* -1 with e set. */
int sp_plot_boxes(struct sp_plot *p); /* flame and icicle */
int sp_plot_sunburst(struct sp_plot *p);
int sp_plot_balance(struct sp_plot *p);
int sp_plot_timeline(struct sp_plot *p);

/* ---- the call tree, laid out (plot_tree.c) ---- */

struct sp_plot_box {
	uint32_t path;   /* SP_NONE: `hidden` calls that are too small, below the box `parent` */
	uint32_t depth;  /* 0: called by nobody, or what matches */
	double x, w;     /* of the whole: 0 to 1 */
	uint64_t hidden; /* too small to be drawn, without those in a box of their own, or too deep */
	double time;     /* ns */
};

struct sp_plot_tree {
	struct sp_shown shown;
	struct sp_plot_box *boxes; /* owned; callers before what they call */
	size_t n, room;
	uint32_t depth; /* rows */
	double total;   /* ns that the whole stands for */
};

/* least: of each depth, which part of the whole is drawn by itself; what is smaller is put together. */
int sp_plot_tree_open(struct sp_plot_tree *t, struct sp_plot *p, uint32_t depth, const double *least);
void sp_plot_tree_close(struct sp_plot_tree *t);
/* What a box says when it is pointed at, and on it. */
#define SP_PLOT_TIP 2400
void sp_plot_tip(char tip[SP_PLOT_TIP], const struct sp_plot_tree *t, const struct sp_model *m,
                 const struct sp_plot_box *b);
struct sp_str sp_plot_label(char text[SP_SVG_TEXT], const struct sp_model *m, const struct sp_plot_box *b);
struct sp_colour sp_plot_colour(const struct sp_model *m, const struct sp_plot_box *b, enum sp_picture_theme t);
/* Own times by module, of all that the chart stands for: also of what is too small to be drawn by itself. */
int sp_plot_legend(struct sp_legend *l, const struct sp_plot_tree *t, const struct sp_model *m);

#endif
