/* SPDX-License-Identifier: BSD-3-Clause */
/* Call paths of records beside calls, as lists of regions (load/stack.c). */
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
/* stack.c. From nodes of a process that is loaded to lists of regions, while its file is open. */
struct sp_stack_reader {
	struct sp_builder *b;
	struct sp_loading *l;
	size_t left; /* steps that may still be taken */
	bool told;   /* that they were not enough */
};
void sp_stack_reader_open(struct sp_stack_reader *k, struct sp_builder *b, struct sp_loading *l);
/* The place of a location, by its id, among those of the file; SP_NONE: it is not there. */
uint32_t sp_stack_reader_location(const struct sp_stack_reader *k, uint32_t id);
/* The regions from the root to the node at a writer's pointer of that place, without those of values of parameters;
 * empty where it is not there. thread may be SP_NONE, pointer 0. The list is in the model's arena, and shared with no
 * other. -1: no memory. */
int sp_stack_reader_find(struct sp_stack_reader *k, uint32_t thread, uint64_t pointer, struct sp_stack *out);

#endif
