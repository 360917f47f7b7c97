/* SPDX-License-Identifier: BSD-3-Clause */
/* Offsets of the fields of CPython's structs, in bytes. There is one row for each minor version, and one for its build
 * without the GIL, because patch releases keep the offsets and all 64-bit machines have the same ones.
 * tests/native/python_offsets.c prints a row from a Python's headers. */
#ifndef SP_SAMPLE_PYTHON_OFFSETS_H
#define SP_SAMPLE_PYTHON_OFFSETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* runtime: _PyRuntime; interpreter: PyInterpreterState; gil: struct _gil_runtime_state, a part of _PyRuntime before
 * 3.12; thread: PyThreadState; cframe: _PyCFrame of 3.11 and 3.12; frame: PyFrameObject, _PyInterpreterFrame since
 * 3.11, instruction: f_lasti, a pointer since 3.11; code: PyCodeObject; text: PyUnicodeObject, ascii and compact:
 * offset of the first character, kind: number of the first bit of `kind` in `state`; object: PyVarObject; type, dict,
 * bytes: the objects. Without the GIL each thread runs a separate copy of the instructions: copies is the array of them
 * (co_tlbc), copy the number of the one that the frame runs (tlbc_index); enabled: whether the GIL is on nevertheless,
 * attached: whether the thread may use objects (state), section: its innermost critical section */
#define SP_OFFSETS(X)                                                                                                  \
	X(runtime_interpreters)                                                                                        \
	X(runtime_gil)                                                                                                 \
	X(interpreter_next)                                                                                            \
	X(interpreter_threads)                                                                                         \
	X(interpreter_gil)                                                                                             \
	X(gil_holder)                                                                                                  \
	X(gil_locked)                                                                                                  \
	X(gil_enabled)                                                                                                 \
	X(thread_next)                                                                                                 \
	X(thread_interpreter)                                                                                          \
	X(thread_frame)                                                                                                \
	X(thread_ident)                                                                                                \
	X(thread_native)                                                                                               \
	X(thread_attached)                                                                                             \
	X(thread_section)                                                                                              \
	X(cframe_frame)                                                                                                \
	X(frame_previous)                                                                                              \
	X(frame_code)                                                                                                  \
	X(frame_globals)                                                                                               \
	X(frame_instruction)                                                                                           \
	X(frame_owner)                                                                                                 \
	X(frame_entry)                                                                                                 \
	X(frame_generator)                                                                                             \
	X(frame_copy)                                                                                                  \
	X(code_flags)                                                                                                  \
	X(code_first_line)                                                                                             \
	X(code_filename)                                                                                               \
	X(code_name)                                                                                                   \
	X(code_qualname)                                                                                               \
	X(code_lines)                                                                                                  \
	X(code_traceable)                                                                                              \
	X(code_instructions)                                                                                           \
	X(code_copies)                                                                                                 \
	X(object_type)                                                                                                 \
	X(object_size)                                                                                                 \
	X(text_length)                                                                                                 \
	X(text_state)                                                                                                  \
	X(text_kind)                                                                                                   \
	X(text_ascii)                                                                                                  \
	X(text_compact)                                                                                                \
	X(type_name)                                                                                                   \
	X(type_flags)                                                                                                  \
	X(dict_keys)                                                                                                   \
	X(bytes_data)

#define SP_NO_OFFSET UINT32_MAX /* this version does not have the field */

struct sp_offsets {
#define SP_OFFSET_FIELD(name) uint32_t name;
	SP_OFFSETS(SP_OFFSET_FIELD)
#undef SP_OFFSET_FIELD
};

/* The row of a version such as 0x030b, or of its build without the GIL; NULL: unknown version. */
const struct sp_offsets *sp_offsets_of(unsigned version, bool without_gil);
/* The name of the i-th field; NULL after the last one. */
const char *sp_offsets_name(size_t i);

#endif
