/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions and calls in a picture of the call graph, and their texts. */
#ifndef SP_WRITE_PICTURE_CALLS_H
#define SP_WRITE_PICTURE_CALLS_H

#include "base/intern.h"
#include "model/model.h"
#include "write/picture/picture.h"
#include "write/profile/graph.h"

enum {
	/* maximum characters of a function's name: wider boxes would make the picture too wide */
	SP_CALLS_NAME = 44,
	SP_CALLS_LEAVES = 4,  /* number of callees without callees in one row, */
	SP_CALLS_ABREAST = 8, /* or of other callees, if a function has more of them; */
	SP_CALLS_ROWS = 8     /* maximum number of rows */
};

struct sp_calls {
	const struct sp_model *m;
	const struct sp_dot_options *o;
	struct sp_shown shown;
	struct sp_graph g;
	double total;
	uint32_t *order;      /* owned; done.nodes nodes, sorted by decreasing time */
	bool *drawn;          /* owned; for each node */
	uint32_t *cluster;    /* owned; for each node: index into `modules`; SP_NONE: no module */
	uint32_t *in, *exits; /* owned; for each node: number of drawn edges, without those to itself */
	struct sp_intern modules;
	struct sp_dot_done done;
};

/* Chooses what to draw. Returns 0, or -1 with e set; call sp_calls_close() in both cases. */
int sp_calls_open(struct sp_calls *c, const struct sp_model *m, const struct sp_dot_options *o, struct sp_err *e);
void sp_calls_close(struct sp_calls *c);
bool sp_calls_drawn(const struct sp_calls *c, const struct sp_graph_edge *edge);
/* The number of rows for the callees of a function, because a single row would be too wide; all: for all callees,
 * otherwise only for those without callees. */
struct sp_calls_rows {
	uint32_t rows;
	bool all;
};
struct sp_calls_rows sp_calls_rows(const struct sp_calls *c, uint32_t caller);
/* Whether the callee is moved to one of these rows. */
bool sp_calls_moves(const struct sp_calls *c, const struct sp_calls_rows *r, const struct sp_graph_edge *edge);
/* Writes a share: 0.25 of the whole as 25.0%; a share above 0 is never shown as 0. */
#define SP_SHARE_TEXT 32
void sp_calls_share(const struct sp_calls *c, char out[SP_SHARE_TEXT], double part);

#endif
