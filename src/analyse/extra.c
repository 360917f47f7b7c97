/* SPDX-License-Identifier: BSD-3-Clause */
/* Additional columns of rows: metrics, parameters; and Model.io() */
#include "analyse/analyse.h"
#include "model/event.h"
#include "model/metric.h"
#include "model/model.h"
#include "model/path.h"
#include "model/str.h"

#include <stdlib.h>

static const double S = 1e-9;

int sp_put_metrics(struct sp_state *st, PyObject *row, const struct sp_model *m, const struct sp_sum *sums)
{
	PyObject *d, *name, *pair;
	size_t i;
	int rc = 0;

	if (m->n_metrics == 0)
		return 0;
	d = PyDict_New();
	for (i = 0; d && rc == 0 && i < m->n_metrics; i++) {
		name = sp_text(m->metrics[i].name);
		pair = Py_BuildValue("{sK sK}", "incl", (unsigned long long)sums[i].incl, "excl",
		                     (unsigned long long)sums[i].excl);
		rc = name && pair ? PyDict_SetItem(d, name, pair) : -1;
		Py_XDECREF(name);
		Py_XDECREF(pair);
	}
	if (rc)
		Py_CLEAR(d);
	return sp_put_key(st, row, KEY_METRICS, d);
}

int sp_put_parameters(struct sp_state *st, PyObject *row, const struct sp_model *m, uint32_t value)
{
	static const char *const types[] = {"int", "uint", "string"};
	PyObject *list, *item;
	int rc = 0;

	if (value == SP_NONE)
		return 0;
	list = PyList_New(0);
	for (; list && rc == 0 && value != SP_NONE; value = m->parameter_values[value].before) {
		const struct sp_parameter_value *v = &m->parameter_values[value];

		item = PyDict_New();
		rc = !item || sp_put(item, "name", sp_text(m->parameters[v->parameter])) ||
		     sp_put(item, "type", PyUnicode_FromString(types[v->kind - SP_EVENT_PARAMETER_INT])) ||
		     sp_put(item, "value", sp_text(v->text)) || PyList_Append(list, item);
		Py_XDECREF(item);
	}
	if (rc || (list && PyList_Reverse(list)))
		Py_CLEAR(list);
	return sp_put_key(st, row, KEY_PARAMETERS, list);
}

/* The sum over all threads. */
static unsigned long long total(const struct sp_model *m, size_t metric)
{
	unsigned long long sum = 0;
	size_t i;

	for (i = 0; m->total_metrics && i < m->n_paths; i++)
		if (i && (m->metrics[metric].own || m->paths[i].parent == 0))
			sum += m->total_metrics[i * m->n_metrics + metric];
	return sum;
}

PyObject *sp_metric_list(const struct sp_model *m)
{
	PyObject *list = PyList_New(0), *d;
	size_t i;

	for (i = 0; list && i < m->n_metrics; i++) {
		const struct sp_metric *x = &m->metrics[i];

		d = PyDict_New();
		if (!d || sp_put(d, "name", sp_text(x->name)) || sp_put(d, "unit", sp_text(x->unit)) ||
		    sp_put(d, "what", sp_text(x->what)) || sp_put(d, "exponent", PyLong_FromLong(x->exponent)) ||
		    sp_put(d, "source", PyUnicode_FromString(sp_metric_kind_names[x->kind])) ||
		    sp_put(d, "exclusive", PyBool_FromLong(x->own)) || sp_put(d, "level", PyBool_FromLong(x->level)) ||
		    sp_put(d, "total", PyLong_FromUnsignedLongLong(total(m, i))) || PyList_Append(list, d))
			Py_CLEAR(list);
		Py_XDECREF(d);
	}
	return list;
}

static PyObject *file_row(const struct sp_io_file *f)
{
	return Py_BuildValue("{sN sK sK sK sK sK sK sK sK sd sd sd}", "path", sp_text(f->path), "opens",
	                     (unsigned long long)f->opens, "reads", (unsigned long long)f->reads, "writes",
	                     (unsigned long long)f->writes, "flushes", (unsigned long long)f->flushes, "seeks",
	                     (unsigned long long)f->seeks, "failed", (unsigned long long)f->failed, "bytes_read",
	                     (unsigned long long)f->bytes_read, "bytes_written", (unsigned long long)f->bytes_written,
	                     "read_time", f->read_time * S, "write_time", f->write_time * S, "flush_time",
	                     f->flush_time * S);
}

PyObject *sp_model_io(PyObject *o, PyObject *unused)
{
	struct sp_model_object *self = (struct sp_model_object *)o;
	struct sp_state *st = sp_state_of(o);
	struct sp_io_file *files = NULL;
	struct sp_err e = {.code = 0};
	PyObject *list, *row;
	size_t n = 0, i;
	int rc;

	(void)unused;
	if (!st || sp_model_enter(self))
		return NULL;
	Py_BEGIN_ALLOW_THREADS rc = sp_report_io(self->model, &files, &n, &e);
	Py_END_ALLOW_THREADS list = rc ? sp_raise(st, &e) : PyList_New(0);
	for (i = 0; list && i < n; i++) {
		row = file_row(&files[i]);
		if (!row || PyList_Append(list, row))
			Py_CLEAR(list);
		Py_XDECREF(row);
	}
	sp_model_leave(self);
	free(files);
	return list;
}
