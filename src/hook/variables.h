/* SPDX-License-Identifier: BSD-3-Clause */
/* The variables of the interpreter's frames, under the same names for all versions. */
#ifndef SP_HOOK_VARIABLES_H
#define SP_HOOK_VARIABLES_H

#include "hook/frames.h"

#if PY_VERSION_HEX >= 0x030E0000
#define SP_FRAME_LOCAL(f, i)                                                                                           \
	(PyStackRef_IsNull((f)->localsplus[i]) ? NULL : PyStackRef_AsPyObjectBorrow((f)->localsplus[i]))
#define SP_FRAME_FUNCTION(f) PyStackRef_AsPyObjectBorrow((f)->f_funcobj)
#elif PY_VERSION_HEX >= 0x030C0000
#define SP_FRAME_LOCAL(f, i) ((f)->localsplus[i])
#define SP_FRAME_FUNCTION(f) ((f)->f_funcobj)
#elif PY_VERSION_HEX >= 0x030B0000
#define SP_FRAME_LOCAL(f, i) ((f)->localsplus[i])
#define SP_FRAME_FUNCTION(f) ((PyObject *)(f)->f_func)
#endif

/* Returns the argument i (0 is a method's self), borrowed; NULL if it does not exist or is unbound. */
static inline PyObject *sp_frame_argument(sp_frame *f, int i)
{
	if (sp_frame_code(f)->co_argcount <= i)
		return NULL;
#if PY_VERSION_HEX < 0x030B0000
	return f->f_localsplus[i];
#else
	return SP_FRAME_LOCAL(f, i);
#endif
}

/* Returns a variable's value, taken out of its cell if it is in one; borrowed. */
static inline PyObject *sp_cell_value(PyObject *o)
{
	return o && PyCell_Check(o) ? PyCell_GET(o) : o;
}

/* Returns the variable `self`: an argument, a local variable or one of an enclosing function; borrowed. NULL if it
 * does not exist or is unbound. Runs no code of the program. */
static inline PyObject *sp_frame_self(sp_frame *f)
{
	PyCodeObject *code = sp_frame_code(f);
#if PY_VERSION_HEX >= 0x030B0000
	int free_first = code->co_nlocalsplus - code->co_nfreevars;
	for (int i = 0; i < code->co_nlocalsplus; i++) {
		if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(code->co_localsplusnames, i), "self"))
			continue;
		PyObject *value = SP_FRAME_LOCAL(f, i), *function = SP_FRAME_FUNCTION(f);
		if (!value && i >= free_first && function && PyFunction_Check(function)) {
			/* the frame has just begun: its closure variables are not copied yet */
			PyObject *closure = ((PyFunctionObject *)function)->func_closure;
			if (closure && PyTuple_GET_SIZE(closure) > i - free_first)
				value = PyTuple_GET_ITEM(closure, i - free_first);
		}
		return _PyLocals_GetKind(code->co_localspluskinds, i) & (CO_FAST_CELL | CO_FAST_FREE)
		           ? sp_cell_value(value)
		           : value;
	}
	return NULL;
#else
	PyObject *const names[] = {code->co_varnames, code->co_cellvars, code->co_freevars};
	PyObject *found = NULL;
	int at = 0;
	for (int k = 0; k < 3 && !found; k++)
		for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names[k]); i++, at++)
			if (!found && !PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names[k], i), "self"))
				found = k ? sp_cell_value(f->f_localsplus[at]) : f->f_localsplus[at];
	return found;
#endif
}

#endif
