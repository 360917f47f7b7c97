/* SPDX-License-Identifier: BSD-3-Clause */
/* Model.messages(), waits() and critical_path() */
#include "analyse/analyse.h"
#include "model/comm.h"
#include "model/model.h"
#include "model/mpi/critical.h"
#include "model/process.h"
#include "model/region.h"
#include "model/str.h"

#include <stdlib.h>
#include <string.h>

static const double S = 1e-9;

/* Checks whether the experiment can be analysed. Returns 0, or -1 with an exception set. */
static int check(struct sp_state *st, const struct sp_model *m)
{
	if (!m->traced)
		PyErr_SetString(st->error, "this needs a trace, and the experiment has none: measure with --trace");
	else if (!sp_messages_any(m))
		PyErr_SetString(st->error, "no MPI was recorded in this experiment");
	else
		return 0;
	return -1;
}

static PyObject *process_or_none(const struct sp_model *m, uint32_t location)
{
	return sp_index_or_none(location == SP_NONE ? SP_NONE : m->locations[location].process);
}

/* ---- messages ---- */

static const struct {
	const char *name;
	unsigned by;
} groups[] = {{"pair", SP_BY_PAIR},     {"comm", SP_BY_COMM},         {"path", SP_BY_PATH},
              {"sender", SP_BY_SENDER}, {"receiver", SP_BY_RECEIVER}, {"all", SP_BY_PAIR | SP_BY_COMM | SP_BY_PATH}};
enum { GROUPS = sizeof(groups) / sizeof(*groups) };

static PyObject *message_row(const struct sp_model *m, const struct sp_message_row *r, unsigned by, PyObject *stacks)
{
	PyObject *d = Py_BuildValue("{sK sK sK sd}", "messages", (unsigned long long)r->messages, "bytes",
	                            (unsigned long long)r->bytes, "received", (unsigned long long)r->received, "time",
	                            r->time * S);
	int rc = d ? 0 : -1;

	if (rc == 0 && (by & (SP_BY_PAIR | SP_BY_SENDER)))
		rc = sp_put(d, "from", sp_index_or_none(r->from));
	if (rc == 0 && (by & (SP_BY_PAIR | SP_BY_RECEIVER)))
		rc = sp_put(d, "to", sp_index_or_none(r->to));
	if (rc == 0 && (by & SP_BY_COMM))
		rc = sp_put(d, "comm", PyLong_FromUnsignedLong(r->comm)) ||
		     sp_put(d, "name", sp_text(m->comms[r->comm].name)) ||
		     sp_put(d, "parent", sp_index_or_none(m->comms[r->comm].parent)) ||
		     sp_put(d, "size", PyLong_FromUnsignedLong(m->comms[r->comm].group.n));
	if (rc == 0 && (by & SP_BY_PATH))
		rc = sp_put(d, "path", PyLong_FromUnsignedLong(r->path)) || sp_put_stack(stacks, m, r->path);
	if (rc)
		Py_CLEAR(d);
	return d;
}

static PyObject *message_rows(struct sp_state *st, const struct sp_messages *x, unsigned by, PyObject *stacks)
{
	struct sp_message_row *rows;
	struct sp_err e = {.code = 0};
	PyObject *list;
	size_t n, i;

	if (sp_messages_rows(x, by, &rows, &n, &e))
		return sp_raise(st, &e);
	list = PyList_New(0);
	for (i = 0; list && i < n; i++)
		if (sp_append(list, message_row(x->m, &rows[i], by, stacks)))
			Py_CLEAR(list);
	free(rows);
	return list;
}

/* Numbers of matched and unmatched messages. */
static PyObject *found_numbers(const struct sp_messages *x)
{
	unsigned long long bytes = 0;
	size_t i;

	for (i = 0; i < x->n_messages; i++)
		bytes += x->messages[i].bytes;
	return Py_BuildValue("{sK sK sK sK sK sK sK sd sK sK sK sd}", "messages", (unsigned long long)x->n_messages,
	                     "bytes", bytes, "unmatched_sends", (unsigned long long)x->unmatched_sends,
	                     "unmatched_receives", (unsigned long long)x->unmatched_receives, "unmeasured",
	                     (unsigned long long)x->unmeasured, "cancelled", (unsigned long long)x->cancelled, "early",
	                     (unsigned long long)x->early, "early_worst", x->early_worst * S, "operations",
	                     (unsigned long long)x->operations, "incomplete", (unsigned long long)x->incomplete,
	                     "early_operations", (unsigned long long)x->early_operations, "early_operations_worst",
	                     x->early_operations_worst * S);
}

static PyObject *message_result(struct sp_state *st, const struct sp_messages *x, unsigned wanted)
{
	PyObject *rows = PyDict_New(), *stacks = PyDict_New(), *d = NULL;
	int g, rc = rows && stacks ? 0 : -1;

	for (g = 0; g < GROUPS && rc == 0; g++)
		if (wanted & 1u << g)
			rc = sp_put(rows, groups[g].name, message_rows(st, x, groups[g].by, stacks));
	if (rc == 0)
		d = found_numbers(x);
	if (d && (PyDict_SetItemString(d, "rows", rows) || PyDict_SetItemString(d, "stacks", stacks)))
		Py_CLEAR(d);
	Py_XDECREF(rows);
	Py_XDECREF(stacks);
	return d;
}

/* Bits of the named groups; 0 with an exception set. */
static unsigned wanted_groups(PyObject *names)
{
	PyObject *list = PySequence_Fast(names, "by is not a sequence of words");
	unsigned wanted = 0;
	Py_ssize_t i;
	int g;

	for (i = 0; list && i < PySequence_Fast_GET_SIZE(list); i++) {
		const char *name = PyUnicode_AsUTF8(PySequence_Fast_GET_ITEM(list, i));

		for (g = 0; name && g < GROUPS && strcmp(groups[g].name, name) != 0;)
			g++;
		if (name && g == GROUPS)
			PyErr_Format(PyExc_ValueError, "messages cannot be grouped by %s", name);
		if (!name || g == GROUPS) {
			wanted = 0;
			break;
		}
		wanted |= 1u << g;
	}
	Py_XDECREF(list);
	if (!wanted && !PyErr_Occurred())
		PyErr_SetString(PyExc_ValueError, "by is empty");
	return wanted;
}

PyObject *sp_model_messages(PyObject *o, PyObject *args, PyObject *kwargs)
{
	static char *names[] = {"by", NULL};
	struct sp_model_object *self = (struct sp_model_object *)o;
	struct sp_state *st = sp_state_of(o);
	struct sp_messages x = {.m = NULL};
	struct sp_err e = {.code = 0};
	PyObject *by = NULL, *out;
	unsigned wanted = 1;
	int rc;

	if (!st || !PyArg_ParseTupleAndKeywords(args, kwargs, "|O:messages", names, &by))
		return NULL;
	if (by)
		wanted = wanted_groups(by);
	if (!wanted || check(st, self->model) || sp_model_enter(self))
		return NULL;
	Py_BEGIN_ALLOW_THREADS rc = sp_messages_read(&x, self->model, &e);
	Py_END_ALLOW_THREADS out = rc ? sp_raise(st, &e) : message_result(st, &x, wanted);
	sp_model_leave(self);
	sp_messages_free(&x);
	return out;
}

/* ---- waits ---- */

static PyObject *wait_row(const struct sp_model *m, const struct sp_wait_row *r, PyObject *stacks)
{
	if (sp_put_stack(stacks, m, r->path))
		return NULL;
	return Py_BuildValue("{sI sk sk sk sN sN sK sd sd}", "kind", (unsigned)r->kind, "path", (unsigned long)r->path,
	                     "location", (unsigned long)r->location, "process",
	                     (unsigned long)m->locations[r->location].process, "on_location", sp_index_or_none(r->on),
	                     "on", process_or_none(m, r->on), "count", (unsigned long long)r->count, "time",
	                     r->time * S, "longest", r->longest * S);
}

static PyObject *wait_rows(const struct sp_model *m, const struct sp_waits *w, PyObject *stacks)
{
	PyObject *list = PyList_New(0);
	size_t i;

	for (i = 0; list && i < w->n_rows; i++)
		if (sp_append(list, wait_row(m, &w->rows[i], stacks)))
			Py_CLEAR(list);
	return list;
}

static PyObject *wait_metric(const struct sp_waits *w, const struct sp_wait_metric *x)
{
	unsigned long long count = 0;
	double time = 0;
	PyObject *kinds = PyList_New(0);
	size_t i;
	unsigned k;

	for (i = 0; i < w->n_rows; i++)
		if (x->kinds >> w->rows[i].kind & 1) {
			time += w->rows[i].time;
			count += w->rows[i].count;
		}
	for (k = 0; kinds && k < SP_WAIT_KINDS; k++)
		if ((x->kinds >> k & 1) && sp_append(kinds, PyLong_FromUnsignedLong(k)))
			Py_CLEAR(kinds);
	if (!kinds)
		return NULL;
	return Py_BuildValue("{ss ss ss sN sN sK sd}", "name", x->name, "shown", x->shown, "what", x->what, "kinds",
	                     kinds, "parent", sp_index_or_none((uint32_t)x->parent), "count", count, "time", time * S);
}

static PyObject *wait_result(const struct sp_model *m, const struct sp_waits *w, const struct sp_messages *x)
{
	PyObject *metrics = PyList_New(0), *stacks = PyDict_New(), *d = NULL;
	int i;

	for (i = 0; metrics && i < SP_WAIT_METRICS; i++)
		if (sp_append(metrics, wait_metric(w, &sp_wait_metrics[i])))
			Py_CLEAR(metrics);
	if (metrics && stacks)
		d = Py_BuildValue("{sO sN sO sN}", "metrics", metrics, "rows", wait_rows(m, w, stacks), "stacks",
		                  stacks, "found", found_numbers(x));
	Py_XDECREF(metrics);
	Py_XDECREF(stacks);
	return d;
}

PyObject *sp_model_waits(PyObject *o, PyObject *unused)
{
	struct sp_model_object *self = (struct sp_model_object *)o;
	struct sp_state *st = sp_state_of(o);
	struct sp_messages x = {.m = NULL};
	struct sp_waits w = {.rows = NULL};
	struct sp_err e = {.code = 0};
	PyObject *out;
	int rc;

	(void)unused;
	if (!st || check(st, self->model) || sp_model_enter(self))
		return NULL;
	Py_BEGIN_ALLOW_THREADS rc = sp_messages_read(&x, self->model, &e) || sp_waits_find(&w, &x, &e);
	Py_END_ALLOW_THREADS out = rc ? sp_raise(st, &e) : wait_result(self->model, &w, &x);
	sp_model_leave(self);
	sp_waits_free(&w);
	sp_messages_free(&x);
	return out;
}

/* ---- critical path ---- */

static PyObject *critical_regions(struct sp_state *st, const struct sp_model *m, const struct sp_critical *c)
{
	PyObject *list = PyList_New(0), *d;
	size_t i;

	for (i = 0; list && i < m->n_regions; i++) {
		const struct sp_region *r = &m->regions[i];
		const struct sp_critical_region *x = &c->regions[i];

		if (x->time <= 0)
			continue;
		d = Py_BuildValue("{sd sd sd sd}", "time", x->time * S, "waiting", x->waiting * S, "at_least",
		                  x->at_least * S, "at_most", x->at_most * S);
		if (d &&
		    (sp_put_key(st, d, KEY_NAME, sp_text(r->name)) || sp_put_key(st, d, KEY_FILE, sp_text(r->file)) ||
		     sp_put_key(st, d, KEY_LINE, PyLong_FromUnsignedLong(r->line)) ||
		     sp_put_key(st, d, KEY_KIND, PyUnicode_InternFromString(sp_region_kind_names[r->kind]))))
			Py_CLEAR(d);
		if (sp_append(list, d))
			Py_CLEAR(list);
	}
	return list;
}

static PyObject *critical_paths(const struct sp_model *m, const struct sp_critical *c, PyObject *stacks)
{
	PyObject *list = PyList_New(0);
	uint32_t i;

	for (i = 0; list && i < m->n_paths; i++)
		if (c->paths[i] > 0 && (sp_put_stack(stacks, m, i) ||
		                        sp_append(list, Py_BuildValue("{sI sd sd}", "path", (unsigned)i, "time",
		                                                      c->paths[i] * S, "waiting", c->waiting[i] * S))))
			Py_CLEAR(list);
	return list;
}

static PyObject *critical_pieces(const struct sp_critical *c)
{
	PyObject *list = PyList_New(0);
	size_t i;

	for (i = 0; list && i < c->n_pieces; i++)
		if (sp_append(list, Py_BuildValue("(Idd)", (unsigned)c->pieces[i].location,
		                                  (double)c->pieces[i].from * S, (double)c->pieces[i].to * S)))
			Py_CLEAR(list);
	return list;
}

static PyObject *critical_result(struct sp_state *st, const struct sp_critical *c, const struct sp_messages *x)
{
	const struct sp_model *m = x->m;
	PyObject *stacks = PyDict_New(), *locations = PyList_New(0), *d = NULL;
	size_t i;

	for (i = 0; locations && i < m->n_locations; i++)
		if (sp_append(locations, PyFloat_FromDouble(c->locations[i] * S)))
			Py_CLEAR(locations);
	if (stacks && locations)
		d = Py_BuildValue("{sd sn sO sN sN sN sO sN}", "length", c->length * S, "jumps", (Py_ssize_t)c->jumps,
		                  "locations", locations, "pieces", critical_pieces(c), "regions",
		                  critical_regions(st, m, c), "paths", critical_paths(m, c, stacks), "stacks", stacks,
		                  "found", found_numbers(x));
	Py_XDECREF(stacks);
	Py_XDECREF(locations);
	return d;
}

PyObject *sp_model_critical_path(PyObject *o, PyObject *args, PyObject *kwargs)
{
	static char *names[] = {"share", NULL};
	struct sp_model_object *self = (struct sp_model_object *)o;
	struct sp_state *st = sp_state_of(o);
	struct sp_messages x = {.m = NULL};
	struct sp_waits w = {.rows = NULL};
	struct sp_critical c = {.pieces = NULL};
	struct sp_err e = {.code = 0};
	double share = 0.1;
	PyObject *out;
	int rc;

	if (!st || !PyArg_ParseTupleAndKeywords(args, kwargs, "|$d:critical_path", names, &share))
		return NULL;
	if (!(share > 0 && share <= 1)) {
		PyErr_SetString(PyExc_ValueError, "share is not between 0 and 1");
		return NULL;
	}
	if (check(st, self->model) || sp_model_enter(self))
		return NULL;
	Py_BEGIN_ALLOW_THREADS rc = sp_messages_read(&x, self->model, &e) || sp_waits_find(&w, &x, &e) ||
	                            sp_critical_find(&c, &x, &w, share, &e);
	Py_END_ALLOW_THREADS out = rc ? sp_raise(st, &e) : critical_result(st, &c, &x);
	sp_model_leave(self);
	sp_critical_free(&c);
	sp_waits_free(&w);
	sp_messages_free(&x);
	return out;
}
