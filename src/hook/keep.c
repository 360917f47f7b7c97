/* SPDX-License-Identifier: BSD-3-Clause */
/* Python objects that belong to a thread. A destructor of the C library's thread-local variables runs without the GIL;
 * the interpreter's own dictionary for each thread state is emptied with it. */
#include "hook/hook.h"

typedef PyObject **slot_function(void);

static const char kept[] = "spartito.kept";

static void let_go(PyObject *capsule)
{
	PyObject *object = PyCapsule_GetPointer(capsule, kept);
	/* the variable of the thread that clears the state: as a rule the thread itself */
	PyObject **slot = ((slot_function *)PyCapsule_GetContext(capsule))();
	if (*slot == object)
		*slot = NULL;
	Py_DECREF(object);
}

int sp_keep(const char *name, slot_function *slot, PyObject *object)
{
	PyObject *dict = PyThreadState_GetDict(); /* borrowed */
	if (!dict) {
		PyErr_SetString(PyExc_RuntimeError, "no dictionary for this thread");
		return -1;
	}
	if (!object) {
		if (PyDict_GetItemString(dict, name))
			PyDict_DelItemString(dict, name);
		*slot() = NULL;
		return 0;
	}
	PyObject *capsule = PyCapsule_New(object, kept, let_go);
	if (!capsule)
		return -1;
	Py_INCREF(object);
	PyCapsule_SetContext(capsule, (void *)slot);
	int r = PyDict_SetItemString(dict, name, capsule); /* lets go of the one before */
	Py_DECREF(capsule);
	if (!r)
		*slot() = object;
	return r;
}
