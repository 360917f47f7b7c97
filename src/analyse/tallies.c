/* SPDX-License-Identifier: BSD-3-Clause */
/* Model.tallies(), and the sums of tallies in Model.info() */
#include "analyse/analyse.h"
#include "model/model.h"
#include "model/path.h"
#include "model/region.h"
#include "model/str.h"
#include "model/tally.h"

static const double S = 1e-9;

static PyObject *row(const struct sp_model *m, const struct sp_tally *t)
{
	const struct sp_region *r = &m->regions[m->paths[t->path].region];

	return Py_BuildValue("{sk sk ss sk sK sd sK sN sN sk}", "path", (unsigned long)t->path, "location",
	                     (unsigned long)t->location, "what", sp_tally_kind_names[t->kind], "generation",
	                     (unsigned long)t->generation, "count", (unsigned long long)t->count, "time",
	                     (double)t->ns * S, "objects", (unsigned long long)t->objects, "name",
	                     sp_text(t->path ? r->name : (struct sp_str){"", 0}), "file", sp_text(r->file), "line",
	                     (unsigned long)r->line);
}

PyObject *sp_model_tallies(PyObject *o, PyObject *none)
{
	struct sp_model_object *self = (struct sp_model_object *)o;
	PyObject *rows, *stacks;
	int rc = -1;
	size_t i;

	(void)none;
	if (sp_model_enter(self))
		return NULL;
	rows = PyList_New(0);
	stacks = PyDict_New();
	if (rows && stacks)
		for (i = 0, rc = 0; rc == 0 && i < self->model->n_tallies; i++)
			rc = sp_put_stack(stacks, self->model, self->model->tallies[i].path) ||
			     sp_append(rows, row(self->model, &self->model->tallies[i]));
	sp_model_leave(self);
	if (rc == 0)
		return Py_BuildValue("{sN sN}", "rows", rows, "stacks", stacks);
	Py_XDECREF(rows);
	Py_XDECREF(stacks);
	return NULL;
}

PyObject *sp_tally_collections(const struct sp_model *m)
{
	struct sp_tally sum[SP_TALLY_OLDEST + 1] = {{.count = 0}};
	PyObject *list = PyList_New(0);
	size_t i;

	for (i = 0; i < m->n_tallies; i++) {
		const struct sp_tally *t = &m->tallies[i];

		if (t->kind == SP_TALLY_COLLECTION) {
			sum[t->generation].count += t->count;
			sum[t->generation].ns += t->ns;
			sum[t->generation].objects += t->objects;
		}
	}
	for (i = 0; list && i <= SP_TALLY_OLDEST; i++)
		if (sum[i].count &&
		    sp_append(list, Py_BuildValue("{sn sK sd sK}", "generation", (Py_ssize_t)i, "count",
		                                  (unsigned long long)sum[i].count, "time", (double)sum[i].ns * S,
		                                  "objects", (unsigned long long)sum[i].objects)))
			Py_CLEAR(list);
	return list;
}

PyObject *sp_tally_exceptions(const struct sp_model *m)
{
	unsigned long long n = 0;
	size_t i;

	for (i = 0; i < m->n_tallies; i++)
		if (m->tallies[i].kind == SP_TALLY_EXCEPTION)
			n += m->tallies[i].count;
	return PyLong_FromUnsignedLongLong(n);
}
