/* SPDX-License-Identifier: BSD-3-Clause */
/* The interpreter's frames, under the same names for all versions. A frame pointer identifies an activation without a
 * frame object, which would cost more than the event. A new Python version adds a branch to each function here. */
#ifndef SP_HOOK_FRAMES_H
#define SP_HOOK_FRAMES_H

#ifndef Py_BUILD_CORE
#define Py_BUILD_CORE 1
#endif
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#pragma GCC diagnostic ignored "-Wundef"
#include <Python.h>
#include <frameobject.h>
#if PY_VERSION_HEX < 0x030A0000
#include <internal/pycore_interp.h>
#endif
#if PY_VERSION_HEX >= 0x030B0000
#include <internal/pycore_code.h>
#include <internal/pycore_frame.h>
#endif
#if PY_VERSION_HEX >= 0x030E0000
#include <internal/pycore_interpframe.h>
#include <internal/pycore_stackref.h>
#endif
#pragma GCC diagnostic pop
#undef Py_BUILD_CORE

#include <stdbool.h>
#include <stddef.h>

#if PY_VERSION_HEX < 0x03090000 || PY_VERSION_HEX >= 0x03100000
#error "Spartito knows CPython 3.9 to 3.15; docs/extending.md says what a new version needs"
#endif
#if defined Py_GIL_DISABLED && (PY_VERSION_HEX < 0x030E0000 || PY_VERSION_HEX >= 0x030F0000)
#error "Of the builds without the GIL, Spartito knows that of CPython 3.14 only"
#endif

#if PY_VERSION_HEX < 0x030B0000
typedef PyFrameObject sp_frame;
#else
typedef struct _PyInterpreterFrame sp_frame;
#endif

/* Returns the current thread state, which may be NULL; before 3.12 it may belong to another thread. */
static inline PyThreadState *sp_thread_state(void)
{
#if PY_VERSION_HEX >= 0x030D0000
	return PyThreadState_GetUnchecked();
#else
	return _PyThreadState_UncheckedGet();
#endif
}

/* Returns the frame's code, borrowed. */
static inline PyCodeObject *sp_frame_code(const sp_frame *f)
{
#if PY_VERSION_HEX < 0x030D0000
	return f->f_code;
#elif PY_VERSION_HEX < 0x030E0000
	return (PyCodeObject *)f->f_executable;
#else
	return (PyCodeObject *)PyStackRef_AsPyObjectBorrow(f->f_executable);
#endif
}

/* From 3.12 on the stack contains internal frames between those of Python functions: those of C, and below an __init__
 * that is called often one whose code causes no event. That code is constant: storing a slot in it crashes. */
#if PY_VERSION_HEX >= 0x030C0000
static inline bool sp_frame_is_internal(const sp_frame *f)
{
#if PY_VERSION_HEX < 0x030E0000
	const bool is_of_interpreter = f->owner >= FRAME_OWNED_BY_CSTACK;
#else
	const bool is_of_interpreter = f->owner >= FRAME_OWNED_BY_INTERPRETER;
#endif
	if (is_of_interpreter || !PyCode_Check((PyObject *)sp_frame_code(f)))
		return true;
	const PyCodeObject *code = sp_frame_code(f);
	return code->_co_firsttraceable >= Py_SIZE(code);
}
#endif

/* Returns f or, if it is internal, the next Python frame further out; may be NULL. */
static inline sp_frame *sp_frame_python(sp_frame *f)
{
#if PY_VERSION_HEX >= 0x030C0000
	while (f && sp_frame_is_internal(f))
		f = f->previous;
#endif
	return f;
}

/* Returns the innermost Python frame of a thread, or NULL. */
static inline sp_frame *sp_frame_current(PyThreadState *ts)
{
#if PY_VERSION_HEX < 0x030B0000
	return ts->frame;
#elif PY_VERSION_HEX < 0x030D0000
	return ts->cframe ? sp_frame_python(ts->cframe->current_frame) : NULL;
#else
	return sp_frame_python(ts->current_frame);
#endif
}

/* Returns the Python frame that called f, or NULL. */
static inline sp_frame *sp_frame_back(sp_frame *f)
{
#if PY_VERSION_HEX < 0x030B0000
	return f->f_back;
#else
	return sp_frame_python(f->previous);
#endif
}

/* Returns the coroutine or generator of the frame, borrowed; NULL if there is no such object. */
static inline PyObject *sp_frame_generator(sp_frame *f)
{
#if PY_VERSION_HEX < 0x030B0000
	return f->f_gen;
#else
	return f->owner == FRAME_OWNED_BY_GENERATOR ? (PyObject *)((char *)f - offsetof(PyGenObject, gi_iframe)) : NULL;
#endif
}

/* Returns the frame of a coroutine or generator; NULL if it has ended. */
static inline sp_frame *sp_generator_frame(PyObject *g)
{
#if PY_VERSION_HEX < 0x030B0000
	return ((PyGenObject *)g)->gi_frame;
#else
#if PY_VERSION_HEX < 0x030F0000
	const bool ended = ((PyGenObject *)g)->gi_frame_state >= FRAME_COMPLETED;
#else
	const bool ended = FRAME_STATE_FINISHED(((PyGenObject *)g)->gi_frame_state);
#endif
	return ended ? NULL : (sp_frame *)((char *)g + offsetof(PyGenObject, gi_iframe));
#endif
}

/* Returns the current instruction or, before 3.11, the code and in *number the number of the instruction. */
static inline const void *sp_frame_instruction(const sp_frame *f, uint32_t *number)
{
#if PY_VERSION_HEX < 0x030B0000
	*number = (uint32_t)f->f_lasti;
	return f->f_code;
#elif PY_VERSION_HEX < 0x030D0000
	*number = 0;
	return f->prev_instr;
#else
	*number = 0;
	return f->instr_ptr;
#endif
}

/* Returns the offset of the current instruction in its code, in bytes. */
static inline int sp_frame_at(const sp_frame *f)
{
#if PY_VERSION_HEX < 0x030A0000
	return f->f_lasti;
#elif PY_VERSION_HEX < 0x030B0000
	return f->f_lasti * (int)sizeof(_Py_CODEUNIT);
#else
	return _PyInterpreterFrame_LASTI((sp_frame *)f) * (int)sizeof(_Py_CODEUNIT);
#endif
}

/* Returns the line of the instruction at an offset; below 1 if it is unknown. Needs no GIL, and without it no attached
 * thread state, which PyCode_Addr2Line() needs there. */
static inline int sp_code_line(PyCodeObject *code, int at)
{
#ifdef Py_GIL_DISABLED
	const uint8_t *table = (const uint8_t *)PyBytes_AS_STRING(code->co_linetable);
	PyCodeAddressRange range = {.ar_start = -1, .ar_end = 0, .ar_line = -1};
	range.opaque.computed_line = code->co_firstlineno;
	range.opaque.lo_next = table;
	range.opaque.limit = table + PyBytes_GET_SIZE(code->co_linetable);
	return at < 0 ? code->co_firstlineno : _PyCode_CheckLineNumber(at, &range);
#else
	return PyCode_Addr2Line(code, at);
#endif
}

/* Returns the current line; below 1 if it is unknown. */
static inline int sp_frame_line(sp_frame *f)
{
	return sp_code_line(sp_frame_code(f), sp_frame_at(f));
}

/* Returns the frame's globals, borrowed. */
static inline PyObject *sp_frame_globals(const sp_frame *f)
{
	return f->f_globals;
}

/* Whether a generator or coroutine that is being entered begins; otherwise it resumes. */
static inline bool sp_frame_is_first(sp_frame *f)
{
#if PY_VERSION_HEX < 0x030B0000
	return f->f_lasti < 0;
#else
	return _PyInterpreterFrame_LASTI(f) <= sp_frame_code(f)->_co_firsttraceable;
#endif
}

#endif
