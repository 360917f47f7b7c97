/* SPDX-License-Identifier: BSD-3-Clause */
/* The frame evaluator (PEP 523): its function runs every Python frame between two timestamps. The C stack keeps enter
 * and leave balanced. It is the best hook up to 3.11 and unsupported later: with an evaluator 3.12 ends a recursion at
 * 750 calls and 3.13 enters __init__ without it, and both have sys.monitoring, which needs neither. */
#include "hook/control.h"
#include "hook/hook.h"
#include "hook/slot.h"
#include "hook/stacks.h"
#include "hook/task.h"
#include "record/stack.h"
#include "record/thread.h"

#if PY_VERSION_HEX < 0x030C0000

#include <errno.h>
#include <opcode.h>

/* Frames that this hook entered have bit 0 set in their key. When the C stack runs out, the setprofile hook replaces
 * this one (see below). It also reports the ends of these frames, which then match nothing. */
enum { TAG = 1 };

static _PyFrameEvalFunction before; /* the evaluator that was installed before; it gets every frame */
static bool below;                  /* another evaluator was installed on top of this one and passes frames on to it */
#define NOT_MEASURED ((char *)UINTPTR_MAX)
static __thread char *stack_low SP_TLS_MODEL = NOT_MEASURED;

#if PY_VERSION_HEX >= 0x030B0000
/* A call of a generator function runs its frame once, to make the generator, without running its body. */
static bool makes_generator(const sp_frame *f)
{
	return f->owner != FRAME_OWNED_BY_GENERATOR;
}

/* Whether the generator is still at the instruction that made it. */
static bool is_first(const sp_frame *f)
{
	return _Py_OPCODE(*f->prev_instr) == RETURN_GENERATOR;
}

static bool is_suspended(sp_frame *f)
{
	return _PyFrame_GetGenerator(f)->gi_frame_state == FRAME_SUSPENDED;
}
#else
static bool makes_generator(const sp_frame *f)
{
	(void)f;
	return false;
}

static bool is_first(const sp_frame *f)
{
	return f->f_lasti < 0;
}

static bool is_suspended(sp_frame *f)
{
#if PY_VERSION_HEX >= 0x030A0000
	return f->f_state == FRAME_SUSPENDED;
#else
	return f->f_stacktop != NULL;
#endif
}
#endif

static inline void leave(PyCodeObject *code, unsigned kind, sp_frame *suspended, PyObject *result)
{
	uint64_t now = sp_ticks();
	struct sp_thread *t = sp_hook_leaver(&now); /* another location in the child of a fork, NULL after a stop */
	if (suspended && t && sp_recording)
		sp_hook_suspends(t, (uint64_t)code | TAG, suspended, result, now);
	if (SP_LIKELY(t && sp_recording) && SP_UNLIKELY(!sp_leave(t, (uint64_t)code | TAG, now, kind)))
		sp_unmatched(t);
}

/* Runs a frame of a generator or coroutine, which the program calls once but which is entered many times. */
static PyObject *eval_generator(PyThreadState *ts, sp_frame *f, int throwing, struct sp_thread *t, uint64_t slot)
{
	PyCodeObject *code = sp_frame_code(f);
	bool first = !makes_generator(f) && is_first(f);
	/* closing a generator that never ran does not run its body either */
	if (makes_generator(f) || (first && throwing))
		return before(ts, f, throwing);
	unsigned kind = first ? SP_RAW_ENTER : SP_RAW_RESUME;
	sp_hook_enter_generator(t, slot, (uint64_t)code | TAG, f, kind);
	PyObject *result = before(ts, f, throwing);
	bool suspended = result && is_suspended(f);
	if (SP_UNLIKELY(!result && sp_self && sp_self->task))
		sp_hook_task_raises(sp_self, (uint64_t)code | TAG, (PyTypeObject *)PyErr_Occurred());
	if (SP_UNLIKELY(!result))
		sp_hook_unwinds((uint64_t)code | TAG, (PyTypeObject *)PyErr_Occurred());
	leave(code, suspended ? SP_RAW_SUSPEND : SP_RAW_LEAVE, suspended ? f : NULL, result);
	return result;
}

/* With an evaluator every Python call uses the C stack, on 3.11 too, where it does not otherwise, and so do calls of
 * functions that are not recorded. Before a deep recursion reaches the end of the stack, another hook, which uses no C
 * stack, replaces this one permanently. Keeps exception and errno. */
SP_COLD static bool stack_is_low(void)
{
	if (stack_low == NOT_MEASURED)
		stack_low = sp_hook_stack_low();
	if ((char *)__builtin_frame_address(0) >= stack_low)
		return false;
	stack_low = NULL;
	SP_SAVE_EXCEPTION;
	if (sp_hook_used == &sp_hook_evalframe)
		sp_control_switch(&sp_hook_setprofile);
	SP_RESTORE_EXCEPTION;
	return true;
}

static PyObject *eval(PyThreadState *ts, sp_frame *f, int throwing)
{
	PyCodeObject *code = sp_frame_code(f);
	uint64_t slot;
	struct sp_thread *t = sp_hook_enter(code, f, &slot);
	if (SP_UNLIKELY((char *)__builtin_frame_address(0) < stack_low) && stack_is_low())
		return before(ts, f, throwing); /* the other hook records this frame */
	if (SP_UNLIKELY(!t))
		return before(ts, f, throwing);
	if (slot & SP_SLOT_GENERATOR)
		return eval_generator(ts, f, throwing, t, slot);
	sp_enter(t, (uint32_t)(slot >> SP_SLOT_ID), (uint64_t)code | TAG, sp_ticks(), SP_RAW_ENTER);
	PyObject *result = before(ts, f, throwing);
	if (SP_UNLIKELY(!result))
		sp_hook_unwinds((uint64_t)code | TAG, (PyTypeObject *)PyErr_Occurred());
	leave(code, SP_RAW_LEAVE, NULL, NULL);
	return result;
}

static const char *missing(void)
{
	return NULL;
}

static int install(void)
{
	PyInterpreterState *interp = PyInterpreterState_Get();
	_PyFrameEvalFunction now = _PyInterpreterState_GetEvalFrameFunc(interp);
	if (now == eval || below)
		return 0;
	before = now;
	_PyInterpreterState_SetEvalFrameFunc(interp, eval);
	/* only once: a program may enable and disable functions often, and this reads /proc/self/maps */
	if (stack_low == NOT_MEASURED)
		stack_low = sp_hook_stack_low();
	return 0;
}

static void hook_remove(void)
{
	PyInterpreterState *interp = PyInterpreterState_Get();
	/* a later evaluator calls this one, and stays installed */
	if (_PyInterpreterState_GetEvalFrameFunc(interp) == eval)
		_PyInterpreterState_SetEvalFrameFunc(interp, before);
	else
		below = true;
}

#else

enum { TAG = 1 };

static const char *missing(void)
{
	return "Python 3.12 and later call past it, or recurse less deep under it";
}

static int install(void)
{
	PyErr_SetString(PyExc_RuntimeError, missing());
	return -1;
}

static void hook_remove(void)
{
}

#endif

const struct sp_hook sp_hook_evalframe = {
    .name = "evalframe",
    .what = "frame evaluator (PEP 523), the best up to Python 3.11",
    .missing = missing,
    .key_tag = TAG,
    .install = install,
    .remove = hook_remove,
};
