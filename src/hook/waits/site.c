/* SPDX-License-Identifier: BSD-3-Clause */
/* The call site of a wait from the program's point of view: functions of threading, queue and similar modules are
 * skipped, and the object whose method the program called is the one that is waited for. */
#include "hook/naming.h"
#include "hook/naming/names.h"
#include "hook/slot.h"
#include "hook/stacks.h"
#include "hook/task.h"
#include "hook/variables.h"
#include "hook/waits/waits.h"
#include "record/definitions.h"
#include "record/stack.h"
#include "record/thread.h"

#include <stdlib.h>
#include <stdatomic.h>
#include <string.h>

enum { DEEPEST = 24, CACHED = 256 };

static const char *const library[] = {
    "threading",
    "queue",
    "concurrent.futures._base",
    "concurrent.futures.thread",
    "concurrent.futures.process",
    "multiprocessing.synchronize",
    "multiprocessing.queues",
    "multiprocessing.pool",
    "multiprocessing.connection",
    "multiprocessing.process",
    "multiprocessing.popen_fork",
    "multiprocessing.popen_spawn_posix",
    "multiprocessing.popen_forkserver",
    "multiprocessing.managers",
    "subprocess",
    "selectors",
    "socket",
    "_weakrefset",
};

/* Further packages that make objects for the program that calls them, with all their modules. */
static const char *const makers[] = {"asyncio", "concurrent", "multiprocessing"};

static const struct {
	const char *module, *name;
	unsigned kind;
} types[] = {
    {"threading", "Condition", SP_RAW_WAIT_CONDITION},
    {"threading", "Semaphore", SP_RAW_WAIT_SEMAPHORE},
    {"threading", "Event", SP_RAW_WAIT_EVENT},
    {"threading", "Barrier", SP_RAW_WAIT_BARRIER},
    {"threading", "Thread", SP_RAW_WAIT_THREAD},
    {"threading", "_RLock", SP_RAW_WAIT_RLOCK},
    {"queue", "Queue", SP_RAW_WAIT_QUEUE},
    {"queue", "_PySimpleQueue", SP_RAW_WAIT_QUEUE},
    {"concurrent.futures._base", "Future", SP_RAW_WAIT_FUTURE},
    {"concurrent.futures._base", "Executor", SP_RAW_WAIT_FUTURE},
    {"multiprocessing.synchronize", "Condition", SP_RAW_WAIT_CONDITION},
    {"multiprocessing.synchronize", "Event", SP_RAW_WAIT_EVENT},
    {"multiprocessing.synchronize", "Barrier", SP_RAW_WAIT_BARRIER},
    {"multiprocessing.synchronize", "Semaphore", SP_RAW_WAIT_SEMAPHORE},
    {"multiprocessing.synchronize", "SemLock", SP_RAW_WAIT_PROCESS_LOCK},
    {"multiprocessing.queues", "Queue", SP_RAW_WAIT_QUEUE},
    {"multiprocessing.queues", "SimpleQueue", SP_RAW_WAIT_QUEUE},
    {"multiprocessing.pool", "ApplyResult", SP_RAW_WAIT_FUTURE},
    {"multiprocessing.pool", "IMapIterator", SP_RAW_WAIT_FUTURE},
    {"multiprocessing.pool", "Pool", SP_RAW_WAIT_FUTURE},
    {"multiprocessing.process", "BaseProcess", SP_RAW_WAIT_PROCESS},
    {"multiprocessing.connection", "_ConnectionBase", SP_RAW_WAIT_PIPE},
    {"multiprocessing.connection", "Listener", SP_RAW_WAIT_PIPE},
    {"subprocess", "Popen", SP_RAW_WAIT_PROCESS},
    {"socket", "socket", SP_RAW_WAIT_SOCKET},
    {"selectors", "BaseSelector", SP_RAW_WAIT_SELECT},
};

/* What was found for a module's globals or for a type, by its address. Both may be freed and their addresses reused:
 * the cache is cleared when an address is new and the number of modules has changed. */
enum { WHAT_BITS = 8 };
typedef _Atomic uint64_t known; /* the address, shifted by WHAT_BITS, and enum role or kind: in one word, because
                                   without the GIL several threads use the cache */
static known globals_known[CACHED], types_known[CACHED];
static Py_ssize_t modules_then;

static known *cached(known *all, const void *address)
{
	return &all[((uintptr_t)address >> 4 ^ (uintptr_t)address >> 12) % CACHED];
}

/* Gives what is known of an address. */
static inline bool is_known(known *k, const void *address, unsigned *what)
{
	const uint64_t word = atomic_load_explicit(k, memory_order_relaxed);
	*what = (unsigned)word & ((1 << WHAT_BITS) - 1);
	return word >> WHAT_BITS == (uint64_t)address;
}

static unsigned know(known *k, const void *address, unsigned what)
{
	atomic_store_explicit(k, (uint64_t)address << WHAT_BITS | what, memory_order_relaxed);
	return what;
}

static void check_modules(void)
{
	PyObject *modules = PyImport_GetModuleDict(); /* borrowed */
	const Py_ssize_t n = modules && PyDict_Check(modules) ? PyDict_GET_SIZE(modules) : 0;
	if (SP_LIKELY(n == modules_then))
		return;
	modules_then = n;
	for (int i = 0; i < CACHED; i++)
		globals_known[i] = types_known[i] = 0;
}

/* What a module does on behalf of the program. */
enum role { NEITHER = 0, WAITS = 1, MAKES = 2 };

SP_COLD static unsigned find_roles(PyObject *globals)
{
	PyObject *name = PyDict_GetItemString(globals, "__name__"); /* borrowed */
	if (!name || !PyUnicode_Check(name) || !PyUnicode_IS_COMPACT_ASCII(name))
		return NEITHER;
	const char *text = (const char *)PyUnicode_DATA(name);
	for (size_t i = 0; i < sizeof library / sizeof *library; i++)
		if (!strcmp(text, library[i]))
			return WAITS | MAKES;
	for (size_t i = 0; i < sizeof makers / sizeof *makers; i++) {
		const size_t n = strlen(makers[i]);
		if (!strncmp(text, makers[i], n) && (!text[n] || text[n] == '.'))
			return MAKES;
	}
	return NEITHER;
}

static bool has_role(PyObject *globals, enum role role)
{
	known *k = cached(globals_known, globals);
	unsigned what;
	if (SP_UNLIKELY(!is_known(k, globals, &what))) {
		check_modules();
		what = know(k, globals, find_roles(globals));
	}
	return what & role;
}

SP_COLD static unsigned find_kind(PyTypeObject *type)
{
	PyObject *mro = type->tp_mro;
	for (Py_ssize_t i = 0; mro && i < PyTuple_GET_SIZE(mro); i++) {
		PyTypeObject *base = (PyTypeObject *)PyTuple_GET_ITEM(mro, i);
		PyObject *module = base->tp_flags & Py_TPFLAGS_HEAPTYPE && base->tp_dict
		                       ? PyDict_GetItemString(base->tp_dict, "__module__")
		                       : NULL; /* borrowed */
		if (!module || !PyUnicode_Check(module))
			continue;
		for (size_t k = 0; k < sizeof types / sizeof *types; k++)
			if (!strcmp(base->tp_name, types[k].name) &&
			    !PyUnicode_CompareWithASCIIString(module, types[k].module))
				return types[k].kind;
	}
	return 0;
}

static unsigned kind_of(PyTypeObject *type)
{
	known *k = cached(types_known, type);
	unsigned what;
	if (SP_UNLIKELY(!is_known(k, type, &what))) {
		check_modules();
		what = know(k, type, find_kind(type));
	}
	return what;
}

/* Whether the object is the thread or process that waits, inside its own function, as in a worker of a pool or with
 * threading.Thread(target=q.get): it does not wait for itself. */
static bool is_itself(PyObject *self, unsigned kind, sp_frame *f)
{
	if (kind == SP_RAW_WAIT_PROCESS) {
		PyObject *name = sp_frame_code(f)->co_name;
		return !PyUnicode_CompareWithASCIIString(name, "run") ||
		       !PyUnicode_CompareWithASCIIString(name, "_bootstrap");
	}
	if (kind != SP_RAW_WAIT_THREAD)
		return false;
	SP_SAVE_EXCEPTION;
	PyObject *ident = sp_plain_attribute(self, "_ident");
	const bool is =
	    ident && PyLong_CheckExact(ident) && PyLong_AsUnsignedLong(ident) == PyThread_get_thread_ident();
	Py_XDECREF(ident);
	PyErr_Clear();
	SP_RESTORE_EXCEPTION;
	return is;
}

/* The object of the first argument; borrowed. held: to follow a weak reference, by which the workers of an executor
 * have it; *held becomes a reference to it. NULL: not followed. */
static PyObject *first_argument(sp_frame *f, PyObject **held)
{
	PyObject *o = sp_cell_value(sp_frame_argument(f, 0));
	if (!o || !held || !PyWeakref_CheckRefExact(o))
		return o;
#if PY_VERSION_HEX >= 0x030d0000
	PyWeakref_GetRef(o, held);
#else
	o = PyWeakref_GET_OBJECT(o);
	if (o != Py_None) {
		Py_INCREF(o);
		*held = o;
	}
#endif
	return *held;
}

SP_WAITS_TOGETHER void sp_waits_find_site(struct sp_thread *t, struct sp_waits_site *p)
{
	sp_frame *f = sp_frame_current(PyThreadState_Get()), *last = f;
	uint64_t unnamed = 0;
	const enum role theirs = t ? WAITS : MAKES;
	*p = (struct sp_waits_site){.node = t ? (uint64_t)sp_stack_node(t, &unnamed) : 0};
	for (int i = 0; f && i < DEEPEST && has_role(sp_frame_globals(f), theirs); i++) {
		/* an idle worker waits for its executor; one that runs something waits for what that waits for */
		PyObject *self = first_argument(f, t && !i ? &p->held : NULL);
		const unsigned kind = self ? kind_of(Py_TYPE(self)) : 0;
		if (!i && kind == SP_RAW_WAIT_CONDITION)
			p->notified = !PyUnicode_CompareWithASCIIString(sp_frame_code(f)->co_name, "wait");
		const bool itself = kind && is_itself(self, kind, f);
		if (itself && t) {
			f = NULL; /* `last` is the function that the thread or process runs for the library */
			break;
		}
		if (kind && !itself) {
			p->user = self;
			p->kind = kind;
		}
		last = f;
		f = sp_frame_back(f);
	}
	if (t && !f)
		f = last;
	if (f) {
		p->code = sp_frame_code(f);
		p->at = sp_frame_at(f);
	}
}

uint32_t sp_waits_line(PyCodeObject *code, int at, uint32_t *line)
{
	*line = 0;
	if (!code)
		return 0;
	SP_SAVE_EXCEPTION;
	char *file = sp_names_file(code);
	const int number = sp_code_line(code, at);
	const uint32_t id = file ? sp_define_name(SP_RAW_DEF_STRING, file, strlen(file)) : 0;
	*line = id && number > 0 ? (uint32_t)number : 0;
	free(file);
	PyErr_Clear();
	SP_RESTORE_EXCEPTION;
	return id;
}

/* Returns "TYPE NAME (pid PID)" for a process of multiprocessing; a new reference; NULL if it has not started. */
static PyObject *process_text(PyObject *type, PyObject *process)
{
	PyObject *popen = sp_plain_attribute(process, "_popen"), *text = NULL;
	PyObject *pid = popen ? sp_plain_attribute(popen, "pid") : NULL, *name = sp_plain_attribute(process, "_name");
	if (type && pid && PyLong_CheckExact(pid) && name && PyUnicode_CheckExact(name))
		text = PyUnicode_FromFormat("%U %U (pid %S)", type, name, pid);
	Py_XDECREF(name);
	Py_XDECREF(pid);
	Py_XDECREF(popen);
	return text;
}

uint32_t sp_waits_object_name(PyObject *o, unsigned kind, bool *own)
{
	PyTypeObject *type = Py_TYPE(o);
	SP_SAVE_EXCEPTION;
	PyObject *module = type->tp_flags & Py_TPFLAGS_HEAPTYPE && type->tp_dict
	                       ? PyDict_GetItemString(type->tp_dict, "__module__")
	                       : NULL; /* borrowed */
	PyObject *text = module && PyUnicode_Check(module) && !strchr(type->tp_name, '.')
	                     ? PyUnicode_FromFormat("%U.%s", module, type->tp_name)
	                     : PyUnicode_FromString(type->tp_name);
	PyObject *process = kind == SP_RAW_WAIT_PROCESS ? process_text(text, o) : NULL;
	*own = process;
	if (process) {
		Py_XDECREF(text);
		text = process;
	}
	struct sp_python_text name = sp_python_text(text, type->tp_name);
	const uint32_t id = sp_define_name(SP_RAW_DEF_STRING, name.p, name.n);
	Py_XDECREF(name.owner);
	Py_XDECREF(text);
	PyErr_Clear();
	SP_RESTORE_EXCEPTION;
	return id;
}
