/* SPDX-License-Identifier: BSD-3-Clause */
/* The interpreter's own frames, one set of names for all versions. A frame pointer tells one activation from another
 * without making a frame object, which would cost more than the event. A new Python version is a new row of this page.
 */
#ifndef SP_HOOK_FRAMES_H
#define SP_HOOK_FRAMES_H

#ifndef Py_BUILD_CORE
#define Py_BUILD_CORE 1
#endif
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#include <Python.h>
#include <frameobject.h>
#if PY_VERSION_HEX >= 0x030B0000
#include <internal/pycore_code.h>
#endif
#if PY_VERSION_HEX >= 0x030E0000
#include <internal/pycore_interpframe.h>
#include <internal/pycore_stackref.h>
#elif PY_VERSION_HEX >= 0x030B0000
#include <internal/pycore_frame.h>
#endif
#pragma GCC diagnostic pop
#undef Py_BUILD_CORE

#if PY_VERSION_HEX < 0x03090000
#error "Spartito needs CPython 3.9 or newer"
#endif
#ifdef Py_GIL_DISABLED
#error "Spartito does not work with the free-threaded build of Python"
#endif

#if PY_VERSION_HEX < 0x030B0000
typedef PyFrameObject sp_frame;
#else
typedef struct _PyInterpreterFrame sp_frame;
#endif

/* The thread state that is current, without the check that there is one; before 3.12 it may be another thread's. */
static inline PyThreadState *sp_thread_state(void)
{
#if PY_VERSION_HEX >= 0x030D0000
	return PyThreadState_GetUnchecked();
#else
	return _PyThreadState_UncheckedGet();
#endif
}

/* Borrowed. */
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

/* From 3.12 on the C stack carries frames of the interpreter's own between those of Python functions. */
static inline sp_frame *sp_frame_python(sp_frame *f)
{
#if PY_VERSION_HEX >= 0x030C0000
	while (f && (f->owner >= 3 || !PyCode_Check((PyObject *)sp_frame_code(f))))
		f = f->previous;
#endif
	return f;
}

/* The innermost Python frame of a thread, or NULL. */
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

static inline sp_frame *sp_frame_back(sp_frame *f)
{
#if PY_VERSION_HEX < 0x030B0000
	return f->f_back;
#else
	return sp_frame_python(f->previous);
#endif
}

/* Borrowed. */
static inline PyObject *sp_frame_globals(const sp_frame *f)
{
	return f->f_globals;
}

/* The first local variable (a method's self), borrowed; NULL if it is not bound. */
static inline PyObject *sp_frame_first_local(sp_frame *f)
{
	if (sp_frame_code(f)->co_argcount < 1)
		return NULL;
#if PY_VERSION_HEX < 0x030B0000
	return f->f_localsplus[0];
#elif PY_VERSION_HEX < 0x030E0000
	return f->localsplus[0];
#else
	return PyStackRef_IsNull(f->localsplus[0]) ? NULL : PyStackRef_AsPyObjectBorrow(f->localsplus[0]);
#endif
}

#endif
