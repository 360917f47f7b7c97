/* SPDX-License-Identifier: BSD-3-Clause */
/* Greenlets: several stacks take turns in one thread. greenlet tells a trace function of every switch; ours puts the
 * frames of the greenlet that stops aside and brings back those of the one that goes on. */
#include "hook/hook.h"

#include <stdlib.h>
#include <string.h>

struct fiber {
	struct fiber *next;
	const void *greenlet; /* identity only */
	size_t n;
	struct sp_raw_frame frames[];
};

static bool loaded;
static PyObject *tracer;           /* owned: our trace function */
static __thread PyObject *chained; /* owned: the program's own, called after ours */

static struct fiber *take(struct sp_thread *t, const void *greenlet)
{
	for (struct fiber **p = (struct fiber **)&t->fibers; *p; p = &(*p)->next)
		if ((*p)->greenlet == greenlet) {
			struct fiber *f = *p;
			*p = f->next;
			return f;
		}
	return NULL;
}

/* The frames stay open while they wait; their time goes on, as that of a caller does. In the trace they are left and
 * entered again. */
static void put_aside(struct sp_thread *t, const void *greenlet, uint64_t now)
{
	size_t n = sp_stack_depth(t);
	if (!n)
		return;
	struct fiber *f = malloc(sizeof *f + n * sizeof f->frames[0]);
	if (f) {
		f->greenlet = greenlet;
		f->n = n;
		memcpy(f->frames, (struct sp_raw_frame *)t->loc.base + 1, n * sizeof f->frames[0]);
		f->next = t->fibers;
		t->fibers = f;
	}
	/* leaving counts the time up to here */
	sp_stack_clear(t, now);
}

static void bring_back(struct sp_thread *t, const void *greenlet, uint64_t now)
{
	struct fiber *f = take(t, greenlet);
	for (size_t i = 0; f && i < f->n; i++) {
		struct sp_raw_frame *s = &f->frames[i];
		sp_stack_inherit(t, sp_stack_region(s), s->flags ? ~s->key : s->key, s->frame,
		                 s->flags ? s->flags : SP_RAW_FRAME_FORKED, now);
	}
	free(f);
}

/* trace(event, (origin, target)): after a switch or throw, in the target. */
static PyObject *on_switch(PyObject *self, PyObject *args)
{
	(void)self;
	PyObject *pair = PyTuple_GET_SIZE(args) == 2 ? PyTuple_GET_ITEM(args, 1) : NULL;
	struct sp_thread *t = sp_self;
	if (t && t->epoch == sp_epoch && pair && PyTuple_CheckExact(pair) && PyTuple_GET_SIZE(pair) == 2) {
		uint64_t now = sp_ticks();
		put_aside(t, PyTuple_GET_ITEM(pair, 0), now);
		bring_back(t, PyTuple_GET_ITEM(pair, 1), now);
	}
	if (chained && chained != Py_None)
		return PyObject_Call(chained, args, NULL);
	Py_RETURN_NONE;
}

static PyMethodDef on_switch_def = {"spartito_greenlet_switch", on_switch, METH_VARARGS, NULL};

void sp_greenlet_watch_thread(void)
{
	if (!loaded)
		return;
	PyObject *modules = PyImport_GetModuleDict();
	PyObject *module = modules ? PyDict_GetItemString(modules, "greenlet._greenlet") : NULL; /* borrowed */
	PyObject *settrace = module ? PyObject_GetAttrString(module, "settrace") : NULL;
	if (!tracer)
		tracer = PyCFunction_New(&on_switch_def, NULL);
	if (settrace && tracer) {
		PyObject *old = PyObject_CallFunctionObjArgs(settrace, tracer, NULL);
		if (old != tracer)
			Py_XSETREF(chained, old);
		else
			Py_XDECREF(old);
	}
	Py_XDECREF(settrace);
	PyErr_Clear();
}

/* Called where greenlet's package begins to run. The first thing it does is to import its C part; here that is done a
 * moment earlier, because afterwards no Python function tells that it is there. */
void sp_greenlet_loaded(void)
{
	PyObject *module = PyImport_ImportModule("greenlet._greenlet");
	loaded = module != NULL;
	Py_XDECREF(module);
	PyErr_Clear();
	sp_greenlet_watch_thread();
}
