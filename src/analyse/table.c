/* SPDX-License-Identifier: BSD-3-Clause */
/* Model.table() */
#include "analyse/analyse.h"

#include <stdlib.h>
#include <string.h>

#include "model/model.h"
#include "model/str.h"
#include "write/timemory/timemory.h"

struct query {
	const char *metric, *units;
	int json, collapse_threads, collapse_processes, flat, timeline, scientific, qualified;
	long process, max_depth, max_width, precision;
};

static int find_metric(const char *name)
{
	for (int i = 0; i < SP_TM_METRICS; i++)
		if (strcmp(sp_tm_metric_names[i], name) == 0)
			return i;
	PyErr_Format(PyExc_ValueError, "unknown metric '%s' (known: trip_count, wall_clock)", name);
	return -1;
}

static int check(struct sp_state *st, const struct sp_model *m, const struct query *q, struct sp_tm_options *o)
{
	sp_tm_options_init(o);
	o->unit = sp_tm_unit_find(q->units);
	if (!o->unit)
		PyErr_Format(PyExc_ValueError,
		             "unknown unit '%s' (known: psec, nsec, usec, msec, csec, dsec, sec, min, hr)", q->units);
	else if (q->process < -1 || q->process >= (long)m->n_processes)
		PyErr_Format(st->error, "there is no process %ld; the last is %ld", q->process,
		             (long)m->n_processes - 1);
	else if (q->max_depth < -1 || q->max_width < 0 || q->max_depth >= SP_NONE || q->max_width >= SP_NONE)
		PyErr_SetString(PyExc_ValueError, "max_depth and max_width are whole numbers from 0 up");
	else if (q->precision < 0 || q->precision > SP_TM_PRECISION)
		PyErr_Format(PyExc_ValueError, "precision is not between 0 and %d", SP_TM_PRECISION);
	else if (q->timeline && !m->traced)
		PyErr_SetString(st->error, "a timeline needs the trace, which this experiment does not hold: measure "
		                           "with --trace");
	else {
		o->process = q->process < 0 ? SP_NONE : (uint32_t)q->process;
		o->max_depth = q->max_depth < 0 ? SP_NONE : (uint32_t)q->max_depth;
		o->max_width = (uint32_t)q->max_width;
		o->precision = (uint32_t)q->precision;
		o->collapse_threads = q->collapse_threads;
		o->collapse_processes = q->collapse_processes;
		o->flat = q->flat;
		o->timeline = q->timeline;
		o->scientific = q->scientific;
		o->qualified = q->qualified;
		return 0;
	}
	return -1;
}

PyObject *sp_model_table(PyObject *o, PyObject *args, PyObject *kwargs)
{
	static char *names[] = {"metric",
	                        "json",
	                        "process",
	                        "collapse_threads",
	                        "collapse_processes",
	                        "flat",
	                        "timeline",
	                        "max_depth",
	                        "max_width",
	                        "precision",
	                        "units",
	                        "scientific",
	                        "qualified",
	                        NULL};
	struct sp_model_object *self = (struct sp_model_object *)o;
	struct sp_state *st = sp_state_of(o);
	struct query q = {.units = "sec", .process = -1, .max_depth = -1, .max_width = 120, .precision = 6};
	struct sp_tm_options options;
	struct sp_err e = {.code = 0};
	char *text = NULL;
	size_t n = 0;
	int metric;

	if (!st ||
	    !PyArg_ParseTupleAndKeywords(args, kwargs, "s|$plpppplllspp:table", names, &q.metric, &q.json, &q.process,
	                                 &q.collapse_threads, &q.collapse_processes, &q.flat, &q.timeline, &q.max_depth,
	                                 &q.max_width, &q.precision, &q.units, &q.scientific, &q.qualified))
		return NULL;
	if ((metric = find_metric(q.metric)) < 0 || check(st, self->model, &q, &options) || sp_model_enter(self))
		return NULL;
	Py_BEGIN_ALLOW_THREADS if (sp_model_rows(self->model, &e) == 0) text =
	    sp_tm_text(self->model, &options, (enum sp_tm_metric)metric, q.json, &n, &e);
	Py_END_ALLOW_THREADS sp_model_leave(self);
	if (!text)
		return sp_raise(st, &e);
	PyObject *result = PyUnicode_DecodeUTF8(text, (Py_ssize_t)n, "replace");
	free(text);
	return result;
}
