/* SPDX-License-Identifier: BSD-3-Clause */
/* Model.view(), sum_up() and view_against() */
#include "analyse/analyse.h"

#include <math.h>
#include <string.h>

#include "model/lod/lod.h"
#include "model/model.h"
#include "model/str.h"
#include "view/against.h"
#include "view/kept.h"

/* An argument of Model.view(), and its field in the query. */
struct parameter {
	const char *name;
	enum sp_view_parameter bit;
	enum { INDEX, COUNT, TIME, WORD } type;
	size_t at; /* offset in struct sp_view_query */
};
#define AT(member) offsetof(struct sp_view_query, member)
static const struct parameter parameters[] = {
    {"process", SP_VIEW_PROCESS, INDEX, AT(process)}, {"location", SP_VIEW_LOCATION, INDEX, AT(location)},
    {"begin", SP_VIEW_BEGIN, TIME, AT(begin)},        {"end", SP_VIEW_END, TIME, AT(end)},
    {"limit", SP_VIEW_LIMIT, COUNT, AT(limit)},       {"pixels", SP_VIEW_PIXELS, COUNT, AT(pixels)},
    {"levels", SP_VIEW_LEVELS, COUNT, AT(levels)},    {"rows", SP_VIEW_ROWS, WORD, AT(rows)},
    {"name", SP_VIEW_NAME, WORD, AT(name)},           {"region", SP_VIEW_REGION, INDEX, AT(region)},
    {"regions", SP_VIEW_REGIONS, COUNT, AT(regions)}, {"over", SP_VIEW_OVER, WORD, AT(over)},
    {"metric", SP_VIEW_METRIC, WORD, AT(metric)},     {NULL, 0, 0, 0},
};

static int set_number(const struct parameter *p, PyObject *value, void *to)
{
	unsigned long n = PyLong_AsUnsignedLong(value);

	if (n == (unsigned long)-1 && PyErr_Occurred()) {
		if (!PyErr_ExceptionMatches(PyExc_OverflowError))
			return -1;
		PyErr_Clear();
		n = SP_NONE;
	}
	if (n >= SP_NONE || (p->type == COUNT && n == 0)) {
		PyErr_Format(PyExc_ValueError, "%s cannot be %S", p->name, value);
		return -1;
	}
	*(uint32_t *)to = (uint32_t)n;
	return 0;
}

static int set_time(const struct parameter *p, PyObject *value, void *to)
{
	double s = PyFloat_AsDouble(value);

	if (s == -1 && PyErr_Occurred())
		return -1;
	if (!isfinite(s)) {
		PyErr_Format(PyExc_ValueError, "%s cannot be %S", p->name, value);
		return -1;
	}
	*(double *)to = s;
	return 0;
}

/* The string is valid as long as the arguments. */
static int set_word(const struct parameter *p, PyObject *value, void *to)
{
	const char *word = PyUnicode_Check(value) ? PyUnicode_AsUTF8(value) : NULL;

	if (word)
		*(const char **)to = word;
	else if (!PyErr_Occurred())
		PyErr_Format(PyExc_ValueError, "%s cannot be %S", p->name, value);
	return word ? 0 : -1;
}

static int set(struct sp_view_query *q, const struct sp_view_kind *k, PyObject *key, PyObject *value)
{
	const char *name = PyUnicode_AsUTF8(key);
	const struct parameter *p;

	if (!name)
		return -1;
	for (p = parameters; p->name; p++) {
		if (strcmp(p->name, name) != 0 || !(k->takes & p->bit))
			continue;
		if (value == Py_None)
			return 0;
		if (p->type == WORD)
			return set_word(p, value, (char *)q + p->at);
		return (p->type == TIME ? set_time : set_number)(p, value, (char *)q + p->at);
	}
	PyErr_Format(PyExc_ValueError, "%s takes no %s", k->name, name);
	return -1;
}

static const struct sp_view_kind *parse(PyObject *args, PyObject *kwargs, struct sp_view_query *q)
{
	const struct sp_view_kind *k;
	PyObject *key, *value;
	const char *name;
	Py_ssize_t at = 0;

	sp_view_query_init(q);
	if (!PyArg_ParseTuple(args, "s:view", &name))
		return NULL;
	k = sp_view_kind_find(name);
	if (!k)
		PyErr_Format(PyExc_ValueError, "there is nothing to view of the kind %s", name);
	while (k && kwargs && PyDict_Next(kwargs, &at, &key, &value))
		if (set(q, k, key, value))
			return NULL;
	return k;
}

/* Checks the rows in the first call; later calls return at once. */
static int prepare_rows(struct sp_state *st, struct sp_model_object *self)
{
	struct sp_err e = {.code = 0};
	int rc;

	if (self->rows)
		return 0;
	if (sp_model_enter(self))
		return -1;
	Py_BEGIN_ALLOW_THREADS rc = sp_model_rows(self->model, &e);
	Py_END_ALLOW_THREADS sp_model_leave(self);
	if (rc)
		sp_raise(st, &e);
	else
		self->rows = true;
	return rc;
}

static PyObject *to_bytes(const struct sp_columns *columns, size_t n)
{
	PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)n);
	char *to;

	if (!bytes)
		return NULL;
	to = PyBytes_AS_STRING(bytes);
	Py_BEGIN_ALLOW_THREADS sp_columns_write(columns, to);
	Py_END_ALLOW_THREADS return bytes;
}

PyObject *sp_model_view(PyObject *o, PyObject *args, PyObject *kwargs)
{
	struct sp_model_object *self = (struct sp_model_object *)o;
	struct sp_state *st = sp_state_of(o);
	const struct sp_viewed viewed = {.m = self->model, .against = self->against, .kept = self->kept};
	struct sp_columns *columns = NULL;
	struct sp_err e = {.code = 0};
	const struct sp_view_kind *k;
	struct sp_view_query q;
	PyObject *bytes;
	size_t n = 0;
	bool alone;
	int rc;

	if (!st || !(k = parse(args, kwargs, &q)) || sp_model_check(self))
		return NULL;
	if (sp_view_needs_rows(k, &q) &&
	    (prepare_rows(st, self) || (self->base && prepare_rows(st, (struct sp_model_object *)self->base))))
		return NULL;
	alone = k->needs & SP_VIEW_NEEDS_ALONE;
	if (alone && sp_model_enter(self))
		return NULL;
	Py_BEGIN_ALLOW_THREADS rc = sp_view_answer(&viewed, k, &q, &columns, &e) || sp_columns_seal(columns, &n, &e);
	Py_END_ALLOW_THREADS if (alone) sp_model_leave(self);
	bytes = rc ? sp_raise(st, &e) : to_bytes(columns, n);
	sp_columns_free(columns);
	return bytes;
}

PyObject *sp_model_sum_up(PyObject *o, PyObject *args, PyObject *kwargs)
{
	static char *names[] = {"progress", "keep", NULL};
	struct sp_model_object *self = (struct sp_model_object *)o;
	struct sp_state *st = sp_state_of(o);
	struct sp_watch w = {.progress = Py_None};
	struct sp_lod_options options = {.progress = sp_watch, .arg = &w};
	struct sp_lod *p = NULL;
	struct sp_err e = {.code = 0};
	int rc, keep = false;
	bool made;

	if (!st || !PyArg_ParseTupleAndKeywords(args, kwargs, "|O$p:sum_up", names, &w.progress, &keep) ||
	    sp_model_enter(self))
		return NULL;
	options.lasting = !keep;
	sp_watch_begin(&w);
	if (keep) {
		rc = sp_view_lod_make(self->kept, &options, &made, &e);
	} else {
		rc = sp_lod_open(&p, self->model, &options, &e);
		made = rc == 0 && sp_lod_made(p);
	}
	sp_lod_close(p);
	sp_watch_end(&w);
	sp_model_leave(self);
	if (PyErr_Occurred()) /* in the callback, or by Ctrl-C */
		return NULL;
	return rc ? sp_raise(st, &e) : PyBool_FromLong(made);
}

PyObject *sp_model_view_against(PyObject *o, PyObject *base)
{
	struct sp_model_object *self = (struct sp_model_object *)o;
	struct sp_state *st = sp_state_of(o);
	const struct sp_model *with;
	struct sp_against *against;
	struct sp_err e = {.code = 0};
	int rc;

	if (!st)
		return NULL;
	if (!PyObject_TypeCheck(base, (PyTypeObject *)st->model_type) || base == o || self->base ||
	    ((struct sp_model_object *)base)->base) {
		PyErr_SetString(PyExc_ValueError, "a model is viewed against one other, which is not itself, once");
		return NULL;
	}
	Py_INCREF(base);
	self->base = base;
	with = ((struct sp_model_object *)base)->model;
	Py_BEGIN_ALLOW_THREADS rc = sp_against_open(&against, self->model, with, &e);
	Py_END_ALLOW_THREADS if (rc)
	{
		Py_CLEAR(self->base);
		return sp_raise(st, &e);
	}
	self->against = against;
	Py_RETURN_NONE;
}
