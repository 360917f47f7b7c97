/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions of `spartito._sample` for the launcher. */
#include "sample/control/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sample/control/manager.h"

PyObject *sp_run_check(PyObject *self, PyObject *none)
{
	(void)self, (void)none;
	char why[512] = "";
	int r = sp_sampler_check(why, sizeof why);
	if (!r)
		Py_RETURN_NONE;
	return PyUnicode_DecodeFSDefault(why);
}

/* The texts of a list of bytes objects, ending with NULL; borrowed from the list. */
static const char **texts_of(PyObject *list)
{
	const Py_ssize_t n = PyList_GET_SIZE(list);
	const char **texts = calloc((size_t)n + 2, sizeof *texts);
	for (Py_ssize_t i = 0; texts && i < n; i++)
		if (!(texts[i] = PyBytes_AsString(PyList_GET_ITEM(list, i)))) {
			free(texts);
			return NULL;
		}
	if (!texts)
		PyErr_NoMemory();
	return texts;
}

/* Parses the arguments that both functions have, and starts the process; options->dir and ->settings are valid until it
 * returns. */
static PyObject *start(PyObject *args, const char *format,
                       pid_t (*how)(const struct sp_sampler_options *o, pid_t target, int *end))
{
	struct sp_sampler_options o = {.stop = -1};
	PyObject *list, *path, *place = NULL;
	int native, target = 0, end = -1; /* target: for manage(), the process of a notebook */
	if (!PyArg_ParseTuple(args, format, PyUnicode_FSConverter, &path, &PyList_Type, &list, &o.rate, &native,
	                      &target, PyUnicode_FSConverter, &place))
		return NULL;
	o.native = native;
	if (place && PyBytes_GET_SIZE(place))
		o.place = PyBytes_AS_STRING(place);
	o.dir = PyBytes_AS_STRING(path);
	o.settings = texts_of(list);
	pid_t pid = o.settings ? how(&o, target, &end) : -1;
	free((void *)o.settings);
	Py_DECREF(path);
	Py_XDECREF(place);
	if (PyErr_Occurred())
		return NULL;
	if (pid < 0) {
		errno = -pid;
		return PyErr_SetFromErrno(PyExc_OSError);
	}
	return Py_BuildValue("ii", (int)pid, end);
}

static pid_t manage(const struct sp_sampler_options *o, pid_t target, int *end)
{
	struct sp_sampler_options own = *o;
	own.notebook = target;
	return sp_manager_start(&own, end);
}

PyObject *sp_run_manage(PyObject *self, PyObject *args)
{
	(void)self;
	return start(args, "O&O!Ip|iO&", manage);
}

PyObject *sp_run_sample(PyObject *self, PyObject *args)
{
	(void)self;
	return start(args, "O&O!Ipi", sp_manager_sample);
}
