/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines with sys.monitoring, Python 3.12 and later. The events are local to the code of chosen functions, so that all
 * other code runs as without recording. The calls of a line are known from separate events: a Python function that a
 * chosen one calls gets events for its begin and end.
 *
 * A second tool finds the functions that patterns name: it gets the first call of each code object and then disables
 * its event there. It is a separate tool, because an event that a tool has disabled at an instruction stays disabled
 * for the tool's local events. */
#include "hook/lines/lines.h"
#include "hook/naming.h"
#include "hook/serial.h"
#include "hook/slot.h"
#include "hook/stacks.h"
#include "hook/tool.h"
#include "record/process.h"
#include "record/thread.h"

#if PY_VERSION_HEX >= 0x030C0000

#include <errno.h>

static struct sp_tool tool = {-1, "spartito, lines"}, finder = {-1, "spartito, functions"};
static unsigned long chosen_events, callee_events, events_everywhere;
static bool finds; /* the finder is installed */

static inline bool is_decided(const PyCodeObject *code)
{
	return sp_slot_is_decided(sp_slot_of(code));
}

static inline uint64_t current_frame(void)
{
	return (uint64_t)sp_frame_current(PyThreadState_Get());
}

/* Returns the thread if it has lines: frames that are open now have been open since then. */
static inline struct sp_thread *thread_with_lines(void)
{
	struct sp_thread *t = sp_self;
	return t && t->lines ? t : NULL;
}

/* ---- lines ---- */

SP_COLD static void line_slow(PyCodeObject *code, uint32_t line)
{
	struct sp_thread *t = sp_lines_thread();
	struct sp_line_function *f = t ? sp_lines_function(t, code) : NULL;
	if (f && f->chosen)
		sp_lines_at(t, f, current_frame(), line);
}

SP_CALLBACK(on_line)
{
	SP_UNUSED;
	struct sp_thread *t = thread_with_lines();
	/* line numbers are always small enough for a compact int */
	const uint32_t line = (uint32_t)PyUnstable_Long_CompactValue((PyLongObject *)args[1]);
	if (SP_LIKELY(t != NULL)) {
		struct sp_raw_line_frame *f = t->lines->top;
		if (SP_LIKELY(f->key == (uint64_t)args[0] && !f->calls) && SP_LIKELY(sp_lines_next(f, line)))
			Py_RETURN_NONE;
	}
	line_slow((PyCodeObject *)args[0], line);
	Py_RETURN_NONE;
}

/* ---- begin and end of chosen functions, and of functions that lines call ---- */

static void begin(PyCodeObject *code, PyObject *offset)
{
	struct sp_thread *t = sp_lines_thread();
	struct sp_line_function *f = t ? sp_lines_function(t, code) : NULL;
	if (f && f->chosen)
		sp_lines_enter(t, f, current_frame(), offset ? sp_lines_line(code, (int)PyLong_AsLong(offset)) : 0,
		               sp_ticks());
	else if (f)
		sp_lines_call(t, current_frame(), sp_ticks());
}

static void end(const PyCodeObject *code)
{
	const uint64_t now = sp_ticks();
	struct sp_thread *t = thread_with_lines();
	const struct sp_line_function *f = t ? sp_lines_find(t->lines, (uint64_t)code) : NULL;
	if (f && f->chosen)
		sp_lines_leave(t, current_frame(), now);
	else if (f)
		sp_lines_called(t, current_frame(), now);
}

SP_CALLBACK(on_start)
{
	SP_UNUSED;
	begin((PyCodeObject *)args[0], NULL);
	Py_RETURN_NONE;
}

SP_CALLBACK(on_resume)
{
	SP_UNUSED;
	begin((PyCodeObject *)args[0], args[1]);
	Py_RETURN_NONE;
}

SP_CALLBACK(on_end)
{
	SP_UNUSED;
	end((PyCodeObject *)args[0]);
	Py_RETURN_NONE;
}

/* Enables the events of a code object that is new. Returns 0, or -1 with an exception. If several threads run it for
 * the first time, each continues only when the events are enabled. */
static int events_choose(PyCodeObject *code, uint32_t region, unsigned long set)
{
	SP_SERIAL(sp_serial_names);
	return sp_lines_add_code(code, region) > 0 ? sp_tool_local_events(&tool, code, set) : 0;
}

/* ---- calls ---- */

/* Enables the events of a function's begin and end. Keeps errno and exception. */
static void watch(struct sp_thread *t, PyCodeObject *code)
{
	int error = errno;
	SP_SAVE_EXCEPTION;
	if (events_choose(code, 0, callee_events))
		PyErr_Clear();
	sp_lines_function(t, code);
	SP_RESTORE_EXCEPTION;
	errno = error;
}

/* Whether the call of a callable counts separately from the line. C functions count for the line, unless the settings
 * request them. Classes written in Python, and objects with __call__, are called by C code but run Python code. */
static bool counts(PyObject *callable)
{
	if (sp_process.settings.c_calls)
		return true;
	if (PyCFunction_Check(callable) || Py_TYPE(callable) == &PyMethodDescr_Type ||
	    Py_TYPE(callable) == &PyWrapperDescr_Type || Py_TYPE(callable) == &PyClassMethodDescr_Type)
		return false;
	const PyTypeObject *type = PyType_Check(callable) ? (PyTypeObject *)callable : Py_TYPE(callable);
	return type->tp_flags & Py_TPFLAGS_HEAPTYPE;
}

SP_CALLBACK(on_call)
{
	SP_UNUSED;
	struct sp_thread *t = thread_with_lines();
	PyObject *callable = args[2];
	if (!t || t->lines->top->key != (uint64_t)args[0])
		Py_RETURN_NONE;
	if (PyMethod_Check(callable))
		callable = PyMethod_GET_FUNCTION(callable);
	if (PyFunction_Check(callable)) {
		PyCodeObject *code = (PyCodeObject *)((PyFunctionObject *)callable)->func_code;
		/* on_first() handles functions that run for the first time */
		if (SP_UNLIKELY(!sp_lines_find(t->lines, (uint64_t)code)) && (!finds || is_decided(code)))
			watch(t, code);
	} else if (counts(callable)) {
		sp_lines_call(t, SP_LINES_C, sp_ticks());
	}
	Py_RETURN_NONE;
}

SP_CALLBACK(on_c_end)
{
	SP_UNUSED;
	const uint64_t now = sp_ticks();
	struct sp_thread *t = thread_with_lines();
	if (t && t->lines->top->key == (uint64_t)args[0])
		sp_lines_called(t, SP_LINES_C, now);
	Py_RETURN_NONE;
}

/* ---- functions that patterns name ---- */

static void choose(struct sp_thread *t, PyCodeObject *code, uint32_t region)
{
	if (sp_lines_events_choose(code, region))
		PyErr_Clear();
	struct sp_line_function *f = sp_lines_function(t, code);
	if (f && f->chosen)
		sp_lines_enter(t, f, current_frame(), 0, sp_ticks());
}

/* The code runs for the first time. Below a chosen line C code or an operator may have called it. */
SP_CALLBACK(on_first)
{
	SP_UNUSED;
	PyCodeObject *code = (PyCodeObject *)args[0];
	struct sp_thread *t = sp_lines_thread();
	if (!t)
		Py_RETURN_NONE;
	int error = errno;
	SP_SAVE_EXCEPTION;
	const uint64_t slot = sp_names_slot(code, sp_frame_current(PyThreadState_Get()));
	if (slot & SP_SLOT_LINES) {
		choose(t, code, (uint32_t)(slot >> SP_SLOT_ID));
	} else if (t->lines->top->key && !t->lines->top->calls) {
		watch(t, code);
		sp_lines_call(t, current_frame(), sp_ticks());
	}
	SP_RESTORE_EXCEPTION;
	errno = error;
	return Py_NewRef(slot ? ((struct sp_callback *)self)->disable : Py_None);
}

/* ---- start and end ---- */

int sp_lines_events_choose(PyCodeObject *code, uint32_t region)
{
	return events_choose(code, region, chosen_events);
}

void sp_lines_events_forget(PyCodeObject *code)
{
	if (sp_tool_local_events(&tool, code, 0))
		PyErr_Clear();
}

static int take_finder(PyObject *m, PyObject *type)
{
	unsigned long set = 0;
	return sp_tool_take(m, &finder) || sp_tool_register(m, &finder, type, "PY_START", on_first, &set) ||
	               sp_tool_events(&finder, set)
	           ? -1
	           : 0;
}

static void remove_tool(const struct sp_tool *t)
{
	PyObject *m = PySys_GetObject("monitoring");
	if (!m || !sp_tool_is_ours(m, t))
		return;
	if (sp_tool_events(t, 0))
		PyErr_Clear();
	sp_tool_free(t);
}

void sp_lines_events_remove(void)
{
	remove_tool(&tool);
	remove_tool(&finder);
}

int sp_lines_events_install(bool by_pattern)
{
	static const struct {
		const char *event;
		vectorcallfunc function;
		unsigned long *set[2];
	} events[] = {
	    {"LINE", on_line, {&chosen_events, NULL}},
	    {"PY_START", on_start, {&chosen_events, &callee_events}},
	    {"PY_RESUME", on_resume, {&chosen_events, &callee_events}},
	    {"PY_RETURN", on_end, {&chosen_events, &callee_events}},
	    {"PY_YIELD", on_end, {&chosen_events, &callee_events}},
	    {"CALL", on_call, {&chosen_events, NULL}},
	    /* these two are enabled with CALL */
	    {"C_RETURN", on_c_end, {NULL, NULL}},
	    {"C_RAISE", on_c_end, {NULL, NULL}},
	    /* these two cannot be local, and are rare */
	    {"PY_THROW", on_resume, {&events_everywhere, NULL}},
	    {"PY_UNWIND", on_end, {&events_everywhere, NULL}},
	};
	PyObject *m = Py_XNewRef(sp_monitoring()), *type = m ? sp_callback_type() : NULL;
	int r = type ? sp_tool_take(m, &tool) : -1;
	chosen_events = callee_events = events_everywhere = 0;
	for (size_t i = 0; !r && i < sizeof events / sizeof *events; i++) {
		unsigned long event = 0;
		r = sp_tool_register(m, &tool, type, events[i].event, events[i].function, &event);
		for (int k = 0; k < 2; k++)
			if (events[i].set[k])
				*events[i].set[k] |= event;
	}
	if (!r)
		r = sp_tool_events(&tool, events_everywhere);
	finds = by_pattern;
	if (!r && by_pattern)
		r = take_finder(m, type);
	Py_XDECREF(type);
	Py_XDECREF(m);
	if (r) {
		SP_SAVE_EXCEPTION;
		sp_lines_events_remove();
		SP_RESTORE_EXCEPTION;
	}
	return r;
}

#endif
