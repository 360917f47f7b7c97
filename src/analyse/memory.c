/* SPDX-License-Identifier: BSD-3-Clause */
/* Model.memory() */
#include "model/report/memory.h"
#include "analyse/analyse.h"
#include "model/memory.h"
#include "model/model.h"
#include "model/process.h"
#include "model/region.h"
#include "model/str.h"

static const double S = 1e-9;

static PyObject *time_or_none(uint64_t ns)
{
	if (ns == UINT64_MAX)
		Py_RETURN_NONE;
	return PyFloat_FromDouble((double)ns * S);
}

static PyObject *name_or_none(const struct sp_model *m, uint32_t region, bool file)
{
	if (region == SP_NONE)
		Py_RETURN_NONE;
	return sp_text(file ? m->regions[region].file : m->regions[region].name);
}

#define N(value) (unsigned long long)(value)

static PyObject *site_row(const struct sp_model *m, const struct sp_site *s)
{
	return Py_BuildValue("{sk sk sk sN sN sk sN sN sk ss sK sK sK sK sK sK sK sK sK sK sk sd sd sK sK ss}", "path",
	                     (unsigned long)s->path, "location", (unsigned long)s->location, "process",
	                     (unsigned long)m->locations[s->location].process, "function",
	                     name_or_none(m, s->region, false), "file", name_or_none(m, s->region, true), "line",
	                     (unsigned long)s->line, "own_function", name_or_none(m, s->own_region, false), "own_file",
	                     name_or_none(m, s->own_region, true), "own_line", (unsigned long)s->own_line, "allocator",
	                     sp_site_kind_names[s->kind], "count", N(s->count), "bytes", N(s->bytes), "freed",
	                     N(s->freed), "freed_bytes", N(s->freed_bytes), "elsewhere", N(s->elsewhere), "temporary",
	                     N(s->temporary), "temporary_bytes", N(s->temporary_bytes), "peak", N(s->peak),
	                     "peak_bytes", N(s->peak_bytes), "high", N(s->high), "grown", (unsigned long)s->grown,
	                     "first", (double)s->first * S, "last", (double)s->last * S, "left", N(s->left),
	                     "left_bytes", N(s->left_bytes), "kept", sp_site_kept_names[sp_site_kept(m, s)]);
}

static PyObject *series(const struct sp_heap *h)
{
	PyObject *list = PyList_New((Py_ssize_t)h->n_points), *row;
	size_t i;

	for (i = 0; list && i < h->n_points; i++) {
		const struct sp_heap_point *p = &h->points[i];

		row = Py_BuildValue("(dKKK)", (double)p->time * S, N(p->bytes), N(p->blocks), N(p->resident));
		if (!row)
			Py_CLEAR(list);
		else
			PyList_SET_ITEM(list, (Py_ssize_t)i, row);
	}
	return list;
}

static PyObject *limit(const struct sp_model *m, const struct sp_heap *h)
{
	if (!h->limit)
		Py_RETURN_NONE;
	return Py_BuildValue("{sK sN sK sd sN sN sk sN}", "bytes", N(h->limit), "passed", time_or_none(h->passed),
	                     "passes", N(h->passes), "over", (double)h->over * S, "function",
	                     name_or_none(m, h->passed_region, false), "file", name_or_none(m, h->passed_region, true),
	                     "line", (unsigned long)h->passed_line, "path", sp_index_or_none(h->passed_path));
}

static PyObject *process_row(const struct sp_model *m, size_t i)
{
	const struct sp_heap *h = &m->heaps[i];

	return Py_BuildValue(
	    "{sn sK sK sK sK sN sK sK sK sK sK sK sK sK sK sK sd sd sN sK sK sN sN sN}", "process", (Py_ssize_t)i,
	    "bytes", N(h->bytes), "blocks", N(h->blocks), "peak_bytes", N(h->peak_bytes), "peak_blocks",
	    N(h->peak_blocks), "peak_time", time_or_none(h->peak_time), "count", N(h->count), "allocated",
	    N(h->allocated), "freed", N(h->freed), "freed_bytes", N(h->freed_bytes), "unknown", N(h->unknown), "lost",
	    N(h->lost), "lost_bytes", N(h->lost_bytes), "unnamed", N(h->unnamed), "sample", N(h->sample), "own",
	    N(h->own), "cost", (double)h->cost * S, "begin", (double)h->begin * S, "ended", time_or_none(h->ended),
	    "resident", N(h->resident), "resident_peak", N(h->resident_peak), "resident_peak_time",
	    time_or_none(h->resident_peak_time), "limit", limit(m, h), "series", series(h));
}

static PyObject *result(const struct sp_model *m)
{
	PyObject *processes = PyList_New(0), *sites = PyList_New(0), *stacks = PyDict_New();
	size_t i;
	int rc = processes && sites && stacks ? 0 : -1;

	for (i = 0; rc == 0 && i < m->n_processes; i++)
		if (m->heaps[i].there)
			rc = (m->heaps[i].passed_path != SP_NONE && sp_put_stack(stacks, m, m->heaps[i].passed_path)) ||
			     sp_append(processes, process_row(m, i));
	for (i = 0; rc == 0 && i < m->n_sites; i++)
		rc = sp_put_stack(stacks, m, m->sites[i].path) || sp_append(sites, site_row(m, &m->sites[i]));
	if (rc) {
		Py_XDECREF(processes);
		Py_XDECREF(sites);
		Py_XDECREF(stacks);
		return NULL;
	}
	return Py_BuildValue("{sN sN sN}", "processes", processes, "sites", sites, "stacks", stacks);
}

/* The merged file has only the columns of call paths; everything else is read from the raw files. */
static PyObject *from_raw_files(struct sp_state *st, const struct sp_model *merged)
{
	struct sp_err e = {.code = 0};
	struct sp_model *m;
	PyObject *r;
	int rc;

	Py_BEGIN_ALLOW_THREADS rc = sp_model_load(&m, merged->dir.p, SP_MODEL_RAW, &e);
	Py_END_ALLOW_THREADS if (rc) return sp_raise(st, &e);
	r = result(m);
	sp_model_free(m);
	return r;
}

PyObject *sp_model_memory(PyObject *o, PyObject *none)
{
	struct sp_model_object *self = (struct sp_model_object *)o;
	struct sp_state *st = sp_state_of(o);
	PyObject *r;

	(void)none;
	if (!st || sp_model_enter(self))
		return NULL;
	r = self->model->heaps ? result(self->model) : from_raw_files(st, self->model);
	sp_model_leave(self);
	return r;
}
