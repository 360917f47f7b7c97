/* SPDX-License-Identifier: BSD-3-Clause */
/* Model.info() */
#include "analyse/analyse.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "model/event.h"
#include "model/line.h"
#include "model/model.h"
#include "model/process.h"
#include "model/str.h"
#include "view/kept.h"

static const double S = 1e-9;

static PyObject *lost(const struct sp_lost *l)
{
	return Py_BuildValue("{sK sK sK sK sK sK sK sK}", "events", (unsigned long long)l->events, "paths",
	                     (unsigned long long)l->paths, "threads", (unsigned long long)l->threads, "regions",
	                     (unsigned long long)l->regions, "bytes", (unsigned long long)l->bytes, "deeper",
	                     (unsigned long long)l->deeper, "unmatched", (unsigned long long)l->unmatched, "children",
	                     (unsigned long long)l->children);
}

static PyObject *meta(const struct sp_process *p)
{
	PyObject *dict = PyDict_New(), *key;
	size_t i;

	for (i = 0; dict && i < p->metas; i++) {
		PyObject *value = sp_text(p->meta[i].value);

		key = sp_text(p->meta[i].key);
		if (!key || !value || PyDict_SetItem(dict, key, value))
			Py_CLEAR(dict);
		Py_XDECREF(key);
		Py_XDECREF(value);
	}
	return dict;
}

/* Decodes a status of waitpid(): exit status and signal. */
static PyObject *status(int32_t s)
{
	if (s == -1 || !WIFEXITED(s))
		Py_RETURN_NONE;
	return PyLong_FromLong(WEXITSTATUS(s));
}

static PyObject *signal_of(int32_t s)
{
	if (s == -1 || !WIFSIGNALED(s))
		Py_RETURN_NONE;
	return PyLong_FromLong(WTERMSIG(s));
}

static PyObject *child(const struct sp_child *c)
{
	PyObject *end = c->end ? PyFloat_FromDouble((double)c->end * S) : Py_BuildValue("");

	return Py_BuildValue("{sN sN si sN sd sN sN sN sN sN}", "parent", sp_index_or_none(c->parent), "process",
	                     sp_index_or_none(c->process), "pid", (int)c->pid, "command", sp_text(c->command), "begin",
	                     (double)c->begin * S, "end", end, "status", status(c->status), "signal",
	                     signal_of(c->status), "forked", PyBool_FromLong(c->forked), "exec",
	                     PyBool_FromLong(c->exec));
}

static PyObject *process(const struct sp_process *p)
{
	char label[SP_PROCESS_LABEL];
	PyObject *d = PyDict_New();

	if (!d)
		return NULL;
	if (sp_put(d, "file", sp_text(p->file)) || sp_put(d, "host", sp_text(p->host)) ||
	    sp_put(d, "command", sp_text(p->command)) || sp_put(d, "role", sp_text(p->role)) ||
	    sp_put(d, "name", sp_text(p->name)) ||
	    sp_put(d, "label", sp_text((struct sp_str){label, strlen(sp_process_label(p, label))})) ||
	    sp_put(d, "helper", PyBool_FromLong(p->helper)) || sp_put(d, "pid", PyLong_FromLong(p->pid)) ||
	    sp_put(d, "ppid", PyLong_FromLong(p->ppid)) || sp_put(d, "parent", sp_index_or_none(p->parent)) ||
	    sp_put(d, "rank", sp_index_or_none(p->rank)) || sp_put(d, "world", sp_index_or_none(p->world_index)) ||
	    sp_put(d, "end", PyUnicode_FromString(sp_process_end_names[p->end])) ||
	    sp_put(d, "status", status(p->status)) || sp_put(d, "signal", signal_of(p->status)) ||
	    sp_put(d, "ended_by", sp_index_or_none(p->ended_by)) ||
	    sp_put(d, "continues", sp_index_or_none(p->continues)) || sp_put(d, "forked", PyBool_FromLong(p->forked)) ||
	    sp_put(d, "traced", PyBool_FromLong(p->traced)) || sp_put(d, "sampled", PyBool_FromLong(p->sampled)) ||
	    sp_put(d, "counted", PyBool_FromLong(p->counted)) ||
	    sp_put(d, "begin", PyFloat_FromDouble((double)p->begin * S)) ||
	    sp_put(d, "stop", PyFloat_FromDouble((double)p->stop * S)) ||
	    sp_put(d, "cost_in", PyFloat_FromDouble(p->cost_in * S)) ||
	    sp_put(d, "cost_out", PyFloat_FromDouble(p->cost_out * S)) || sp_put(d, "lost", lost(&p->lost)) ||
	    sp_put(d, "lost_reason", Py_BuildValue("z", p->lost_reason)) ||
	    sp_put(d, "lost_children_reason", Py_BuildValue("z", p->lost_children_reason)) ||
	    sp_put(d, "meta", meta(p)))
		Py_CLEAR(d);
	return d;
}

/* ns below 0: None. */
static PyObject *seconds_or_none(double ns)
{
	if (ns >= 0)
		return PyFloat_FromDouble(ns * S);
	Py_RETURN_NONE;
}

static PyObject *location(const struct sp_model *m, uint32_t number)
{
	const struct sp_location *l = &m->locations[number];
	PyObject *d = PyDict_New();

	if (!d)
		return NULL;
	if (sp_put(d, "process", PyLong_FromUnsignedLong(l->process)) || sp_put(d, "name", sp_text(l->name)) ||
	    sp_put(d, "role", sp_text(l->role)) || sp_put(d, "runs", sp_text(l->runs)) ||
	    sp_put(d, "helper", PyBool_FromLong(l->helper)) || sp_put(d, "tid", PyLong_FromUnsignedLongLong(l->tid)) ||
	    sp_put(d, "creator", sp_index_or_none(l->creator)) ||
	    sp_put(d, "begin", PyFloat_FromDouble((double)l->begin * S)) ||
	    sp_put(d, "end", PyFloat_FromDouble((double)l->end * S)) || sp_put(d, "lost", lost(&l->lost)) ||
	    sp_put(d, "visits", PyLong_FromUnsignedLongLong(l->visits)) ||
	    sp_put(d, "resumed", PyLong_FromUnsignedLongLong(l->resumed)) ||
	    sp_put(d, "events", PyLong_FromUnsignedLongLong(sp_events_count(m, number))) ||
	    sp_put(d, "busy", PyFloat_FromDouble(l->busy * S)) || sp_put(d, "mpi", PyFloat_FromDouble(l->mpi * S)) ||
	    sp_put(d, "running", PyFloat_FromDouble(fmax(0, l->busy - l->off_cpu) * S)) ||
	    sp_put(d, "cpu", seconds_or_none(l->cpu)) || sp_put(d, "open", sp_text(l->open)))
		Py_CLEAR(d);
	return d;
}

static PyObject *problem(const struct sp_problem *p)
{
	return sp_text(p->text);
}

/* Disk space of the raw files; reserved but unused parts of a file take no space. */
static unsigned long long bytes_on_disk(const struct sp_model *m)
{
	unsigned long long bytes = 0;
	char path[4400];
	struct stat st;
	size_t i;

	for (i = 0; i < m->n_processes; i++) {
		snprintf(path, sizeof(path), "%s/raw/%s", m->dir.p, m->processes[i].file.p);
		if (stat(path, &st) == 0)
			bytes += (unsigned long long)st.st_blocks * 512;
	}
	return bytes;
}

static unsigned long long count_events(const struct sp_model *m)
{
	unsigned long long n = 0;
	uint32_t i;

	for (i = 0; i < m->n_locations; i++)
		n += sp_events_count(m, i);
	return n;
}

/* Appends a new reference and takes it over. */
static int append(PyObject *list, PyObject *item)
{
	int rc = item ? PyList_Append(list, item) : -1;

	Py_XDECREF(item);
	return rc;
}

/* The sizes of the MPI_COMM_WORLDs. */
static PyObject *worlds(const struct sp_model *m)
{
	PyObject *list = PyList_New(0);
	size_t i;

	for (i = 0; list && i < m->n_worlds; i++)
		if (append(list, PyLong_FromUnsignedLong(m->worlds[i].ranks.n)))
			Py_CLEAR(list);
	return list;
}

/* The names of the counters that programs report. */
static PyObject *counters(const struct sp_model *m)
{
	PyObject *list = PyList_New(0);
	size_t i;

	for (i = 0; list && i < m->n_counters; i++)
		if (append(list, sp_text(m->counters[i])))
			Py_CLEAR(list);
	return list;
}

static int fill_lists(const struct sp_model *m, PyObject *processes, PyObject *children, PyObject *locations,
                      PyObject *problems)
{
	size_t i;
	int rc = 0;

	for (i = 0; i < m->n_processes && rc == 0; i++)
		rc = append(processes, process(&m->processes[i]));
	for (i = 0; i < m->n_children && rc == 0; i++)
		rc = append(children, child(&m->children[i]));
	for (i = 0; i < m->n_locations && rc == 0; i++)
		rc = append(locations, location(m, (uint32_t)i));
	for (i = 0; i < m->n_problems && rc == 0; i++)
		rc = append(problems, problem(&m->problems[i]));
	return rc;
}

/* The number of functions with a call path or lines. A damaged file may define more functions. */
static Py_ssize_t count_regions(const struct sp_model *m)
{
	bool *has = calloc(m->n_regions + 1, sizeof(*has));
	Py_ssize_t n = 0;
	size_t i;

	if (!has)
		return (Py_ssize_t)m->n_regions - 1;
	for (i = 1; i < m->n_paths; i++)
		has[m->paths[i].region] = true;
	for (i = 0; i < m->n_lines; i++)
		has[m->lines[i].region] = true;
	for (i = 1; i < m->n_regions; i++)
		n += has[i];
	free(has);
	return n;
}

/* Adds the problem that the viewer found. */
static int add_kept(PyObject *problems, struct sp_view_kept *kept)
{
	struct sp_err why;

	if (!sp_view_lod_failed(kept, &why))
		return 0;
	return append(problems, sp_text((struct sp_str){why.text, strlen(why.text)}));
}

static PyObject *info(const struct sp_model *m, struct sp_view_kept *kept)
{
	PyObject *processes = PyList_New(0), *children = PyList_New(0), *locations = PyList_New(0),
	         *problems = PyList_New(0), *d = NULL;

	if (processes && children && locations && problems &&
	    fill_lists(m, processes, children, locations, problems) == 0 && add_kept(problems, kept) == 0)
		d = Py_BuildValue("{sN sd sd sN sn sn sK sK sO sO sO sO sN sN sN sN sN}", "dir",
		                  PyUnicode_DecodeFSDefaultAndSize(m->dir.p, (Py_ssize_t)m->dir.n), "begin",
		                  (double)m->begin_ns * S, "end", (double)m->end_ns * S, "traced",
		                  PyBool_FromLong(m->traced), "regions", count_regions(m), "paths",
		                  (Py_ssize_t)m->n_paths - 1, "events", count_events(m), "bytes", bytes_on_disk(m),
		                  "problems", problems, "processes", processes, "children", children, "locations",
		                  locations, "metrics", sp_metric_list(m), "worlds", worlds(m), "counters", counters(m),
		                  "collections", sp_tally_collections(m), "exceptions", sp_tally_exceptions(m));
	Py_XDECREF(processes);
	Py_XDECREF(children);
	Py_XDECREF(locations);
	Py_XDECREF(problems);
	return d;
}

PyObject *sp_model_info(PyObject *o, PyObject *unused)
{
	struct sp_model_object *self = (struct sp_model_object *)o;
	PyObject *d;

	(void)unused;
	if (sp_model_enter(self))
		return NULL;
	d = info(self->model, self->kept);
	sp_model_leave(self);
	return d;
}
