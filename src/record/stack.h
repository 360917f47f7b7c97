/* SPDX-License-Identifier: BSD-3-Clause */
/* The stack of open frames of a thread, except for the ordinary enter and leave in hot.h.
 *
 * A frame with flags stores the complement of its key, so that the hot path never treats its leave as an ordinary
 * one. */
#ifndef SP_RECORD_STACK_H
#define SP_RECORD_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "format/format.h"
#include "record/process.h"
#include "record/thread.h"

/* The rare cases of sp_enter(); collapsed: there is no space for a node. */
void sp_enter_slow(struct sp_thread *t, uint32_t region, uint64_t key, uint64_t now, unsigned kind);
void sp_enter_collapsed(struct sp_thread *t, uint32_t region, uint64_t key, uint64_t now, unsigned kind);
/* The rare cases of sp_leave(). Returns whether a frame with this key was open. */
bool sp_leave_slow(struct sp_thread *t, uint64_t key, uint64_t now, unsigned kind);

/* Pushes an inherited frame, one that was open before recording began. frame: the interpreter's pointer to it; flags:
 * SP_RAW_FRAME_…; now: ticks. */
void sp_stack_inherit(struct sp_thread *t, uint32_t region, uint64_t key, uint64_t frame, uint64_t flags, uint64_t now);
/* Returns the region of an open frame; a collapsed frame stores it in `frame`. */
uint32_t sp_stack_region(const struct sp_raw_frame *f);
/* Returns the key that the leave of an open frame will pass. */
static inline uint64_t sp_stack_key(const struct sp_raw_frame *f)
{
	return f->flags ? ~f->key : f->key;
}
/* Returns the innermost open frame whose leave will pass this key; NULL: none, or there was no space for it. */
struct sp_raw_frame *sp_stack_find(const struct sp_thread *t, uint64_t key);
/* Counts a leave without an enter. Nothing is counted without the setting open_frames, because calls that were open at
 * the start end without an enter, nor with scorep or omnitrace, where functions are enabled while calls are open.
 * Score-P's bindings have a separate region for unmatched user regions. */
static inline void sp_unmatched(struct sp_thread *t)
{
	t->loc.unmatched += sp_recording && !sp_process.settings.scorep && !sp_process.settings.omnitrace &&
	                    sp_process.settings.open_frames;
}
/* Whether functions of the calling thread are recorded while those of the process are. User regions always are. */
void sp_thread_functions(struct sp_thread *t, bool on);
/* Leaves the innermost frame, of any kind. */
void sp_stack_pop(struct sp_thread *t, uint64_t now);
/* User regions that are open in a generator or coroutine are left when it is suspended, and entered again when it
 * resumes. id identifies the generator: the address of the interpreter's frame. */
void sp_stack_set_aside(struct sp_thread *t, uint64_t key, uint64_t id, uint64_t now); /* key: the generator's key */
void sp_stack_bring_back(struct sp_thread *t, uint64_t id, uint64_t now);
/* Discards what an earlier generator with this id left. */
void sp_stack_forget_aside(struct sp_thread *t, uint64_t id);
/* The thread switches from one stack of the interpreter to another (greenlets); `to` is a suspended or a new stack.
 * Frames of a suspended stack stay open: their time continues like that of a caller. The trace shows a leave and, at
 * the resume, another enter. */
void sp_stack_switch(struct sp_thread *t, const void *from, const void *to, uint64_t now);
/* Frees the data of suspended generators and stacks, at the end of the thread. */
void sp_stack_free_aside(struct sp_thread *t);
/* Returns the key of a user region: its id with two low bits that no other sort of key has. */
static inline uint64_t sp_user_key(uint32_t region)
{
	return (uint64_t)region << 8 | 3;
}
static inline bool sp_is_user_key(uint64_t key)
{
	return (key & 3) == 3;
}
/* Leaves inherited frames whose end was not seen because the hook was installed after they began. Returns whether the
 * stack is empty then. */
bool sp_stack_settle(struct sp_thread *t, uint64_t now);
/* Leaves all frames of t at the time `now` (ticks). */
void sp_stack_clear(struct sp_thread *t, uint64_t now);
/* Frame number `first` (the outermost is 1) and the calls above it ended unseen. Leaves them, but user regions among
 * them stay open. */
void sp_stack_cut(struct sp_thread *t, size_t first, uint64_t now);
/* The thread is paused from `now` on (ticks). */
void sp_stack_paused(struct sp_thread *t, uint64_t now);
/* After a pause: sp_stack_resumed() takes out the paused time. When the frames agree with the interpreter's,
 * sp_stack_begun() enters the user regions that began during the pause. */
void sp_stack_resumed(struct sp_thread *t);
void sp_stack_begun(struct sp_thread *t);
/* Returns the number of frames above the root. */
static inline size_t sp_stack_depth(const struct sp_thread *t)
{
	return (size_t)((const struct sp_raw_frame *)t->loc.top - (const struct sp_raw_frame *)t->loc.base);
}
/* Set by the hook: whether the inherited frame f is still a caller of the frame that is being entered. */
extern bool (*sp_stack_still_open)(const struct sp_raw_frame *f);
/* True during a call of sp_stack_still_open or sp_stack_out_of_date if the calling thread is entering something that
 * has no Python frame, so that its current Python frame is the caller. Keys distinguish these: keys of Python code
 * have bits 1 and 2 clear. */
extern __thread bool sp_stack_enters_other SP_TLS_MODEL;
/* Set by the hook, called at the thread's first enter after a pause: makes t's stack agree with the interpreter's. */
extern void (*sp_stack_out_of_date)(struct sp_thread *t);
/* Returns the node of the calling thread's current call path; t: its location, valid for this event
 * (sp_adapter_thread()). If functions are recorded it is the node of the innermost open frame; otherwise the hook
 * walks the interpreter's frames. Works with or without the GIL; keeps the Python exception and errno. Code that is
 * first seen without the GIL has no name yet: its calls count for the nearest named caller, and *unnamed is increased.
 * Never NULL. */
extern struct sp_raw_node *(*sp_stack_walk)(struct sp_thread *t, uint64_t *unnamed); /* set by the hook */
static inline struct sp_raw_node *sp_stack_node(struct sp_thread *t, uint64_t *unnamed)
{
	if (SP_LIKELY(sp_process.instrumented && !t->silent) || !sp_stack_walk)
		return (struct sp_raw_node *)((const struct sp_raw_frame *)t->loc.top)->node;
	return sp_stack_walk(t, unnamed);
}
/* Sets the limit of the hot path: the end of the stack or the depth limit. */
void sp_stack_limit(struct sp_thread *t);

/* With metrics every frame has the flag METRICS, the root too, so that each enter and leave takes the slow path in
 * stack.c. Returns the other flags. */
static inline uint64_t sp_stack_special(const struct sp_raw_frame *f)
{
	return f->flags & ~(uint64_t)SP_RAW_FRAME_METRICS;
}
/* Returns the flags for a frame that is left and opened again on another stack or in another process, without another
 * visit. */
static inline uint64_t sp_stack_reopened(const struct sp_raw_frame *f)
{
	const uint64_t special = sp_stack_special(f);
	return special & ~(uint64_t)SP_RAW_FRAME_LEFT_OUT ? f->flags : special | SP_RAW_FRAME_FORKED;
}
/* Writes an enter, leave or similar event to the trace, with the metrics at its time. */
void sp_stack_event(struct sp_thread *t, uint64_t now, unsigned kind, uint32_t region);
/* Pushes a mark below the frame that is entered next. What the mark represents ends when that frame is left, which the
 * recorder notices at the thread's next event (task.c). Returns false if there is no space. */
bool sp_stack_mark(struct sp_thread *t, uint64_t value, bool enters, uint64_t now);
/* Removes the marks on top: the frames above them were left before the current event. */
void sp_stack_unmark(struct sp_thread *t, uint64_t now);
/* Sets up the root, the frame below all others. */
void sp_stack_root(struct sp_thread *t);

#endif
