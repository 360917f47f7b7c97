/* SPDX-License-Identifier: BSD-3-Clause */
#include "hook/tool.h"

#if PY_VERSION_HEX >= 0x030C0000

#include <structmember.h>

static void callback_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);
	Py_XDECREF(((struct sp_callback *)self)->disable);
	PyObject_Free(self);
	Py_DECREF(type);
}

static PyMemberDef callback_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct sp_callback, call), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};
static PyType_Slot callback_slots[] = {
    {Py_tp_dealloc, callback_dealloc},
    {Py_tp_members, callback_members},
    {Py_tp_call, PyVectorcall_Call},
    {0, NULL},
};
static PyType_Spec callback_spec = {
    .name = "spartito._measure.callback",
    .basicsize = sizeof(struct sp_callback),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = callback_slots,
};

PyObject *sp_callback_type(void)
{
	return PyType_FromSpec(&callback_spec);
}

PyObject *sp_monitoring(void)
{
	PyObject *m = PySys_GetObject("monitoring");
	if (!m)
		PyErr_SetString(PyExc_RuntimeError, "sys.monitoring is gone");
	return m;
}

/* Ids that no documentation reserves for a kind of tool come first, so that debuggers, coverage tools and profilers
 * can run at the same time. */
static const int candidates[] = {4, 3, 5, 0, 1, 2};

bool sp_tool_is_ours(PyObject *m, const struct sp_tool *tool)
{
	PyObject *r = tool->id >= 0 ? PyObject_CallMethod(m, "get_tool", "i", tool->id) : NULL;
	const bool ours = r && PyUnicode_CheckExact(r) && !PyUnicode_CompareWithASCIIString(r, tool->name);
	PyErr_Clear();
	Py_XDECREF(r);
	return ours;
}

int sp_tool_take(PyObject *m, struct sp_tool *tool)
{
	/* the same id in every interpreter, and again after a pause, unless another tool has it now */
	if (tool->id >= 0) {
		PyObject *r = PyObject_CallMethod(m, "use_tool_id", "is", tool->id, tool->name);
		PyErr_Clear();
		if (r || sp_tool_is_ours(m, tool)) {
			Py_XDECREF(r);
			return 0;
		}
		tool->id = -1;
	}
	for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++) {
		PyObject *r = PyObject_CallMethod(m, "use_tool_id", "is", candidates[i], tool->name);
		if (r) {
			Py_DECREF(r);
			tool->id = candidates[i];
			return 0;
		}
		PyErr_Clear();
	}
	PyErr_SetString(PyExc_RuntimeError, "all tool ids of sys.monitoring are in use");
	return -1;
}

/* Returns the tool's object for an event, a new reference; NULL with an exception. It is the same at each start and
 * lives as long as the interpreter: without the GIL a thread may still be in its call when the tool is freed. */
static PyObject *callback_of(const struct sp_tool *tool, PyObject *type, const char *event, vectorcallfunc function,
                             PyObject *disable)
{
	PyObject *kept = PyInterpreterState_GetDict(PyInterpreterState_Get()); /* borrowed */
	PyObject *key = kept ? PyUnicode_FromFormat("%s %s", tool->name, event) : NULL;
	PyObject *c = key ? Py_XNewRef(PyDict_GetItemWithError(kept, key)) : NULL;
	if (!c && key && !PyErr_Occurred()) {
		struct sp_callback *fresh = PyObject_New(struct sp_callback, (PyTypeObject *)type);
		if (fresh) {
			fresh->call = function;
			fresh->disable = Py_NewRef(disable);
		}
		c = (PyObject *)fresh;
		if (c && PyDict_SetItem(kept, key, c))
			Py_CLEAR(c);
	}
	if (!c && !PyErr_Occurred())
		PyErr_SetString(PyExc_RuntimeError, "this interpreter has no dictionary");
	Py_XDECREF(key);
	return c;
}

int sp_tool_register(PyObject *m, const struct sp_tool *tool, PyObject *type, const char *event,
                     vectorcallfunc function, unsigned long *set)
{
	int r = -1;
	PyObject *events = PyObject_GetAttrString(m, "events");
	PyObject *number = events ? PyObject_GetAttrString(events, event) : NULL;
	PyObject *disable = PyObject_GetAttrString(m, "DISABLE");
	PyObject *c = number && disable ? callback_of(tool, type, event, function, disable) : NULL;
	if (c) {
		PyObject *old = PyObject_CallMethod(m, "register_callback", "iOO", tool->id, number, c);
		if (old) {
			*set |= PyLong_AsUnsignedLong(number);
			r = PyErr_Occurred() ? -1 : 0;
		}
		Py_XDECREF(old);
	}
	Py_XDECREF(c);
	Py_XDECREF(disable);
	Py_XDECREF(number);
	Py_XDECREF(events);
	return r;
}

int sp_tool_events(const struct sp_tool *tool, unsigned long set)
{
	PyObject *m = sp_monitoring();
	PyObject *r = m && tool->id >= 0 ? PyObject_CallMethod(m, "set_events", "ik", tool->id, set) : NULL;
	if (!r && !PyErr_Occurred())
		PyErr_SetString(PyExc_RuntimeError, "sys.monitoring is gone");
	Py_XDECREF(r);
	return r ? 0 : -1;
}

int sp_tool_local_events(const struct sp_tool *tool, PyCodeObject *code, unsigned long set)
{
	PyObject *m = sp_monitoring();
	PyObject *r = m ? PyObject_CallMethod(m, "set_local_events", "iOk", tool->id, code, set) : NULL;
	Py_XDECREF(r);
	return r ? 0 : -1;
}

void sp_tool_free(const struct sp_tool *tool)
{
	PyObject *m = sp_monitoring();
	PyObject *r = m && tool->id >= 0 ? PyObject_CallMethod(m, "free_tool_id", "i", tool->id) : NULL;
	Py_XDECREF(r);
	PyErr_Clear();
}

#endif
