/* SPDX-License-Identifier: BSD-3-Clause */
/* Python objects that belong to a thread. Destructors of the C library's thread-local variables run without the GIL;
 * therefore the objects are in the dictionary of the thread state, which the interpreter clears together with the
 * state. */

#include <stdlib.h>

#include "hook/keep.h"

typedef PyObject **slot_function(void);

static const char kept_name[] = "spartito.kept";

/* One object, in a capsule. */
struct kept {
	PyObject *object; /* owned */
	slot_function *slot;
	PyObject **place; /* the variable of the thread that keeps the object */
};

static void let_go(PyObject *capsule)
{
	struct kept *k = PyCapsule_GetPointer(capsule, kept_name);
	/* another thread may clear the state, as in the child of a fork: then the variable no longer exists */
	if (k->place == k->slot() && *k->place == k->object)
		*k->place = NULL;
	Py_DECREF(k->object);
	free(k);
}

static PyObject *capsule_new(slot_function *slot, PyObject *value)
{
	struct kept *k = malloc(sizeof *k);
	PyObject *capsule = k ? PyCapsule_New(k, kept_name, let_go) : PyErr_NoMemory();
	if (!capsule) {
		free(k);
		return NULL;
	}
	Py_INCREF(value);
	*k = (struct kept){value, slot, slot()};
	return capsule;
}

int sp_keep(const char *name, slot_function *slot, PyObject *value)
{
	PyObject *dict = PyThreadState_GetDict(); /* borrowed */
	if (!dict) {
		PyErr_SetString(PyExc_RuntimeError, "no dictionary for this thread");
		return -1;
	}
	if (!value) {
		*slot() = NULL;
		if (PyDict_GetItemString(dict, name))
			PyDict_DelItemString(dict, name);
		return 0;
	}
	PyObject *capsule = capsule_new(slot, value);
	if (!capsule)
		return -1;
	/* releases the previous object, whose destructor may be code of the program that calls this function again */
	int r = PyDict_SetItemString(dict, name, capsule);
	if (!r && PyDict_GetItemString(dict, name) == capsule)
		*slot() = value;
	Py_DECREF(capsule);
	return r;
}
