/* SPDX-License-Identifier: BSD-3-Clause */
/* The call path that a thread is in where its functions are not recorded. The hook walks the interpreter's frames and
 * tells them here, outermost first; what is as it was in the walk before costs a comparison for each. */
#ifndef SP_RECORD_EVENTS_WALK_H
#define SP_RECORD_EVENTS_WALK_H

#include "record/thread.h"

struct sp_walk_step {
	const void *frame; /* of the interpreter, or of the thread's stack */
	uint64_t key;      /* what runs in it */
	uint64_t region;   /* 0: what it calls is as if its caller called it */
	struct sp_raw_node *node;
	bool left_out; /* it is left out with all functions that it calls */
};

struct sp_walk {
	const void **frames; /* owned; the hook's, innermost first */
	size_t frames_room;
	struct sp_walk_step *steps; /* owned; of the walk before */
	size_t n, room;
	/* the walk that goes on */
	size_t at, depth;
	bool same; /* all steps so far are those of the walk before */
};

/* Room for one more frame; false: no memory. */
bool sp_walk_frames_more(struct sp_walk *w);
/* NULL: no memory. */
struct sp_walk *sp_walk_of(struct sp_thread *t);
/* false: no memory for so many steps. */
bool sp_walk_begin(struct sp_thread *t, size_t steps);
/* function: of Python; otherwise a region of the program's own, of a library or of compiled code. */
void sp_walk_step(struct sp_thread *t, const void *frame, uint64_t key, uint64_t region, bool function);
struct sp_raw_node *sp_walk_end(struct sp_thread *t);
void sp_walk_reset(struct sp_thread *t); /* the nodes are no more */
void sp_walk_free(struct sp_thread *t);

#endif
