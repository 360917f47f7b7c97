/* SPDX-License-Identifier: BSD-3-Clause */
/* The call tree folded into functions and calls between them, for formats without call paths. */
#ifndef SP_WRITE_PROFILE_GRAPH_H
#define SP_WRITE_PROFILE_GRAPH_H

#include "base/arena.h"
#include "model/model.h"
#include "model/path.h"
#include "model/region.h"
#include "model/report/report.h"
#include "model/str.h"
#include "write/common/writer.h"

/* The fields by which a format distinguishes functions. */
struct sp_graph_key {
	struct sp_str file, name;
	uint32_t line;
};

/* Calls are visits, plus resumptions if the format counts them. Primitive calls and total time exclude what happens
 * below the same function (for a node) or the same call (for an edge) further up in the same stack. */
struct sp_graph_sum {
	uint64_t calls, primitive;
	double own, total;         /* ns */
	struct sp_split own_split; /* of `own`; 0 if times are not split */
};

struct sp_graph_node {
	struct sp_graph_key key;
	uint32_t region; /* the first region with that key */
	struct sp_graph_sum sum;
	uint32_t callers, callees; /* first edges; SP_NONE: no edges */
	uint32_t open;             /* during the walk of the tree: number of occurrences on the stack */
	bool seen;                 /* it has time or calls, or calls such a function */
};

struct sp_graph_edge {
	uint32_t caller, callee;
	/* next edge in the lists of the callee's callers and the caller's callees */
	uint32_t next_caller, next_callee;
	uint32_t open;
	struct sp_graph_sum sum;
	double outer;                /* ns of calls whose callee was nowhere else on the stack */
	struct sp_split outer_split; /* of `outer` */
};

struct sp_graph {
	struct sp_arena arena;
	/* In the arena; some are not `seen`. Node 0 is the caller of functions without a caller; it is not a function,
	 * and has no key and no numbers. */
	struct sp_graph_node *nodes;
	size_t n_nodes;
	struct sp_graph_edge *edges; /* owned */
	size_t n_edges;
};

typedef struct sp_graph_key sp_graph_key_fn(const struct sp_region *r);

/* What is folded, and how. */
struct sp_graph_source {
	const struct sp_value *values;      /* for each path */
	const struct sp_path_split *splits; /* for each path; NULL: times are not split */
	bool resumed;                       /* count resumptions as calls */
	sp_graph_key_fn *key;
};

/* Folds the tree. Returns 0, or -1 with e set. */
int sp_graph_open(struct sp_graph *g, const struct sp_model *m, const struct sp_graph_source *from,
                  const struct sp_write_options *o, struct sp_err *e);
void sp_graph_close(struct sp_graph *g);

#endif
