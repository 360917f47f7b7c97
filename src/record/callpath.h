/* SPDX-License-Identifier: BSD-3-Clause */
/* The call tree of a thread. */
#ifndef SP_RECORD_CALLPATH_H
#define SP_RECORD_CALLPATH_H

#include <stdint.h>

#include "format/format.h"
#include "record/thread.h"

/* Returns the address of a metric column's value in a node other than the root. */
static inline uint64_t *sp_node_value(struct sp_raw_node *n, unsigned column)
{
	return &((struct sp_raw_values *)(n + 1))[column / SP_RAW_VALUES].value[column % SP_RAW_VALUES];
}
/* Adds an amount to a metric column of a node. Does nothing if the node's measurement had no such column. */
static inline void sp_node_add(const struct sp_thread *t, struct sp_raw_node *n, unsigned column, uint64_t amount)
{
	if (n != t->root && column < t->node_values * SP_RAW_VALUES)
		*sp_node_value(n, column) += amount;
}
/* From `now` on (ticks) the innermost call counts as a call with this value of the parameter. parameter: the id of its
 * name; region: the value's region of kind PARAMETER. */
void sp_callpath_parameter(struct sp_thread *t, uint32_t parameter, uint32_t region, uint64_t now);
/* Returns parent's child for the region, made at first use; NULL if there is no space or the region is
 * SP_REGION_HIDES. */
struct sp_raw_node *sp_callpath_child(struct sp_thread *t, struct sp_raw_node *parent, uint32_t region);
/* Returns the index of a node of t in the file. */
uint32_t sp_callpath_index(const struct sp_thread *t, const struct sp_raw_node *n);
/* Discards all nodes of t and frees their chunks in the file. */
void sp_callpath_reset(struct sp_thread *t);

#endif
