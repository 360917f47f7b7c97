/* SPDX-License-Identifier: BSD-3-Clause */
/* Arranges the boxes of a directed graph in layers, callers above callees (after K. Sugiyama, S. Tagawa, M. Toda:
 * "Methods for Visual Understanding of Hierarchical System Structures", IEEE Transactions on Systems, Man, and
 * Cybernetics 11, 1981). Edges that close a cycle are reversed. Each node is in a layer below all nodes that lead to
 * it. Edges across several layers get a point in each of them. Layers are ordered by the mean of their neighbours'
 * positions, and boxes are moved as close to these as the order allows. */
#ifndef SP_WRITE_PICTURE_LAYERS_H
#define SP_WRITE_PICTURE_LAYERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

struct sp_layers_node {
	double w, h; /* input; px */
	double x, y; /* result: centre of the box */
};

struct sp_layers_edge {
	uint32_t from, to; /* nodes; they differ */
	uint32_t span;     /* minimum number of layers between both; 1 or more */
	bool back;         /* result: it closes a cycle, so `to` is above `from` */
	/* Result: n points from the upper node down, each passed vertically; the first is on the upper box, the last on
	 * the lower one. In the arena. */
	double *x, *y;
	size_t n;
};

struct sp_layers {
	struct sp_arena arena;
	struct sp_layers_node *nodes; /* input */
	size_t n_nodes;
	struct sp_layers_edge *edges; /* input */
	size_t n_edges;
	double gap, rise; /* input; px between boxes and between layers */
	double width, height;
};

/* Arranges the graph. In a cycle, earlier nodes are placed higher. The time grows with nodes, edges and the layers that
 * edges pass. Returns 0, -1: no memory, or 1: edges pass more than a million layers together. */
int sp_layers(struct sp_layers *l);
void sp_layers_free(struct sp_layers *l);

#endif
