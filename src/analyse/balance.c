/* SPDX-License-Identifier: BSD-3-Clause */
/* Model.balance() */
#include "analyse/analyse.h"
#include "model/model.h"
#include "model/region.h"
#include "model/report/balance.h"
#include "model/report/walk.h"

#include <stdlib.h>
#include <string.h>

static const double S = 1e-9;

static PyObject *spread(const struct sp_spread *s)
{
	return Py_BuildValue("{sd sd sd sd sd sd sk sk}", "mean", s->mean * S, "std", sp_spread_std(s) * S, "min",
	                     s->min * S, "max", s->max * S, "imbalance", sp_spread_imbalance(s) * S, "percent",
	                     sp_spread_imbalance_percent(s), "min_unit", (unsigned long)s->min_unit, "max_unit",
	                     (unsigned long)s->max_unit);
}

struct query {
	const struct sp_model *m;
	const struct sp_balance_report *r;
	bool paths, incl;
	size_t limit;
	const char *match;
};

struct found {
	double key;
	uint32_t entry;
};

static int by_key(const void *a, const void *b)
{
	const struct found *p = a, *q = b;

	if (p->key != q->key)
		return p->key > q->key ? -1 : 1;
	return p->entry < q->entry ? -1 : p->entry > q->entry;
}

/* The entries to show, sorted by decreasing imbalance time; to be freed with free(). */
static struct found *find(const struct query *q, size_t *n)
{
	const struct sp_balance *b = q->paths ? &q->r->paths : &q->r->regions;
	struct found *found = malloc((b->n + 1) * sizeof(*found));
	uint32_t i;

	*n = 0;
	for (i = 1; found && i < b->n; i++) {
		const struct sp_balance_entry *x = &b->entries[i];
		const struct sp_region *region = &q->m->regions[q->paths ? q->m->paths[i].region : i];

		if (x->came && sp_region_matches(region, q->match))
			found[(*n)++] = (struct found){sp_spread_imbalance(q->incl ? &x->incl : &x->excl), i};
	}
	if (found)
		qsort(found, *n, sizeof(*found), by_key);
	if (q->limit && *n > q->limit)
		*n = q->limit;
	return found;
}

static PyObject *entry_row(struct sp_state *st, const struct query *q, uint32_t i)
{
	const struct sp_balance_entry *x = &(q->paths ? &q->r->paths : &q->r->regions)->entries[i];
	const struct sp_region *region = &q->m->regions[q->paths ? q->m->paths[i].region : i];
	PyObject *d = PyDict_New();

	if (!d)
		return NULL;
	if (sp_put_key(st, d, KEY_NAME, sp_text(region->name)) || sp_put_key(st, d, KEY_FILE, sp_text(region->file)) ||
	    sp_put_key(st, d, KEY_LINE, PyLong_FromUnsignedLong(region->line)) ||
	    sp_put_key(st, d, KEY_KIND, PyUnicode_InternFromString(sp_region_kind_names[region->kind])) ||
	    sp_put(d, "units", PyLong_FromUnsignedLong(x->came)) || sp_put_key(st, d, KEY_INCL, spread(&x->incl)) ||
	    sp_put_key(st, d, q->r->running ? KEY_RUNNING : KEY_EXCL, spread(&x->excl)))
		Py_CLEAR(d);
	if (d && q->paths &&
	    (sp_put_key(st, d, KEY_PATH, PyLong_FromUnsignedLong(i)) ||
	     sp_put_key(st, d, KEY_PARENT, PyLong_FromUnsignedLong(q->m->paths[i].parent)) ||
	     sp_put(d, "stack", sp_path_names(q->m, i)) || sp_put_parameters(st, d, q->m, q->m->paths[i].parameter)))
		Py_CLEAR(d);
	return d;
}

static PyObject *rows(struct sp_state *st, const struct query *q)
{
	size_t n, i;
	struct found *found = find(q, &n);
	PyObject *list = found ? PyList_New(0) : PyErr_NoMemory();

	for (i = 0; list && i < n; i++)
		if (sp_append(list, entry_row(st, q, found[i].entry)))
			Py_CLEAR(list);
	free(found);
	return list;
}

/* ---- units that did not reach a path ---- */

enum { MAX_IDLE = 5 };

/* Finds the paths that some units did not reach although all units reached the callers; those with the most imbalance
 * time. */
static size_t find_idle(const struct query *q, struct found out[MAX_IDLE])
{
	const struct sp_balance *b = &q->r->paths;
	uint32_t i;
	size_t n = 0, k;

	for (i = 1; i < b->n; i++) {
		const struct sp_balance_entry *x = &b->entries[i], *above = &b->entries[q->m->paths[i].parent];
		struct found now = {sp_spread_imbalance(&x->incl), i};

		if (!x->came || x->came == q->r->n_units || (q->m->paths[i].parent && above->came < q->r->n_units) ||
		    !sp_region_matches(&q->m->regions[q->m->paths[i].region], q->match))
			continue;
		for (k = n; k > 0 && out[k - 1].key < now.key; k--)
			if (k < MAX_IDLE)
				out[k] = out[k - 1];
		if (k < MAX_IDLE)
			out[k] = now;
		n += n < MAX_IDLE;
	}
	return n;
}

/* idle: for each unit, whether it did not reach the path. */
static PyObject *idle_row(struct sp_state *st, const struct query *q, uint32_t path, const bool *idle)
{
	struct query paths = *q;
	PyObject *units = PyList_New(0), *d = NULL;
	uint32_t u;

	for (u = 0; units && u < q->r->n_units; u++)
		if (idle[u] && sp_append(units, PyLong_FromUnsignedLong(u)))
			Py_CLEAR(units);
	paths.paths = true;
	if (units)
		d = entry_row(st, &paths, path);
	if (!d)
		Py_XDECREF(units);
	else if (sp_put(d, "idle", units))
		Py_CLEAR(d);
	return d;
}

static PyObject *idle_rows(struct sp_state *st, const struct query *q)
{
	struct found found[MAX_IDLE];
	uint32_t paths[MAX_IDLE];
	size_t n = find_idle(q, found), i;

	for (i = 0; i < n; i++)
		paths[i] = found[i].entry;
	bool *idle = sp_balance_report_idle(q->r, q->m, paths, n);
	PyObject *list = idle ? PyList_New(0) : PyErr_NoMemory();
	for (i = 0; list && i < n; i++)
		if (sp_append(list, idle_row(st, q, paths[i], idle + i * q->r->n_units)))
			Py_CLEAR(list);
	free(idle);
	return list;
}

static PyObject *result(struct sp_state *st, const struct query *q)
{
	static const char *const overs[] = {"auto", "ranks", "processes", "threads"};
	PyObject *units = PyList_New(0);
	uint32_t u;

	for (u = 0; units && u < q->r->n_units; u++)
		if (sp_append(units, PyLong_FromUnsignedLong(q->r->units[u])))
			Py_CLEAR(units);
	if (!units)
		return NULL;
	return Py_BuildValue("{ss sN sN sN}", "over", overs[q->r->over], "units", units, "rows", rows(st, q), "idle",
	                     idle_rows(st, q));
}

/* Finds a word in a list. Returns its index, or -1 with an exception set. */
static int word(const char *what, const char *given, const char *const *words)
{
	int i;

	for (i = 0; words[i]; i++)
		if (strcmp(words[i], given) == 0)
			return i;
	PyErr_Format(PyExc_ValueError, "%s cannot be %s", what, given);
	return -1;
}

PyObject *sp_model_balance(PyObject *o, PyObject *args, PyObject *kwargs)
{
	static char *names[] = {"by", "time", "over", "limit", "match", "units", NULL};
	static const char *const bys[] = {"region", "path", NULL}, *const times[] = {"excl", "incl", "running", NULL},
	                         *const overs[] = {"auto", "ranks", "processes", "threads", NULL};
	struct sp_model_object *self = (struct sp_model_object *)o;
	struct sp_state *st = sp_state_of(o);
	const char *by = "region", *time = "excl", *over = "auto", *match = "";
	struct sp_balance_report r = {.units = NULL};
	struct query q = {.m = self->model, .r = &r};
	struct sp_err e = {.code = 0};
	Py_ssize_t limit = 0;
	enum sp_balance_over compared;
	int which, times_given, rc;
	bool *chosen;
	PyObject *out, *units = Py_None;

	if (!st || !PyArg_ParseTupleAndKeywords(args, kwargs, "|$sssnsO:balance", names, &by, &time, &over, &limit,
	                                        &match, &units))
		return NULL;
	which = word("over", over, overs);
	q.paths = word("by", by, bys) == 1;
	times_given = word("time", time, times);
	q.incl = times_given == 1;
	q.match = match;
	q.limit = (size_t)limit;
	if (PyErr_Occurred())
		return NULL;
	if (limit < 0) {
		PyErr_SetString(PyExc_ValueError, "limit is negative");
		return NULL;
	}
	if (sp_model_enter(self))
		return NULL;
	compared = sp_balance_over_of(q.m, (enum sp_balance_over)which);
	chosen = sp_read_chosen(units, compared == SP_OVER_THREADS ? q.m->n_locations : q.m->n_processes);
	if (PyErr_Occurred()) {
		sp_model_leave(self);
		return NULL;
	}
	Py_BEGIN_ALLOW_THREADS rc = sp_balance_report(&r, self->model, compared, times_given == 2, chosen, &e);
	Py_END_ALLOW_THREADS out = rc ? sp_raise(st, &e) : result(st, &q);
	sp_model_leave(self);
	sp_balance_report_free(&r);
	free(chosen);
	return out;
}
