/* SPDX-License-Identifier: BSD-3-Clause */
/* How the interpreter passes arguments to the methods of locks: since 3.15 in an array, before in a tuple and a
 * dictionary. All objects are borrowed. */
#ifndef SP_HOOK_WAITS_ARGUMENTS_H
#define SP_HOOK_WAITS_ARGUMENTS_H

#include <Python.h>

/* The calling conventions (flags of PyMethodDef) of acquire(), __enter__(), __exit__() and _acquire_restore(). */
#if PY_VERSION_HEX >= 0x030f0000
enum {
	SP_ACQUIRE_FLAGS = METH_FASTCALL | METH_KEYWORDS,
	SP_ENTER_FLAGS = METH_NOARGS,
	SP_EXIT_FLAGS = METH_FASTCALL,
	SP_RESTORE_FLAGS = METH_O
};
/* n positional arguments and those that are named; names: their tuple, or NULL. */
struct sp_arguments {
	PyObject *const *all;
	Py_ssize_t n;
	PyObject *names;
};
#else
enum {
	SP_ACQUIRE_FLAGS = METH_VARARGS | METH_KEYWORDS,
	SP_ENTER_FLAGS = METH_VARARGS | METH_KEYWORDS,
	SP_EXIT_FLAGS = METH_VARARGS,
	SP_RESTORE_FLAGS = METH_VARARGS
};
/* names: a dictionary, or NULL. */
struct sp_arguments {
	PyObject *all, *names;
};
#endif

/* Returns the number of positional arguments. */
static inline Py_ssize_t sp_arguments_n(const struct sp_arguments *a)
{
#if PY_VERSION_HEX >= 0x030f0000
	return a->n;
#else
	return PyTuple_GET_SIZE(a->all);
#endif
}

/* Returns the positional argument i, which exists. */
static inline PyObject *sp_arguments_at(const struct sp_arguments *a, Py_ssize_t i)
{
#if PY_VERSION_HEX >= 0x030f0000
	return a->all[i];
#else
	return PyTuple_GET_ITEM(a->all, i);
#endif
}

/* Returns the number of named arguments. */
static inline Py_ssize_t sp_arguments_named(const struct sp_arguments *a)
{
#if PY_VERSION_HEX >= 0x030f0000
	return a->names ? PyTuple_GET_SIZE(a->names) : 0;
#else
	return a->names ? PyDict_GET_SIZE(a->names) : 0;
#endif
}

/* Returns the argument of this name; NULL if it does not exist. */
static inline PyObject *sp_arguments_of(const struct sp_arguments *a, const char *name)
{
#if PY_VERSION_HEX >= 0x030f0000
	for (Py_ssize_t i = 0; i < sp_arguments_named(a); i++)
		if (!PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(a->names, i), name))
			return a->all[a->n + i];
	return NULL;
#else
	return a->names ? PyDict_GetItemString(a->names, name) : NULL;
#endif
}

/* Calls a method with one of the conventions above. */
static inline PyObject *sp_arguments_call(PyCFunction function, int flags, PyObject *self, const struct sp_arguments *a)
{
	if (flags == METH_NOARGS)
		return function(self, NULL);
#if PY_VERSION_HEX >= 0x030f0000
	if (flags == METH_O)
		return function(self, a->all[0]);
	if (flags == METH_FASTCALL)
		return ((PyCFunctionFast)(void (*)(void))function)(self, a->all, a->n);
	return ((PyCFunctionFastWithKeywords)(void (*)(void))function)(self, a->all, a->n, a->names);
#else
	if (flags == METH_VARARGS)
		return function(self, a->all);
	return ((PyCFunctionWithKeywords)(void (*)(void))function)(self, a->all, a->names);
#endif
}

#endif
