/* SPDX-License-Identifier: BSD-3-Clause */
/* The slow path into an event, and stacks that agree with the interpreter's (control/stacks.c, control/walk.c). */
#ifndef SP_HOOK_STACKS_H
#define SP_HOOK_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "format/format.h"
#include "hook/frames.h"
#include "hook/slot.h"
#include "record/hot.h"
#include "record/thread.h"

/* Saves and restores the pending Python exception: an event can occur while one propagates. */
#if PY_VERSION_HEX >= 0x030C0000
#define SP_SAVE_EXCEPTION    PyObject *exception = PyErr_GetRaisedException()
#define SP_RESTORE_EXCEPTION PyErr_SetRaisedException(exception)
#else
#define SP_SAVE_EXCEPTION                                                                                              \
	PyObject *e_type, *e_value, *e_trace;                                                                          \
	PyErr_Fetch(&e_type, &e_value, &e_trace)
#define SP_RESTORE_EXCEPTION PyErr_Restore(e_type, e_value, e_trace)
#endif

/* Returns the key of a Python function's frames under the current hook. */
uint64_t sp_hook_key_of(const PyCodeObject *code);
/* Pushes the open Python frames of a thread whose stack is empty. */
void sp_hook_adopt(struct sp_thread *t, sp_frame *innermost);
/* While functions are not recorded: removes frames of t that have ended unseen. */
void sp_hook_settle(struct sp_thread *t);
/* walk.c. Returns the calling thread's own state, that of the interpreter it currently runs; *gil: it holds the GIL.
 * Its frames do not change while the thread is outside the interpreter, so they may be read without the GIL. NULL if
 * it has no state or the interpreter is finalizing. */
PyThreadState *sp_hook_own_state(bool *gil);
/* attach.c. Gives the begin and end of the code of the object file that contains this address; 0, 0 if no file does. */
void sp_hook_code_of(const void *inside, uintptr_t code[2]);
/* The function for sp_stack_walk. */
struct sp_raw_node *sp_hook_walk(struct sp_thread *t, uint64_t *unnamed);
/* Stores the position of a user region that has just begun while functions are not recorded. */
void sp_hook_walk_region(struct sp_thread *t);
/* The functions for sp_stack_out_of_date and sp_stack_still_open. */
void sp_hook_out_of_date(struct sp_thread *t);
bool sp_hook_still_open(const struct sp_raw_frame *s);

/* Returns the address that the calling thread's C stack reaches when a quarter of its current free space is used; NULL
 * if unknown. Reads /proc/self/maps in the main thread. */
char *sp_hook_stack_low(void);

/* Returns the calling thread's location, with a stack that agrees with the interpreter's; NULL if it is not recorded.
 * entered: the frame that is being entered and not yet on the stack, or NULL. */
struct sp_thread *sp_hook_thread(sp_frame *entered);
/* Excludes threads that begin later if their class belongs to one of these packages. Takes over the names, each
 * followed by NUL, with one more NUL at the end. NULL: no packages. */
void sp_hook_leave_out(char *packages);
/* Returns the frame that calls entered, or, for NULL, the current one. A frame that is being entered may not have a
 * link to its caller yet. */
sp_frame *sp_hook_caller(sp_frame *entered);
/* Returns the calling thread's location at a leave; NULL if it is not recorded. The leave may be the first event after
 * a fork or pause; then the thread's frames begin again or are shifted in time, and *now (ticks) is not before that. */
struct sp_thread *sp_hook_leaver_slow(uint64_t *now);
static inline struct sp_thread *sp_hook_leaver(uint64_t *now)
{
	struct sp_thread *t = sp_self;
	if (SP_LIKELY(t && t->epoch == sp_epoch))
		return t;
	return sp_hook_leaver_slow(now);
}

/* An exception ends the call with this key: counts it, before its leave. The normal ends of iterators and generators,
 * StopIteration, StopAsyncIteration and GeneratorExit, are not counted. type: of the exception; NULL: unknown. */
void sp_hook_unwinds(uint64_t key, const PyTypeObject *type);

/* All cases of an enter that the hot path does not handle: unknown code, new thread, watched, filtered. Returns the
 * thread if the enter is to be recorded, with the slot decided. Keeps exception and errno. */
struct sp_thread *sp_hook_enter_slow(PyCodeObject *code, sp_frame *f, uint64_t *slot);

/* Returns the thread and the slot for entering f, which runs code; NULL: do not record it. */
static inline struct sp_thread *sp_hook_enter(PyCodeObject *code, sp_frame *f, uint64_t *slot)
{
	struct sp_thread *t = sp_self;
	*slot = sp_slot_of(code);
	if (SP_LIKELY(t && (*slot & SP_SLOT_MASK) == sp_slot_ok))
		return t;
	return sp_hook_enter_slow(code, f, slot);
}

#endif
