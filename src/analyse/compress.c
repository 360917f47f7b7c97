/* SPDX-License-Identifier: BSD-3-Clause */
/* compress(): compresses the raw files of an experiment, one after the other. */
#include "analyse/analyse.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "reader/compress.h"

struct work {
	const char *directory;
	struct dirent **names; /* owned */
	int n;
	struct sp_watch watch;
	uint64_t finished, total; /* bytes: of the files that are done, of all files */
	uint64_t before, after;
	struct sp_err first; /* the first error of a file that could not be compressed */
	int failed;
};

static int is_raw(const struct dirent *d)
{
	size_t n = strlen(d->d_name);

	return n > 4 && strcmp(d->d_name + n - 4, ".raw") == 0;
}

static void path_of(char *path, size_t capacity, const struct work *w, int i)
{
	snprintf(path, capacity, "%s/raw/%s", w->directory, w->names[i]->d_name);
}

static int find_files(struct work *w, struct sp_err *e)
{
	char path[4400];
	struct stat st;
	int i;

	if (snprintf(path, sizeof(path), "%s/raw", w->directory) > 3800)
		return sp_fail(e, ENAMETOOLONG, "%s: %s", w->directory, strerror(ENAMETOOLONG));
	w->n = scandir(path, &w->names, is_raw, alphasort);
	if (w->n < 0)
		return sp_fail(e, errno,
		               errno == ENOENT ? "%s: not an experiment: there is no directory raw in it"
		                               : "%s: raw: %s",
		               w->directory, strerror(errno));
	if (w->n == 0)
		return sp_fail(e, 0, "%s: no process was measured", w->directory);
	for (i = 0; i < w->n; i++) {
		path_of(path, sizeof(path), w, i);
		if (stat(path, &st) == 0)
			w->total += (uint64_t)st.st_size;
	}
	return 0;
}

/* Called without the GIL. */
static int on_progress(void *arg, uint64_t done)
{
	struct work *w = arg;

	return sp_watch(&w->watch, w->finished + done, w->total);
}

/* Compresses all files; an error in one of them does not stop the others. Returns -1 only if it was cancelled. */
static int compress_all(struct work *w)
{
	struct sp_raw_compression c = {.level = SP_RAW_COMPRESS_LEVEL, .progress = on_progress, .arg = w};
	struct sp_err e = {.code = 0};
	char path[4400], name[300];
	int i, rc;

	for (i = 0; i < w->n; i++) {
		path_of(path, sizeof(path), w, i);
		snprintf(name, sizeof(name), "raw/%s", w->names[i]->d_name);
		rc = sp_raw_compress(path, name, &c, &e);
		if (rc && e.code == ECANCELED)
			return -1;
		if (rc && w->failed++ == 0)
			w->first = e;
		w->before += c.before;
		w->after += c.after;
		w->finished += c.before;
	}
	return 0;
}

PyObject *sp_analyse_compress(PyObject *module, PyObject *args, PyObject *kwargs)
{
	static char *names[] = {"directory", "progress", NULL};
	struct sp_state *st = PyModule_GetState(module);
	struct work w = {.watch.progress = Py_None};
	PyObject *directory = NULL, *result = NULL;
	struct sp_err e = {.code = 0};
	int rc;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&|O:compress", names, PyUnicode_FSConverter, &directory,
	                                 &w.watch.progress))
		return NULL;
	w.directory = PyBytes_AS_STRING(directory);
	sp_watch_begin(&w.watch);
	rc = find_files(&w, &e) ? -1 : compress_all(&w);
	sp_watch_end(&w.watch);
	if (rc && !PyErr_Occurred()) {
		sp_raise(st, &e);
	} else if (!rc && w.failed) {
		if (w.failed > 1)
			sp_fail_in(&w.first, "%d of %d files stay as they are", w.failed, w.n);
		sp_fail_in(&w.first, "%s", w.directory);
		sp_raise(st, &w.first);
	} else if (!rc) {
		result = Py_BuildValue("(KK)", (unsigned long long)w.before, (unsigned long long)w.after);
	}
	while (w.n > 0)
		free(w.names[--w.n]);
	free(w.names);
	Py_DECREF(directory);
	return result;
}
