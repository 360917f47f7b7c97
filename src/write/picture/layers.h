/* SPDX-License-Identifier: BSD-3-Clause */
/* Places the boxes of a directed graph in layers, callers above what they call (after K. Sugiyama, S. Tagawa, M. Toda:
 * "Methods for Visual Understanding of Hierarchical System Structures", IEEE Transactions on Systems, Man, and
 * Cybernetics 11, 1981): edges that close a cycle are turned round, each node comes into a layer below all that lead to
 * it, edges over several layers get a point in each, layers are ordered by the mean of their neighbours, and boxes are
 * moved as near to these as the order allows. */
#ifndef SP_WRITE_PICTURE_LAYERS_H
#define SP_WRITE_PICTURE_LAYERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

struct sp_layers_node {
	double w, h; /* given, px */
	double x, y; /* of its middle */
};

struct sp_layers_edge {
	uint32_t from, to; /* nodes, not the same */
	uint32_t span;     /* layers from one to the other at least; 1 or more */
	bool back;         /* it closes a cycle: `to` is above `from` */
	/* From the upper node down: n points, each to be passed vertically; the first is on the upper box and the last
	 * on the lower one. In the arena. */
	double *x, *y;
	size_t n;
};

struct sp_layers {
	struct sp_arena arena;
	struct sp_layers_node *nodes; /* given */
	size_t n_nodes;
	struct sp_layers_edge *edges; /* given */
	size_t n_edges;
	double gap, rise; /* given: px between boxes and between layers */
	double width, height;
};

/* Earlier nodes are taken to be further up where a cycle leaves the choice. The time grows with nodes, edges and the
 * layers that edges pass. 0, -1: no memory, or 1: edges pass a million layers together. */
int sp_layers(struct sp_layers *l);
void sp_layers_free(struct sp_layers *l);

#endif
