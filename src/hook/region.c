/* SPDX-License-Identifier: BSD-3-Clause */
/* The type spartito.region: a context manager, plain and async, and a decorator. While nothing is measured it costs
 * next to nothing, so that a program may keep its regions. */
#include "hook/hook.h"

#include <structmember.h>

struct region {
	PyObject_HEAD PyObject *name; /* owned, a str; NULL: that of the decorated function */
};

int sp_region_begin(PyObject *name)
{
	Py_ssize_t n;
	const char *p = sp_text_argument(name, &n, "the name of a region");
	if (!p)
		return -1;
	if (sp_hook_thread(NULL))
		sp_user_begin(p, (size_t)n);
	return 0;
}

int sp_region_end(PyObject *name)
{
	Py_ssize_t n;
	const char *p = sp_text_argument(name, &n, "the name of a region");
	if (!p)
		return -1;
	sp_user_end(p, (size_t)n);
	return 0;
}

/* spartito.user.<function>(argument, argument2); the second may be NULL. */
static PyObject *call_user(const char *function, PyObject *argument, PyObject *argument2)
{
	PyObject *module = PyImport_ImportModule("spartito.user");
	PyObject *callable = module ? PyObject_GetAttrString(module, function) : NULL;
	PyObject *result = callable ? PyObject_CallFunctionObjArgs(callable, argument, argument2, NULL) : NULL;
	Py_XDECREF(callable);
	Py_XDECREF(module);
	return result;
}

static PyObject *region_new(PyTypeObject *type, PyObject *name)
{
	Py_ssize_t n;
	if (name && !sp_text_argument(name, &n, "the name of a region"))
		return NULL;
	struct region *self = (struct region *)type->tp_alloc(type, 0);
	if (self) {
		Py_XINCREF(name);
		self->name = name;
	}
	return (PyObject *)self;
}

/* region("x"), region(), and @region. */
static PyObject *make(PyTypeObject *type, PyObject *argument)
{
	if (argument && !PyUnicode_Check(argument) && PyCallable_Check(argument))
		return call_user("decorate", Py_None, argument);
	return region_new(type, argument);
}

static PyObject *tp_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	static char *names[] = {"name", NULL};
	PyObject *name = NULL;
	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:region", names, &name))
		return NULL;
	return make(type, name);
}

/* The way of a plain call: no tuple, no dictionary. */
static PyObject *vectorcall(PyObject *type, PyObject *const *args, size_t nargsf, PyObject *names)
{
	Py_ssize_t n = PyVectorcall_NARGS(nargsf), k = names ? PyTuple_GET_SIZE(names) : 0;
	bool named = k == 1 && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0), "name") == 0;
	if (n + k > 1 || (k && !named)) {
		PyErr_SetString(PyExc_TypeError, "region() takes one argument, the name");
		return NULL;
	}
	return make((PyTypeObject *)type, n + k ? args[0] : NULL);
}

static void dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);
	Py_XDECREF(((struct region *)self)->name);
	type->tp_free(self);
	Py_DECREF(type);
}

static PyObject *enter(PyObject *self, PyObject *none)
{
	(void)none;
	PyObject *name = ((struct region *)self)->name;
	if (!name) {
		PyErr_SetString(PyExc_TypeError, "a region needs a name, except as a decorator");
		return NULL;
	}
	if (sp_recording && sp_region_begin(name))
		return NULL;
	Py_INCREF(self);
	return self;
}

static PyObject *leave(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
	(void)args, (void)nargs;
	PyObject *name = ((struct region *)self)->name;
	if (sp_recording && name && sp_region_end(name))
		return NULL;
	Py_RETURN_NONE;
}

static PyObject *async_enter(PyObject *self, PyObject *none)
{
	(void)none;
	return call_user("async_enter", self, NULL);
}

static PyObject *async_leave(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
	(void)args, (void)nargs;
	return call_user("async_leave", self, NULL);
}

static PyObject *decorate(PyObject *self, PyObject *args, PyObject *kwargs)
{
	PyObject *function, *name = ((struct region *)self)->name;
	if (kwargs && PyDict_GET_SIZE(kwargs)) {
		PyErr_SetString(PyExc_TypeError, "a region decorates one function");
		return NULL;
	}
	if (!PyArg_ParseTuple(args, "O:region", &function))
		return NULL;
	return call_user("decorate", name ? name : Py_None, function);
}

static PyMethodDef methods[] = {
    {"__enter__", enter, METH_NOARGS, NULL},
    {"__exit__", (PyCFunction)(void (*)(void))leave, METH_FASTCALL, NULL},
    {"__aenter__", async_enter, METH_NOARGS, NULL},
    {"__aexit__", (PyCFunction)(void (*)(void))async_leave, METH_FASTCALL, NULL},
    {NULL, NULL, 0, NULL},
};
static PyMemberDef members[] = {
    {"name", T_OBJECT, offsetof(struct region, name), READONLY, "as in the results"},
    {NULL, 0, 0, 0, NULL},
};
static PyType_Slot slots[] = {
    {Py_tp_doc, "region(name): `with region(name):`, `async with` the same, or a decorator of functions, coroutines "
                "and generators; "
                "without a name a decorator takes the function's"},
    {Py_tp_new, tp_new},
    {Py_tp_dealloc, dealloc},
    {Py_tp_call, decorate},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {0, NULL},
};
static PyType_Spec spec = {
    .name = "spartito.region",
    .basicsize = sizeof(struct region),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};

PyObject *sp_region_type(void)
{
	PyObject *type = PyType_FromSpec(&spec);
	if (type)
		((PyTypeObject *)type)->tp_vectorcall = vectorcall;
	return type;
}
