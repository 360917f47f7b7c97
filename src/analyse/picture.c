/* SPDX-License-Identifier: BSD-3-Clause */
/* Model.graph() and plot(): pictures. */
#include "analyse/analyse.h"

#include <string.h>

#include "write/picture/picture.h"
#include "model/model.h"
#include "model/str.h"

/* The arguments of both methods. */
struct query {
	PyObject *path; /* owned */
	long process, location;
	const char *theme;
	struct sp_picture of;
};

static int find(const char *const *names, int n, const char *wanted)
{
	int i;

	for (i = 0; i < n && strcmp(names[i], wanted) != 0; i++)
		;
	return i;
}

static int check(struct sp_state *st, const struct sp_model *m, struct query *q)
{
	static const char *const themes[SP_THEMES] = {"light", "dark", "grey"};
	int theme = find(themes, SP_THEMES, q->theme);

	if (theme == SP_THEMES)
		PyErr_Format(PyExc_ValueError, "there is no theme %s; one of light, dark, grey", q->theme);
	else if (q->location < -1 || q->location >= (long)m->n_locations)
		PyErr_Format(st->error, "there is no location %ld; the last is %ld", q->location,
		             (long)m->n_locations - 1);
	else if (q->process < -1 || q->process >= (long)m->n_processes)
		PyErr_Format(st->error, "there is no process %ld; the last is %ld", q->process,
		             (long)m->n_processes - 1);
	else {
		q->of.theme = (enum sp_picture_theme)theme;
		q->of.process = q->process < 0 ? SP_NONE : (uint32_t)q->process;
		q->of.location = q->location < 0 ? SP_NONE : (uint32_t)q->location;
		return 0;
	}
	return -1;
}

PyObject *sp_model_graph(PyObject *o, PyObject *args, PyObject *kwargs)
{
	static char *names[] = {"path",       "process",    "location", "match", "title", "theme",
	                        "node_share", "edge_share", "limit",    "svg",   NULL};
	struct sp_model_object *self = (struct sp_model_object *)o;
	struct sp_state *st = sp_state_of(o);
	struct query q = {.process = -1, .location = -1, .theme = "light"};
	struct sp_dot_options options = {.node_share = 0.005, .edge_share = 0.001};
	struct sp_dot_done done;
	struct sp_err e = {.code = 0};
	Py_ssize_t limit = 0;
	PyObject *result = NULL;
	int rc, svg = 0;

	if (!st || !PyArg_ParseTupleAndKeywords(args, kwargs, "O&|$llsssddnp:graph", names, PyUnicode_FSConverter,
	                                        &q.path, &q.process, &q.location, &q.of.match, &q.of.title, &q.theme,
	                                        &options.node_share, &options.edge_share, &limit, &svg))
		return NULL;
	if (limit < 0)
		PyErr_SetString(PyExc_ValueError, "limit is negative");
	else if (check(st, self->model, &q) == 0 && sp_model_enter(self) == 0) {
		options.of = q.of;
		options.limit = (size_t)limit;
		Py_BEGIN_ALLOW_THREADS rc =
		    (svg ? sp_graph_svg : sp_dot_write)(self->model, PyBytes_AS_STRING(q.path), &options, &done, &e);
		Py_END_ALLOW_THREADS sp_model_leave(self);
		result = rc ? sp_raise(st, &e)
		            : Py_BuildValue("{sn sn sn sn}", "nodes", (Py_ssize_t)done.nodes, "edges",
		                            (Py_ssize_t)done.edges, "hidden_nodes", (Py_ssize_t)done.hidden_nodes,
		                            "hidden_edges", (Py_ssize_t)done.hidden_edges);
	}
	Py_DECREF(q.path);
	return result;
}

PyObject *sp_model_plot(PyObject *o, PyObject *args, PyObject *kwargs)
{
	static const char *const kinds[SP_PLOTS] = {"flame", "icicle", "sunburst", "balance", "timeline"};
	static char *names[] = {"kind",  "path",  "process", "location", "match",
	                        "title", "theme", "width",   "height",   NULL};
	struct sp_model_object *self = (struct sp_model_object *)o;
	struct sp_state *st = sp_state_of(o);
	struct query q = {.process = -1, .location = -1, .theme = "light"};
	struct sp_plot_options options = {.width = 1200};
	struct sp_plot_done done;
	struct sp_err e = {.code = 0};
	PyObject *result = NULL;
	const char *kind;
	int rc;

	if (!st || !PyArg_ParseTupleAndKeywords(args, kwargs, "sO&|$llsssdd:plot", names, &kind, PyUnicode_FSConverter,
	                                        &q.path, &q.process, &q.location, &q.of.match, &q.of.title, &q.theme,
	                                        &options.width, &options.height))
		return NULL;
	options.kind = (enum sp_plot_kind)find(kinds, SP_PLOTS, kind);
	if (options.kind == SP_PLOTS)
		PyErr_Format(PyExc_ValueError, "there is no plot %s; one of flame, icicle, sunburst, balance, timeline",
		             kind);
	else if (!(options.width >= 200 && options.width <= 10000) ||
	         (options.height != 0 && !(options.height >= 100 && options.height <= 10000)))
		PyErr_SetString(PyExc_ValueError, "a plot is 200 to 10000 wide and 100 to 10000 high");
	else if (check(st, self->model, &q) == 0 && sp_model_enter(self) == 0) {
		options.of = q.of;
		Py_BEGIN_ALLOW_THREADS rc = sp_model_rows(self->model, &e) ||
		                            sp_plot_write(self->model, PyBytes_AS_STRING(q.path), &options, &done, &e);
		Py_END_ALLOW_THREADS sp_model_leave(self);
		result = rc ? sp_raise(st, &e)
		            : Py_BuildValue("{sK sK}", "drawn", (unsigned long long)done.drawn, "hidden",
		                            (unsigned long long)done.hidden);
	}
	Py_DECREF(q.path);
	return result;
}
