/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines before Python 3.12: a separate frame evaluator (PEP 523), below that of the hook, gives frames of chosen
 * functions a C trace function, and removes it during their calls. No other frame is traced, and a trace function of
 * the program (debuggers, coverage) stays in place in them; in chosen frames this one passes every event on to it. */
#include "hook/control.h"
#include "hook/lines/lines.h"
#include "hook/naming.h"
#include "hook/slot.h"
#include "hook/stacks.h"
#include "record/thread.h"

#if PY_VERSION_HEX < 0x030C0000

#include <errno.h>
#include <opcode.h>

static _PyFrameEvalFunction before; /* the evaluator that was installed before */
static bool below;                  /* another evaluator was installed on top of this one and passes frames on to it */
static bool gone; /* this evaluator was removed: the end of a call that begins now would not be reported */
/* While this trace function is set: the program's, whose object stays in place. */
static __thread Py_tracefunc theirs SP_TLS_MODEL;
#define NOT_MEASURED ((char *)UINTPTR_MAX)
static __thread char *stack_low SP_TLS_MODEL = NOT_MEASURED;

static int trace(PyObject *self, PyFrameObject *f, int what, PyObject *arg);
static PyObject *eval(PyThreadState *ts, sp_frame *f, int throwing);

/* 3.9 counts the threads with a trace function, and checks for events only if there are some. */
static inline void put_trace(PyThreadState *ts, Py_tracefunc function)
{
#if PY_VERSION_HEX < 0x030A0000
	ts->interp->ceval.tracing_possible += (function != NULL) - (ts->c_tracefunc != NULL);
#endif
	ts->c_tracefunc = function;
}

static inline void set_trace(PyThreadState *ts, Py_tracefunc function)
{
	put_trace(ts, function);
#if PY_VERSION_HEX >= 0x030B0000
	ts->cframe->use_tracing = function || ts->c_profilefunc ? 255 : 0;
#elif PY_VERSION_HEX >= 0x030A0000
	ts->cframe->use_tracing = function || ts->c_profilefunc;
#else
	ts->use_tracing = function || ts->c_profilefunc;
#endif
}

static inline sp_frame *frame_of(PyFrameObject *f)
{
#if PY_VERSION_HEX >= 0x030B0000
	return f->f_frame;
#else
	return f;
#endif
}

#if PY_VERSION_HEX >= 0x030B0000
static bool makes_generator(const sp_frame *f)
{
	return sp_frame_code(f)->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR) &&
	       f->owner != FRAME_OWNED_BY_GENERATOR;
}

static int offset_of(sp_frame *f)
{
	return _PyInterpreterFrame_LASTI(f) * (int)sizeof(_Py_CODEUNIT);
}

/* Whether the frame is a generator's that resumes; otherwise it begins. */
static bool resumes(const sp_frame *f)
{
	return f->owner == FRAME_OWNED_BY_GENERATOR && _Py_OPCODE(*f->prev_instr) != RETURN_GENERATOR;
}
#else
static bool makes_generator(const sp_frame *f)
{
	(void)f;
	return false;
}

static int offset_of(sp_frame *f)
{
#if PY_VERSION_HEX >= 0x030A0000
	return f->f_lasti * 2;
#else
	return f->f_lasti;
#endif
}

static bool resumes(const sp_frame *f)
{
	return f->f_lasti >= 0;
}
#endif

/* ---- lines ---- */

SP_COLD static void line_slow(PyFrameObject *f)
{
	const PyCodeObject *code = sp_frame_code(frame_of(f));
	struct sp_thread *t = sp_lines_thread();
	if (gone && t && t->lines->top->frame != (uint64_t)frame_of(f))
		return;
	struct sp_line_function *of = t ? sp_lines_function(t, code) : NULL;
	if (of && of->chosen)
		sp_lines_at(t, of, (uint64_t)frame_of(f), (uint32_t)f->f_lineno);
}

SP_COLD static int chain(PyObject *self, PyFrameObject *f, int what, PyObject *arg)
{
	int r = theirs(self, f, what, arg);
	PyThreadState *ts = PyThreadState_Get();
	theirs = ts->c_tracefunc == trace ? theirs : ts->c_tracefunc;
	/* the interpreter decides after the event whether the thread is traced at all */
	put_trace(ts, trace);
	return r;
}

static int trace(PyObject *self, PyFrameObject *f, int what, PyObject *arg)
{
	if (SP_LIKELY(what == PyTrace_LINE)) {
		const struct sp_thread *t = sp_self;
		struct sp_raw_line_frame *top = SP_LIKELY(t && t->lines) ? t->lines->top : NULL;
		if (SP_UNLIKELY(!top || top->frame != (uint64_t)frame_of(f) || top->calls ||
		                !sp_lines_next(top, (uint32_t)f->f_lineno)))
			line_slow(f);
	}
	return SP_UNLIKELY(theirs != NULL) ? chain(self, f, what, arg) : 0;
}

void sp_lines_c_call(PyFrameObject *f)
{
	struct sp_thread *t = sp_self;
	if (t && t->lines && t->lines->top->frame == (uint64_t)frame_of(f))
		sp_lines_call(t, SP_LINES_C, sp_ticks());
}

/* Calls that Python functions make inside the C function do not end its call: their frames differ. */
void sp_lines_c_return(PyFrameObject *f)
{
	struct sp_thread *t = sp_self;
	if (t && t->lines && t->lines->top->frame == (uint64_t)frame_of(f))
		sp_lines_called(t, SP_LINES_C, sp_ticks());
}

/* ---- frames ---- */

/* Runs a call from a chosen frame, with the program's trace function only. */
static PyObject *eval_callee(PyThreadState *ts, sp_frame *f, int throwing)
{
	struct sp_thread *t = sp_self;
	if (t && t->lines)
		sp_lines_call(t, (uint64_t)f, sp_ticks());
	set_trace(ts, theirs);
	PyObject *result = before(ts, f, throwing);
	theirs = ts->c_tracefunc;
	set_trace(ts, trace);
	t = sp_self; /* another location in the child of a fork, NULL after a stop */
	if (t && t->lines)
		sp_lines_called(t, (uint64_t)f, sp_ticks());
	return result;
}

/* With an evaluator every Python call uses the C stack, on 3.11 too, where it does not otherwise. A deep recursion of
 * any functions therefore removes this evaluator permanently; the lines recorded so far stay. Keeps errno and
 * exception. */
static SP_COLD bool stack_is_low(void)
{
	int error = errno;
	if (stack_low == NOT_MEASURED)
		stack_low = sp_hook_stack_low();
	errno = error;
	if ((char *)__builtin_frame_address(0) >= stack_low)
		return false;
	stack_low = NULL;
	if (sp_lines_used()) {
		SP_SAVE_EXCEPTION;
		sp_lines_missing("a recursion was so deep that recording ended before it could use up the stack");
		if (_PyInterpreterState_GetEvalFrameFunc(PyInterpreterState_Get()) == eval)
			sp_lines_events_remove();
		else
			sp_control_beneath(sp_lines_events_remove); /* the hook's evaluator is above this one */
		gone = !below;
		SP_RESTORE_EXCEPTION;
		errno = error;
	}
	return true;
}

/* The chosen function itself called sys.settrace(), which replaced this trace function for the rest of the frame. */
static SP_COLD void replaced(PyThreadState *ts)
{
	theirs = ts->c_tracefunc;
	if (sp_recording)
		sp_lines_missing(
		    "sys.settrace() was called in one of them: what came after it in that call is missing");
}

/* Runs a frame f of a chosen function; ours: its caller is a chosen one too. */
static PyObject *eval_chosen(PyThreadState *ts, sp_frame *f, int throwing, struct sp_thread *t,
                             struct sp_line_function *of, bool ours)
{
	const PyCodeObject *code = sp_frame_code(f);
	if (!ours)
		theirs = ts->c_tracefunc;
	sp_lines_enter(t, of, (uint64_t)f, resumes(f) ? sp_lines_line(code, offset_of(f)) : 0, sp_ticks());
	set_trace(ts, trace);
	PyObject *result = before(ts, f, throwing);
	const uint64_t now = sp_ticks();
	t = sp_self;
	if (t && t->lines)
		sp_lines_leave(t, (uint64_t)f, now);
	if (SP_UNLIKELY(ts->c_tracefunc != trace))
		replaced(ts);
	set_trace(ts, ours ? trace : theirs);
	return result;
}

/* Returns the code object's slot, which it decides if necessary. */
static SP_COLD uint64_t decide(PyCodeObject *code, sp_frame *f)
{
	static __thread bool inside SP_TLS_MODEL;
	uint64_t slot = 0;
	int error = errno;
	if (inside)
		return 0;
	inside = true;
	SP_SAVE_EXCEPTION;
	if (sp_lines_thread())
		slot = sp_names_slot(code, f);
	if (slot & SP_SLOT_LINES && sp_lines_add_code(code, (uint32_t)(slot >> SP_SLOT_ID)) < 0)
		PyErr_Clear();
	SP_RESTORE_EXCEPTION;
	errno = error;
	inside = false;
	return slot;
}

/* The hook's evaluator, which is above this one, has decided the slot. An exception may be pending, for a generator. */
static SP_COLD struct sp_line_function *add_decided(struct sp_thread *t, PyCodeObject *code, uint64_t slot)
{
	int error = errno;
	SP_SAVE_EXCEPTION;
	const bool known = sp_lines_add_code(code, (uint32_t)(slot >> SP_SLOT_ID)) >= 0;
	SP_RESTORE_EXCEPTION;
	errno = error;
	return known ? sp_lines_function(t, code) : NULL;
}

static inline bool is_decided(uint64_t slot)
{
	return sp_slot_is_decided(slot);
}

static PyObject *eval(PyThreadState *ts, sp_frame *f, int throwing)
{
	PyCodeObject *code = sp_frame_code(f);
	const bool ours = ts->c_tracefunc == trace;
	uint64_t slot = sp_slot_of(code);
	if (SP_UNLIKELY(!is_decided(slot)))
		slot = sp_recording && sp_lines_used() ? decide(code, f) : 0;
	if (SP_UNLIKELY((char *)__builtin_frame_address(0) < stack_low) && stack_is_low())
		slot = 0;
	if (SP_LIKELY(!(slot & SP_SLOT_LINES)) || makes_generator(f))
		return SP_UNLIKELY(ours) ? eval_callee(ts, f, throwing) : before(ts, f, throwing);
	struct sp_thread *t = sp_lines_used() ? sp_lines_thread() : NULL;
	struct sp_line_function *of = t ? sp_lines_function(t, code) : NULL;
	if (t && !of)
		of = add_decided(t, code, slot);
	if (!of)
		return ours ? eval_callee(ts, f, throwing) : before(ts, f, throwing);
	return eval_chosen(ts, f, throwing, t, of, ours);
}

/* ---- start and end ---- */

int sp_lines_events_choose(PyCodeObject *code, uint32_t region)
{
	return sp_lines_add_code(code, region) < 0 && PyErr_Occurred() ? -1 : 0;
}

void sp_lines_events_forget(PyCodeObject *code)
{
	(void)code;
}

int sp_lines_events_install(bool by_pattern)
{
	(void)by_pattern;
	PyInterpreterState *interp = PyInterpreterState_Get();
	_PyFrameEvalFunction now = _PyInterpreterState_GetEvalFrameFunc(interp);
	if (now == eval || below)
		return 0;
	before = now;
	gone = false;
	_PyInterpreterState_SetEvalFrameFunc(interp, eval);
	return 0;
}

void sp_lines_events_remove(void)
{
	PyInterpreterState *interp = PyInterpreterState_Get();
	/* a later evaluator calls this one, and stays installed */
	if (_PyInterpreterState_GetEvalFrameFunc(interp) == eval)
		_PyInterpreterState_SetEvalFrameFunc(interp, before);
	else
		below = true;
}

#endif
