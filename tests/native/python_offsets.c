/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints a row of src/sample/python/offsets.c from the headers of a Python: lines "name offset", or "name -" for a
 * field that this version does not have. */
#define Py_BUILD_CORE 1
#include <Python.h>
#include <frameobject.h>
#include <internal/pycore_interp.h>
#include <internal/pycore_pystate.h>
#include <internal/pycore_runtime.h>
#if PY_VERSION_HEX >= 0x030b0000
#include <internal/pycore_frame.h>
#endif
#if PY_VERSION_HEX >= 0x030e0000
#include <internal/pycore_interpframe.h>
#endif

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define ROW(name, type, field) printf(#name " %zu\n", offsetof(type, field))
#define NONE(name)             puts(#name " -")

/* The number of the first bit of `kind` in the state of a str, which is a bit field. */
static unsigned kind_bit(void)
{
	PyASCIIObject text;
	uint32_t bits;
	memset(&text.state, 0, sizeof text.state);
	text.state.kind = 1;
	memcpy(&bits, &text.state, sizeof bits);
	return (unsigned)__builtin_ctz(bits);
}

static void interpreters(void)
{
	ROW(runtime_interpreters, _PyRuntimeState, interpreters.head);
#if PY_VERSION_HEX < 0x030c0000
	ROW(runtime_gil, _PyRuntimeState, ceval.gil);
	NONE(interpreter_gil);
#else
	NONE(runtime_gil);
	ROW(interpreter_gil, PyInterpreterState, ceval.gil);
#endif
	ROW(interpreter_next, PyInterpreterState, next);
#if PY_VERSION_HEX < 0x030b0000
	ROW(interpreter_threads, PyInterpreterState, tstate_head);
#else
	ROW(interpreter_threads, PyInterpreterState, threads.head);
#endif
	ROW(gil_holder, struct _gil_runtime_state, last_holder);
	ROW(gil_locked, struct _gil_runtime_state, locked);
#ifdef Py_GIL_DISABLED
	ROW(gil_enabled, struct _gil_runtime_state, enabled);
#else
	NONE(gil_enabled);
#endif
}

static void threads(void)
{
	ROW(thread_next, PyThreadState, next);
	ROW(thread_interpreter, PyThreadState, interp);
	ROW(thread_ident, PyThreadState, thread_id);
#if PY_VERSION_HEX < 0x030b0000
	ROW(thread_frame, PyThreadState, frame);
	NONE(thread_native);
	NONE(cframe_frame);
#else
	ROW(thread_native, PyThreadState, native_thread_id);
#if PY_VERSION_HEX < 0x030d0000
	ROW(thread_frame, PyThreadState, cframe);
	ROW(cframe_frame, _PyCFrame, current_frame);
#else
	ROW(thread_frame, PyThreadState, current_frame);
	NONE(cframe_frame);
#endif
#endif
#ifdef Py_GIL_DISABLED
	ROW(thread_attached, PyThreadState, state);
	ROW(thread_section, PyThreadState, critical_section);
#else
	NONE(thread_attached);
	NONE(thread_section);
#endif
}

static void frames(void)
{
#if PY_VERSION_HEX < 0x030b0000
	ROW(frame_previous, PyFrameObject, f_back);
	ROW(frame_code, PyFrameObject, f_code);
	ROW(frame_globals, PyFrameObject, f_globals);
	ROW(frame_instruction, PyFrameObject, f_lasti);
	NONE(frame_owner);
	NONE(frame_entry);
	ROW(frame_generator, PyFrameObject, f_gen);
#else
	NONE(frame_generator);
	typedef struct _PyInterpreterFrame frame;
	ROW(frame_previous, frame, previous);
#if PY_VERSION_HEX < 0x030d0000
	ROW(frame_code, frame, f_code);
	ROW(frame_instruction, frame, prev_instr);
#else
	ROW(frame_code, frame, f_executable);
	ROW(frame_instruction, frame, instr_ptr);
#endif
	ROW(frame_globals, frame, f_globals);
	ROW(frame_owner, frame, owner);
#if PY_VERSION_HEX < 0x030c0000
	ROW(frame_entry, frame, is_entry);
#else
	NONE(frame_entry);
#endif
#endif
#if defined Py_GIL_DISABLED && PY_VERSION_HEX >= 0x030e0000
	ROW(frame_copy, struct _PyInterpreterFrame, tlbc_index);
#else
	NONE(frame_copy);
#endif
}

static void codes(void)
{
	ROW(code_flags, PyCodeObject, co_flags);
	ROW(code_first_line, PyCodeObject, co_firstlineno);
	ROW(code_filename, PyCodeObject, co_filename);
	ROW(code_name, PyCodeObject, co_name);
#if PY_VERSION_HEX < 0x030b0000
	NONE(code_qualname);
	NONE(code_traceable);
	ROW(code_instructions, PyCodeObject, co_code);
#else
	ROW(code_qualname, PyCodeObject, co_qualname);
	ROW(code_traceable, PyCodeObject, _co_firsttraceable);
	ROW(code_instructions, PyCodeObject, co_code_adaptive);
#endif
#if PY_VERSION_HEX < 0x030a0000
	ROW(code_lines, PyCodeObject, co_lnotab);
#else
	ROW(code_lines, PyCodeObject, co_linetable);
#endif
#if defined Py_GIL_DISABLED && PY_VERSION_HEX >= 0x030e0000
	ROW(code_copies, PyCodeObject, co_tlbc);
#else
	NONE(code_copies);
#endif
}

static void objects(void)
{
	ROW(object_type, PyObject, ob_type);
	ROW(object_size, PyVarObject, ob_size);
	ROW(text_length, PyASCIIObject, length);
	ROW(text_state, PyASCIIObject, state);
	printf("text_kind %u\n", kind_bit());
	printf("text_ascii %zu\n", sizeof(PyASCIIObject));
	printf("text_compact %zu\n", sizeof(PyCompactUnicodeObject));
	ROW(type_name, PyTypeObject, tp_name);
	ROW(type_flags, PyTypeObject, tp_flags);
	ROW(dict_keys, PyDictObject, ma_keys);
	ROW(bytes_data, PyBytesObject, ob_sval);
}

int main(void)
{
	interpreters();
	threads();
	frames();
	codes();
	objects();
	return 0;
}
