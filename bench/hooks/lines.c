/* SPDX-License-Identifier: BSD-3-Clause */
/* The minimal work of a hook in C for each line: it stores the processor's counter in a ring buffer. From
 * Python 3.12 on the hook is a LINE event of sys.monitoring, local to one code object; before, a trace function.
 *
 * line_floor.start(function), line_floor.stop() -> number of events. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <frameobject.h>
#include <stdint.h>

#include "record/machine.h"

#define RING (1u << 16)
static uint64_t ring[RING];
static uint64_t events;

static inline void stamp(void)
{
	ring[events++ & (RING - 1)] = sp_counter();
}

#if PY_VERSION_HEX >= 0x030c0000
/* A callback that monitoring calls without a tuple of arguments: an object with a vectorcall. */
struct callback {
	PyObject_HEAD vectorcallfunc call;
};

static PyObject *on_line(PyObject *self, PyObject *const *args, size_t n, PyObject *names)
{
	(void)self, (void)args, (void)n, (void)names;
	stamp();
	Py_RETURN_NONE;
}

static PyMemberDef callback_members[] = {
    {"__vectorcalloffset__", Py_T_PYSSIZET, offsetof(struct callback, call), Py_READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};
static PyType_Slot callback_slots[] = {
    {Py_tp_call, (void *)PyVectorcall_Call},
    {Py_tp_members, callback_members},
    {0, NULL},
};
static PyType_Spec callback_spec = {"line_floor.callback", sizeof(struct callback), 0,
                                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL, callback_slots};

enum { TOOL = 4 };

static int set(PyObject *code, const char *how, PyObject *argument)
{
	PyObject *sys = PyImport_ImportModule("sys"), *m = sys ? PyObject_GetAttrString(sys, "monitoring") : NULL;
	PyObject *events_of = m ? PyObject_GetAttrString(m, "events") : NULL;
	PyObject *line = events_of ? PyObject_GetAttrString(events_of, "LINE") : NULL, *r = NULL;

	if (!line)
		;
	else if (*how == 'u')
		r = PyObject_CallMethod(m, how, "is", TOOL, "line_floor");
	else if (*how == 'f')
		r = PyObject_CallMethod(m, how, "i", TOOL);
	else if (*how == 'r')
		r = PyObject_CallMethod(m, how, "iOO", TOOL, line, argument);
	else
		r = PyObject_CallMethod(m, how, "iOO", TOOL, code, argument ? line : Py_False);
	Py_XDECREF(line);
	Py_XDECREF(events_of);
	Py_XDECREF(m);
	Py_XDECREF(sys);
	Py_XDECREF(r);
	return r ? 0 : -1;
}

static PyObject *begin(PyObject *code)
{
	PyObject *type = PyType_FromSpec(&callback_spec);
	PyObject *cb = type ? ((PyTypeObject *)type)->tp_alloc((PyTypeObject *)type, 0) : NULL;

	if (!cb)
		return NULL;
	((struct callback *)cb)->call = on_line;
	if (set(code, "use_tool_id", NULL) || set(code, "register_callback", cb) ||
	    set(code, "set_local_events", Py_True))
		return NULL;
	Py_RETURN_NONE;
}

static int end(PyObject *code)
{
	return set(code, "set_local_events", NULL) || set(code, "free_tool_id", NULL) ? -1 : 0;
}
#else
static int on_event(PyObject *self, PyFrameObject *frame, int what, PyObject *arg)
{
	(void)self, (void)frame, (void)arg;
	if (what == PyTrace_LINE)
		stamp();
	return 0;
}

static PyObject *begin(PyObject *code)
{
	(void)code;
	PyEval_SetTrace(on_event, NULL);
	Py_RETURN_NONE;
}

static int end(PyObject *code)
{
	(void)code;
	PyEval_SetTrace(NULL, NULL);
	return 0;
}
#endif

static PyObject *watched; /* owned: the code object */

static PyObject *floor_start(PyObject *self, PyObject *function)
{
	(void)self;
	if (watched || !PyFunction_Check(function))
		return PyErr_Format(PyExc_ValueError, watched ? "running already" : "not a function");
	watched = PyFunction_GetCode(function);
	Py_INCREF(watched);
	events = 0;
	return begin(watched);
}

static PyObject *floor_stop(PyObject *self, PyObject *none)
{
	(void)self, (void)none;
	if (watched && end(watched))
		return NULL;
	Py_CLEAR(watched);
	return PyLong_FromUnsignedLongLong(events);
}

static PyMethodDef methods[] = {
    {"start", floor_start, METH_O, NULL},
    {"stop", floor_stop, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "line_floor", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_line_floor(void)
{
	return PyModule_Create(&module);
}
