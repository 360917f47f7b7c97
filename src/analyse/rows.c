/* SPDX-License-Identifier: BSD-3-Clause */
/* Model.flat(), tree(), callers(), imports() and own() */
#include "analyse/analyse.h"
#include "base/owner/owner.h"
#include "model/model.h"
#include "model/path.h"
#include "model/region.h"
#include "model/report/imports.h"
#include "model/report/own.h"
#include "model/str.h"

#include <stdlib.h>

static const double S = 1e-9;

/* The arguments of the methods. */
struct query {
	const char *sort;
	enum sp_sort by;
	long location, process;
	Py_ssize_t limit;
	PyObject *locations; /* borrowed; indices; None or NULL: given by location and process */
	bool *chosen;        /* owned; a flag for each of these locations */
};

static int check(struct sp_state *st, const struct sp_model *m, struct query *q)
{
	q->by = sp_sort_find(q->sort);
	if (q->by == SP_SORTS)
		PyErr_Format(PyExc_ValueError,
		             "cannot sort by %s; one of incl, excl, running, waiting, visits, mean, max, name",
		             q->sort);
	else if (q->limit < 0)
		PyErr_SetString(PyExc_ValueError, "limit is negative");
	else if (q->location < -1 || q->location >= (long)m->n_locations)
		PyErr_Format(st->error, "there is no location %ld; the last is %ld", q->location,
		             (long)m->n_locations - 1);
	else if (q->process < -1 || q->process >= (long)m->n_processes)
		PyErr_Format(st->error, "there is no process %ld; the last is %ld", q->process,
		             (long)m->n_processes - 1);
	else if (q->locations && q->locations != Py_None && (q->location != -1 || q->process != -1))
		PyErr_SetString(PyExc_ValueError, "locations cannot be given with location or process");
	else if (q->locations)
		q->chosen = sp_read_chosen(q->locations, m->n_locations);
	return PyErr_Occurred() ? -1 : 0;
}

/* Checks the arguments and waits for the model. Returns 0, or -1 with an exception set; call finish() after success. */
static int begin(struct sp_model_object *self, struct sp_state *st, struct query *q)
{
	if (check(st, self->model, q) == 0 && sp_model_enter(self) == 0)
		return 0;
	free(q->chosen);
	return -1;
}

static void finish(struct sp_model_object *self, struct query *q, struct sp_view *view)
{
	sp_model_leave(self);
	sp_view_close(view);
	free(q->chosen);
}

static int open_view(struct sp_view *v, const struct sp_model *m, const struct query *q, struct sp_err *e)
{
	if (q->chosen)
		return sp_view_open_some(v, m, q->chosen, e);
	return sp_view_open(v, m, q->process < 0 ? SP_NONE : (uint32_t)q->process,
	                    q->location < 0 ? SP_NONE : (uint32_t)q->location, e);
}

static int put_real(struct sp_state *st, PyObject *d, enum sp_key key, double ns)
{
	return sp_put_key(st, d, key, PyFloat_FromDouble(ns * S));
}

static PyObject *row(struct sp_state *st, const struct sp_region *r, const struct sp_numbers *n)
{
	PyObject *d = PyDict_New();

	if (!d)
		return NULL;
	if (sp_put_key(st, d, KEY_NAME, sp_text(r->name)) || sp_put_key(st, d, KEY_MODULE, sp_text(r->module)) ||
	    sp_put_key(st, d, KEY_QUALNAME, sp_text(r->qualname)) || sp_put_key(st, d, KEY_FILE, sp_text(r->file)) ||
	    sp_put_key(st, d, KEY_LINE, PyLong_FromUnsignedLong(r->line)) ||
	    sp_put_key(st, d, KEY_KIND, PyUnicode_InternFromString(sp_region_kind_names[r->kind])) ||
	    sp_put_key(st, d, KEY_CATEGORY, PyUnicode_InternFromString(sp_owner_names[r->owner])) ||
	    sp_put_key(st, d, KEY_VISITS, PyLong_FromUnsignedLongLong(n->v.visits)) ||
	    sp_put_key(st, d, KEY_RESUMED, PyLong_FromUnsignedLongLong(n->v.resumed)) ||
	    put_real(st, d, KEY_INCL, n->v.incl) || put_real(st, d, KEY_EXCL, n->v.excl) ||
	    put_real(st, d, KEY_RUNNING, sp_numbers_running(n)) || put_real(st, d, KEY_WAITING, n->off.waiting) ||
	    put_real(st, d, KEY_MEAN, sp_numbers_mean(n)) || put_real(st, d, KEY_MIN, n->v.min) ||
	    put_real(st, d, KEY_MAX, n->v.max) || put_real(st, d, KEY_STD, sp_numbers_std(n)))
		Py_CLEAR(d);
	return d;
}

/* The same, and the split of the inclusive time. */
static PyObject *split_row(struct sp_state *st, const struct sp_region *r, const struct sp_numbers *n)
{
	PyObject *d = row(st, r, n);

	if (d && (put_real(st, d, KEY_RUNNING_INCL, n->below.running) ||
	          put_real(st, d, KEY_WAITING_INCL, n->below.waiting)))
		Py_CLEAR(d);
	return d;
}

/* Converts rows that were computed without the GIL. */
static PyObject *flat_list(struct sp_state *st, const struct sp_model *m, const struct sp_flat_row *rows, size_t n,
                           const struct sp_sum *sums)
{
	PyObject *list = PyList_New(0), *d;
	size_t i;

	for (i = 0; list && i < n; i++) {
		d = row(st, &m->regions[rows[i].region], &rows[i].n);
		if (d && (sp_put_key(st, d, KEY_INDEX, PyLong_FromUnsignedLong(rows[i].region)) ||
		          sp_put_metrics(st, d, m, sums + rows[i].region * m->n_metrics)))
			Py_CLEAR(d);
		if (sp_append(list, d))
			Py_CLEAR(list);
	}
	return list;
}

PyObject *sp_model_flat(PyObject *o, PyObject *args, PyObject *kwargs)
{
	static char *names[] = {"sort", "limit", "match", "location", "process", "imports", "locations", NULL};
	struct sp_model_object *self = (struct sp_model_object *)o;
	struct sp_state *st = sp_state_of(o);
	struct query q = {.sort = "excl", .location = -1, .process = -1};
	const char *match = "";
	struct sp_flat_row *rows = NULL;
	struct sp_sum *sums = NULL;
	struct sp_view view = {.m = NULL};
	struct sp_err e = {.code = 0};
	PyObject *list = NULL;
	size_t n = 0;
	int rc, imports = 1;

	if (!st || !PyArg_ParseTupleAndKeywords(args, kwargs, "|$snsllpO:flat", names, &q.sort, &q.limit, &match,
	                                        &q.location, &q.process, &imports, &q.locations))
		return NULL;
	if (begin(self, st, &q))
		return NULL;
	Py_BEGIN_ALLOW_THREADS rc =
	    open_view(&view, self->model, &q, &e) || (!imports && sp_view_without_imports(&view, &e)) ||
	    sp_report_flat(&view, q.by, (size_t)q.limit, match, &rows, &n, &e) || sp_metric_regions(&view, &sums, &e);
	Py_END_ALLOW_THREADS list = rc ? sp_raise(st, &e) : flat_list(st, self->model, rows, n, sums);
	finish(self, &q, &view);
	free(rows);
	free(sums);
	return list;
}

static PyObject *tree_row(struct sp_state *st, const struct sp_view *v, const struct sp_tree_row *t,
                          const struct sp_sum *sums)
{
	const struct sp_path *path = &v->m->paths[t->path];
	struct sp_numbers n = {v->values[t->path], v->each[t->path], sp_view_off_cpu(v, t->path), t->split};
	PyObject *d = split_row(st, &v->m->regions[path->region], &n), *parent;

	if (!d)
		return NULL;
	if (path->parent == SP_NONE) {
		Py_INCREF(Py_None);
		parent = Py_None;
	} else {
		parent = PyLong_FromUnsignedLong(path->parent);
	}
	if (sp_put_key(st, d, KEY_PARENT, parent) || sp_put_key(st, d, KEY_PATH, PyLong_FromUnsignedLong(t->path)) ||
	    sp_put_key(st, d, KEY_DEPTH, PyLong_FromUnsignedLong(t->depth)) ||
	    sp_put_key(st, d, KEY_HIDDEN, PyLong_FromUnsignedLongLong(t->hidden)) ||
	    put_real(st, d, KEY_HIDDEN_TIME, t->hidden_time) ||
	    put_real(st, d, KEY_HIDDEN_RUNNING, t->hidden_split.running) ||
	    put_real(st, d, KEY_HIDDEN_WAITING, t->hidden_split.waiting) ||
	    sp_put_metrics(st, d, v->m, sums + t->path * v->m->n_metrics) ||
	    sp_put_parameters(st, d, v->m, path->parameter))
		Py_CLEAR(d);
	return d;
}

static PyObject *tree_list(struct sp_state *st, const struct sp_view *v, const struct sp_tree_row *rows, size_t n,
                           const struct sp_sum *sums)
{
	PyObject *list = PyList_New(0);
	size_t i;

	for (i = 0; list && i < n; i++)
		if (sp_append(list, tree_row(st, v, &rows[i], sums)))
			Py_CLEAR(list);
	return list;
}

PyObject *sp_model_tree(PyObject *o, PyObject *args, PyObject *kwargs)
{
	static char *names[] = {"sort", "depth", "threshold", "limit", "location", "process", "locations", NULL};
	struct sp_model_object *self = (struct sp_model_object *)o;
	struct sp_state *st = sp_state_of(o);
	struct query q = {.sort = "incl", .location = -1, .process = -1};
	struct sp_tree_options options = {.threshold = 0};
	struct sp_tree_row *rows = NULL;
	struct sp_sum *sums = NULL;
	struct sp_view view = {.m = NULL};
	struct sp_err e = {.code = 0};
	PyObject *list;
	int depth = 0, rc;
	size_t n = 0;

	if (!st || !PyArg_ParseTupleAndKeywords(args, kwargs, "|$sidnllO:tree", names, &q.sort, &depth,
	                                        &options.threshold, &q.limit, &q.location, &q.process, &q.locations))
		return NULL;
	if (depth < 0 || !(options.threshold >= 0)) {
		PyErr_SetString(PyExc_ValueError, "depth and threshold cannot be negative");
		return NULL;
	}
	if (begin(self, st, &q))
		return NULL;
	options.sort = q.by;
	options.depth = (uint32_t)depth;
	options.limit = (size_t)q.limit;
	Py_BEGIN_ALLOW_THREADS rc = open_view(&view, self->model, &q, &e) ||
	                            sp_report_tree(&view, &options, &rows, &n, &e) || sp_metric_paths(&view, &sums, &e);
	Py_END_ALLOW_THREADS list = rc ? sp_raise(st, &e) : tree_list(st, &view, rows, n, sums);
	finish(self, &q, &view);
	free(rows);
	free(sums);
	return list;
}

/* The edges into a region (callees false) or out of it; they are sorted by inclusive time. */
static PyObject *edge_list(struct sp_state *st, const struct sp_model *m, const struct sp_edge *edges, size_t n,
                           uint32_t region, bool callees)
{
	PyObject *list = PyList_New(0);
	uint32_t other;
	size_t i;

	for (i = 0; list && i < n; i++) {
		if ((callees ? edges[i].caller : edges[i].callee) != region)
			continue;
		other = callees ? edges[i].callee : edges[i].caller;
		if (sp_append(list, split_row(st, &m->regions[other], &edges[i].n)))
			Py_CLEAR(list);
	}
	return list;
}

static PyObject *callers_list(struct sp_state *st, const struct sp_model *m, const struct sp_flat_row *rows, size_t n,
                              const struct sp_edge *edges, size_t n_edges)
{
	PyObject *list = PyList_New(0), *item;
	size_t i;

	for (i = 0; list && i < n; i++) {
		uint32_t region = rows[i].region;

		item = PyDict_New();
		if (!item || sp_put(item, "region", split_row(st, &m->regions[region], &rows[i].n)) ||
		    sp_put(item, "callers", edge_list(st, m, edges, n_edges, region, false)) ||
		    sp_put(item, "callees", edge_list(st, m, edges, n_edges, region, true)))
			Py_CLEAR(item);
		if (sp_append(list, item))
			Py_CLEAR(list);
	}
	return list;
}

PyObject *sp_model_callers(PyObject *o, PyObject *args, PyObject *kwargs)
{
	static char *names[] = {"match", "limit", NULL};
	struct sp_model_object *self = (struct sp_model_object *)o;
	struct sp_state *st = sp_state_of(o);
	struct query q = {.sort = "incl", .location = -1, .process = -1};
	struct sp_flat_row *rows = NULL;
	struct sp_edge *edges = NULL;
	struct sp_view view = {.m = NULL};
	struct sp_err e = {.code = 0};
	const char *match;
	PyObject *list;
	size_t n = 0, n_edges = 0;
	int rc;

	if (!st || !PyArg_ParseTupleAndKeywords(args, kwargs, "s|$n:callers", names, &match, &q.limit))
		return NULL;
	if (begin(self, st, &q))
		return NULL;
	Py_BEGIN_ALLOW_THREADS rc = open_view(&view, self->model, &q, &e) ||
	                            sp_report_flat(&view, q.by, (size_t)q.limit, match, &rows, &n, &e) ||
	                            sp_report_edges(&view, match, &edges, &n_edges, &e);
	Py_END_ALLOW_THREADS list = rc ? sp_raise(st, &e) : callers_list(st, self->model, rows, n, edges, n_edges);
	finish(self, &q, &view);
	free(rows);
	free(edges);
	return list;
}

static PyObject *import_row(const struct sp_model *m, const struct sp_import *x)
{
	const struct sp_region *r = &m->regions[x->region];

	return Py_BuildValue(
	    "{sN sN sk sK sd sd sd sd sd sd sd sd sd sO}", "module", sp_text(r->module), "file", sp_text(r->file),
	    "importer", (unsigned long)x->importer, "visits", (unsigned long long)x->visits, "incl", x->total.time * S,
	    "running_incl", x->total.split.running * S, "waiting_incl", x->total.split.waiting * S, "excl",
	    x->self.time * S, "running", x->self.split.running * S, "waiting", x->self.split.waiting * S, "loading",
	    x->loading.time * S, "loading_running", x->loading.split.running * S, "loading_waiting",
	    x->loading.split.waiting * S, "own", sp_region_is_own(r) ? Py_True : Py_False);
}

PyObject *sp_model_imports(PyObject *o, PyObject *args, PyObject *kwargs)
{
	static char *names[] = {"location", "process", NULL};
	struct sp_model_object *self = (struct sp_model_object *)o;
	struct sp_state *st = sp_state_of(o);
	struct query q = {.sort = "incl", .location = -1, .process = -1};
	struct sp_import *imports = NULL;
	struct sp_view view = {.m = NULL};
	struct sp_err e = {.code = 0};
	PyObject *list;
	size_t n = 0;
	int rc;

	if (!st || !PyArg_ParseTupleAndKeywords(args, kwargs, "|$ll:imports", names, &q.location, &q.process))
		return NULL;
	if (begin(self, st, &q))
		return NULL;
	Py_BEGIN_ALLOW_THREADS rc = open_view(&view, self->model, &q, &e) || sp_report_imports(&view, &imports, &n, &e);
	Py_END_ALLOW_THREADS list = rc ? sp_raise(st, &e) : PyList_New(0);
	for (size_t i = 0; list && i < n; i++)
		if (sp_append(list, import_row(self->model, &imports[i])))
			Py_CLEAR(list);
	finish(self, &q, &view);
	free(imports);
	return list;
}

static PyObject *own_row(const struct sp_model *m, const struct sp_own_row *x)
{
	const struct sp_region *r = &m->regions[x->region];
	PyObject *d = Py_BuildValue("{sN sN sN sk sK sK sd sO}", "name", sp_text(r->name), "module", sp_text(r->module),
	                            "file", sp_text(r->file), "line", (unsigned long)r->line, "visits",
	                            (unsigned long long)x->visits, "resumed", (unsigned long long)x->resumed, "waiting",
	                            x->waiting * S, "calls_own", x->calls_own ? Py_True : Py_False);

	for (int i = 0; d && i < SP_OWNERS; i++)
		if (sp_put(d, sp_owner_names[i], PyFloat_FromDouble(x->time[i] * S)))
			Py_CLEAR(d);
	return d;
}

static PyObject *own_dict(const struct sp_model *m, const struct sp_own_report *r)
{
	PyObject *rows = PyList_New(0), *packages = PyList_New(0);

	for (size_t i = 0; rows && i < r->n; i++)
		if (sp_append(rows, own_row(m, &r->rows[i])))
			Py_CLEAR(rows);
	for (size_t i = 0; packages && i < r->n_packages; i++)
		if (sp_append(packages, Py_BuildValue("(Nd)", sp_text(r->packages[i].name), r->packages[i].time * S)))
			Py_CLEAR(packages);
	if (rows && packages)
		return Py_BuildValue("{sN sN sd}", "rows", rows, "packages", packages, "start_end", r->start_end * S);
	Py_XDECREF(rows);
	Py_XDECREF(packages);
	return NULL;
}

PyObject *sp_model_own_report(PyObject *o, PyObject *args, PyObject *kwargs)
{
	static char *names[] = {"location", "process", "imports", NULL};
	struct sp_model_object *self = (struct sp_model_object *)o;
	struct sp_state *st = sp_state_of(o);
	struct query q = {.sort = "incl", .location = -1, .process = -1};
	struct sp_own_report report = {.n = 0};
	struct sp_view view = {.m = NULL};
	struct sp_err e = {.code = 0};
	PyObject *result;
	int rc, imports = 1;

	if (!st || !PyArg_ParseTupleAndKeywords(args, kwargs, "|$llp:own", names, &q.location, &q.process, &imports))
		return NULL;
	if (begin(self, st, &q))
		return NULL;
	Py_BEGIN_ALLOW_THREADS rc = open_view(&view, self->model, &q, &e) ||
	                            (!imports && sp_view_without_imports(&view, &e)) ||
	                            sp_report_own(&view, q.process < 0 ? SP_NONE : (uint32_t)q.process,
	                                          q.location < 0 ? SP_NONE : (uint32_t)q.location, &report, &e);
	Py_END_ALLOW_THREADS result = rc ? sp_raise(st, &e) : own_dict(self->model, &report);
	finish(self, &q, &view);
	sp_own_free(&report);
	return result;
}
