/* SPDX-License-Identifier: BSD-3-Clause */
/* The extension module `similar`: finds pairs of similar names. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

/* The number of letters in which two names differ; limit + 1 if their lengths alone differ by more than limit. */
static int difference(const char *a, const char *b, int limit)
{
	char left[LONGEST + 1], right[LONGEST + 1];
	normalize(a, left);
	normalize(b, right);
	if (abs((int)strlen(left) - (int)strlen(right)) > limit || left[0] != right[0])
		return limit + 1;
	return distance(left, right);
}

/* pairs(names, limit) -> [(name, name)]: all pairs that differ in at most limit letters. */
static PyObject *pairs(PyObject *self, PyObject *args)
{
	(void)self;
	PyObject *names;
	int limit;
	if (!PyArg_ParseTuple(args, "O!i", &PyList_Type, &names, &limit))
		return NULL;
	PyObject *found = PyList_New(0);
	Py_ssize_t count = PyList_GET_SIZE(names);
	for (Py_ssize_t i = 0; found && i < count; i++)
		for (Py_ssize_t j = i + 1; found && j < count; j++) {
			const char *a = PyUnicode_AsUTF8(PyList_GET_ITEM(names, i));
			const char *b = PyUnicode_AsUTF8(PyList_GET_ITEM(names, j));
			if (!a || !b) {
				Py_CLEAR(found);
			} else if (difference(a, b, limit) <= limit) {
				PyObject *pair = PyTuple_Pack(2, PyList_GET_ITEM(names, i), PyList_GET_ITEM(names, j));
				if (!pair || PyList_Append(found, pair) < 0)
					Py_CLEAR(found);
				Py_XDECREF(pair);
			}
		}
	return found;
}

static PyMethodDef functions[] = {{"pairs", pairs, METH_VARARGS, "Pairs of similar names."}, {0}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, .m_name = "similar", .m_size = -1, .m_methods = functions};

PyMODINIT_FUNC PyInit_similar(void)
{
	return PyModule_Create(&module);
}
