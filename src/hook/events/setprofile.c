/* SPDX-License-Identifier: BSD-3-Clause */
/* PyEval_SetProfile: every version has it, and it sees C functions. Each thread has its own profile function. A thread
 * that Python starts gets it when start_new_thread returns to its creator, before the new thread first holds the
 * GIL. */
#include "hook/chain.h"
#include "hook/hook.h"
#include "hook/lines/lines.h"
#include "hook/naming.h"
#include "hook/slot.h"
#include "hook/stacks.h"
#include "hook/task.h"
#include "record/process.h"
#include "record/stack.h"
#include "record/thread.h"

#include <string.h>
#include <opcode.h>

static int profile(PyObject *self, PyFrameObject *f, int what, PyObject *arg);
static int profile_with_lines(PyObject *self, PyFrameObject *f, int what, PyObject *arg);

static bool is_ours(Py_tracefunc function)
{
	return function == profile || function == profile_with_lines;
}

/* Before 3.12 the recorder of lines needs the calls of C functions from this hook; from 3.12 on it has its own
 * events. */
static Py_tracefunc ours(void)
{
	const bool with_lines = PY_VERSION_HEX < 0x030C0000 && sp_process.settings.c_calls && sp_lines_used();
	return with_lines ? profile_with_lines : profile;
}

/* ---- all threads ---- */

#if PY_VERSION_HEX >= 0x030C0000
static void set_all(Py_tracefunc func)
{
	PyEval_SetProfileAllThreads(func, NULL);
}
#else
/* Does the same as PyEval_SetProfileAllThreads of 3.12. Threads with a profile function of the program keep it. */
static void set_one(PyThreadState *ts, Py_tracefunc func)
{
	Py_tracefunc now = ts->c_profilefunc;
	if (now == func || (func && now) || (!func && !is_ours(now)))
		return;
	ts->c_profilefunc = func;
#if PY_VERSION_HEX >= 0x030B0000
	ts->cframe->use_tracing = func || ts->c_tracefunc ? 255 : 0;
#elif PY_VERSION_HEX >= 0x030A0000
	ts->cframe->use_tracing = func || ts->c_tracefunc;
#else
	ts->use_tracing = func || ts->c_tracefunc;
#endif
}

static void set_all(Py_tracefunc func)
{
	PyInterpreterState *interp = PyInterpreterState_Get();
	for (PyThreadState *ts = PyInterpreterState_ThreadHead(interp); ts; ts = PyThreadState_Next(ts))
		set_one(ts, func);
}
#endif

/* ---- generators: one call causes many events of the same name ---- */

static unsigned opcode_at(PyCodeObject *code, int lasti, unsigned *oparg)
{
#if PY_VERSION_HEX >= 0x030B0000
	_Py_CODEUNIT *units = _PyCode_CODE(code);
	int i = lasti / (int)sizeof(_Py_CODEUNIT);
#if PY_VERSION_HEX >= 0x030C0000
	*oparg = units[i].op.arg;
	return units[i].op.code;
#else
	*oparg = _Py_OPARG(units[i]);
	return _Py_OPCODE(units[i]);
#endif
#else
	const unsigned char *p = (const unsigned char *)PyBytes_AS_STRING(code->co_code);
	*oparg = p[lasti + 1];
	return p[lasti];
#endif
}

static int last_instruction(PyFrameObject *f)
{
#if PY_VERSION_HEX >= 0x030B0000
	return PyFrame_GetLasti(f);
#elif PY_VERSION_HEX >= 0x030A0000
	return f->f_lasti < 0 ? -1 : f->f_lasti * 2;
#else
	return f->f_lasti;
#endif
}

#if PY_VERSION_HEX >= 0x030B0000
static bool is_resume(unsigned op)
{
#ifdef RESUME_QUICK
	if (op == RESUME_QUICK)
		return true;
#endif
#ifdef RESUME_CHECK
	if (op == RESUME_CHECK)
		return true;
#endif
#ifdef INSTRUMENTED_RESUME
	if (op == INSTRUMENTED_RESUME)
		return true;
#endif
	return op == RESUME;
}
#endif

static unsigned enter_kind(PyCodeObject *code, PyFrameObject *f)
{
	int lasti = last_instruction(f);
#if PY_VERSION_HEX >= 0x030B0000
	/* at a RESUME, whose low bits are 0 at the start of the function; at any other instruction an exception is
	 * thrown into it */
	unsigned arg = 0, op = lasti < 0 ? RESUME : opcode_at(code, lasti, &arg);
	return is_resume(op) && (arg & 3) == 0 ? SP_RAW_ENTER : SP_RAW_RESUME;
#else
	(void)code;
	return lasti < 0 ? SP_RAW_ENTER : SP_RAW_RESUME;
#endif
}

static unsigned leave_kind(PyCodeObject *code, PyFrameObject *f, PyObject *result)
{
	unsigned arg;
	int lasti = last_instruction(f);
	if (!result || lasti < 0)
		return SP_RAW_LEAVE;
	unsigned op = opcode_at(code, lasti, &arg);
	bool suspended = op == YIELD_VALUE;
#ifdef YIELD_FROM
	/* YIELD_FROM, to which the interpreter steps back so that it runs again at the resume */
	suspended |= lasti + 2 < PyBytes_GET_SIZE(code->co_code) && opcode_at(code, lasti + 2, &arg) == YIELD_FROM;
#endif
#if PY_VERSION_HEX >= 0x030B0000
	/* 3.13 is already at the next instruction, where it will resume */
	suspended |= is_resume(op) && arg & 3;
#endif
#ifdef INSTRUMENTED_YIELD_VALUE
	suspended |= op == INSTRUMENTED_YIELD_VALUE;
#endif
	return suspended ? SP_RAW_SUSPEND : SP_RAW_LEAVE;
}

/* Whether an exception ends the frame. 3.12 passes None in this case, as if the function returned it: there the
 * instruction decides. */
static bool raises(PyCodeObject *code, PyFrameObject *f, PyObject *result)
{
#if PY_VERSION_HEX >= 0x030C0000 && PY_VERSION_HEX < 0x030D0000
	unsigned arg;
	int lasti = last_instruction(f);
	if (result != Py_None || lasti < 0)
		return !result;
	unsigned op = opcode_at(code, lasti, &arg);
	return op != RETURN_VALUE && op != RETURN_CONST && op != INSTRUMENTED_RETURN_VALUE &&
	       op != INSTRUMENTED_RETURN_CONST && op != INSTRUMENTED_LINE && op != INSTRUMENTED_INSTRUCTION;
#else
	(void)code, (void)f;
	return !result;
#endif
}

/* ---- events ---- */

static PyCodeObject *code_of(PyFrameObject *f)
{
#if PY_VERSION_HEX >= 0x030B0000
	PyCodeObject *code = PyFrame_GetCode(f);
	Py_DECREF(code); /* the frame keeps a reference */
	return code;
#else
	return f->f_code;
#endif
}

static void on_call(PyFrameObject *f)
{
	PyCodeObject *code = code_of(f);
	uint64_t slot;
	struct sp_thread *t = sp_self;
	slot = sp_slot_of(code);
	if (SP_UNLIKELY(!t || (slot & SP_SLOT_MASK) != sp_slot_ok)) {
		t = sp_hook_enter_slow(code, sp_frame_current(PyThreadState_Get()), &slot);
		if (!t)
			return;
	}
	if (SP_UNLIKELY(slot & SP_SLOT_GENERATOR))
		sp_hook_enter_generator(t, slot, (uint64_t)code, NULL, enter_kind(code, f));
	else
		sp_enter(t, (uint32_t)(slot >> SP_SLOT_ID), (uint64_t)code, sp_ticks(), SP_RAW_ENTER);
}

/* Whether the frame evaluator entered the innermost open frame: it was replaced by this hook in the middle of a
 * recursion, and leaves the frame itself. Marks are skipped. Searching for a frame of this hook with the same code
 * would search the whole stack at each of these ends. */
static bool is_evaluators(const struct sp_thread *t, uint64_t code)
{
	const struct sp_raw_frame *f = (const struct sp_raw_frame *)t->loc.top;
	while (f->flags & SP_RAW_FRAME_MARK)
		f--;
	return sp_stack_key(f) == (code | 1);
}

static void on_return(PyFrameObject *f, PyObject *result)
{
	uint64_t now = sp_ticks();
	struct sp_thread *t = sp_hook_leaver(&now);
	if (!t || !sp_recording) /* see hook_remove() */
		return;
	PyCodeObject *code = code_of(f);
	const struct sp_raw_frame *top = (const struct sp_raw_frame *)t->loc.top;
	if (SP_UNLIKELY(top->key != (uint64_t)code) && is_evaluators(t, (uint64_t)code))
		return;
	uint64_t slot = sp_slot_of(code);
	unsigned kind = slot & SP_SLOT_GENERATOR ? leave_kind(code, f, result) : SP_RAW_LEAVE;
	if (kind == SP_RAW_SUSPEND)
		sp_hook_suspends(t, (uint64_t)code, NULL, result, now);
	else if (SP_UNLIKELY(t->task != NULL) && raises(code, f, result))
		sp_hook_task_raises(t, (uint64_t)code, NULL); /* the exception's type is unknown here */
	/* the type is unknown: a generator may have been closed. 3.12 does not pass NULL: there nothing is counted. */
	if (SP_UNLIKELY(!result) && !(slot & SP_SLOT_GENERATOR))
		sp_hook_unwinds((uint64_t)code, NULL);
	top = (const struct sp_raw_frame *)t->loc.top;
	if (SP_UNLIKELY(slot & SP_SLOT_GENERATOR && !result && !sp_stack_special(top) &&
	                sp_stack_key(top) == (uint64_t)code && last_instruction(f) < 0)) {
		/* before 3.11 closing a generator that never ran looks like a first call */
		((struct sp_raw_node *)top->node)->visits--;
		((struct sp_raw_node *)top->node)->resumed++;
	}
	if (SP_UNLIKELY(!sp_leave(t, (uint64_t)code, now, kind)) && !(slot & SP_SLOT_FILTERED))
		sp_unmatched(t);
}

static bool wants_c_calls(PyFrameObject *caller)
{
	return sp_process.settings.c_calls && !sp_slot_is_filtered(sp_slot_of(code_of(caller)));
}

static void on_c_call(PyFrameObject *f, PyObject *callable)
{
	uint64_t key;
	struct sp_thread *t = sp_self;
	uint32_t region = t && t->epoch == sp_epoch && wants_c_calls(f) ? sp_names_c_function(t, callable, &key) : 0;
	if (region)
		sp_enter(t, region, key, sp_ticks(), SP_RAW_ENTER);
}

static bool starts_a_thread(PyObject *callable)
{
	return PyCFunction_Check(callable) && !strncmp(((PyCFunctionObject *)callable)->m_ml->ml_name, "start_", 6);
}

static void on_c_return(PyFrameObject *f, PyObject *callable)
{
	uint64_t now = sp_ticks(), key;
	struct sp_thread *t = sp_hook_leaver(&now);
	if (!sp_recording)
		return;
	if (t && wants_c_calls(f) && (key = sp_names_c_key(callable)))
		sp_leave(t, key, now, SP_RAW_LEAVE);
	if (SP_UNLIKELY(starts_a_thread(callable)))
		set_all(ours());
}

static int profile(PyObject *self, PyFrameObject *f, int what, PyObject *arg)
{
	(void)self;
	switch (what) {
	case PyTrace_CALL:
		on_call(f);
		break;
	case PyTrace_RETURN:
		on_return(f, arg);
		break;
	case PyTrace_C_CALL:
		on_c_call(f, arg);
		break;
	case PyTrace_C_RETURN:
	case PyTrace_C_EXCEPTION:
		on_c_return(f, arg);
		break;
	}
	return sp_chain_call(f, what, arg);
}

static int profile_with_lines(PyObject *self, PyFrameObject *f, int what, PyObject *arg)
{
#if PY_VERSION_HEX < 0x030C0000
	if (what == PyTrace_C_CALL)
		sp_lines_c_call(f);
	else if (what == PyTrace_C_RETURN || what == PyTrace_C_EXCEPTION)
		sp_lines_c_return(f);
#endif
	return profile(self, f, what, arg);
}

static const char *missing(void)
{
#ifdef Py_GIL_DISABLED
	return "without the GIL a new thread runs before it gets the function";
#else
	return NULL;
#endif
}

static bool ours_is_set(void)
{
	PyThreadState *ts = sp_thread_state();
	return !ts || is_ours(ts->c_profilefunc);
}

/* Whether another profiler in C has replaced the profile function of some thread. */
static bool is_taken_somewhere(void)
{
	PyThreadState *ts = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
	while (ts && (!ts->c_profilefunc || is_ours(ts->c_profilefunc)))
		ts = PyThreadState_Next(ts);
	return ts;
}

static void hook_remove(void)
{
	/* Only the thread itself can get the program's function back. In other threads the hook's function therefore
	 * stays and continues to call the program's. Functions of other profilers stay too: from 3.12 on, clearing the
	 * function of all threads would remove theirs. */
	if (!sp_chain_used() && !is_taken_somewhere())
		set_all(NULL);
	else if (ours_is_set())
		PyEval_SetProfile(NULL, NULL);
	sp_chain_restore();
}

static bool taken_at_end;

static PyObject *look_at_end(PyObject *self, PyObject *none)
{
	(void)self, (void)none;
	taken_at_end = sp_recording && sp_process.instrumented && sp_hook_used == &sp_hook_setprofile && !ours_is_set();
	Py_RETURN_NONE;
}

/* At the end of the measurement the interpreter has ended, and its thread state may be freed: checks earlier, in
 * atexit. */
static int look_later(void)
{
	static PyMethodDef def = {"spartito_end", look_at_end, METH_NOARGS, NULL};
	static bool done;
	if (done)
		return 0;
	PyObject *function = PyCFunction_New(&def, NULL), *module = function ? PyImport_ImportModule("atexit") : NULL;
	PyObject *r = module ? PyObject_CallMethod(module, "register", "O", function) : NULL;
	done = r != NULL;
	Py_XDECREF(r);
	Py_XDECREF(module);
	Py_XDECREF(function);
	return done ? 0 : -1;
}

static bool taken(void)
{
	return Py_IsInitialized() ? !ours_is_set() : taken_at_end;
}

static int install(void)
{
	if (sp_chain_install() || look_later())
		return -1;
	set_all(ours());
	return PyErr_Occurred() ? -1 : 0;
}

const struct sp_hook sp_hook_setprofile = {
    .name = "setprofile",
    .what = "PyEval_SetProfile, on every version; sees C functions",
    .missing = missing,
    .c_calls = true,
    .entered_is_current = true,
    .install = install,
    .remove = hook_remove,
    .taken = taken,
};
