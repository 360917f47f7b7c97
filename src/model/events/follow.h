/* SPDX-License-Identifier: BSD-3-Clause */
/* In which call path of the model the events of a trace are. */
#ifndef SP_MODEL_EVENTS_FOLLOW_H
#define SP_MODEL_EVENTS_FOLLOW_H

#include "model/event.h"

/* Finds paths by what they are; made once for a model. */
struct sp_path_index {
	const struct sp_model *m;
	uint32_t *exact;  /* owned; hash of (parent, region, parameter) to path, 0: empty */
	uint32_t *any;    /* owned; hash of (parent, region) to the first such path */
	uint32_t *values; /* owned; hash of a parameter's value to its index + 1 */
	size_t mask, value_mask;
	uint32_t collapsed; /* region; SP_NONE: there is none */
};

/* 0, or -1: no memory. sp_path_index_free() either way. */
int sp_path_index_init(struct sp_path_index *x, const struct sp_model *m);
void sp_path_index_free(struct sp_path_index *x);

/* The path of region below parent, called with no parameter; where all such calls have some, one of those. What has no
 * path of its own (memory limit) is in that of the collapsed calls, or of its caller. */
uint32_t sp_path_below(const struct sp_path_index *x, uint32_t parent, uint32_t region);

/* The path of a call in `path` behind an event of kind PARAMETER in it; *parameter: the value set last in this call, or
 * SP_NONE, before and after. */
uint32_t sp_path_with(const struct sp_path_index *x, uint32_t path, uint32_t *parameter, const struct sp_event *ev);

struct sp_followed {
	uint32_t path;
	uint32_t parameter; /* the value set last in this call, SP_NONE: none */
};

/* Follows one location's events. */
struct sp_follow {
	const struct sp_path_index *x;
	struct sp_followed *stack; /* owned; the root first */
	size_t depth, room;
};

int sp_follow_init(struct sp_follow *f, const struct sp_path_index *x); /* 0, or -1: no memory */
void sp_follow_free(struct sp_follow *f);
/* The event has happened: f is now where the next one is. 0, or -1: no memory. */
int sp_follow_event(struct sp_follow *f, const struct sp_event *ev);

static inline uint32_t sp_follow_path(const struct sp_follow *f)
{
	return f->stack[f->depth - 1].path;
}

#endif
