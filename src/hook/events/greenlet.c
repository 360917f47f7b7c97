/* SPDX-License-Identifier: BSD-3-Clause */
/* Greenlets: several stacks alternate in one thread. greenlet calls a trace function at every switch; the one
 * installed here suspends the frames of the previous greenlet and resumes those of the next one. */
#include "hook/greenlet.h"
#include "hook/keep.h"
#include "hook/serial.h"
#include "hook/task.h"
#include "record/stack.h"
#include "record/thread.h"

static PyObject *tracer;           /* owned; the trace function */
static __thread PyObject *chained; /* the program's own trace function, called after this one; kept */

static PyObject **chained_slot(void)
{
	return &chained;
}

/* trace(event, (origin, target)): called after a switch or throw, in the target. */
static PyObject *on_switch(PyObject *self, PyObject *args)
{
	(void)self;
	PyObject *pair = PyTuple_GET_SIZE(args) == 2 ? PyTuple_GET_ITEM(args, 1) : NULL;
	struct sp_thread *t = sp_self;
	if (t && t->epoch == sp_epoch && pair && PyTuple_CheckExact(pair) && PyTuple_GET_SIZE(pair) == 2)
		sp_stack_switch(t, PyTuple_GET_ITEM(pair, 0), PyTuple_GET_ITEM(pair, 1), sp_ticks());
	if (chained && chained != Py_None)
		return PyObject_Call(chained, args, NULL);
	Py_RETURN_NONE;
}

static PyMethodDef on_switch_def = {"spartito_greenlet_switch", on_switch, METH_VARARGS, NULL};

static void make_tracer(void)
{
	SP_SERIAL(sp_serial_names);
	if (!tracer)
		tracer = PyCFunction_New(&on_switch_def, NULL);
}

void sp_greenlet_watch_thread(void)
{
	PyObject *modules = PyImport_GetModuleDict();
	PyObject *module = modules ? PyDict_GetItemString(modules, "greenlet._greenlet") : NULL; /* borrowed */
	PyObject *settrace = module ? PyObject_GetAttrString(module, "settrace") : NULL;
	make_tracer();
	if (settrace && tracer) {
		PyObject *old = PyObject_CallFunctionObjArgs(settrace, tracer, NULL);
		if (old && old != tracer)
			sp_keep("spartito.greenlet", chained_slot, old);
		Py_XDECREF(old);
	}
	Py_XDECREF(settrace);
	PyErr_Clear();
}

/* Called when greenlet's package begins to run. The package first imports its C module; this function imports it
 * slightly earlier, because no later Python function would show that it is loaded. */
void sp_greenlet_loaded(void)
{
	PyObject *module = PyImport_ImportModule("greenlet._greenlet");
	Py_XDECREF(module);
	PyErr_Clear();
	sp_greenlet_watch_thread();
}
