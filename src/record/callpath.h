/* SPDX-License-Identifier: BSD-3-Clause */
/* The call tree of a thread. */
#ifndef SP_RECORD_CALLPATH_H
#define SP_RECORD_CALLPATH_H

#include <stdint.h>

#include "format/format.h"
#include "record/thread.h"

/* Where the value of a metric's column is kept for a node (not the root). */
static inline uint64_t *sp_node_value(struct sp_raw_node *n, unsigned column)
{
	return &((struct sp_raw_values *)(n + 1))[column / SP_RAW_VALUES].value[column % SP_RAW_VALUES];
}
/* Adds to the value. Nothing, where the node is of a measurement that had no such column. */
static inline void sp_node_add(const struct sp_thread *t, struct sp_raw_node *n, unsigned column, uint64_t amount)
{
	if (n != t->root && column < t->node_values * SP_RAW_VALUES)
		*sp_node_value(n, column) += amount;
}
/* From here on the innermost call counts as one with that value of the parameter: region is of kind PARAMETER. */
void sp_callpath_parameter(struct sp_thread *t, uint32_t parameter, uint32_t region, uint64_t now);
/* NULL: no room. */
struct sp_raw_node *sp_callpath_child(struct sp_thread *t, struct sp_raw_node *parent, uint32_t region);
/* The index of a node of t, as the file has it. */
uint32_t sp_callpath_index(const struct sp_thread *t, const struct sp_raw_node *n);
void sp_callpath_reset(struct sp_thread *t);

#endif
