/* SPDX-License-Identifier: BSD-3-Clause */
/* The extension module `spartito._analyse`: its functions, its state, and what the other files of this folder share. */
#include "analyse/analyse.h"

#include <stdlib.h>
#include <string.h>

#include "model/model.h"
#include "model/report/walk.h"
#include "model/str.h"
#include "write/common/writer.h"

PyObject *sp_raise(struct sp_state *st, const struct sp_err *e)
{
	PyObject *text;

	text = PyUnicode_DecodeUTF8(e->text, (Py_ssize_t)strlen(e->text), "backslashreplace");
	if (text) {
		PyErr_SetObject(st->error, text);
		Py_DECREF(text);
	}
	return NULL;
}

PyObject *sp_text(struct sp_str s)
{
	return PyUnicode_DecodeUTF8(s.p, (Py_ssize_t)s.n, "backslashreplace");
}

PyObject *sp_index_or_none(uint32_t i)
{
	if (i == SP_NONE)
		Py_RETURN_NONE;
	return PyLong_FromUnsignedLong(i);
}

int sp_put(PyObject *dict, const char *key, PyObject *value)
{
	int rc = value ? PyDict_SetItemString(dict, key, value) : -1;

	Py_XDECREF(value);
	return rc;
}

int sp_put_key(struct sp_state *st, PyObject *dict, enum sp_key key, PyObject *value)
{
	int rc = value ? PyDict_SetItem(dict, st->keys[key], value) : -1;

	Py_XDECREF(value);
	return rc;
}

PyObject *sp_path_names(const struct sp_model *m, uint32_t path)
{
	PyObject *list, *name;
	Py_ssize_t n = 0;
	uint32_t p;

	for (p = path; p != 0 && p != SP_NONE; p = m->paths[p].parent)
		n++;
	list = PyList_New(n);
	for (p = path; list && n > 0; p = m->paths[p].parent) {
		name = sp_text(m->regions[m->paths[p].region].name);
		if (!name)
			Py_CLEAR(list);
		else
			PyList_SET_ITEM(list, --n, name);
	}
	return list;
}

int sp_append(PyObject *list, PyObject *item)
{
	int rc = item ? PyList_Append(list, item) : -1;

	Py_XDECREF(item);
	return rc;
}

bool *sp_read_chosen(PyObject *units, size_t n)
{
	PyObject *items = units == Py_None ? NULL : PySequence_Fast(units, "units are not a sequence");
	bool *chosen = items ? calloc(n + 1, sizeof(*chosen)) : NULL;
	Py_ssize_t i;

	if (items && !chosen)
		PyErr_NoMemory();
	for (i = 0; chosen && i < PySequence_Fast_GET_SIZE(items); i++) {
		const size_t unit = PyLong_AsSize_t(PySequence_Fast_GET_ITEM(items, i));

		if (!PyErr_Occurred() && unit >= n)
			PyErr_Format(PyExc_ValueError, "there is no unit %zu; the last is %zd", unit,
			             (Py_ssize_t)n - 1);
		if (PyErr_Occurred()) {
			free(chosen);
			chosen = NULL;
			break;
		}
		chosen[unit] = true;
	}
	Py_XDECREF(items);
	return chosen;
}

int sp_put_stack(PyObject *stacks, const struct sp_model *m, uint32_t path)
{
	PyObject *key = PyLong_FromUnsignedLong(path), *names;
	int rc = key ? PyDict_Contains(stacks, key) : -1;

	if (rc == 0) {
		names = sp_path_names(m, path);
		rc = names ? PyDict_SetItem(stacks, key, names) : -1;
		Py_XDECREF(names);
	}
	Py_XDECREF(key);
	return rc < 0 ? -1 : 0;
}

static PyObject *writers(PyObject *module, PyObject *unused)
{
	PyObject *list = PyList_New(0), *row;
	const struct sp_writer *w;

	(void)module;
	(void)unused;
	for (w = sp_writers; list && w->name; w++) {
		row = Py_BuildValue("(ssssNNN)", w->name, w->what, w->suffix, w->opens, PyBool_FromLong(w->needs_trace),
		                    PyBool_FromLong(w->directory), PyBool_FromLong(w->merges));
		if (!row || PyList_Append(list, row)) {
			Py_XDECREF(row);
			Py_CLEAR(list);
			break;
		}
		Py_DECREF(row);
	}
	return list;
}

static int make_keys(struct sp_state *st)
{
	static const char *const names[KEYS] = {
	    "name",           "module",       "qualname",     "file",    "line",        "kind",
	    "category",       "visits",       "resumed",      "incl",    "excl",        "index",
	    "running",        "waiting",      "mean",         "min",     "max",         "std",
	    "depth",          "path",         "parent",       "hidden",  "hidden_time", "hidden_running",
	    "hidden_waiting", "running_incl", "waiting_incl", "metrics", "parameters"};
	int i;

	for (i = 0; i < KEYS; i++) {
		st->keys[i] = PyUnicode_InternFromString(names[i]);
		if (!st->keys[i])
			return -1;
	}
	return 0;
}

#ifdef SP_HAVE_ZSTD
static int add_type(PyObject *module, PyType_Spec *spec)
{
	PyObject *type = PyType_FromModuleAndSpec(module, spec, NULL);
	int rc = type ? PyModule_AddType(module, (PyTypeObject *)type) : -1;

	Py_XDECREF(type);
	return rc;
}
#endif

static int module_exec(PyObject *module)
{
	struct sp_state *st = PyModule_GetState(module);

	st->error = PyErr_NewExceptionWithDoc(
	    "spartito._analyse.Error",
	    "Damaged, missing or newer input, or an output that could not be written: one line.", NULL, NULL);
	if (!st->error || make_keys(st))
		return -1;
	st->model_type = PyType_FromModuleAndSpec(module, &sp_model_spec, NULL);
	if (!st->model_type || PyModule_AddType(module, (PyTypeObject *)st->model_type))
		return -1;
#ifdef SP_HAVE_ZSTD
	if (add_type(module, &sp_compressor_spec) || add_type(module, &sp_decompressor_spec))
		return -1;
#endif
	Py_INCREF(st->error);
	if (PyModule_AddObject(module, "Error", st->error)) {
		Py_DECREF(st->error);
		return -1;
	}
	return 0;
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
	struct sp_state *st = PyModule_GetState(module);

	Py_VISIT(st->error);
	Py_VISIT(st->model_type);
	return 0;
}

static int module_clear(PyObject *module)
{
	struct sp_state *st = PyModule_GetState(module);
	int i;

	Py_CLEAR(st->error);
	Py_CLEAR(st->model_type);
	for (i = 0; i < KEYS; i++)
		Py_CLEAR(st->keys[i]);
	return 0;
}

static void module_free(void *module)
{
	module_clear(module);
}

static PyObject *name_matches(PyObject *self, PyObject *args)
{
	const char *match, *name, *module, *file;

	(void)self;
	if (!PyArg_ParseTuple(args, "ssss", &match, &name, &module, &file))
		return NULL;
	return PyBool_FromLong(sp_name_matches(name, module, file, match));
}

static PyMethodDef methods[] = {
    {"name_matches", name_matches, METH_VARARGS, "name_matches(match, name, module, file) -> bool"},
    {"compare", (PyCFunction)(void (*)(void))sp_analyse_compare, METH_VARARGS | METH_KEYWORDS,
     "What differs between experiments."},
    {"welch", sp_analyse_welch, METH_O, "p-values of pairs of samples."},
    {"compress", (PyCFunction)(void (*)(void))sp_analyse_compress, METH_VARARGS | METH_KEYWORDS,
     "Make the raw files of an experiment smaller; bytes before and after."},
    {"merge", (PyCFunction)(void (*)(void))sp_analyse_merge, METH_VARARGS | METH_KEYWORDS,
     "Put what all raw files of an experiment hold into one; what was done."},
    {"keep_symbols", sp_analyse_keep_symbols, METH_O, "Put names of compiled functions into an experiment; how many."},
    {"still_written", sp_analyse_still_written, METH_O, "Raw files of an experiment that their processes still write."},
    {"seal", sp_analyse_seal, METH_O,
     "Give a raw file the checksums that its process left out; whether it has them now."},
    {"take_cost", sp_analyse_take_cost, METH_VARARGS,
     "Take the cost of measuring over from another raw file; whether they were alike."},
    {"writers", writers, METH_NOARGS, "(name, what, suffix, opens, needs_trace, directory, merges) of each format."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)module_exec},
#ifdef Py_mod_multiple_interpreters
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
#ifdef Py_GIL_DISABLED
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "spartito._analyse",
    .m_doc = "The analysing half: reads experiments, needs nothing of the measuring half.",
    .m_size = sizeof(struct sp_state),
    .m_methods = methods,
    .m_slots = slots,
    .m_traverse = module_traverse,
    .m_clear = module_clear,
    .m_free = module_free,
};

PyMODINIT_FUNC PyInit__analyse(void);

PyMODINIT_FUNC PyInit__analyse(void)
{
	return PyModuleDef_Init(&definition);
}
