/* SPDX-License-Identifier: BSD-3-Clause */
/* The current call path of a thread whose functions are not recorded. The hook walks the interpreter's frames and
 * passes them here, outermost first. A frame that did not change since the previous walk costs one comparison. */
#ifndef SP_RECORD_EVENTS_WALK_H
#define SP_RECORD_EVENTS_WALK_H

#include "record/thread.h"

/* One frame of a walk. */
struct sp_walk_step {
	const void *frame; /* the interpreter's frame, or one of the thread's stack */
	uint64_t key;      /* identifies the code that runs in it */
	uint64_t region;   /* 0: its callees count as called by its caller */
	struct sp_raw_node *node;
	bool left_out; /* excluded with all functions that it calls */
};

/* The frames of a thread's latest walk. */
struct sp_walk {
	const void **frames; /* owned; the hook's array, innermost first */
	size_t frames_capacity;
	struct sp_walk_step *steps; /* owned; of the previous walk */
	size_t n, capacity;
	/* state of the current walk */
	size_t at, depth;
	bool same; /* all steps so far are the same as in the previous walk */
};

/* Enlarges the array of frames. Returns false without memory. */
bool sp_walk_frames_more(struct sp_walk *w);
/* Returns t's walk, made at first use; NULL without memory. */
struct sp_walk *sp_walk_of(struct sp_thread *t);
/* Begins a walk of `steps` steps. Returns false without memory. */
bool sp_walk_begin(struct sp_thread *t, size_t steps);
/* Adds a step. function: a Python function; otherwise a user region, a region of a library or a compiled function. */
void sp_walk_step(struct sp_thread *t, const void *frame, uint64_t key, uint64_t region, bool function);
/* Ends the walk and returns the node of its innermost step. */
struct sp_raw_node *sp_walk_end(struct sp_thread *t);
/* Forgets the previous walk: its nodes are no longer valid. */
void sp_walk_reset(struct sp_thread *t);
void sp_walk_free(struct sp_thread *t);

#endif
