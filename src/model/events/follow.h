/* SPDX-License-Identifier: BSD-3-Clause */
/* Follows a trace's events to the current call path of the model. */
#ifndef SP_MODEL_EVENTS_FOLLOW_H
#define SP_MODEL_EVENTS_FOLLOW_H

#include "model/event.h"

/* Finds a path by its parent, region and parameter; made once for a model. */
struct sp_path_index {
	const struct sp_model *m;
	uint32_t *exact;  /* owned; hash table (parent, region, parameter) -> path; 0: empty slot */
	uint32_t *any;    /* owned; hash table (parent, region) -> first such path */
	uint32_t *values; /* owned; hash table: value of a parameter -> its index + 1 */
	size_t mask, value_mask;
	uint32_t collapsed; /* the region of collapsed calls; SP_NONE: not in the model */
};

/* Returns 0, or -1: no memory. Call sp_path_index_free() in both cases. */
int sp_path_index_init(struct sp_path_index *x, const struct sp_model *m);
void sp_path_index_free(struct sp_path_index *x);

/* The path of region below parent without a parameter; if all such calls have parameters, one of those paths. A call
 * without a separate path (memory limit) is in the path of the collapsed calls, or of its caller. */
uint32_t sp_path_below(const struct sp_path_index *x, uint32_t parent, uint32_t region);

/* The path of a call after an event of kind PARAMETER in it. path: its path before the event. *parameter: the value
 * that was set last in this call, or SP_NONE; the function updates it. */
uint32_t sp_path_with(const struct sp_path_index *x, uint32_t path, uint32_t *parameter, const struct sp_event *ev);

struct sp_followed {
	uint32_t path;
	uint32_t parameter; /* the value that was set last in this call; SP_NONE: no value */
};

/* The current call stack of one location. */
struct sp_follow {
	const struct sp_path_index *x;
	struct sp_followed *stack; /* owned; the root first */
	size_t depth, capacity;
};

int sp_follow_init(struct sp_follow *f, const struct sp_path_index *x); /* Returns 0, or -1: no memory */
void sp_follow_free(struct sp_follow *f);
/* Applies the event: afterwards f has the path of the next event. Returns 0, or -1: no memory. */
int sp_follow_event(struct sp_follow *f, const struct sp_event *ev);

static inline uint32_t sp_follow_path(const struct sp_follow *f)
{
	return f->stack[f->depth - 1].path;
}

#endif
