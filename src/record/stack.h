/* SPDX-License-Identifier: BSD-3-Clause */
/* The stack of open frames of a thread, but for the plain enter and leave in hot.h.
 *
 * A frame with flags has the complement of its key as key, so that its leave is never taken for an ordinary one. */
#ifndef SP_RECORD_STACK_H
#define SP_RECORD_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "format/format.h"
#include "record/process.h"
#include "record/thread.h"

void sp_enter_slow(struct sp_thread *t, uint32_t region, uint64_t key, uint64_t now, unsigned kind);
void sp_enter_collapsed(struct sp_thread *t, uint32_t region, uint64_t key, uint64_t now, unsigned kind);
/* Returns whether a frame of this key was open. */
bool sp_leave_slow(struct sp_thread *t, uint64_t key, uint64_t now, unsigned kind);

/* An inherited frame: open since before recording began; frame is the interpreter's own pointer. */
void sp_stack_inherit(struct sp_thread *t, uint32_t region, uint64_t key, uint64_t frame, uint64_t flags, uint64_t now);
/* The region of an open frame; that of a collapsed one is kept in its `frame`. */
uint32_t sp_stack_region(const struct sp_raw_frame *f);
/* What the leave of an open frame will say. */
static inline uint64_t sp_stack_key(const struct sp_raw_frame *f)
{
	return f->flags ? ~f->key : f->key;
}
/* A leave that matches nothing. What was open at the start may end unseen where that is wanted. Under the names of
 * Score-P's bindings, and as Omnitrace has it, functions are switched on where they are open; for user regions the
 * bindings have a region. */
static inline void sp_unmatched(struct sp_thread *t)
{
	t->loc.unmatched += sp_recording && !sp_process.settings.scorep && !sp_process.settings.omnitrace &&
	                    sp_process.settings.open_frames;
}
/* Whether functions of the calling thread are recorded, where those of the process are; user regions are in any case.
 */
void sp_thread_functions(struct sp_thread *t, bool on);
/* Leaves the innermost frame whatever it is. */
void sp_stack_pop(struct sp_thread *t, uint64_t now);
/* User regions open in a generator or coroutine that is suspended: left with it, and entered again when it goes on. id
 * tells one generator from another: the interpreter's frame. */
void sp_stack_set_aside(struct sp_thread *t, uint64_t key, uint64_t id, uint64_t now); /* key: the generator's own */
void sp_stack_bring_back(struct sp_thread *t, uint64_t id, uint64_t now);
void sp_stack_forget_aside(struct sp_thread *t, uint64_t id);
/* The stack `from` stops and `to` goes on where it stopped, or begins. The frames of a stack stay open while it waits:
 * its time goes on, as that of a caller does. In the trace they are left and entered again. */
void sp_stack_switch(struct sp_thread *t, const void *from, const void *to, uint64_t now);
/* Of generators and stacks alike, at the end of the thread. */
void sp_stack_free_aside(struct sp_thread *t);
/* A user region's key is its id with two low bits that no other key has. */
static inline uint64_t sp_user_key(uint32_t region)
{
	return (uint64_t)region << 8 | 3;
}
static inline bool sp_is_user_key(uint64_t key)
{
	return (key & 3) == 3;
}
/* Leaves inherited frames whose end nobody saw, because the hook came after they began; whether the stack is empty
 * then. */
bool sp_stack_settle(struct sp_thread *t, uint64_t now);
void sp_stack_clear(struct sp_thread *t, uint64_t now);
/* The frame number `first` (the outermost is 1) and what it called have ended unseen, but user regions go on. */
void sp_stack_cut(struct sp_thread *t, size_t first, uint64_t now);
/* The thread is in a pause from now on. */
void sp_stack_paused(struct sp_thread *t, uint64_t now);
/* After a pause: the time off; then, when the frames are in order, the user regions that began in it. */
void sp_stack_resumed(struct sp_thread *t);
void sp_stack_begun(struct sp_thread *t);
static inline size_t sp_stack_depth(const struct sp_thread *t)
{
	return (size_t)((const struct sp_raw_frame *)t->loc.top - (const struct sp_raw_frame *)t->loc.base);
}
/* Set by the hook: is the inherited frame f still among the callers of the frame now entered? */
extern bool (*sp_stack_still_open)(const struct sp_raw_frame *f);
/* While one of the two is asked: what the calling thread enters is no Python frame, so that its current frame is the
 * caller. Keys tell: those of Python's code have the bits 1 and 2 clear. */
extern __thread bool sp_stack_enters_other __attribute__((tls_model("initial-exec")));
/* Set by the hook: the thread's first enter after a pause; makes its stack agree with the interpreter's again. */
extern void (*sp_stack_out_of_date)(struct sp_thread *t);
/* The node of the call path that the calling thread is in, t being its location for this moment (sp_adapter_thread()).
 * Where functions are recorded it is that of the innermost open frame; elsewhere the interpreter's frames are walked.
 * With the GIL or without; keeps exception and errno. Code that is met first without the GIL has no name yet: it takes
 * its nearest known caller's place, and *unnamed grows. Never NULL. */
extern struct sp_raw_node *(*sp_stack_walk)(struct sp_thread *t, uint64_t *unnamed); /* set by the hook */
static inline struct sp_raw_node *sp_stack_node(struct sp_thread *t, uint64_t *unnamed)
{
	if (SP_LIKELY(sp_process.instrumented && !t->silent) || !sp_stack_walk)
		return (struct sp_raw_node *)((const struct sp_raw_frame *)t->loc.top)->node;
	return sp_stack_walk(t, unnamed);
}
/* Where the hot path must stop: the end of the stack or the depth limit. */
void sp_stack_limit(struct sp_thread *t);

/* With metrics every frame is flagged, the root too, so that each enter and leave comes to stack.c. What else is
 * remarkable about it: */
static inline uint64_t sp_stack_special(const struct sp_raw_frame *f)
{
	return f->flags & ~(uint64_t)SP_RAW_FRAME_METRICS;
}
/* The flags of a frame that is left and opened again in another place or process, without another visit. */
static inline uint64_t sp_stack_reopened(const struct sp_raw_frame *f)
{
	const uint64_t special = sp_stack_special(f);
	return special & ~(uint64_t)SP_RAW_FRAME_LEFT_OUT ? f->flags : special | SP_RAW_FRAME_FORKED;
}
/* An enter, leave or the like in the trace, with the metrics at its time. */
void sp_stack_event(struct sp_thread *t, uint64_t now, unsigned kind, uint32_t region);
/* A mark below the frame entered next: what it stands for is over when that frame is left, which is noticed at the
 * thread's next event (task.c). false: no room. */
bool sp_stack_mark(struct sp_thread *t, uint64_t value, bool enters, uint64_t now);
/* The frames that belonged to the marks on top were left before the event that is at hand. */
void sp_stack_unmark(struct sp_thread *t, uint64_t now);
/* The frame below all others. */
void sp_stack_root(struct sp_thread *t);

#endif
