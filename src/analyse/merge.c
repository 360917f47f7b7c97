/* SPDX-License-Identifier: BSD-3-Clause */
/* merge(): one file of what all raw files hold together. */
#include "analyse/analyse.h"

#include <time.h>

#include "model/merge.h"

struct work {
	PyObject *progress; /* borrowed; NULL: none */
	PyThreadState *thread;
	struct timespec last;
};

/* Without the GIL; a callback twenty times a second is enough. */
static int on_progress(void *arg, uint64_t done, uint64_t total)
{
	struct work *w = arg;
	struct timespec now;
	PyObject *result;
	int rc;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if ((now.tv_sec - w->last.tv_sec) * 1000000000LL + now.tv_nsec - w->last.tv_nsec < 50000000)
		return 0;
	w->last = now;
	PyEval_RestoreThread(w->thread);
	rc = PyErr_CheckSignals();
	if (rc == 0 && w->progress) {
		result = PyObject_CallFunction(w->progress, "KK", (unsigned long long)(done < total ? done : total),
		                               (unsigned long long)total);
		rc = result ? 0 : -1;
		Py_XDECREF(result);
	}
	w->thread = PyEval_SaveThread();
	return rc;
}

PyObject *sp_analyse_merge(PyObject *module, PyObject *args, PyObject *kwargs)
{
	static char *names[] = {"directory", "force", "progress", "workers", NULL};
	struct sp_state *st = PyModule_GetState(module);
	struct work w = {.progress = Py_None};
	struct sp_merge_options o = {.progress = on_progress, .arg = &w};
	PyObject *directory = NULL, *result = NULL;
	struct sp_merge_result r;
	struct sp_err e = {.code = 0};
	int force = 0, workers = 0, rc;
	const char *dir;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&|pOi:merge", names, PyUnicode_FSConverter, &directory, &force,
	                                 &w.progress, &workers))
		return NULL;
	if (w.progress == Py_None)
		w.progress = NULL;
	o.force = force;
	dir = PyBytes_AS_STRING(directory);
	w.thread = PyEval_SaveThread();
	rc = sp_merge_here(dir, &o, workers, &r, &e);
	PyEval_RestoreThread(w.thread);
	if (rc && !PyErr_Occurred())
		sp_raise(st, &e);
	else if (rc == 0)
		result = Py_BuildValue("{sO sK sK sK sK sK}", "current", r.current ? Py_True : Py_False, "processes",
		                       (unsigned long long)r.processes, "locations", (unsigned long long)r.locations,
		                       "paths", (unsigned long long)r.paths, "bytes", (unsigned long long)r.bytes,
		                       "raw_bytes", (unsigned long long)r.raw_bytes);
	Py_DECREF(directory);
	return result;
}
