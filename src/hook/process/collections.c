/* SPDX-License-Identifier: BSD-3-Clause */
/* Garbage collections. The interpreter calls a C function of this file when a collection begins and when it ends. The
 * time between both belongs to the call path at the begin; finalizers that the collection runs are calls in it. The
 * function runs no Python code, allocates no Python object and releases the GIL nowhere. */
#include "hook/collections.h"
#include "hook/stacks.h"
#include "record/clock.h"
#include "record/definitions.h"
#include "record/heap/recorder.h"
#include "record/process.h"
#include "record/tally.h"
#include "record/thread.h"

#include <stdlib.h>

static const char capsule_name[] = "spartito.collection";

/* The current collection of an interpreter: it has at most one at a time. */
struct collection {
	struct sp_thread *t; /* NULL: none, or not recorded */
	const struct sp_raw_node *node;
	uint64_t begin; /* ticks */
	uint32_t epoch; /* sp_epoch at the begin: after a pause, an end or a fork the rest is not recorded */
};

/* Returns the calling thread's location if its functions are recorded, otherwise NULL. */
static struct sp_thread *recorded_thread(void)
{
	if (!sp_recording || !sp_process.instrumented)
		return NULL;
	struct sp_thread *t = sp_hook_thread(NULL);
	return t && t->epoch == sp_epoch && !t->booting && !t->silent ? t : NULL;
}

static void begin(struct collection *c)
{
	c->t = recorded_thread();
	if (!c->t)
		return;
	c->node = (const struct sp_raw_node *)((const struct sp_raw_frame *)c->t->loc.top)->node;
	c->epoch = sp_epoch;
	c->begin = sp_ticks();
}

/* Returns an entry of the information about a collection; 0: it has no such entry. Looking up a key would allocate a
 * string. */
static uint64_t number_of(PyObject *info, const char *key)
{
	PyObject *k, *v;
	Py_ssize_t at = 0;
	while (PyDict_Next(info, &at, &k, &v))
		if (PyUnicode_Check(k) && PyLong_CheckExact(v) && !PyUnicode_CompareWithASCIIString(k, key)) {
			const long number = PyLong_AsLong(v);
			PyErr_Clear();
			return number > 0 ? (uint64_t)number : 0;
		}
	return 0;
}

static void end(struct collection *c, PyObject *info)
{
	const uint64_t now = sp_ticks();
	struct sp_thread *t = c->t;
	c->t = NULL;
	if (!t || t != sp_self || c->epoch != sp_epoch || !sp_recording)
		return;
	sp_tally_add(t, c->node,
	             &(struct sp_tally_event){.kind = SP_RAW_TALLY_COLLECTION,
	                                      .generation = (uint32_t)number_of(info, "generation") & 0xff,
	                                      .ticks = sp_ticks_between(c->begin, now),
	                                      .objects = number_of(info, "collected")});
}

static PyObject *on_collection(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
	struct collection *c = PyCapsule_GetPointer(self, capsule_name);
	/* the program may call it, too, with anything */
	if (c && n == 2 && PyUnicode_Check(args[0]) && PyDict_CheckExact(args[1])) {
		sp_heap_hush(1);
		if (!PyUnicode_CompareWithASCIIString(args[0], "start"))
			begin(c);
		else
			end(c, args[1]);
		sp_heap_hush(-1);
	}
	Py_RETURN_NONE;
}

static bool is_ours(PyObject *o)
{
	return PyCFunction_Check(o) && PyCFunction_GET_FUNCTION(o) == (PyCFunction)(void (*)(void))on_collection;
}

/* Returns gc.callbacks, a new reference; NULL: the program has replaced it by something else. */
static PyObject *callbacks(PyObject *gc)
{
	PyObject *list = gc && PyModule_CheckExact(gc) ? PyObject_GetAttrString(gc, "callbacks") : NULL;
	if (list && !PyList_CheckExact(list))
		Py_CLEAR(list);
	PyErr_Clear();
	return list;
}

/* Removes our function from the list. */
static void take_out(PyObject *list)
{
	for (Py_ssize_t i = list ? PyList_GET_SIZE(list) : 0; i-- > 0;)
		if (is_ours(PyList_GET_ITEM(list, i)))
			PyList_SetSlice(list, i, i + 1, NULL);
}

static void free_collection(PyObject *capsule)
{
	free(PyCapsule_GetPointer(capsule, capsule_name));
}

/* Returns the function for the current interpreter, a new reference; NULL with an exception. */
static PyObject *function_new(void)
{
	static PyMethodDef definition = {"spartito_collection", (PyCFunction)(void (*)(void))on_collection,
	                                 METH_FASTCALL, NULL};
	struct collection *c = calloc(1, sizeof *c);
	PyObject *capsule = c ? PyCapsule_New(c, capsule_name, free_collection) : PyErr_NoMemory();
	PyObject *function = capsule ? PyCFunction_New(&definition, capsule) : NULL;
	if (!capsule)
		free(c);
	Py_XDECREF(capsule);
	return function;
}

int sp_collections_start(void)
{
	if (!sp_process.settings.instrument)
		return 0;
	/* runs Python code if the program has not imported it: an exception may be that of a signal handler */
	PyObject *gc = PyImport_ImportModule("gc");
	if (!gc)
		return -1;
	PyObject *list = callbacks(gc), *function = list ? function_new() : NULL;
	take_out(list); /* of an earlier measurement, which ended in another interpreter */
	if (!function || PyList_Append(list, function)) {
		static const char why[] = "garbage collections, because gc.callbacks cannot be extended";
		sp_define_meta("missing_collections", why, sizeof why - 1);
	}
	PyErr_Clear();
	Py_XDECREF(function);
	Py_XDECREF(list);
	Py_DECREF(gc);
	return 0;
}

void sp_collections_stop(void)
{
	SP_SAVE_EXCEPTION;
	PyObject *name = PyUnicode_FromString("gc"), *gc = name ? PyImport_GetModule(name) : NULL;
	PyObject *list = callbacks(gc);
	take_out(list);
	PyErr_Clear();
	Py_XDECREF(list);
	Py_XDECREF(gc);
	Py_XDECREF(name);
	SP_RESTORE_EXCEPTION;
}
