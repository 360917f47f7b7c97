/* SPDX-License-Identifier: BSD-3-Clause */
/* Model.tasks() */
#include "model/report/tasks.h"
#include "analyse/analyse.h"
#include "model/model.h"
#include "model/region.h"
#include "model/str.h"
#include "model/task.h"

static const double S = 1e-9;

static PyObject *region_name(const struct sp_model *m, uint32_t region)
{
	if (region == SP_NONE)
		Py_RETURN_NONE;
	return sp_text(m->regions[region].name);
}

static PyObject *wait_row(const struct sp_model *m, const struct sp_task_wait *w)
{
	PyObject *kind = w->kind == SP_NONE ? (Py_INCREF(Py_None), Py_None) : sp_text(m->strings[w->kind]);

	return Py_BuildValue("{sN sN sK sd}", "where", region_name(m, w->region), "what", kind, "count",
	                     (unsigned long long)w->count, "time", (double)w->ns * S);
}

static PyObject *waits(const struct sp_model *m, const struct sp_task_wait *w, size_t n, size_t step)
{
	PyObject *list = PyList_New(0);
	size_t i;

	for (i = 0; list && i < n; i++)
		if (sp_append(list, wait_row(m, (const struct sp_task_wait *)((const char *)w + i * step))))
			Py_CLEAR(list);
	return list;
}

static PyObject *states(const uint64_t n[SP_TASK_STATES])
{
	PyObject *d = PyDict_New();
	int i;

	for (i = 0; d && i < SP_TASK_STATES; i++)
		if (n[i] && sp_put(d, sp_task_state_names[i], PyLong_FromUnsignedLongLong(n[i])))
			Py_CLEAR(d);
	return d;
}

static PyObject *group_row(const struct sp_model *m, const struct sp_task_group *g)
{
	return Py_BuildValue("{sN sK sK sN sK sd sd sd sN}", "name", region_name(m, g->region), "tasks",
	                     (unsigned long long)g->tasks, "unlisted", (unsigned long long)g->unlisted, "states",
	                     states(g->states), "steps", (unsigned long long)g->steps, "running",
	                     (double)g->running * S, "waiting", (double)g->waiting * S, "longest",
	                     (double)g->longest * S, "waits",
	                     waits(m, g->waits ? &g->waits->wait : NULL, g->n_waits, sizeof(*g->waits)));
}

static PyObject *task_row(const struct sp_model *m, uint32_t index)
{
	const struct sp_task *t = &m->tasks[index];

	return Py_BuildValue("{sk sN sk sk sN sN sN sN ss sO sd sd sd sd sd sK sN}", "id", (unsigned long)index, "name",
	                     sp_text(t->name), "process", (unsigned long)t->process, "number", (unsigned long)t->number,
	                     "region", region_name(m, t->region), "location", sp_index_or_none(t->location), "creator",
	                     sp_index_or_none(t->creator), "by", sp_index_or_none(t->by), "state",
	                     sp_task_state_names[t->state], "seen_created", t->seen_created ? Py_True : Py_False,
	                     "created", (double)t->created * S, "begin", (double)t->begin * S, "end",
	                     (double)t->end * S, "running", (double)t->running * S, "waiting", (double)t->waiting * S,
	                     "steps", (unsigned long long)t->steps, "waits",
	                     waits(m, t->waits, t->n_waits, sizeof(*t->waits)));
}

static PyObject *handed(const struct sp_handed *h)
{
	return Py_BuildValue("{sK sK sd sd}", "given", (unsigned long long)h->given, "taken",
	                     (unsigned long long)h->taken, "waited", (double)h->ns * S, "longest",
	                     (double)h->longest * S);
}

static PyObject *result(const struct sp_model *m, const struct sp_tasks *t, size_t limit)
{
	PyObject *groups = PyList_New(0), *tasks = PyList_New(0);
	size_t i;
	int rc = groups && tasks ? 0 : -1;

	for (i = 0; rc == 0 && i < t->n_groups && (!limit || i < limit); i++)
		rc = sp_append(groups, group_row(m, &t->groups[i]));
	for (i = 0; rc == 0 && i < m->n_tasks && (!limit || i < limit); i++)
		rc = sp_append(tasks, task_row(m, t->order[i]));
	if (rc) {
		Py_XDECREF(groups);
		Py_XDECREF(tasks);
		return NULL;
	}
	return Py_BuildValue("{sK sK sK sk sN sN sN}", "count", (unsigned long long)t->tasks, "unlisted",
	                     (unsigned long long)t->unlisted, "never", (unsigned long long)t->never, "coroutines",
	                     (unsigned long)t->n_groups, "handed", handed(&m->handed), "groups", groups, "tasks",
	                     tasks);
}

PyObject *sp_model_tasks(PyObject *o, PyObject *args, PyObject *kwargs)
{
	static char *names[] = {"limit", NULL};
	struct sp_model_object *self = (struct sp_model_object *)o;
	struct sp_state *st = sp_state_of(o);
	struct sp_err e = {.code = 0};
	struct sp_tasks t;
	Py_ssize_t limit = 0;
	PyObject *r;
	int rc;

	if (!st || !PyArg_ParseTupleAndKeywords(args, kwargs, "|$n:tasks", names, &limit))
		return NULL;
	if (limit < 0) {
		PyErr_SetString(PyExc_ValueError, "limit must not be negative");
		return NULL;
	}
	if (sp_model_enter(self))
		return NULL;
	Py_BEGIN_ALLOW_THREADS rc = sp_tasks_find(&t, self->model, &e);
	Py_END_ALLOW_THREADS r = rc ? sp_raise(st, &e) : result(self->model, &t, (size_t)limit);
	if (rc == 0)
		sp_tasks_free(&t);
	sp_model_leave(self);
	return r;
}
