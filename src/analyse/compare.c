/* SPDX-License-Identifier: BSD-3-Clause */
/* compare(): compares several experiments. welch(): tests whether two samples differ by more than their noise. */
#include "analyse/analyse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/compare/table.h"
#include "model/model.h"
#include "model/region.h"

static const double S = 1e-9;

struct work {
	struct sp_state *st;
	PyObject *models;                 /* borrowed; a sequence */
	const struct sp_model **m;        /* owned */
	struct sp_model_object **entered; /* owned; each model once, sorted by address */
	size_t n, n_entered;
	uint32_t *runs; /* owned */
	struct sp_compare_query q;
	size_t limit;
	struct sp_compare c;
	struct sp_compare_table t;
	/* owned, with its elements; for the first model of each group after the first */
	struct sp_compare_file **files;
	size_t *n_files; /* owned */
};

static int by_address(const void *a, const void *b)
{
	struct sp_model_object *const *x = a, *const *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Enters all models in the order of their addresses, so that two comparisons cannot deadlock. */
static int enter_all(struct work *w)
{
	size_t i, all = 0;

	for (i = 0; i < w->n; i++)
		w->entered[i] = (struct sp_model_object *)PySequence_Fast_GET_ITEM(w->models, (Py_ssize_t)i);
	qsort(w->entered, w->n, sizeof(*w->entered), by_address);
	for (i = 0; i < w->n; i++)
		if (i == 0 || w->entered[i] != w->entered[i - 1])
			w->entered[all++] = w->entered[i];
	while (w->n_entered < all) {
		if (sp_model_enter(w->entered[w->n_entered]))
			return -1;
		w->n_entered++;
	}
	return 0;
}

static int take_models(struct work *w)
{
	size_t i;

	w->n = (size_t)PySequence_Fast_GET_SIZE(w->models);
	w->m = calloc(w->n + 1, sizeof(*w->m));
	w->entered = calloc(w->n + 1, sizeof(*w->entered));
	if (!w->m || !w->entered) {
		PyErr_NoMemory();
		return -1;
	}
	for (i = 0; i < w->n; i++) {
		PyObject *o = PySequence_Fast_GET_ITEM(w->models, (Py_ssize_t)i);

		if (!PyObject_TypeCheck(o, (PyTypeObject *)w->st->model_type)) {
			PyErr_SetString(PyExc_TypeError, "compare() takes Models");
			return -1;
		}
		w->m[i] = ((struct sp_model_object *)o)->model;
	}
	return 0;
}

static int take_runs(struct work *w, PyObject *runs)
{
	Py_ssize_t n = PySequence_Fast_GET_SIZE(runs), i;
	size_t sum = 0;

	w->runs = calloc((size_t)n + 1, sizeof(*w->runs));
	w->files = calloc((size_t)n + 1, sizeof(*w->files));
	w->n_files = calloc((size_t)n + 1, sizeof(*w->n_files));
	if (!w->runs || !w->files || !w->n_files) {
		PyErr_NoMemory();
		return -1;
	}
	for (i = 0; i < n; i++) {
		long run = PyLong_AsLong(PySequence_Fast_GET_ITEM(runs, i));

		if (run == -1 && PyErr_Occurred())
			return -1;
		if (run < 1 || run > (long)w->n) {
			PyErr_SetString(PyExc_ValueError, "a group has one experiment or more");
			return -1;
		}
		w->runs[i] = (uint32_t)run;
		sum += (size_t)run;
	}
	if (n < 2 || sum != w->n) {
		PyErr_SetString(PyExc_ValueError, "there are two groups or more, which together have all experiments");
		return -1;
	}
	w->q.runs = w->runs;
	w->q.groups = (size_t)n;
	return 0;
}

static int compute(struct work *w, struct sp_err *e)
{
	size_t g, first = 0;

	if (sp_compare_open(&w->c, w->m, w->n, e) || sp_compare_table(&w->t, &w->c, &w->q, e))
		return -1;
	for (g = 0; g < w->q.groups; g++) {
		if (g && sp_compare_files(&w->c, first, &w->files[g], &w->n_files[g], e))
			return -1;
		first += w->runs[g];
	}
	return 0;
}

/* ---- conversion to Python ---- */

static PyObject *side(const struct sp_compare_side *s)
{
	return Py_BuildValue("{sI sd sd sd sd sd sd}", "runs", (unsigned)s->n, "visits", s->visits, "visits_std",
	                     sqrt(s->visits_var), "excl", s->excl * S, "excl_std", sqrt(s->excl_var) * S, "incl",
	                     s->incl * S, "incl_std", sqrt(s->incl_var) * S);
}

static PyObject *real_or_none(double v)
{
	if (v < 0)
		Py_RETURN_NONE;
	return PyFloat_FromDouble(v);
}

static PyObject *change(const struct sp_compare_row *r, size_t g)
{
	const struct sp_compare_side *a = &r->sides[0], *b = &r->sides[g];

	return Py_BuildValue("{sd sd sN sN sN sN}", "excl", (b->excl - a->excl) * S, "incl", (b->incl - a->incl) * S,
	                     "p", real_or_none(r->changes[g].p), "p_corrected", real_or_none(r->changes[g].holm),
	                     "margin", real_or_none(r->changes[g].margin * S), "judged",
	                     PyBool_FromLong(r->changes[g].large));
}

static int put_numbers(struct work *w, PyObject *d, const struct sp_compare_row *r)
{
	PyObject *sides = PyList_New(0), *changes = PyList_New(0);
	size_t g;

	for (g = 0; g < w->q.groups; g++)
		if ((sides && sp_append(sides, side(&r->sides[g]))) ||
		    (g && changes && sp_append(changes, change(r, g))))
			Py_CLEAR(sides);
	if (sp_put(d, "sides", sides)) {
		Py_XDECREF(changes);
		return -1;
	}
	return sp_put(d, "changes", changes);
}

/* The names of a path's functions, outermost first. */
static PyObject *stack(struct work *w, uint32_t path)
{
	PyObject *list = PyList_New(0);
	uint32_t p;

	for (p = path; list && p != 0; p = w->c.paths[p].parent)
		if (sp_append(list, sp_text(sp_compare_name(&w->c, w->c.paths[p].region)->name)))
			Py_CLEAR(list);
	if (list && PyList_Reverse(list))
		Py_CLEAR(list);
	return list;
}

static PyObject *row(struct work *w, const struct sp_compare_row *r)
{
	const struct sp_compare_path *path = w->q.paths ? &w->c.paths[r->entry] : NULL;
	const struct sp_region *region = sp_compare_name(&w->c, path ? path->region : r->entry);
	PyObject *d = PyDict_New();

	if (!d)
		return NULL;
	if (sp_put_key(w->st, d, KEY_NAME, sp_text(region->name)) ||
	    sp_put_key(w->st, d, KEY_MODULE, sp_text(region->module)) ||
	    sp_put_key(w->st, d, KEY_QUALNAME, sp_text(region->qualname)) ||
	    sp_put_key(w->st, d, KEY_FILE, sp_text(region->file)) ||
	    sp_put_key(w->st, d, KEY_LINE, PyLong_FromUnsignedLong(region->line)) ||
	    sp_put_key(w->st, d, KEY_KIND, PyUnicode_InternFromString(sp_region_kind_names[region->kind])) ||
	    put_numbers(w, d, r))
		Py_CLEAR(d);
	if (d && path &&
	    (sp_put(d, "stack", stack(w, r->entry)) ||
	     sp_put_parameters(w->st, d, w->c.models[path->model],
	                       w->c.models[path->model]->paths[path->path].parameter)))
		Py_CLEAR(d);
	return d;
}

static PyObject *rows(struct work *w)
{
	size_t n = w->limit && w->limit < w->t.n ? w->limit : w->t.n, i;
	PyObject *list = PyList_New(0);

	for (i = 0; list && i < n; i++)
		if (sp_append(list, row(w, &w->t.rows[i])))
			Py_CLEAR(list);
	return list;
}

static PyObject *files(struct work *w)
{
	PyObject *list = PyList_New(0);
	size_t g, i;

	for (g = 1; g < w->q.groups; g++)
		for (i = 0; list && i < w->n_files[g]; i++) {
			const struct sp_compare_file *f = &w->files[g][i];

			if (sp_append(list, Py_BuildValue("{sn sN sN sI}", "group", (Py_ssize_t)g, "before",
			                                  sp_text(f->before), "after", sp_text(f->after), "functions",
			                                  (unsigned)f->regions)))
				Py_CLEAR(list);
		}
	return list;
}

static PyObject *modules(struct work *w)
{
	PyObject *list = PyList_New(0);
	size_t i, g, first;

	for (i = 0; list && i < w->c.n_renamed; i++) {
		const struct sp_compare_module *m = &w->c.renamed[i];

		for (g = first = 0; first + w->runs[g] <= m->model; g++)
			first += w->runs[g];
		if (first != m->model)
			continue; /* use only the first run of each group */
		if (sp_append(list, Py_BuildValue("{sn sN sN sI}", "group", (Py_ssize_t)g, "before", sp_text(m->before),
		                                  "after", sp_text(m->after), "functions", (unsigned)m->regions)))
			Py_CLEAR(list);
	}
	return list;
}

/* Seconds of each group; None: not known, and in all times. */
static PyObject *preempted(struct work *w)
{
	if (!w->t.preempted)
		Py_RETURN_NONE;
	PyObject *list = PyList_New(0);
	for (size_t g = 0; list && g < w->q.groups; g++)
		if (sp_append(list, PyFloat_FromDouble(w->t.preempted[g] * S)))
			Py_CLEAR(list);
	return list;
}

static PyObject *result(struct work *w)
{
	PyObject *all = PyDict_New(), *d;

	if (all && put_numbers(w, all, &w->t.all))
		Py_CLEAR(all);
	d = all ? PyDict_New() : NULL;
	if (!d) {
		Py_XDECREF(all);
		return NULL;
	}
	if (sp_put(d, "all", all) || sp_put(d, "rows", rows(w)) || sp_put(d, "count", PyLong_FromSize_t(w->t.n)) ||
	    sp_put(d, "preempted", preempted(w)) || sp_put(d, "files", files(w)) || sp_put(d, "modules", modules(w)))
		Py_CLEAR(d);
	return d;
}

static int check(struct work *w, const char *by, const char *sort, Py_ssize_t limit)
{
	static const char *const sorts[SP_COMPARE_SORTS] = {"change", "total",  "relative", "excl",
	                                                    "incl",   "visits", "name"};
	int i;

	for (i = 0; i < SP_COMPARE_SORTS && strcmp(sorts[i], sort) != 0; i++)
		;
	w->q.sort = (enum sp_compare_sort)i;
	w->q.paths = strcmp(by, "path") == 0;
	w->limit = (size_t)limit;
	if (i == SP_COMPARE_SORTS)
		PyErr_Format(PyExc_ValueError,
		             "cannot sort by %s; one of change, total, relative, excl, incl, visits, name", sort);
	else if (!w->q.paths && strcmp(by, "region") != 0)
		PyErr_Format(PyExc_ValueError, "by is region or path, not %s", by);
	else if (limit < 0)
		PyErr_SetString(PyExc_ValueError, "limit is negative");
	else
		return 0;
	return -1;
}

static void work_free(struct work *w)
{
	size_t g;

	while (w->n_entered > 0)
		sp_model_leave(w->entered[--w->n_entered]);
	sp_compare_table_free(&w->t);
	sp_compare_close(&w->c);
	for (g = 0; w->files && g < w->q.groups; g++)
		free(w->files[g]);
	free(w->files);
	free(w->n_files);
	free(w->m);
	free(w->entered);
	free(w->runs);
}

PyObject *sp_analyse_compare(PyObject *module, PyObject *args, PyObject *kwargs)
{
	static char *names[] = {"models", "runs", "by", "sort", "limit", "match", "share", NULL};
	struct work w = {.st = PyModule_GetState(module), .q.share = 0.01};
	PyObject *models, *runs, *models_list = NULL, *runs_list = NULL, *found = NULL;
	const char *by = "region", *sort = "change";
	Py_ssize_t limit = 0;
	struct sp_err e = {.code = 0};
	int rc;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|$ssnsd:compare", names, &models, &runs, &by, &sort, &limit,
	                                 &w.q.match, &w.q.share) ||
	    check(&w, by, sort, limit))
		return NULL;
	models_list = PySequence_Fast(models, "models is a sequence of Models");
	runs_list = models_list ? PySequence_Fast(runs, "runs is a sequence of numbers") : NULL;
	w.models = models_list;
	if (runs_list && take_models(&w) == 0 && take_runs(&w, runs_list) == 0 && enter_all(&w) == 0) {
		Py_BEGIN_ALLOW_THREADS rc = compute(&w, &e);
		Py_END_ALLOW_THREADS found = rc ? sp_raise(w.st, &e) : result(&w);
	}
	work_free(&w);
	Py_XDECREF(models_list);
	Py_XDECREF(runs_list);
	return found;
}

/* ---- welch() ---- */

/* Fills *p with the p-value of one pair; negative: a side has one run. */
static int pair_of(PyObject *row, double *p)
{
	double mean[2], var[2];
	unsigned n[2];
	if (!PyTuple_Check(row)) {
		PyErr_SetString(PyExc_TypeError, "welch() takes a list of tuples");
		return -1;
	}
	if (!PyArg_ParseTuple(row, "ddIddI", &mean[0], &var[0], &n[0], &mean[1], &var[1], &n[1]))
		return -1;
	*p = sp_welch(mean[0], var[0], n[0], mean[1], var[1], n[1]);
	return 0;
}

/* The p-values corrected together by Holm's method, in the order of the pairs; None: not tested. */
static PyObject *corrected(const double *p, size_t n)
{
	double *tested = malloc((n + 1) * sizeof(*tested));
	PyObject *list = NULL;
	size_t k = 0;
	for (size_t i = 0; tested && i < n; i++)
		if (p[i] >= 0)
			tested[k++] = p[i];
	if (!tested || sp_holm(tested, k)) {
		PyErr_NoMemory();
	} else if ((list = PyList_New((Py_ssize_t)n))) {
		k = 0;
		for (size_t i = 0; i < n; i++) {
			PyObject *o = p[i] >= 0 ? PyFloat_FromDouble(tested[k++]) : Py_BuildValue("");
			if (!o) {
				Py_CLEAR(list);
				break;
			}
			PyList_SET_ITEM(list, (Py_ssize_t)i, o);
		}
	}
	free(tested);
	return list;
}

PyObject *sp_analyse_welch(PyObject *module, PyObject *pairs)
{
	(void)module;
	PyObject *rows = PySequence_Fast(pairs, "welch() takes a list of tuples"), *result = NULL;
	if (!rows)
		return NULL;
	size_t n = (size_t)PySequence_Fast_GET_SIZE(rows), i = 0;
	double *p = malloc((n + 1) * sizeof(*p));
	if (!p)
		PyErr_NoMemory();
	for (; p && i < n; i++)
		if (pair_of(PySequence_Fast_GET_ITEM(rows, (Py_ssize_t)i), &p[i]))
			break;
	if (p && i == n)
		result = corrected(p, n);
	free(p);
	Py_DECREF(rows);
	return result;
}
