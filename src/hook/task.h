/* SPDX-License-Identifier: BSD-3-Clause */
/* Generators, coroutines and tasks (events/task.c). */
#ifndef SP_HOOK_TASK_H
#define SP_HOOK_TASK_H

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "format/format.h"
#include "hook/frames.h"
#include "hook/slot.h"
#include "record/clock.h"
#include "record/hot.h"
#include "record/stack.h"
#include "record/thread.h"

/* The coroutine of that key at the top of the stack is suspended and yields value, or ends with an exception. */
void sp_hook_task_suspends(struct sp_thread *t, uint64_t key, const PyObject *value, uint64_t now);
void sp_hook_task_raises(struct sp_thread *t, uint64_t key, const PyTypeObject *type); /* NULL: unknown */
/* Returns an instance's attribute without running code of the program: its class has no attribute of this name except,
 * perhaps, a slot. A new reference; NULL without an exception if there is no such attribute. */
PyObject *sp_plain_attribute(PyObject *o, const char *name);
/* The program makes a task of the coroutine. */
void sp_hook_task_created(PyObject *coroutine);
/* As sp_hook_enter_generator(), for threads in which generators may belong to tasks. */
void sp_hook_enter_coroutine(struct sp_thread *t, uint64_t slot, uint64_t key, sp_frame *f, unsigned kind,
                             uint64_t now);

/* Called when a generator is suspended (f: its frame, or NULL: the thread's current one) and yields value: its user
 * regions are suspended with it. Cheap if it has no user regions. */
static inline void sp_hook_suspends(struct sp_thread *t, uint64_t key, sp_frame *f, const PyObject *value, uint64_t now)
{
	if (SP_UNLIKELY(t->task != NULL))
		sp_hook_task_suspends(t, key, value, now);
	if (SP_UNLIKELY(sp_is_user_key(sp_stack_key((const struct sp_raw_frame *)t->loc.top))))
		sp_stack_set_aside(t, key, (uint64_t)(f ? f : sp_frame_current(PyThreadState_Get())), now);
}

/* A generator is entered for the first time or resumed; f as above. */
static inline void sp_hook_enter_generator(struct sp_thread *t, uint64_t slot, uint64_t key, sp_frame *f, unsigned kind)
{
	uint64_t now = sp_ticks();
	if (SP_UNLIKELY(t->aside.n | t->tasks))
		sp_hook_enter_coroutine(t, slot, key, f, kind, now);
	else if (SP_UNLIKELY(sp_slot_is_hidden(slot)))
		sp_stack_inherit(t, 0, key, 0, SP_RAW_FRAME_SKIPPED | SP_RAW_FRAME_HIDDEN, now);
	else
		sp_enter(t, (uint32_t)(slot >> SP_SLOT_ID), key, now, kind);
}

#endif
