/* SPDX-License-Identifier: BSD-3-Clause */
/* The call path of a thread whose functions are not recorded, from the interpreter's frames. */
#include "record/events/walk.h"
#include "hook/naming.h"
#include "hook/serial.h"
#include "hook/slot.h"
#include "hook/stacks.h"
#include "record/process.h"
#include "record/stack.h"
#include "record/thread.h"

#include <errno.h>

/* Before 3.12 the current state is the process's, and that of another thread may be freed while it is read. Reading it
 * is therefore limited to programs with several interpreters, between which a thread may switch. */
static bool may_be_own(void)
{
#if PY_VERSION_HEX < 0x030c0000
	return PyInterpreterState_Head() != PyInterpreterState_Main(); /* the newest and the first interpreter */
#else
	return true;
#endif
}

PyThreadState *sp_hook_own_state(bool *gil)
{
	*gil = false;
	if (SP_UNLIKELY(!Py_IsInitialized()))
		return NULL; /* the interpreter is finalizing, and the state may be freed */
	PyThreadState *own = PyGILState_GetThisThreadState(), *current = sp_thread_state();
	*gil = current && current == own;
	if (!*gil && current && may_be_own() && current->thread_id == PyThread_get_thread_ident()) {
		own = current; /* the same thread in another interpreter */
		*gil = true;
	}
	return own;
}

/* Stores the frames, innermost first. Returns their number; -1 without memory. */
static ptrdiff_t collect(struct sp_walk *w, PyThreadState *ts)
{
	size_t n = 0;
	for (sp_frame *f = ts ? sp_frame_current(ts) : NULL; f; f = sp_frame_back(f)) {
		if (SP_UNLIKELY(n == w->frames_capacity) && !sp_walk_frames_more(w))
			return -1;
		w->frames[n++] = f;
	}
	return (ptrdiff_t)n;
}

/* Returns the region that an enter would use, or 0 if the filter excludes the function. */
static uint64_t region_of(sp_frame *f, bool gil, uint64_t *unnamed)
{
	PyCodeObject *code = sp_frame_code(f);
	uint64_t slot = sp_slot_of(code);
	if (SP_LIKELY((slot & SP_SLOT_MASK) == sp_slot_ok))
		return slot >> SP_SLOT_ID;
	if (!sp_slot_is_decided(slot)) {
		if (!gil || !SP_SERIAL_TRY(sp_serial_names)) {
			++*unnamed;
			return 0;
		}
		SP_SAVE_EXCEPTION;
		slot = sp_names_slot(code, f);
		SP_RESTORE_EXCEPTION;
		SP_SERIAL_END(sp_serial_names);
	}
	return slot & SP_SLOT_FILTERED ? 0 : slot >> SP_SLOT_ID;
}

/* ---- regions on the thread's own stack, between the frames that they began in ---- */

static bool is_function_key(uint64_t key)
{
	return (key & 7) <= 2;
}

static struct sp_raw_frame *next_region(const struct sp_thread *t, struct sp_raw_frame *f)
{
	while (++f <= (struct sp_raw_frame *)t->loc.top)
		if (!(f->flags & SP_RAW_FRAME_SKIPPED) && !is_function_key(sp_stack_key(f)))
			return f;
	return NULL;
}

/* Returns the index of the frame that region f belongs to; 0 is the innermost one. That is the frame in which the
 * region began or, if that has ended, `before`, the frame of the preceding region. Regions that are no user regions
 * belong to the innermost frame. */
static ptrdiff_t place_of(const struct sp_walk *w, const struct sp_raw_frame *f, ptrdiff_t before)
{
	if (!sp_is_user_key(sp_stack_key(f)))
		return 0;
	for (ptrdiff_t i = before; i >= 0; i--)
		if ((uint64_t)w->frames[i] == f->frame)
			return i;
	return before;
}

static void step_region(struct sp_thread *t, const struct sp_raw_frame *f)
{
	sp_walk_step(t, f, sp_stack_key(f), sp_stack_region(f), false);
}

SP_COLD static void walk_regions(struct sp_thread *t, ptrdiff_t n, bool gil, uint64_t *unnamed)
{
	struct sp_walk *w = t->walk;
	struct sp_raw_frame *f = next_region(t, (struct sp_raw_frame *)t->loc.base);
	ptrdiff_t place = f && n ? place_of(w, f, n - 1) : -1;
	for (ptrdiff_t i = n - 1; i >= 0; i--) {
		sp_frame *frame = (sp_frame *)w->frames[i];
		sp_walk_step(t, frame, (uint64_t)sp_frame_code(frame), region_of(frame, gil, unnamed), true);
		for (; f && place == i; f = next_region(t, f), place = f ? place_of(w, f, i) : -1)
			step_region(t, f);
	}
	for (; f; f = next_region(t, f))
		step_region(t, f);
}

struct sp_raw_node *sp_hook_walk(struct sp_thread *t, uint64_t *unnamed)
{
	int error = errno;
	bool gil;
	PyThreadState *ts = sp_hook_own_state(&gil);
	struct sp_walk *w = sp_walk_of(t);
	ptrdiff_t n = w ? collect(w, ts) : -1;
	struct sp_raw_node *node = t->root;
	if (n < 0 || !sp_walk_begin(t, (size_t)n + sp_stack_depth(t))) {
		++*unnamed; /* no memory */
	} else {
		if (SP_UNLIKELY(sp_stack_depth(t) > 0)) {
			walk_regions(t, n, gil, unnamed);
		} else {
			for (ptrdiff_t i = n - 1; i >= 0; i--) {
				sp_frame *f = (sp_frame *)w->frames[i];
				sp_walk_step(t, f, (uint64_t)sp_frame_code(f), region_of(f, gil, unnamed), true);
			}
		}
		node = sp_walk_end(t);
	}
	errno = error;
	return node;
}

void sp_hook_walk_region(struct sp_thread *t)
{
	struct sp_raw_frame *f = (struct sp_raw_frame *)t->loc.top;
	if ((!sp_process.instrumented || t->silent) && sp_stack_depth(t) && sp_is_user_key(sp_stack_key(f)) &&
	    !(f->flags & SP_RAW_FRAME_COLLAPSED))
		f->frame = (uint64_t)sp_frame_current(PyThreadState_Get());
}
