/* SPDX-License-Identifier: BSD-3-Clause */
/* Model.lines() */
#include "model/report/lines.h"
#include "analyse/analyse.h"
#include "model/line.h"
#include "model/model.h"
#include "model/region.h"
#include "model/str.h"

#include <stdlib.h>

static const double S = 1e-9;

/* A row with the n lines of one function. */
static PyObject *function_row(const struct sp_model *m, const struct sp_line *v, size_t n)
{
	const struct sp_region *r = &m->regions[v->region];
	PyObject *lines = PyList_New(0);
	uint64_t excl = 0, callees = 0;
	size_t i;

	for (i = 0; lines && i < n; i++) {
		excl += v[i].own;
		callees += v[i].callees;
		if (sp_append(lines, Py_BuildValue("(kKdd)", (unsigned long)v[i].line, (unsigned long long)v[i].hits,
		                                   (double)v[i].own * S, (double)v[i].callees * S)))
			Py_CLEAR(lines);
	}
	if (!lines)
		return NULL;
	return Py_BuildValue("{sN sN sN sN sk sd sd sN}", "name", sp_text(r->name), "module", sp_text(r->module),
	                     "function", sp_text(r->qualname), "file", sp_text(r->file), "line", (unsigned long)r->line,
	                     "excl", (double)excl * S, "callees", (double)callees * S, "lines", lines);
}

static PyObject *result(const struct sp_model *m, const struct sp_line *v, size_t n)
{
	PyObject *list = PyList_New(0);
	size_t first, i;

	for (first = 0; list && first < n; first = i) {
		for (i = first; i < n && v[i].region == v[first].region; i++)
			;
		if (sp_append(list, function_row(m, v + first, i - first)))
			Py_CLEAR(list);
	}
	return list;
}

static int check(const char *what, Py_ssize_t index, size_t n)
{
	if (index >= -1 && index < (Py_ssize_t)n)
		return 0;
	PyErr_Format(PyExc_ValueError, "there is no %s %zd; the last is %zd", what, index, (Py_ssize_t)n - 1);
	return -1;
}

PyObject *sp_model_lines(PyObject *o, PyObject *args, PyObject *kwargs)
{
	static char *names[] = {"process", "location", NULL};
	struct sp_model_object *self = (struct sp_model_object *)o;
	struct sp_state *st = sp_state_of(o);
	Py_ssize_t process = -1, location = -1;
	struct sp_err e = {.code = 0};
	struct sp_line *v = NULL;
	size_t n = 0;
	PyObject *r;
	int rc;

	if (!st || !PyArg_ParseTupleAndKeywords(args, kwargs, "|$nn:lines", names, &process, &location) ||
	    check("process", process, self->model->n_processes) ||
	    check("location", location, self->model->n_locations))
		return NULL;
	if (sp_model_enter(self))
		return NULL;
	Py_BEGIN_ALLOW_THREADS rc = sp_lines_sum(&v, &n, self->model, process < 0 ? SP_NONE : (uint32_t)process,
	                                         location < 0 ? SP_NONE : (uint32_t)location, &e);
	Py_END_ALLOW_THREADS r = rc ? sp_raise(st, &e) : result(self->model, v, n);
	free(v);
	sp_model_leave(self);
	return r;
}
