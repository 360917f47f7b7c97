/* SPDX-License-Identifier: BSD-3-Clause */
/* Names code objects, decides whether they are recorded, and stores the result in their slots.
 *
 * No code of the program runs here: names are taken from exact strings, dictionaries are read with C functions that
 * ignore overridden methods, and attributes of instances are never read. */
#include "hook/naming/names.h"

#include "hook/calibrate.h"
#include "hook/lines/lines.h"
#include "hook/naming.h"
#include "hook/naming/label.h"
#include "hook/serial.h"
#include "hook/slot.h"
#include "hook/variables.h"
#include "hook/watch.h"
#include "record/definitions.h"
#include "record/filter.h"
#include "record/process.h"
#include "record/settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

SP_SHARED_WORD uint64_t sp_slot_ok = SP_SLOT_REGION;
Py_ssize_t sp_slot_index = -1;

static char *start_dir; /* owned; relative file names are relative to it, even after chdir; under the process lock */

#if PY_VERSION_HEX < 0x030C0000
#define PyUnstable_Eval_RequestCodeExtraIndex _PyEval_RequestCodeExtraIndex
#define PyUnstable_Code_SetExtra              _PyCode_SetExtra
#endif

static void slot_free(void *p)
{
	uint64_t slot = (uint64_t)p;
	if ((slot & 3) == SP_SLOT_HINT)
		free((void *)(slot & ~UINT64_C(3)));
}

/* The interpreters in which a slot was requested; ids are never reused. */
static int64_t *interpreters; /* owned */
static size_t n_interpreters;

static bool interpreter_is_known(int64_t id, bool add)
{
	bool known = false;
	pthread_mutex_lock(&sp_process.lock);
	for (size_t i = 0; i < n_interpreters && !known; i++)
		known = interpreters[i] == id;
	if (add && !known) {
		int64_t *more = realloc(interpreters, (n_interpreters + 1) * sizeof *more);
		if (more) {
			interpreters = more;
			interpreters[n_interpreters++] = id;
		}
	}
	pthread_mutex_unlock(&sp_process.lock);
	return known;
}

static void forked(void)
{
	sp_names_c_forked();
	sp_serial_forked();
}

int sp_names_init(void)
{
	int64_t id = PyInterpreterState_GetID(PyInterpreterState_Get());
	if (interpreter_is_known(id, false))
		return 0;
	Py_ssize_t i = PyUnstable_Eval_RequestCodeExtraIndex(slot_free);
	if (i < 0) {
		PyErr_SetString(PyExc_RuntimeError, "no room for extra data on code objects");
		return -1;
	}
	if (sp_slot_index >= 0 && i != sp_slot_index) {
		/* the hot path uses one index for all interpreters */
		PyErr_SetString(PyExc_RuntimeError,
		                "this sub-interpreter uses the extra data of code objects in another order");
		return -1;
	}
	if (sp_slot_index < 0)
		pthread_atfork(NULL, NULL, forked);
	sp_slot_index = i;
	interpreter_is_known(id, true);
	return 0;
}

void sp_names_new_generation(void)
{
	static uint64_t generation; /* under sp_serial_control */
	generation = (generation + 1) & 0xffffff;
	sp_slot_ok = generation << SP_SLOT_GENERATION | SP_SLOT_REGION;
}

void sp_names_set_directories(const char *cwd)
{
	char *dir = cwd ? strdup(cwd) : NULL;
	pthread_mutex_lock(&sp_process.lock);
	char *before = start_dir;
	start_dir = dir;
	pthread_mutex_unlock(&sp_process.lock);
	free(before);
}

/* ---- text of Python strings ---- */

struct sp_python_text sp_python_text(PyObject *o, const char *otherwise)
{
	struct sp_python_text t = {otherwise, strlen(otherwise), NULL};
	Py_ssize_t n;
	if (!o || !PyUnicode_Check(o))
		return t;
	const char *p = PyUnicode_AsUTF8AndSize(o, &n);
	if (!p) {
		PyErr_Clear();
		t.owner = PyUnicode_AsEncodedString(o, "utf-8", "backslashreplace");
		if (!t.owner) {
			PyErr_Clear();
			return t;
		}
		p = PyBytes_AS_STRING(t.owner);
		n = PyBytes_GET_SIZE(t.owner);
	}
	t.p = p;
	t.n = (size_t)n;
	return t;
}

/* A copy of such a text with its length: a name may contain NUL. NULL without memory. */
struct name {
	char *p; /* owned */
	size_t n;
};

static char *copy_of(struct sp_python_text t)
{
	char *s = malloc(t.n + 1);
	if (s) {
		memcpy(s, t.p, t.n);
		s[t.n] = 0;
	}
	return s;
}

/* ---- qualified names ---- */

static struct name name_of(PyObject *o)
{
	struct sp_python_text t = sp_python_text(o, "?");
	struct name name = {copy_of(t), t.n};
	Py_XDECREF(t.owner);
	return name;
}

#if PY_VERSION_HEX >= 0x030B0000

static struct name qualname_of(PyCodeObject *code, uint64_t slot, sp_frame *f)
{
	(void)slot;
	(void)f;
	return name_of(code->co_qualname);
}

static void hint_children(PyCodeObject *code, const char *qualname)
{
	(void)code;
	(void)qualname;
}

#else

/* Before 3.11 a code object knows only its own name. The enclosing code ran earlier, because it made the function; at
 * that time its qualified name was stored in the slots of the code objects among its constants. */
static void hint_children(PyCodeObject *code, const char *qualname)
{
	bool module = !strcmp(qualname, "<module>"), function = code->co_flags & CO_OPTIMIZED;
	for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(code->co_consts); i++) {
		PyObject *k = PyTuple_GET_ITEM(code->co_consts, i);
		const uint64_t slot = PyCode_Check(k) ? sp_slot_of((PyCodeObject *)k) : 0;
		if (!PyCode_Check(k) || (slot & 3) == SP_SLOT_HINT || sp_slot_is_decided(slot))
			continue;
		struct sp_python_text name = sp_python_text(((PyCodeObject *)k)->co_name, "?");
		const char *before = module ? "" : qualname, *between = module ? "" : function ? ".<locals>." : ".";
		size_t a = strlen(before), b = strlen(between);
		char *s = malloc(a + b + name.n + 1);
		if (s) {
			memcpy(s, before, a);
			memcpy(s + a, between, b);
			memcpy(s + a + b, name.p, name.n);
			s[a + b + name.n] = 0;
			if (PyUnstable_Code_SetExtra(k, sp_slot_index, (void *)((uint64_t)s | SP_SLOT_HINT)))
				PyErr_Clear();
		}
		Py_XDECREF(name.owner);
	}
}

static PyObject *function_inside(PyObject *o)
{
	const char *attribute = Py_TYPE(o) == &PyProperty_Type                                            ? "fget"
	                        : Py_TYPE(o) == &PyStaticMethod_Type || Py_TYPE(o) == &PyClassMethod_Type ? "__func__"
	                                                                                                  : NULL;
	if (!attribute) {
		Py_INCREF(o);
		return o;
	}
	/* members of built-in types: no code of the program runs */
	PyObject *inner = PyObject_GetAttrString(o, attribute);
	PyErr_Clear();
	return inner;
}

static char *qualname_if(PyObject *value, PyCodeObject *code)
{
	char *s = NULL;
	PyObject *fn = function_inside(value);
	if (fn && PyFunction_Check(fn) && ((PyFunctionObject *)fn)->func_code == (PyObject *)code) {
		struct sp_python_text t = sp_python_text(((PyFunctionObject *)fn)->func_qualname, "?");
		s = copy_of(t);
		Py_XDECREF(t.owner);
	}
	Py_XDECREF(fn);
	return s;
}

/* Finds the function of code that was made before measuring began, among the module's functions and methods. */
static char *search_globals(PyObject *globals, PyCodeObject *code)
{
	PyObject *key, *value;
	Py_ssize_t at = 0;
	char *s = NULL;
	while (!s && PyDict_Next(globals, &at, &key, &value)) {
		s = qualname_if(value, code);
		if (s || !PyType_Check(value) || !((PyTypeObject *)value)->tp_dict)
			continue;
		PyObject *k, *v;
		Py_ssize_t i = 0;
		while (!s && PyDict_Next(((PyTypeObject *)value)->tp_dict, &i, &k, &v))
			s = qualname_if(v, code);
	}
	return s;
}

static struct name qualname_of(PyCodeObject *code, uint64_t slot, sp_frame *f)
{
	char *s = NULL;
	if ((slot & 3) == SP_SLOT_HINT)
		s = strdup((char *)(slot & ~UINT64_C(3)));
	struct sp_python_text t = sp_python_text(code->co_name, "?");
	if (!s && f && sp_frame_globals(f) && PyDict_Check(sp_frame_globals(f)) && t.p[0] != '<')
		s = search_globals(sp_frame_globals(f), code);
	Py_XDECREF(t.owner);
	return s ? (struct name){s, strlen(s)} : name_of(code->co_name);
}

#endif

/* ---- regions of code objects ---- */

static struct sp_python_text module_of(sp_frame *f)
{
	PyObject *globals = f ? sp_frame_globals(f) : NULL;
	return sp_python_text(globals && PyDict_Check(globals) ? PyDict_GetItemString(globals, "__name__") : NULL,
	                      "unknown");
}

/* Names such as "<string>" stay as they are. */
char *sp_names_file_of(const char *name)
{
	if (!*name || *name == '/' || *name == '<')
		return strdup(name);
	const size_t bytes = strlen(name) + 1;
	/* asprintf() would allocate inside of the C library, and recording that takes the lock again */
	pthread_mutex_lock(&sp_process.lock);
	const size_t n = start_dir ? strlen(start_dir) : 0;
	char *s = malloc(n + 1 + bytes), *to = s;
	if (s && start_dir) {
		to = mempcpy(s, start_dir, n);
		*to++ = '/';
	}
	pthread_mutex_unlock(&sp_process.lock);
	if (s)
		memcpy(to, name, bytes);
	return s;
}

char *sp_names_file(PyCodeObject *code)
{
	struct sp_python_text t = sp_python_text(code->co_filename, "");
	char *s = sp_cells_of(code);
	if (s) {
		Py_XDECREF(t.owner);
		return s;
	}
	s = sp_names_file_of(t.p);
	Py_XDECREF(t.owner);
	return s;
}

/* Score-P's bindings always import importlib, which renames its two frozen modules like this. Owned. */
static char *module_as_scorep(struct sp_python_text module)
{
	if (!strcmp(module.p, "_frozen_importlib"))
		return strdup("importlib._bootstrap");
	if (!strcmp(module.p, "_frozen_importlib_external"))
		return strdup("importlib._bootstrap_external");
	return copy_of(module);
}

/* All cells of a notebook are in the module __main__; the cell is more specific. Owned. */
static char *module_in(struct sp_python_text module, const char *file)
{
	const bool is = file && !sp_process.settings.scorep && sp_names_is_cell(file) && !strcmp(module.p, "__main__");
	if (is)
		return strdup(file);
	return sp_process.settings.scorep ? module_as_scorep(module) : strdup(sp_module_name(module.p));
}

static unsigned code_flags(const PyCodeObject *code)
{
	if (code->co_flags & (CO_COROUTINE | CO_ITERABLE_COROUTINE))
		return SP_RAW_REGION_PYTHON | SP_RAW_REGION_COROUTINE;
	if (code->co_flags & (CO_GENERATOR | CO_ASYNC_GENERATOR))
		return SP_RAW_REGION_PYTHON | SP_RAW_REGION_GENERATOR;
	return SP_RAW_REGION_PYTHON;
}

/* Functions that the library runs in a thread before the program's code; Score-P's bindings do not see them. */
static bool is_thread_start(const char *module, const char *name)
{
	return !strcmp(module, "threading") && (!strcmp(name, "_bootstrap") || !strcmp(name, "_bootstrap_inner"));
}

/* Returns module[.class of self], as Score-P's bindings name regions: the class is that of the first caller's self.
 * Owned. */
static char *module_with_class(const char *module, const char *file, sp_frame *f)
{
	char *full = NULL;
	PyObject *self = f ? sp_frame_self(f) : NULL;
	if (!strcmp(file, "<__array_function__ internals>"))
		return strdup("numpy.__array_function__");
	if (!self)
		return strdup(module);
	PyTypeObject *type = Py_TYPE(self);
	const char *dot = strrchr(type->tp_name, '.');
	struct sp_python_text name = {dot ? dot + 1 : type->tp_name, 0, NULL};
	if (type->tp_flags & Py_TPFLAGS_HEAPTYPE)
		name = sp_python_text(((PyHeapTypeObject *)type)->ht_name, "?");
	if (asprintf(&full, "%s.%s", module, name.p) < 0)
		full = NULL;
	Py_XDECREF(name.owner);
	return full;
}

/* Returns 0 if there is no space. */
static uint32_t define_code(const char *module, const struct name *name, const char *file, PyCodeObject *code)
{
	uint32_t line = code->co_firstlineno > 0 ? (uint32_t)code->co_firstlineno : 0;
	if (sp_names_is_cell(file) && !strcmp(name->p, "<module>"))
		line = 1; /* each statement of a cell is a separate code object */
	struct sp_text m = {module, strlen(module)}, p = {file, strlen(file)}, q = {name->p, name->n};
	const struct sp_raw_code facts = sp_code_facts(code);
	char *label = NULL;
	if (sp_label_any() && (label = sp_label_of_code(code, q, file, &q.n)))
		q.p = label;
	uint32_t id = sp_define_region(m, q, p, line, code_flags(code));
	free(label);
	sp_code_define(id, &facts);
	q = (struct sp_text){name->p, name->n};
	if (id && sp_label_by_call(code, module, name->p, file) &&
	    !sp_label_add(id, code, m, q, p, line, code_flags(code)))
		sp_process_count(&sp_process.header->lost_regions, 1);
	return id;
}

/* Returns the id, SP_REGION_LEFT_OUT or SP_REGION_HIDES; 0 if there is no space. */
static uint32_t region_of_code(const char *module, const struct name *name, const char *file, PyCodeObject *code)
{
	if (!strcmp(module, SP_CALIBRATION) || sp_filter_wants(sp_process.filter, module, name->p, file))
		return define_code(module, name, file, code);
	return sp_filter_hides(sp_process.filter, module, name->p, file) ? SP_REGION_HIDES : SP_REGION_LEFT_OUT;
}

static uint32_t region_as_scorep(const char *module, const char *file, PyCodeObject *code, sp_frame *f)
{
	struct name name = name_of(code->co_name);
	char *m = module_with_class(module, file, f);
	uint32_t id = 0;
	if (m && name.p)
		id = is_thread_start(module, name.p) ? SP_REGION_LEFT_OUT : region_of_code(m, &name, file, code);
	free(m);
	free(name.p);
	return id;
}

/* Whether it matters which functions are the program's own: memory is shown at their lines. */
static bool whose_matters(void)
{
	const struct sp_settings *s = &sp_process.settings;
	return s->memory_profile || s->memory_sample || s->limit_rss;
}

static uint64_t slot_new(PyCodeObject *code, const char *module, struct name name, const char *file, sp_frame *f)
{
	unsigned flags = code_flags(code);
	uint64_t slot = sp_slot_ok;
	if (flags)
		slot |= SP_SLOT_GENERATOR;
	if (sp_watch_wanted(module, name.p))
		slot |= SP_SLOT_WATCH;
	if (!strcmp(module, "spartito.user") && flags)
		return slot | SP_SLOT_WATCH; /* hidden, see sp_slot_is_hidden() */
	if (sp_module_is_ours(module, file))
		return slot | SP_SLOT_FILTERED;
	uint64_t id = sp_process.settings.scorep ? region_as_scorep(module, file, code, f)
	                                         : region_of_code(module, &name, file, code);
	if (!id || id == SP_REGION_LEFT_OUT) {
		slot |= SP_SLOT_FILTERED;
		id = 0;
	} else if (id != SP_REGION_HIDES && sp_label_by_call(code, module, name.p, file)) {
		slot |= SP_SLOT_LABEL;
	}
	const bool body = !(code->co_flags & CO_OPTIMIZED) && strcmp(name.p, "<module>"); /* the body of a class */
	if (!body && id != SP_REGION_HIDES && sp_lines_wanted(code, module, name.p, file) &&
	    (id || (id = define_code(module, &name, file, code)))) {
		slot |= SP_SLOT_LINES;
		sp_source_keep(code, file);
	}
	if (id && sp_names_is_cell(file))
		sp_source_keep(code, file); /* its source is not available anywhere else */
	if (whose_matters()) {
		const bool own = sp_filter_owner(sp_process.filter, module, name.p, file) == SP_OWNER_OWN;
		slot |= own || sp_filter_includes(sp_process.filter, module, name.p, file) ? 0 : SP_SLOT_LIBRARY;
	}
	return slot | id << SP_SLOT_ID;
}

static uint64_t set_slot(PyCodeObject *code, uint64_t slot)
{
	if (!PyUnstable_Code_SetExtra((PyObject *)code, sp_slot_index, (void *)slot))
		return slot;
	PyErr_Clear(); /* when it replaced a hint in the slot, the interpreter freed the hint */
	return 0;
}

static uint64_t decide(PyCodeObject *code, char *module, struct name name, char *file, sp_frame *f);

/* Decides the functions in code that a magic runs in a cell: only now their cell is known. */
static void decide_children(PyCodeObject *code, const char *module, const char *file)
{
	for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(code->co_consts); i++) {
		PyObject *k = PyTuple_GET_ITEM(code->co_consts, i);
		if (!PyCode_Check(k))
			continue;
		struct name name = qualname_of((PyCodeObject *)k, sp_slot_of((PyCodeObject *)k), NULL);
		decide((PyCodeObject *)k, strdup(module), name, strdup(file), NULL);
	}
}

/* Says once in a measurement that the GIL is on: an import may switch it on, after which new functions run. */
static void look_at_gil(void)
{
#ifdef Py_GIL_DISABLED
	static uint64_t of; /* the measurement in which it was said */
	if (of == sp_slot_ok || !sp_gil_is_on())
		return;
	of = sp_slot_ok;
	sp_define_meta("gil", "on", 2);
#endif
}

/* Decides and stores a slot. Takes over the strings, which may be NULL. */
static uint64_t decide(PyCodeObject *code, char *module, struct name name, char *file, sp_frame *f)
{
	uint64_t slot = 0;
	look_at_gil();
	if (module && file && name.p) {
		slot = slot_new(code, module, name, file, f);
		hint_children(code, name.p);
		slot = set_slot(code, slot);
		if (sp_names_is_cell(file) && sp_cells_made_by_magic(code))
			decide_children(code, module, file);
	}
	free(module);
	free(file);
	free(name.p);
	return slot;
}

static uint64_t decide_here(PyCodeObject *code, sp_frame *f)
{
	uint64_t slot = sp_slot_of(code);
	if (sp_slot_is_decided(slot))
		return slot; /* another thread did it meanwhile */
	if (sp_cells_number(code) < 0)
		return set_slot(code, sp_slot_ok | SP_SLOT_FILTERED);
	struct sp_python_text module = module_of(f);
	char *file = sp_names_file(code), *m = module_in(module, file);
	struct name name = qualname_of(code, slot, f);
	Py_XDECREF(module.owner);
	return decide(code, m, name, file, f);
}

uint64_t sp_names_slot(PyCodeObject *code, sp_frame *f)
{
	const uint64_t slot = sp_slot_of(code);
	if (sp_slot_is_decided(slot))
		return slot;
	SP_SERIAL(sp_serial_names);
	return decide_here(code, f);
}

uint64_t sp_names_decide(PyCodeObject *code, PyObject *module, PyObject *qualname)
{
	struct sp_python_text text = sp_python_text(module, "unknown");
	char *file = sp_names_file(code), *m = module_in(text, file);
	struct name name = name_of(qualname);
	Py_XDECREF(text.owner);
	SP_SERIAL(sp_serial_names);
	return decide(code, m, name, file, NULL);
}

/* ---- source location of a user region ---- */

static bool is_own_frame(PyFrameObject *f)
{
#if PY_VERSION_HEX >= 0x030B0000
	PyObject *globals = PyFrame_GetGlobals(f);
#else
	PyObject *globals = f->f_globals;
	Py_XINCREF(globals);
#endif
	struct sp_python_text module = sp_python_text(globals ? PyDict_GetItemString(globals, "__name__") : NULL, "");
	bool own = sp_module_is_in(module.p, "spartito") || sp_module_is_in(module.p, "scorep") ||
	           sp_module_is_in(module.p, "omnitrace");
	Py_XDECREF(module.owner);
	Py_XDECREF(globals);
	return own;
}

char *sp_names_caller(uint32_t *line)
{
	PyFrameObject *f = PyThreadState_GetFrame(PyThreadState_Get()), *back;
	for (; f && is_own_frame(f); f = back) {
		back = PyFrame_GetBack(f);
		Py_DECREF(f);
	}
	if (!f)
		return NULL;
	PyCodeObject *code = PyFrame_GetCode(f);
	int number = PyFrame_GetLineNumber(f);
	char *file = sp_names_file(code);
	*line = number > 0 ? (uint32_t)number : 0;
	Py_DECREF(code);
	Py_DECREF(f);
	return file;
}
