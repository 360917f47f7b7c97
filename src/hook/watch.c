/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of the library whose beginning tells us something: a thread's name and who started it, and that greenlet is
 * there. They are found by name once, when their code object is first seen; other functions pay nothing for it. */
#include "hook/hook.h"

#include <string.h>

static const struct {
	const char *module, *name;
} watched[] = {
    {"threading", "Thread.start"},
    {"threading", "Thread._bootstrap"},
    {"greenlet", "<module>"},
    /* where the interpreter's start-up ends: a script or -c; -m, a directory or an archive */
    {"__main__", "<module>"},
    {"runpy", "_run_module_as_main"},
};

/* Thread objects between start() and their first event, and the location that started them. Guarded by the GIL. */
enum { STARTING = 64 };
static struct {
	const void *thread;
	uint32_t location;
} starting[STARTING];
static unsigned starting_next;

bool sp_watch_wanted(const char *module, const char *name)
{
	for (size_t i = 0; i < sizeof watched / sizeof *watched; i++)
		if (!strcmp(module, watched[i].module) && !strcmp(name, watched[i].name))
			return true;
	const char *run = strrchr(name, '.');
	if (sp_process.settings.scorep && !strcmp(run ? run + 1 : name, "run"))
		return true;
	/* before 3.11 a function seen for the first time in a thread may be known by its own name only */
	return !strcmp(module, "threading") && (!strcmp(name, "start") || !strcmp(name, "_bootstrap"));
}

static void thread_starts(const void *thread)
{
	if (!sp_self)
		return;
	starting[starting_next % STARTING].thread = thread;
	starting[starting_next++ % STARTING].location = sp_self->loc.id;
}

/* The name is an attribute of the instance. It is read from the instance's own dictionary, after a look that the class
 * has none of this name: a property would be the program's code. */
static void thread_begins(PyObject *thread)
{
	for (int i = 0; i < STARTING; i++)
		if (starting[i].thread == thread) {
			sp_self->loc.creator = starting[i].location;
			starting[i].thread = NULL;
		}
	PyObject *key = PyUnicode_InternFromString("_name"), *name = NULL;
	if (key && !_PyType_Lookup(Py_TYPE(thread), key))
		name = PyObject_GenericGetAttr(thread, key);
	PyErr_Clear();
	if (name && PyUnicode_CheckExact(name)) {
		Py_ssize_t n;
		const char *p = PyUnicode_AsUTF8AndSize(name, &n);
		if (p)
			sp_thread_name(sp_self, p, (size_t)n);
		PyErr_Clear();
	}
	Py_XDECREF(name);
	Py_XDECREF(key);
}

/* Under the names of Score-P's bindings a thread begins with its run(): what it did before is thrown away. */
static void thread_runs(sp_frame *f)
{
	sp_frame *caller = sp_frame_back(f);
	if (!sp_process.settings.scorep || !caller || !sp_self || sp_stack_depth(sp_self))
		return;
	PyObject *module = PyDict_GetItemString(sp_frame_globals(caller), "__name__"); /* borrowed */
	if (module && PyUnicode_Check(module) && !PyUnicode_CompareWithASCIIString(module, "threading") &&
	    !PyUnicode_CompareWithASCIIString(sp_frame_code(caller)->co_name, "_bootstrap_inner"))
		sp_thread_restart(sp_self);
}

static void module_begins(sp_frame *f)
{
	PyObject *module = PyDict_GetItemString(sp_frame_globals(f), "__name__"); /* borrowed */
	if (module && PyUnicode_Check(module) && !PyUnicode_CompareWithASCIIString(module, "greenlet"))
		sp_greenlet_loaded();
	else if (sp_self && sp_self->booting && sp_stack_settle(sp_self, sp_ticks()))
		sp_thread_restart(sp_self);
}

void sp_watch_enter(sp_frame *f, bool begins)
{
	PyCodeObject *code = sp_frame_code(f);
	PyObject *self = sp_frame_first_local(f);
	const char *name = PyUnicode_AsUTF8(code->co_name);
	if (!name) {
		PyErr_Clear();
		return;
	}
	if (!strcmp(name, "<module>") || !strcmp(name, "_run_module_as_main"))
		module_begins(f);
	else if (!strcmp(name, "run")) {
		if (begins)
			thread_runs(f);
	} else if (self && !strcmp(name, "start"))
		thread_starts(self);
	else if (self && sp_self)
		thread_begins(self);
}
