/* SPDX-License-Identifier: BSD-3-Clause */
/* merge(): makes the merged file of all raw files. */
#include "analyse/analyse.h"

#include <dlfcn.h>
#include <string.h>

#include "model/merge/merge.h"

enum { MAX_NAMES = 4 };

/* Merges with the ranks of an MPI program: names are the path of the wrappers' library and names of the MPI library. */
static int merge_ranks(const char *dir, const struct sp_merge_options *o, char *const *names, struct sp_merge_result *r,
                       struct sp_err *e)
{
	const struct sp_links_library *l;
	struct sp_links links;
	void *mpi = NULL, *wrappers;
	int rc, i;

	for (i = 1; !mpi && i < MAX_NAMES && names[i]; i++)
		mpi = dlopen(names[i], RTLD_NOW | RTLD_GLOBAL); /* Open MPI's plugins look up its symbols globally */
	if (!mpi)
		return sp_fail(e, 0, "%s cannot be loaded", names[1] ? names[1] : "MPI");
	wrappers = dlopen(names[0], RTLD_NOW | RTLD_LOCAL);
	l = wrappers ? dlsym(wrappers, SP_LINKS_LIBRARY) : NULL;
	if (!l || l->size != sizeof(struct sp_links))
		return sp_fail(e, 0, "%s cannot be loaded", names[0]);
	if (l->begin(mpi, &links))
		return sp_fail(e, 0, "MPI_Init failed");
	rc = sp_merge(dir, o, &links, r, e);
	l->end();
	return rc;
}

/* Borrowed from the tuple; an empty list if it has no names. */
static int read_names(PyObject *tuple, char **names)
{
	Py_ssize_t i;

	memset(names, 0, MAX_NAMES * sizeof(*names));
	if (tuple == Py_None)
		return 0;
	if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) < 2 || PyTuple_GET_SIZE(tuple) > MAX_NAMES) {
		PyErr_SetString(PyExc_TypeError, "mpi: a tuple of two to four strings");
		return -1;
	}
	for (i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
		names[i] = (char *)PyUnicode_AsUTF8(PyTuple_GET_ITEM(tuple, i));
		if (!names[i])
			return -1;
	}
	return 0;
}

static PyObject *result_of(const struct sp_merge_result *r)
{
	return Py_BuildValue("{sO sK sK sK sK sK}", "current", r->current ? Py_True : Py_False, "processes",
	                     (unsigned long long)r->processes, "locations", (unsigned long long)r->locations, "paths",
	                     (unsigned long long)r->paths, "bytes", (unsigned long long)r->bytes, "raw_bytes",
	                     (unsigned long long)r->raw_bytes);
}

PyObject *sp_analyse_merge(PyObject *module, PyObject *args, PyObject *kwargs)
{
	static char *names[] = {"directory", "force", "progress", "workers", "mpi", "large", NULL};
	struct sp_state *st = PyModule_GetState(module);
	struct sp_watch w = {.progress = Py_None};
	struct sp_merge_options o = {.progress = sp_watch, .arg = &w};
	PyObject *directory = NULL, *mpi = Py_None, *result = NULL;
	struct sp_merge_result r;
	struct sp_err e = {.code = 0};
	int force = 0, workers = 0, large = 0, rc;
	char *library[MAX_NAMES];
	const char *dir;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&|pOiOp:merge", names, PyUnicode_FSConverter, &directory,
	                                 &force, &w.progress, &workers, &mpi, &large))
		return NULL;
	if (read_names(mpi, library)) {
		Py_DECREF(directory);
		return NULL;
	}
	o.force = force;
	dir = PyBytes_AS_STRING(directory);
	if (large) {
		PyThreadState *thread = PyEval_SaveThread();

		large = sp_merge_pays(dir);
		PyEval_RestoreThread(thread);
		if (!large) {
			Py_DECREF(directory);
			Py_RETURN_NONE;
		}
	}
	sp_watch_begin(&w);
	rc = library[0] ? merge_ranks(dir, &o, library, &r, &e) : sp_merge_here(dir, &o, workers, &r, &e);
	sp_watch_end(&w);
	if (rc && !PyErr_Occurred())
		sp_raise(st, &e);
	else if (rc == 0)
		result = result_of(&r);
	Py_DECREF(directory);
	return result;
}
