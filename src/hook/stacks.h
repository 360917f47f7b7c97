/* SPDX-License-Identifier: BSD-3-Clause */
/* The slow way into an event, and stacks that agree with the interpreter's (control/stacks.c, control/walk.c). */
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

/* An event can come while an exception is on its way. */
#if PY_VERSION_HEX >= 0x030C0000
#define SP_SAVE_EXCEPTION    PyObject *exception = PyErr_GetRaisedException()
#define SP_RESTORE_EXCEPTION PyErr_SetRaisedException(exception)
#else
#define SP_SAVE_EXCEPTION                                                                                              \
	PyObject *e_type, *e_value, *e_trace;                                                                          \
	PyErr_Fetch(&e_type, &e_value, &e_trace)
#define SP_RESTORE_EXCEPTION PyErr_Restore(e_type, e_value, e_trace)
#endif

uint64_t sp_hook_key_of(const PyCodeObject *code);
/* Makes the frames known that are open in a thread whose stack is empty. */
void sp_hook_adopt(struct sp_thread *t, sp_frame *innermost);
/* The thread's stack as it is open now, where functions are not recorded. */
void sp_hook_settle(struct sp_thread *t);
/* walk.c. The calling thread's own state, of the interpreter that it runs now; *gil: it has the GIL. Own frames stay as
 * they are while the thread is not in the interpreter, so that they may be read in any case. NULL: there is none, or
 * the interpreter is on its way out. */
PyThreadState *sp_hook_own_state(bool *gil);
/* attach.c. From where to where the code of the object file reaches that has this address in it; 0, 0: there is none.
 */
void sp_hook_code_of(const void *inside, uintptr_t code[2]);
/* For sp_stack_walk. */
struct sp_raw_node *sp_hook_walk(struct sp_thread *t, uint64_t *unnamed);
/* Notes where a user region stands that has just begun, where functions are not recorded. */
void sp_hook_walk_region(struct sp_thread *t);
/* For sp_stack_out_of_date and sp_stack_still_open. */
void sp_hook_out_of_date(struct sp_thread *t);
bool sp_hook_still_open(const struct sp_raw_frame *s);

/* The address to which the calling thread's C stack has grown when a quarter of the room that it has now is used; NULL:
 * not known. Reads /proc/self/maps in the main thread. */
char *sp_hook_stack_low(void);

/* The calling thread's location, its stack in agreement with the interpreter's; NULL: not recorded. entered: the
 * frame that is being entered, not yet part of the stack, or NULL. */
struct sp_thread *sp_hook_thread(sp_frame *entered);
/* Threads that begin from here on are left out where their class is of one of these packages; takes over the names,
 * each with NUL behind it and one more at the end. NULL: none. */
void sp_hook_leave_out(char *packages);
/* The frame that calls entered, or, for NULL, the current one. A frame that is being entered may not know its caller.
 */
sp_frame *sp_hook_caller(sp_frame *entered);
/* The calling thread's location at a leave. The first event after a fork, or after a pause, may be one: the thread's
 * frames then begin anew or are moved, and *now is not before that. NULL: not recorded. */
struct sp_thread *sp_hook_leaver_slow(uint64_t *now);
static inline struct sp_thread *sp_hook_leaver(uint64_t *now)
{
	struct sp_thread *t = sp_self;
	if (SP_LIKELY(t && t->epoch == sp_epoch))
		return t;
	return sp_hook_leaver_slow(now);
}

/* Everything that is not the plain way for an enter: unknown code, new thread, watched, filtered. Returns the thread
 * if the enter is to be recorded, with the slot decided; keeps exception and errno. */
struct sp_thread *sp_hook_enter_slow(PyCodeObject *code, sp_frame *f, uint64_t *slot);

/* The thread and slot for entering f, which runs code; NULL: do not record. */
static inline struct sp_thread *sp_hook_enter(PyCodeObject *code, sp_frame *f, uint64_t *slot)
{
	struct sp_thread *t = sp_self;
	*slot = sp_slot_of(code);
	if (SP_LIKELY(t && (*slot & SP_SLOT_MASK) == sp_slot_ok))
		return t;
	return sp_hook_enter_slow(code, f, slot);
}

#endif
