/* SPDX-License-Identifier: BSD-3-Clause */
/* The minimal work of a hook in C: it stores the processor's counter at entry and exit in a ring buffer.
 * No tool with the same hook can cost less; bench/run.py measures it together with the tools.
 *
 * floor.hooks() -> names, floor.start(name), floor.stop() -> number of events. */
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

#if PY_VERSION_HEX >= 0x030b0000
struct _PyInterpreterFrame;
typedef struct _PyInterpreterFrame frame_type;
#else
typedef PyFrameObject frame_type;
#endif

static PyObject *evaluate(PyThreadState *ts, frame_type *frame, int thrown)
{
	PyObject *result;

	stamp();
	result = _PyEval_EvalFrameDefault(ts, frame, thrown);
	stamp();
	return result;
}

static int start_evalframe(void)
{
	_PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Get(), evaluate);
	return 0;
}

static int stop_evalframe(void)
{
	_PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Get(), _PyEval_EvalFrameDefault);
	return 0;
}

static int profile(PyObject *self, PyFrameObject *frame, int what, PyObject *arg)
{
	(void)self, (void)frame, (void)arg;
	if (what == PyTrace_CALL || what == PyTrace_RETURN)
		stamp();
	return 0;
}

#if PY_VERSION_HEX >= 0x030c0000
/* A callback that monitoring calls without a tuple of arguments: an object with a vectorcall. */
struct callback {
	PyObject_HEAD vectorcallfunc call;
};

static PyObject *on_event(PyObject *self, PyObject *const *args, size_t n, PyObject *names)
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
static PyType_Spec callback_spec = {"floor.callback", sizeof(struct callback), 0,
                                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL, callback_slots};

static const char *const event_names[] = {"PY_START", "PY_RESUME", "PY_THROW", "PY_RETURN", "PY_YIELD", "PY_UNWIND"};
enum { TOOL = 4 };

static int start_monitoring(void)
{
	PyObject *sys = PyImport_ImportModule("sys"), *m = NULL, *list = NULL, *type = NULL, *cb = NULL, *r = NULL;
	long mask = 0;
	int status = -1;

	if (!sys || !(m = PyObject_GetAttrString(sys, "monitoring")) || !(list = PyObject_GetAttrString(m, "events")) ||
	    !(type = PyType_FromSpec(&callback_spec)) ||
	    !(cb = ((PyTypeObject *)type)->tp_alloc((PyTypeObject *)type, 0)))
		goto out;
	((struct callback *)cb)->call = on_event;
	if (!(r = PyObject_CallMethod(m, "use_tool_id", "is", TOOL, "floor")))
		goto out;
	Py_DECREF(r);
	for (size_t i = 0; i < sizeof event_names / sizeof *event_names; i++) {
		PyObject *value = PyObject_GetAttrString(list, event_names[i]);
		long bit = value ? PyLong_AsLong(value) : -1;

		Py_XDECREF(value);
		if (bit < 0 || !(r = PyObject_CallMethod(m, "register_callback", "ilO", TOOL, bit, cb)))
			goto out;
		Py_DECREF(r);
		mask |= bit;
	}
	r = PyObject_CallMethod(m, "set_events", "il", TOOL, mask);
	status = r ? 0 : -1;
	Py_XDECREF(r);
out:
	Py_XDECREF(cb);
	Py_XDECREF(type);
	Py_XDECREF(list);
	Py_XDECREF(m);
	Py_XDECREF(sys);
	return status;
}

static int stop_monitoring(void)
{
	PyObject *sys = PyImport_ImportModule("sys"), *m = NULL, *r = NULL;

	if (sys && (m = PyObject_GetAttrString(sys, "monitoring")) &&
	    (r = PyObject_CallMethod(m, "set_events", "ii", TOOL, 0))) {
		Py_DECREF(r);
		r = PyObject_CallMethod(m, "free_tool_id", "i", TOOL);
	}
	Py_XDECREF(m);
	Py_XDECREF(sys);
	if (!r)
		return -1;
	Py_DECREF(r);
	return 0;
}
#endif

static int start_setprofile(void)
{
	PyEval_SetProfile(profile, NULL);
	return 0;
}

static int stop_setprofile(void)
{
	PyEval_SetProfile(NULL, NULL);
	return 0;
}

static const struct hook {
	const char *name;
	int (*start)(void);
	int (*stop)(void);
} hooks[] = {
    {"evalframe", start_evalframe, stop_evalframe},
#if PY_VERSION_HEX >= 0x030c0000
    {"monitoring", start_monitoring, stop_monitoring},
#endif
    {"setprofile", start_setprofile, stop_setprofile},
};
static const struct hook *running;

static PyObject *floor_start(PyObject *self, PyObject *name)
{
	(void)self;
	for (size_t i = 0; i < sizeof hooks / sizeof *hooks && !running; i++)
		if (PyUnicode_CompareWithASCIIString(name, hooks[i].name) == 0) {
			events = 0;
			running = &hooks[i];
			if (hooks[i].start() < 0)
				return NULL;
			Py_RETURN_NONE;
		}
	return PyErr_Format(PyExc_ValueError, running ? "running already" : "no hook %R in this Python", name);
}

static PyObject *floor_stop(PyObject *self, PyObject *none)
{
	const struct hook *h = running;

	(void)self, (void)none;
	running = NULL;
	if (h && h->stop() < 0)
		return NULL;
	return PyLong_FromUnsignedLongLong(events);
}

static PyObject *floor_hooks(PyObject *self, PyObject *none)
{
	PyObject *names = PyTuple_New(sizeof hooks / sizeof *hooks);

	(void)self, (void)none;
	for (size_t i = 0; names && i < sizeof hooks / sizeof *hooks; i++) {
		PyObject *name = PyUnicode_FromString(hooks[i].name);

		if (!name)
			Py_CLEAR(names);
		else
			PyTuple_SET_ITEM(names, (Py_ssize_t)i, name);
	}
	return names;
}

static PyMethodDef methods[] = {
    {"hooks", floor_hooks, METH_NOARGS, NULL},
    {"start", floor_start, METH_O, NULL},
    {"stop", floor_stop, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "floor", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_floor(void)
{
	return PyModule_Create(&module);
}
