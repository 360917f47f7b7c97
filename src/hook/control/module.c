/* SPDX-License-Identifier: BSD-3-Clause */
/* The extension module spartito._measure. */
#include "hook/attach.h"
#include "hook/control.h"
#include "hook/hook.h"
#include "hook/launch.h"
#include "hook/lines/lines.h"
#include "hook/naming.h"
#include "hook/public_docs.h"
#include "hook/region.h"
#include "hook/serial.h"
#include "hook/stacks.h"
#include "hook/text.h"
#include "record/adapter.h"
#include "record/metrics.h"
#include "record/process.h"
#include "record/settings.h"
#include "record/stack.h"
#include "record/thread.h"
#include "record/user.h"

#include <stdlib.h>
#include <string.h>

/* ---- start, pause, stop ---- */

static PyObject *boot(PyObject *self, PyObject *none)
{
	(void)self, (void)none;
	SP_SERIAL(sp_serial_control);
	return PyBool_FromLong(sp_control_boot());
}

static int settings_from_mapping(struct sp_settings *s, PyObject *mapping)
{
	PyObject *items = PyMapping_Items(mapping);
	if (!items)
		return -1;
	int r = 0;
	for (Py_ssize_t i = 0; !r && i < PyList_GET_SIZE(items); i++) {
		const char *name, *value;
		char why[300];
		if (!PyArg_ParseTuple(PyList_GET_ITEM(items, i), "ss", &name, &value)) {
			r = -1;
		} else if (sp_settings_set(s, name, value, why, sizeof why)) {
			PyErr_Format(PyExc_ValueError, "%s: %s", name, why);
			r = -1;
		}
	}
	Py_DECREF(items);
	return r;
}

static PyObject *start(PyObject *self, PyObject *args)
{
	(void)self;
	SP_SERIAL(sp_serial_control);
	PyObject *mapping, *path = NULL;
	struct sp_settings s;
	if (!PyArg_ParseTuple(args, "O&O", PyUnicode_FSConverter, &path, &mapping))
		return NULL;
	sp_settings_init(&s);
	int r = settings_from_mapping(&s, mapping);
	if (!r)
		r = sp_control_start(PyBytes_AS_STRING(path), &s, SP_RAW_STARTED_API);
	if (r)
		sp_settings_free(&s);
	Py_DECREF(path);
	if (r)
		return NULL;
	Py_RETURN_NONE;
}

#define CONTROL(name)                                                                                                  \
	static PyObject *do_##name(PyObject *self, PyObject *none)                                                     \
	{                                                                                                              \
		(void)self, (void)none;                                                                                \
		SP_SERIAL(sp_serial_control);                                                                          \
		if (sp_control_##name())                                                                               \
			return NULL;                                                                                   \
		Py_RETURN_NONE;                                                                                        \
	}
CONTROL(stop)
CONTROL(pause)
CONTROL(resume)

static bool running(void)
{
	return sp_process.forked || (sp_process.header && sp_process.header->ended == SP_RAW_RUNNING);
}

static PyObject *active(PyObject *self, PyObject *none)
{
	(void)self, (void)none;
	return PyBool_FromLong(running());
}

static PyObject *experiment(PyObject *self, PyObject *none)
{
	(void)self, (void)none;
	SP_SERIAL(sp_serial_control);
	if (!running())
		Py_RETURN_NONE;
	return PyUnicode_DecodeFSDefault(sp_process.dir);
}

static PyObject *instrument(PyObject *self, PyObject *on)
{
	(void)self;
	SP_SERIAL(sp_serial_control);
	int want = PyObject_IsTrue(on), changed = want < 0 ? -1 : sp_control_instrument(want);
	return changed < 0 ? NULL : PyBool_FromLong(changed);
}

static PyObject *instrumented(PyObject *self, PyObject *none)
{
	(void)self, (void)none;
	return PyBool_FromLong(running() && sp_process.instrumented);
}

static PyObject *uninstrumented(PyObject *self, PyObject *none)
{
	(void)self, (void)none;
	return PyBool_FromLong(!sp_process.instrumented && running());
}

static PyObject *thread_functions(PyObject *self, PyObject *on)
{
	(void)self;
	int want = PyObject_IsTrue(on);
	struct sp_thread *t = want < 0 ? NULL : sp_hook_thread(NULL);
	if (want < 0)
		return NULL;
	if (!t || t->silent != want)
		Py_RETURN_FALSE;
	sp_thread_functions(t, want);
	Py_RETURN_TRUE;
}

static PyObject *filter(PyObject *self, PyObject *args)
{
	(void)self;
	SP_SERIAL(sp_serial_control);
	const char *items;
	if (!PyArg_ParseTuple(args, "s", &items) || sp_control_filter(items))
		return NULL;
	Py_RETURN_NONE;
}

static PyObject *label(PyObject *self, PyObject *args)
{
	(void)self;
	SP_SERIAL(sp_serial_control);
	const char *words;
	if (!PyArg_ParseTuple(args, "s", &words) || sp_control_label(words))
		return NULL;
	Py_RETURN_NONE;
}

static PyObject *annotate(PyObject *self, PyObject *on)
{
	(void)self;
	SP_SERIAL(sp_serial_control);
	const int want = PyObject_IsTrue(on);
	if (want < 0)
		return NULL;
	sp_control_annotate(want);
	Py_RETURN_NONE;
}

static PyObject *cells(PyObject *self, PyObject *numbers)
{
	(void)self;
	SP_SERIAL(sp_serial_names);
	if (numbers != Py_None && !PyDict_CheckExact(numbers)) {
		PyErr_SetString(PyExc_TypeError, "cells() takes a dict, or None");
		return NULL;
	}
	sp_names_set_cells(numbers == Py_None ? NULL : numbers);
	Py_RETURN_NONE;
}

static PyObject *before_mpi(PyObject *self, PyObject *none)
{
	(void)self, (void)none;
	sp_attach_mpi();
	Py_RETURN_NONE;
}

/* Returns the names in a sequence of str, each followed by NUL, with one more NUL at the end; owned. NULL with an
 * exception. */
static char *names_of(PyObject *sequence)
{
	PyObject *none = PyUnicode_FromStringAndSize("", 1), *all = NULL, *bytes = NULL; /* owned */
	char *names = NULL;
	if (none && (all = PyUnicode_Join(none, sequence)))
		bytes = PyUnicode_AsUTF8String(all);
	const size_t n = bytes ? (size_t)PyBytes_GET_SIZE(bytes) : 0;
	if (bytes && !(names = calloc(1, n + 2)))
		PyErr_NoMemory();
	if (names)
		memcpy(names, PyBytes_AS_STRING(bytes), n);
	Py_XDECREF(bytes);
	Py_XDECREF(all);
	Py_XDECREF(none);
	return names;
}

static PyObject *leave_out(PyObject *self, PyObject *args)
{
	(void)self;
	SP_SERIAL(sp_serial_control);
	PyObject *threads, *packages;
	if (!PyArg_ParseTuple(args, "OO", &threads, &packages))
		return NULL;
	char *names = names_of(packages);
	PyObject *all = names ? PySequence_Tuple(threads) : NULL;
	const size_t n = all ? (size_t)PyTuple_GET_SIZE(all) : 0;
	uint64_t *ids = all ? malloc((n + 1) * sizeof *ids) : NULL;
	for (size_t i = 0; ids && i < n; i++)
		ids[i] = PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(all, i));
	if (all && !ids)
		PyErr_NoMemory();
	Py_XDECREF(all);
	if (PyErr_Occurred()) {
		free(ids);
		free(names);
		return NULL;
	}
	sp_thread_leave_out(ids, n);
	sp_hook_leave_out(names);
	Py_RETURN_NONE;
}

static PyObject *hooks(PyObject *self, PyObject *none)
{
	(void)self, (void)none;
	PyObject *list = PyList_New(0);
	for (int i = 0; list && sp_hooks[i]; i++) {
		const char *why = sp_hooks[i]->missing();
		PyObject *row =
		    Py_BuildValue("(sOs)", sp_hooks[i]->name, why ? Py_False : Py_True, why ? why : sp_hooks[i]->what);
		if (!row || PyList_Append(list, row))
			Py_CLEAR(list);
		Py_XDECREF(row);
	}
	return list;
}

static PyObject *settings(PyObject *self, PyObject *none)
{
	(void)self, (void)none;
	SP_SERIAL(sp_serial_control);
	PyObject *list = PyList_New(0);
	for (const struct sp_setting *row = sp_setting_table; list && running() && row->name; row++) {
		char *text = sp_settings_text(&sp_process.settings, row);
		PyObject *item = text ? Py_BuildValue("(ss)", row->name, text) : PyErr_NoMemory();
		if (!item || PyList_Append(list, item))
			Py_CLEAR(list);
		Py_XDECREF(item);
		free(text);
	}
	return list;
}

static void add_metric(void *to, const char *name, const char *what, const char *why)
{
	PyObject **list = to;
	PyObject *row = *list ? Py_BuildValue("(ssz)", name, what, why) : NULL;
	if (*list && (!row || PyList_Append(*list, row)))
		Py_CLEAR(*list);
	Py_XDECREF(row);
}

static PyObject *metrics(PyObject *self, PyObject *args)
{
	(void)self;
	const char *wanted = NULL;
	char why[300];
	if (!PyArg_ParseTuple(args, "|z", &wanted))
		return NULL;
	if (wanted && sp_metrics_check(wanted, why, sizeof why)) {
		PyErr_SetString(PyExc_ValueError, why);
		return NULL;
	}
	PyObject *list = PyList_New(0);
	if (list)
		sp_metrics_list(wanted, add_metric, &list);
	return list;
}

static PyObject *mpi_groups(PyObject *self, PyObject *none)
{
	(void)self, (void)none;
	PyObject *list = PyList_New(0);
	const char *name;
	for (size_t i = 0; list && (name = sp_mpi_group_name(i)); i++) {
		PyObject *text = PyUnicode_FromString(name);
		if (!text || PyList_Append(list, text))
			Py_CLEAR(list);
		Py_XDECREF(text);
	}
	return list;
}

/* ---- user regions and values ---- */

const char *sp_text_argument(PyObject *o, Py_ssize_t *n, const char *what)
{
	if (!PyUnicode_Check(o)) {
		PyErr_Format(PyExc_TypeError, "%s must be a str, not %s", what, Py_TYPE(o)->tp_name);
		return NULL;
	}
	return PyUnicode_AsUTF8AndSize(o, n);
}

static PyObject *region_begin(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
	(void)self;
	PyObject *name, *place;
	if (sp_region_arguments(args, nargs, names, &name, &place))
		return NULL;
	int r = sp_region_begin(name, place);
	Py_XDECREF(place);
	if (r)
		return NULL;
	Py_RETURN_NONE;
}

static PyObject *region_end(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
	(void)self;
	PyObject *name, *place;
	if (sp_region_arguments(args, nargs, names, &name, &place))
		return NULL;
	int r = sp_region_end(name, place);
	Py_XDECREF(place);
	return r < 0 ? NULL : PyBool_FromLong(r);
}

static PyObject *rewind_begin(PyObject *self, PyObject *args)
{
	(void)self;
	PyObject *name, *file = Py_None, *place = NULL;
	unsigned long line = 0;
	if (!PyArg_ParseTuple(args, "O|Ok:rewind_begin", &name, &file, &line))
		return NULL;
	if (file != Py_None && !PyUnicode_Check(file)) {
		PyErr_SetString(PyExc_TypeError, "the file of a region must be a str");
		return NULL;
	}
	place = Py_BuildValue("OOkO", Py_None, file, line, Py_False);
	int r = place ? sp_region_rewind(name, place, false, false) : -1;
	Py_XDECREF(place);
	if (r < 0)
		return NULL;
	Py_RETURN_NONE;
}

static PyObject *rewind_end(PyObject *self, PyObject *args)
{
	(void)self;
	PyObject *name;
	int take_out;
	if (!PyArg_ParseTuple(args, "Op:rewind_end", &name, &take_out))
		return NULL;
	int r = sp_region_rewind(name, NULL, true, take_out);
	return r < 0 ? NULL : PyBool_FromLong(r);
}

static int parameter_int(const char *p, Py_ssize_t n, PyObject *value)
{
	int overflow;
	long long v = PyLong_AsLongLongAndOverflow(value, &overflow);
	if (overflow > 0) {
		uint64_t u = PyLong_AsUnsignedLongLong(value);
		if (PyErr_Occurred())
			return -1;
		sp_user_value(SP_RAW_DEF_PARAMETER, SP_RAW_X_PARAMETER_UINT, p, (size_t)n, u);
	} else if (overflow < 0) {
		PyErr_SetString(PyExc_OverflowError, "the value of a parameter does not fit into 64 bits");
		return -1;
	} else {
		sp_user_value(SP_RAW_DEF_PARAMETER, SP_RAW_X_PARAMETER_INT, p, (size_t)n, (uint64_t)v);
	}
	return 0;
}

static PyObject *parameter(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
	(void)self;
	Py_ssize_t n, m;
	if (nargs != 2) {
		PyErr_Format(PyExc_TypeError, "parameter() takes a name and a value (%zd given)", nargs);
		return NULL;
	}
	const char *p = sp_text_argument(args[0], &n, "the name of a parameter"), *text;
	if (!p)
		return NULL;
	if (PyLong_Check(args[1])) {
		if (parameter_int(p, n, args[1]))
			return NULL;
	} else if (PyUnicode_Check(args[1])) {
		if (!(text = PyUnicode_AsUTF8AndSize(args[1], &m)))
			return NULL;
		sp_user_string(p, (size_t)n, text, (size_t)m);
	} else if (PyFloat_Check(args[1])) {
		char number[32];
		PyOS_snprintf(number, sizeof number, "%.17g", PyFloat_AS_DOUBLE(args[1]));
		sp_user_string(p, (size_t)n, number, strlen(number));
	} else {
		PyErr_Format(PyExc_TypeError, "the value of a parameter must be an int, a str or a float, not %s",
		             Py_TYPE(args[1])->tp_name);
		return NULL;
	}
	Py_RETURN_NONE;
}

/* Records an int as an unsigned value. */
static PyObject *parameter_uint(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
	(void)self;
	Py_ssize_t n;
	if (nargs != 2) {
		PyErr_Format(PyExc_TypeError, "parameter_uint() takes a name and a value (%zd given)", nargs);
		return NULL;
	}
	const char *p = sp_text_argument(args[0], &n, "the name of a parameter");
	if (!p)
		return NULL;
	if (!PyLong_Check(args[1])) {
		PyErr_Format(PyExc_TypeError, "the value of this parameter must be an int, not %s",
		             Py_TYPE(args[1])->tp_name);
		return NULL;
	}
	uint64_t value = PyLong_AsUnsignedLongLong(args[1]);
	if (PyErr_Occurred())
		return NULL;
	sp_user_value(SP_RAW_DEF_PARAMETER, SP_RAW_X_PARAMETER_UINT, p, (size_t)n, value);
	Py_RETURN_NONE;
}

static PyObject *counter(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
	(void)self;
	Py_ssize_t n;
	if (nargs != 2) {
		PyErr_Format(PyExc_TypeError, "counter() takes a name and a value (%zd given)", nargs);
		return NULL;
	}
	const char *p = sp_text_argument(args[0], &n, "the name of a counter");
	double d = p ? PyFloat_AsDouble(args[1]) : -1;
	if (!p || (d == -1 && PyErr_Occurred()))
		return NULL;
	uint64_t bits;
	memcpy(&bits, &d, sizeof bits);
	sp_user_value(SP_RAW_DEF_COUNTER, SP_RAW_X_COUNTER, p, (size_t)n, bits);
	Py_RETURN_NONE;
}

static PyObject *marker(PyObject *self, PyObject *text)
{
	(void)self;
	Py_ssize_t n;
	const char *p = sp_text_argument(text, &n, "a marker");
	if (!p)
		return NULL;
	sp_user_marker(p, (size_t)n);
	Py_RETURN_NONE;
}

/* The decorator spartito.lines. */
static PyObject *lines(PyObject *self, PyObject *function)
{
	(void)self;
	if (PyFunction_Check(function))
		return sp_lines_mark(function) ? NULL : (Py_INCREF(function), function);
	PyObject *module = PyImport_ImportModule("spartito.user"), *r = NULL;
	if (module)
		r = PyObject_CallMethod(module, "mark_lines", "O", function);
	Py_XDECREF(module);
	return r;
}

/* ---- the module ---- */

#define FAST(f)  (PyCFunction)(void (*)(void)) f, METH_FASTCALL
#define NAMED(f) (PyCFunction)(void (*)(void)) f, METH_FASTCALL | METH_KEYWORDS

static PyMethodDef methods[] = {
    {"boot", boot, METH_NOARGS, "Start measuring as the environment says; for spartito.pth."},
    {"start", start, METH_VARARGS, "start(directory, settings)"},
    {"stop", do_stop, METH_NOARGS, SP_DOC_STOP},
    {"active", active, METH_NOARGS, SP_DOC_ACTIVE},
    {"experiment", experiment, METH_NOARGS, SP_DOC_EXPERIMENT},
    {"pause", do_pause, METH_NOARGS, SP_DOC_PAUSE},
    {"resume", do_resume, METH_NOARGS, SP_DOC_RESUME},
    {"region_begin", NAMED(region_begin), "region_begin(name, group=None, file=None, line=0, function=False)"},
    {"region_end", NAMED(region_end), "region_end(name, …) -> whether it was open; True where it is not recorded"},
    {"instrument", instrument, METH_O, "instrument(on) -> whether that changed it: are functions recorded?"},
    {"instrumented", instrumented, METH_NOARGS, "Are functions recorded?"},
    {"uninstrumented", uninstrumented, METH_NOARGS, "Is there a measurement in which functions are not recorded?"},
    {"thread_functions", thread_functions, METH_O,
     "thread_functions(on) -> whether that changed it: are functions recorded in this thread?"},
    {"label", label, METH_VARARGS, "label(words): other labels of functions from here on."},
    {"annotate", annotate, METH_O, "annotate(on): whether facts of functions' code are recorded from here on."},
    {"filter", filter, METH_VARARGS, "filter(items): another filter from here on."},
    {"cells", cells, METH_O, "cells(numbers): the dict from a cell's file to its number, or None"},
    {"before_mpi", before_mpi, METH_NOARGS, "Puts the wrappers of MPI in front of an MPI that is loaded later."},
    {"leave_out", leave_out, METH_VARARGS,
     "leave_out(threads, packages): of these, and of threads of classes of these packages, nothing is recorded"},
    {"rewind_begin", rewind_begin, METH_VARARGS, "rewind_begin(name, file=None, line=0)"},
    {"rewind_end", rewind_end, METH_VARARGS, "rewind_end(name, undo) -> whether it had begun"},
    {"parameter", FAST(parameter), SP_DOC_PARAMETER},
    {"parameter_uint", FAST(parameter_uint), "parameter_uint(name, value)"},
    {"counter", FAST(counter), SP_DOC_COUNTER},
    {"marker", marker, METH_O, SP_DOC_MARKER},
    {"lines", lines, METH_O, SP_DOC_LINES},
    {"hooks", hooks, METH_NOARGS, "(name, works, why not or what for) of each hook"},
    {"metrics", metrics, METH_VARARGS, "(name, what it is, why it cannot be counted here or None) of metrics"},
    {"mpi_groups", mpi_groups, METH_NOARGS, "The words that the setting mpi knows"},
    {"witness_begin", sp_witness_begin, METH_NOARGS,
     "Starts a process that gets what is sent to this process's group."},
    {"witness_has", sp_witness_has, METH_O,
     "witness_has(signal) -> whether it has got that one since it was asked last"},
    {"witness_end", sp_witness_end, METH_NOARGS, "Ends that process."},
    {"host", sp_host, METH_NOARGS, "host() -> what tells this host from others"},
    {"spawn", sp_spawn, METH_VARARGS, "spawn(command, environment, mask, by_default, ignored) -> process id"},
    {"takes", sp_control_takes, METH_VARARGS, "takes(pattern, [(module, function, file), ...]) -> bool"},
    {"saw_end", sp_saw_end, METH_VARARGS, "saw_end(directory, process id)"},
    {"settings", settings, METH_NOARGS, "(name, value) of each setting in force"},
    {NULL, NULL, 0, NULL},
};

static int module_exec(PyObject *m)
{
	sp_publish_api();
	PyObject *type = sp_region_type();
	if (!type)
		return -1;
	int r = PyModule_AddObject(m, "region", type);
	if (r)
		Py_DECREF(type);
	return r;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, module_exec},
#if PY_VERSION_HEX >= 0x030C0000
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
#ifdef Py_GIL_DISABLED
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "_measure", .m_doc = "The measuring half of Spartito.",
    .m_methods = methods,  .m_slots = slots,
};

PyMODINIT_FUNC PyInit__measure(void);
PyMODINIT_FUNC PyInit__measure(void)
{
	return PyModuleDef_Init(&definition);
}
