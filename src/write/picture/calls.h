/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions and calls that a picture of the call graph shows, and what is said about them. */
#ifndef SP_WRITE_PICTURE_CALLS_H
#define SP_WRITE_PICTURE_CALLS_H

#include "base/intern.h"
#include "model/model.h"
#include "write/picture/picture.h"
#include "write/profile/graph.h"

enum {
	SP_CALLS_NAME = 44,   /* characters of a function's name: boxes that are wider make strips */
	SP_CALLS_LEAVES = 4,  /* callees without callees of their own beside each other, */
	SP_CALLS_ABREAST = 8, /* or others, of a function that has more of them, */
	SP_CALLS_ROWS = 8     /* in at most so many rows */
};

struct sp_calls {
	const struct sp_model *m;
	const struct sp_dot_options *o;
	struct sp_shown shown;
	struct sp_graph g;
	double total;
	uint32_t *order;      /* owned; done.nodes of them: nodes, those with the most time first */
	bool *drawn;          /* owned; of each node */
	uint32_t *cluster;    /* owned; of each node: of `modules`, SP_NONE: none */
	uint32_t *in, *exits; /* owned; of each node: edges drawn, without those to itself */
	struct sp_intern modules;
	struct sp_dot_done done;
};

/* 0, or -1 with e set; sp_calls_close() either way. */
int sp_calls_open(struct sp_calls *c, const struct sp_model *m, const struct sp_dot_options *o, struct sp_err *e);
void sp_calls_close(struct sp_calls *c);
bool sp_calls_drawn(const struct sp_calls *c, const struct sp_graph_edge *edge);
/* Callees stand in so many rows below each other, for in one they would make a strip: those that call nothing, or all.
 */
struct sp_calls_rows {
	uint32_t rows;
	bool all;
};
struct sp_calls_rows sp_calls_rows(const struct sp_calls *c, uint32_t caller);
/* Whether the callee is one of those. */
bool sp_calls_moves(const struct sp_calls *c, const struct sp_calls_rows *r, const struct sp_graph_edge *edge);
/* 0.25 of the whole as 25.0%; what is not nothing never looks like it. */
#define SP_SHARE_TEXT 32
void sp_calls_share(const struct sp_calls *c, char out[SP_SHARE_TEXT], double part);

#endif
