/* SPDX-License-Identifier: BSD-3-Clause */
/* Model.locks() */
#include "analyse/analyse.h"
#include "model/model.h"
#include "model/region.h"
#include "model/str.h"
#include "model/task.h"

static const double S = 1e-9;

static PyObject *string_or_none(const struct sp_model *m, uint32_t string)
{
	if (string == SP_NONE)
		Py_RETURN_NONE;
	return sp_text(m->strings[string]);
}

/* names: of all regions. */
static PyObject *stack(PyObject *names, const struct sp_stack *s)
{
	PyObject *list = PyList_New(s->n), *name;
	uint32_t i;

	for (i = 0; list && i < s->n; i++) {
		name = PyList_GET_ITEM(names, s->regions[i]);
		Py_INCREF(name);
		PyList_SET_ITEM(list, i, name);
	}
	return list;
}

static PyObject *bool_of(bool is)
{
	return PyBool_FromLong(is);
}

static PyObject *time_or_none(bool known, uint64_t ns)
{
	if (!known)
		Py_RETURN_NONE;
	return PyFloat_FromDouble((double)ns * S);
}

static PyObject *lock_row(const struct sp_model *m, PyObject *names, const struct sp_lock *o)
{
	return Py_BuildValue(
	    "{sk sk ss sN sK sN sN sN sI sN sN sN sN sN sK sK sd sd}", "process", (unsigned long)o->process, "number",
	    (unsigned long)o->number, "kind", sp_lock_kind_names[o->kind], "freed", bool_of(o->freed), "address",
	    (unsigned long long)o->address, "type", string_or_none(m, o->type), "user", sp_index_or_none(o->user),
	    "made_file", string_or_none(m, o->made_file), "made_line", (unsigned)o->made_line, "made_by",
	    sp_index_or_none(o->made_by), "holder", sp_index_or_none(o->holder), "gone", bool_of(o->gone),
	    "holder_stack", stack(names, &o->holder_stack), "since", time_or_none(o->since, o->since), "count",
	    (unsigned long long)o->count, "contended", (unsigned long long)o->contended, "waited",
	    (double)o->waited * S, "held", (double)o->held * S);
}

static PyObject *wait_row(const struct sp_model *m, PyObject *names, const struct sp_lock_wait *w)
{
	return Py_BuildValue("{sk sN ss sN sN sI sN sN sK sd sd sN sN sN sN}", "location", (unsigned long)w->location,
	                     "stack", stack(names, &w->stack), "kind", sp_lock_kind_names[w->kind], "lock",
	                     sp_index_or_none(w->lock), "file", string_or_none(m, w->file), "line", (unsigned)w->line,
	                     "holder", sp_index_or_none(w->holder), "holder_stack", stack(names, &w->holder_stack),
	                     "count", (unsigned long long)w->count, "time", (double)w->ns * S, "longest",
	                     (double)w->longest * S, "open", bool_of(w->open), "timed", bool_of(w->timed), "news",
	                     bool_of(w->news), "since", time_or_none(w->open, w->since));
}

static PyObject *await_row(const struct sp_model *m, PyObject *names, const struct sp_task_awaited *a)
{
	const uint32_t task = a->region, where = a->wait.region;
	PyObject *none = Py_None;

	return Py_BuildValue("{sk sO sO sN sN sK sd sd}", "process", (unsigned long)a->process, "task",
	                     task == SP_NONE ? none : PyList_GET_ITEM(names, task), "where",
	                     where == SP_NONE ? none : PyList_GET_ITEM(names, where), "what",
	                     string_or_none(m, a->wait.kind), "stack", stack(names, &a->stack), "count",
	                     (unsigned long long)a->wait.count, "time", (double)a->wait.ns * S, "longest",
	                     (double)a->longest * S);
}

static PyObject *cycle_row(const struct sp_lock_cycle *c)
{
	PyObject *links = PyList_New(0);
	uint32_t i;

	for (i = 0; links && i < c->n; i++)
		if (sp_append(links,
		              Py_BuildValue("{sk sk sd}", "location", (unsigned long)c->links[i].location, "lock",
		                            (unsigned long)c->links[i].lock, "since", (double)c->links[i].since * S)))
			Py_CLEAR(links);
	return Py_BuildValue("{sk sN sN}", "process", (unsigned long)c->process, "interrupted", bool_of(c->interrupted),
	                     "links", links);
}

static PyObject *all(const struct sp_model *m)
{
	PyObject *names = PyList_New(0), *locks = PyList_New(0), *waits = PyList_New(0), *cycles = PyList_New(0);
	PyObject *awaits = PyList_New(0);
	int rc = names && locks && waits && cycles && awaits ? 0 : -1;
	size_t i;

	for (i = 0; rc == 0 && i < m->n_regions; i++)
		rc = sp_append(names, sp_text(m->regions[i].name));
	for (i = 0; rc == 0 && i < m->n_locks; i++)
		rc = sp_append(locks, lock_row(m, names, &m->locks[i]));
	for (i = 0; rc == 0 && i < m->n_lock_waits; i++)
		if (m->lock_waits[i].count)
			rc = sp_append(waits, wait_row(m, names, &m->lock_waits[i]));
	for (i = 0; rc == 0 && i < m->n_lock_cycles; i++)
		rc = sp_append(cycles, cycle_row(&m->lock_cycles[i]));
	for (i = 0; rc == 0 && i < m->n_task_awaited; i++)
		rc = sp_append(awaits, await_row(m, names, &m->task_awaited[i]));
	Py_XDECREF(names);
	if (rc == 0)
		return Py_BuildValue("{sN sN sN sN}", "locks", locks, "waits", waits, "deadlocks", cycles, "awaits",
		                     awaits);
	Py_XDECREF(locks);
	Py_XDECREF(waits);
	Py_XDECREF(cycles);
	Py_XDECREF(awaits);
	return NULL;
}

PyObject *sp_model_locks(PyObject *o, PyObject *none)
{
	struct sp_model_object *self = (struct sp_model_object *)o;
	PyObject *r;

	(void)none;
	if (sp_model_enter(self))
		return NULL;
	r = all(self->model);
	sp_model_leave(self);
	return r;
}
