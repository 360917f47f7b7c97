/* SPDX-License-Identifier: BSD-3-Clause */
/* The type Model: loading, exclusive use, conversion. */
#include "analyse/analyse.h"

#include "model/event.h"
#include "model/model.h"
#include "model/str.h"
#include "view/against.h"
#include "view/kept.h"
#include "write/common/heap.h"
#include "write/common/writer.h"

struct sp_state *sp_state_of(PyObject *self)
{
	return PyType_GetModuleState(Py_TYPE(self));
}

int sp_model_check(const struct sp_model_object *self)
{
	if (!self->held || self->owner != PyThread_get_thread_ident())
		return 0;
	PyErr_SetString(PyExc_RuntimeError, "the model is being converted; its progress callback cannot use it");
	return -1;
}

int sp_model_enter(struct sp_model_object *self)
{
	if (sp_model_check(self))
		return -1;
	Py_BEGIN_ALLOW_THREADS PyThread_acquire_lock(self->lock, WAIT_LOCK);
	Py_END_ALLOW_THREADS self->owner = PyThread_get_thread_ident();
	self->held = true;
	return 0;
}

void sp_model_leave(struct sp_model_object *self)
{
	self->held = false;
	PyThread_release_lock(self->lock);
}

static PyObject *model_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	static char *names[] = {"directory", "compensate", "own", NULL};
	const char *own = NULL;
	PyObject *directory = NULL;
	struct sp_model_object *self = NULL;
	struct sp_state *st = PyType_GetModuleState(type);
	struct sp_err e = {.code = 0};
	int compensate = 0, rc;

	if (!st || !PyArg_ParseTupleAndKeywords(args, kwargs, "O&|$pz:Model", names, PyUnicode_FSConverter, &directory,
	                                        &compensate, &own))
		return NULL;
	self = (struct sp_model_object *)type->tp_alloc(type, 0);
	if (!self)
		goto fail;
	self->lock = PyThread_allocate_lock();
	if (!self->lock) {
		PyErr_NoMemory();
		goto fail;
	}
	Py_BEGIN_ALLOW_THREADS rc =
	    sp_model_load(&self->model, PyBytes_AS_STRING(directory), compensate ? SP_MODEL_COMPENSATE : 0, &e) ||
	    (own && sp_model_own(self->model, own, &e));
	Py_END_ALLOW_THREADS if (rc)
	{
		sp_raise(st, &e);
		goto fail;
	}
	self->kept = sp_view_kept_new(self->model);
	if (!self->kept) {
		PyErr_NoMemory();
		goto fail;
	}
	Py_DECREF(directory);
	return (PyObject *)self;
fail:
	Py_XDECREF(directory);
	Py_XDECREF((PyObject *)self);
	return NULL;
}

static void model_dealloc(PyObject *o)
{
	struct sp_model_object *self = (struct sp_model_object *)o;
	PyTypeObject *type = Py_TYPE(o);

	sp_against_close(self->against);
	sp_view_kept_free(self->kept);
	Py_XDECREF(self->base);
	sp_model_free(self->model);
	if (self->lock)
		PyThread_free_lock(self->lock);
	type->tp_free(o);
	Py_DECREF(type);
}

static int check_conversion(struct sp_state *st, const struct sp_model *m, const struct sp_writer *w,
                            const char *format, long process)
{
	if (!w)
		PyErr_Format(st->error, "unknown format %s", format);
	else if (process < -1 || process >= (long)m->n_processes)
		PyErr_Format(st->error, "there is no process %ld; the last is %ld", process, (long)m->n_processes - 1);
	else if (w->needs_trace && !sp_model_has_events(m) && !sp_has_memory(m))
		PyErr_Format(st->error, "%s needs a trace, and this experiment has none: measure with --trace",
		             w->name);
	else
		return 0;
	return -1;
}

PyObject *sp_model_convert(PyObject *o, PyObject *args, PyObject *kwargs)
{
	static char *names[] = {"format", "path", "process", "progress", "bare", "calls", NULL};
	PyObject *path = NULL;
	struct sp_model_object *self = (struct sp_model_object *)o;
	struct sp_state *st = sp_state_of(o);
	struct sp_watch watch = {.progress = Py_None};
	struct sp_write_options options = {.progress = sp_watch, .arg = &watch, .process = SP_NONE};
	const struct sp_writer *w;
	const char *format;
	long process = -1;
	struct sp_err e = {.code = 0};
	int rc = -1, bare = 0, calls = 0;

	if (!st || !PyArg_ParseTupleAndKeywords(args, kwargs, "sO&|$lOpp:convert", names, &format,
	                                        PyUnicode_FSConverter, &path, &process, &watch.progress, &bare, &calls))
		return NULL;
	w = sp_writer_find(format);
	if (check_conversion(st, self->model, w, format, process) || sp_model_enter(self))
		goto out;
	if (process >= 0)
		options.process = (uint32_t)process;
	options.bare = bare;
	options.calls = calls;
	sp_watch_begin(&watch);
	rc = sp_model_rows(self->model, &e);
	if (rc == 0)
		rc = w->write(self->model, PyBytes_AS_STRING(path), &options, &e);
	sp_watch_end(&watch);
	sp_model_leave(self);
	if (rc && !PyErr_Occurred())
		sp_raise(st, &e);
	else if (PyErr_Occurred())
		rc = -1; /* the callback raised an exception at the end */
out:
	Py_XDECREF(path);
	if (rc)
		return NULL;
	Py_RETURN_NONE;
}

static PyMethodDef model_methods[] = {
    {"info", sp_model_info, METH_NOARGS, "What the experiment holds."},
    {"flat", (PyCFunction)(void (*)(void))sp_model_flat, METH_VARARGS | METH_KEYWORDS, "One row for each region."},
    {"imports", (PyCFunction)(void (*)(void))sp_model_imports, METH_VARARGS | METH_KEYWORDS,
     "What importing modules cost."},
    {"own", (PyCFunction)(void (*)(void))sp_model_own_report, METH_VARARGS | METH_KEYWORDS,
     "The time of the program's own functions, with the libraries that they call."},
    {"tree", (PyCFunction)(void (*)(void))sp_model_tree, METH_VARARGS | METH_KEYWORDS,
     "One row for each call path, in the order of printing."},
    {"callers", (PyCFunction)(void (*)(void))sp_model_callers, METH_VARARGS | METH_KEYWORDS,
     "The callers and callees of the regions that match."},
    {"io", sp_model_io, METH_NOARGS, "What the trace says about each file."},
    {"memory", sp_model_memory, METH_NOARGS, "What was allocated where, what is left of it, and the heap over time."},
    {"tallies", sp_model_tallies, METH_NOARGS, "How often something rare happened at each call path."},
    {"tasks", (PyCFunction)(void (*)(void))sp_model_tasks, METH_VARARGS | METH_KEYWORDS,
     "Tasks of asyncio and the like: by their coroutine, and those that waited longest."},
    {"lines", (PyCFunction)(void (*)(void))sp_model_lines, METH_VARARGS | METH_KEYWORDS,
     "What was done in each line of functions whose lines were recorded."},
    {"balance", (PyCFunction)(void (*)(void))sp_model_balance, METH_VARARGS | METH_KEYWORDS,
     "How evenly the time of each region or call path is spread over ranks, processes or threads."},
    {"messages", (PyCFunction)(void (*)(void))sp_model_messages, METH_VARARGS | METH_KEYWORDS,
     "The messages of MPI: between whom, where, and which did not find each other."},
    {"locks", sp_model_locks, METH_NOARGS, "What threads waited for, and who held it."},
    {"waits", sp_model_waits, METH_NOARGS, "Time lost by waiting in MPI."},
    {"critical_path", (PyCFunction)(void (*)(void))sp_model_critical_path, METH_VARARGS | METH_KEYWORDS,
     "What the run's length consists of."},
    {"table", (PyCFunction)(void (*)(void))sp_model_table, METH_VARARGS | METH_KEYWORDS,
     "A table as timemory prints it."},
    {"view", (PyCFunction)(void (*)(void))sp_model_view, METH_VARARGS | METH_KEYWORDS,
     "What the viewer asks for, as columns."},
    {"sum_up", (PyCFunction)(void (*)(void))sp_model_sum_up, METH_VARARGS | METH_KEYWORDS,
     "Make what the viewer draws a large trace from."},
    {"graph", (PyCFunction)(void (*)(void))sp_model_graph, METH_VARARGS | METH_KEYWORDS,
     "Write the call graph in Graphviz's language."},
    {"view_against", sp_model_view_against, METH_O, "Compare all that is viewed from now on with another experiment."},
    {"plot", (PyCFunction)(void (*)(void))sp_model_plot, METH_VARARGS | METH_KEYWORDS, "Draw a chart in SVG."},
    {"convert", (PyCFunction)(void (*)(void))sp_model_convert, METH_VARARGS | METH_KEYWORDS,
     "Write the experiment in another format."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot model_slots[] = {
    {Py_tp_doc, (void *)"A loaded experiment. Times are seconds."},
    {Py_tp_new, (void *)model_new},
    {Py_tp_dealloc, (void *)model_dealloc},
    {Py_tp_methods, model_methods},
    {0, NULL},
};

PyType_Spec sp_model_spec = {
    .name = "spartito._analyse.Model",
    .basicsize = sizeof(struct sp_model_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = model_slots,
};
