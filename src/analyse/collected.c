/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that do not need a loaded experiment: keep_symbols(), still_written(), seal() and take_cost(). */
#include "analyse/analyse.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "model/symbols/symbols.h"
#include "reader/cost.h"
#include "reader/running.h"
#include "reader/seal.h"

PyObject *sp_analyse_keep_symbols(PyObject *module, PyObject *directory)
{
	struct sp_state *st = PyModule_GetState(module);
	struct sp_err e = {.code = 0};
	struct sp_symbols_kept kept;
	PyThreadState *thread;
	PyObject *path = NULL;
	int rc;

	if (!PyUnicode_FSConverter(directory, &path))
		return NULL;
	thread = PyEval_SaveThread();
	rc = sp_symbols_keep(PyBytes_AS_STRING(path), &kept, &e);
	PyEval_RestoreThread(thread);
	Py_DECREF(path);
	if (rc)
		return sp_raise(st, &e);
	return Py_BuildValue("{sK sK sK}", "functions", (unsigned long long)kept.functions, "added",
	                     (unsigned long long)kept.added, "unknown", (unsigned long long)kept.unknown);
}

/* Appends the name of a raw file if its process still writes it. */
static int add_file(PyObject *list, const char *directory, const char *name)
{
	enum sp_raw_running running;
	struct sp_raw_header h;
	char path[4400];
	size_t n = strlen(name);

	snprintf(path, sizeof(path), "%s/raw/%s", directory, name);
	if (n < 4 || strcmp(name + n - 4, ".raw") != 0 || sp_raw_running_file(path, &h, &running) != 0 ||
	    running != SP_RAW_IS_RUNNING)
		return 0;
	return sp_append(list, PyUnicode_DecodeFSDefault(name));
}

PyObject *sp_analyse_still_written(PyObject *module, PyObject *directory)
{
	PyObject *path = NULL, *list;
	const struct dirent *entry;
	char raw[4200];
	DIR *d = NULL;

	(void)module;
	if (!PyUnicode_FSConverter(directory, &path))
		return NULL;
	list = PyList_New(0);
	if (snprintf(raw, sizeof(raw), "%s/raw", PyBytes_AS_STRING(path)) < (int)sizeof(raw))
		d = opendir(raw);
	while (list && d && (entry = readdir(d)))
		if (add_file(list, PyBytes_AS_STRING(path), entry->d_name))
			Py_CLEAR(list);
	if (d)
		closedir(d);
	Py_DECREF(path);
	return list;
}

PyObject *sp_analyse_seal(PyObject *module, PyObject *file)
{
	PyThreadState *thread;
	PyObject *path = NULL;
	bool sealed;

	(void)module;
	if (!PyUnicode_FSConverter(file, &path))
		return NULL;
	thread = PyEval_SaveThread();
	sealed = sp_raw_seal(PyBytes_AS_STRING(path));
	PyEval_RestoreThread(thread);
	Py_DECREF(path);
	return PyBool_FromLong(sealed);
}

PyObject *sp_analyse_take_cost(PyObject *module, PyObject *args)
{
	PyThreadState *thread;
	PyObject *path = NULL, *from = NULL;
	bool taken;

	(void)module;
	if (!PyArg_ParseTuple(args, "O&O&", PyUnicode_FSConverter, &path, PyUnicode_FSConverter, &from))
		return NULL; /* it releases what it converted */
	thread = PyEval_SaveThread();
	taken = sp_raw_take_cost(PyBytes_AS_STRING(path), PyBytes_AS_STRING(from));
	PyEval_RestoreThread(thread);
	Py_DECREF(path);
	Py_DECREF(from);
	return PyBool_FromLong(taken);
}
