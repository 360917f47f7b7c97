/* SPDX-License-Identifier: BSD-3-Clause */
/* The extension module `similar`: finds pairs of similar names. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdlib.h>
#include <string.h>

#include "spartito.h"
#include "text.h"

/* The number of letters in which two normalized names differ; limit + 1 if that follows from length or first letter. */
static int difference(const char *a, const char *b, int limit)
{
	if (a[0] != b[0] || abs((int)strlen(a) - (int)strlen(b)) > limit)
		return limit + 1;
	return distance(a, b);
}

/* All names of a list, normalized, or NULL with an exception. The caller frees them. */
static char (*normalized(PyObject *names))[LONGEST + 1]
{
	Py_ssize_t count = PyList_GET_SIZE(names);
	char(*all)[LONGEST + 1] = calloc(count + 1, sizeof *all);
	if (!all)
		PyErr_NoMemory();
	for (Py_ssize_t i = 0; all && i < count; i++) {
		const char *name = PyUnicode_AsUTF8(PyList_GET_ITEM(names, i));
		if (name) {
			normalize(name, all[i]);
		} else {
			free(all);
			all = NULL;
		}
	}
	return all;
}

/* pairs(names, limit) -> [(name, name)]: all pairs that differ in at most limit letters. */
static PyObject *pairs(PyObject *self, PyObject *args)
{
	(void)self;
	PyObject *names;
	int limit;
	if (!PyArg_ParseTuple(args, "O!i", &PyList_Type, &names, &limit))
		return NULL;
	spartito_region_begin("normalize all names");
	char(*all)[LONGEST + 1] = normalized(names);
	spartito_region_end("normalize all names");
	if (!all)
		return NULL;
	spartito_region_begin("compare all pairs");
	PyObject *found = PyList_New(0);
	Py_ssize_t count = PyList_GET_SIZE(names);
	for (Py_ssize_t i = 0; found && i < count; i++)
		for (Py_ssize_t j = i + 1; found && j < count; j++)
			if (difference(all[i], all[j], limit) <= limit) {
				PyObject *pair = PyTuple_Pack(2, PyList_GET_ITEM(names, i), PyList_GET_ITEM(names, j));
				if (!pair || PyList_Append(found, pair) < 0)
					Py_CLEAR(found);
				Py_XDECREF(pair);
			}
	spartito_region_end("compare all pairs");
	free(all);
	return found;
}

static PyMethodDef functions[] = {{"pairs", pairs, METH_VARARGS, "Pairs of similar names."}, {0}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, .m_name = "similar", .m_size = -1, .m_methods = functions};

PyMODINIT_FUNC PyInit_similar(void)
{
	return PyModule_Create(&module);
}
