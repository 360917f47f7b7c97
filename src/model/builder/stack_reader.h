/* SPDX-License-Identifier: BSD-3-Clause */
/* Converts call paths in records other than calls to lists of regions (load/stack.c). */
#ifndef SP_MODEL_BUILDER_STACK_READER_H
#define SP_MODEL_BUILDER_STACK_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/lock.h"

struct sp_builder;
struct sp_loading;

/* Calls visit for each region of a list. */
void sp_stack_regions(const struct sp_stack *s, void (*visit)(void *arg, uint32_t *region), void *arg);
/* stack.c. Converts nodes of a process to lists of regions while its file is open. */
struct sp_stack_reader {
	struct sp_builder *b;
	struct sp_loading *l;
	size_t left;   /* nodes that may still be visited: limits the work on a damaged file */
	bool reported; /* the limit was reached, and reported as a problem */
};
void sp_stack_reader_open(struct sp_stack_reader *k, struct sp_builder *b, struct sp_loading *l);
/* The index of a location in the file, by its id; SP_NONE: not in the file. */
uint32_t sp_stack_reader_location(const struct sp_stack_reader *k, uint32_t id);
/* The regions from the root to the node at a writer's pointer, without values of parameters; *out is empty if there is
 * no such node. thread (index in the file) may be SP_NONE, pointer 0. The list is in the model's arena and not shared.
 * Returns 0, or -1: no memory. */
int sp_stack_reader_find(struct sp_stack_reader *k, uint32_t thread, uint64_t pointer, struct sp_stack *out);

#endif
