/* SPDX-License-Identifier: BSD-3-Clause */
/* Library functions whose enter gives information: names of threads and processes, a thread's creator, that
 * greenlet is loaded, tasks, work for pools. They are found by name once, when their code object is first seen; other
 * functions cost nothing extra. */
#include "hook/greenlet.h"
#include "hook/serial.h"
#include "hook/stacks.h"
#include "hook/task.h"
#include "hook/variables.h"
#include "hook/watch.h"
#include "record/definitions.h"
#include "record/events/interpose.h"
#include "record/events/task.h"
#include "record/process.h"
#include "record/stack.h"
#include "record/thread.h"

#include <stdio.h>
#include <string.h>

/* The effects of these functions. self: the function's first argument. */
static void thread_starts(sp_frame *f, PyObject *self);
static void thread_begins(sp_frame *f, PyObject *self);
static void process_begins(sp_frame *f, PyObject *self);
static void xdist_begins(sp_frame *f, PyObject *self);
static void module_begins(sp_frame *f, PyObject *self);
static void loop_runs(sp_frame *f, PyObject *self);
static void task_of_first(sp_frame *f, PyObject *self);
static void task_of_second(sp_frame *f, PyObject *self);
static void work_given(sp_frame *f, PyObject *self);
static void work_taken(sp_frame *f, PyObject *self);

static const struct watched {
	const char *module, *name;
	void (*begins)(sp_frame *f, PyObject *self); /* NULL: sp_watch_enter() handles it */
	bool once;                                   /* not for functions that are already open */
} watched[] = {
    {"threading", "Thread.start", thread_starts, false},
    {"threading", "Thread._bootstrap", thread_begins, false},
    {"threading", "Thread.join", NULL, true},
    /* the first function in a child process of multiprocessing, of loky or of celery */
    {"multiprocessing.process", "BaseProcess._bootstrap", process_begins, false},
    {"billiard.process", "BaseProcess._bootstrap", process_begins, false},
    {"__channelexec__", "WorkerInteractor.pytest_sessionstart", xdist_begins, false}, /* xdist.remote */
    {"greenlet", "<module>", module_begins, false},
    /* the end of the interpreter's start-up: a script or -c; -m, a directory or an archive */
    {"__main__", "<module>", module_begins, false},
    {"runpy", "_run_module_as_main", module_begins, false},
    {"asyncio.base_events", "BaseEventLoop.run_forever", loop_runs, false},
    {"asyncio.runners", "run", loop_runs, false},
    {"asyncio.runners", "Runner.run", loop_runs, false},
    {"trio._core._run", "unrolled_run", loop_runs, false},
    /* every way to make a task, except calling the type itself, calls one of these */
    {"asyncio.base_events", "BaseEventLoop.create_task", task_of_second, true},
    {"asyncio.tasks", "create_task", task_of_first, true},
    {"asyncio.tasks", "ensure_future", task_of_first, true},
    {"asyncio.tasks", "_ensure_future", task_of_first, true},
    {"asyncio.taskgroups", "TaskGroup.create_task", task_of_second, true},
    {"concurrent.futures.thread", "_WorkItem.__init__", work_given, true},
    {"concurrent.futures.thread", "_WorkItem.run", work_taken, true},
};

/* Thread objects between start() and their first event, and the locations that started them. Under the GIL or
 * sp_serial_names. */
enum { STARTING = 64 };
static struct {
	const void *thread;
	uint32_t location, number;
} starting[STARTING];
static unsigned starting_next;

static const char *last_part(const char *name)
{
	const char *dot = strrchr(name, '.');
	return dot ? dot + 1 : name;
}

bool sp_watch_wanted(const char *module, const char *name)
{
	for (size_t i = 0; i < sizeof watched / sizeof *watched; i++)
		if (!strcmp(module, watched[i].module) && !strcmp(name, watched[i].name))
			return true;
	if (sp_process.settings.scorep && !strcmp(last_part(name), "run"))
		return true;
	/* before 3.11 a function that is first seen when it runs may only be known by its unqualified name */
	if (!strcmp(module, "multiprocessing.process") || !strcmp(module, "billiard.process"))
		return !strcmp(name, "_bootstrap");
	return !strcmp(module, "threading") &&
	       (!strcmp(name, "start") || !strcmp(name, "_bootstrap") || !strcmp(name, "join"));
}

/* ---- threads ---- */

static void thread_starts(sp_frame *f, PyObject *self)
{
	(void)f;
	if (!sp_self || !self || sp_interpose_threads())
		return;
	SP_SERIAL(sp_serial_names);
	starting[starting_next % STARTING].thread = self;
	starting[starting_next % STARTING].number = sp_thread_number();
	sp_thread_created(sp_self, starting[starting_next % STARTING].number, sp_ticks());
	starting[starting_next++ % STARTING].location = sp_self->loc.id;
}

static void find_creator(const PyObject *thread)
{
	SP_SERIAL(sp_serial_names);
	for (int i = 0; i < STARTING; i++)
		if (starting[i].thread == thread && sp_self->loc.creator == SP_RAW_NONE) {
			sp_self->loc.creator = starting[i].location;
			sp_self->number = starting[i].number;
			starting[i].thread = NULL;
		}
}

/* Reads the name, an attribute of the instance, from the instance's own dictionary, after checking that the class has
 * no attribute of this name: a property would run code of the program. */
static void thread_begins(sp_frame *f, PyObject *thread)
{
	(void)f;
	if (!sp_self || !thread)
		return;
	find_creator(thread);
	PyObject *name = sp_plain_attribute(thread, "_name");
	Py_ssize_t n = 0;
	const char *p = name && PyUnicode_CheckExact(name) ? PyUnicode_AsUTF8AndSize(name, &n) : NULL;
	if (p || sp_self->number)
		sp_thread_name(sp_self, p ? p : "", (size_t)n);
	PyErr_Clear();
	Py_XDECREF(name);
}

/* The name of a process is an attribute of the object that represents the process. */
static void name_process(PyObject *process, const char *attribute)
{
	PyObject *name = sp_self && process ? sp_plain_attribute(process, attribute) : NULL;
	Py_ssize_t n = 0;
	const char *p = name && PyUnicode_CheckExact(name) ? PyUnicode_AsUTF8AndSize(name, &n) : NULL;
	if (p)
		sp_define_meta(SP_META_NAME, p, (size_t)n);
	PyErr_Clear();
	Py_XDECREF(name);
}

/* The function that a process of multiprocessing runs. It may not be recorded, so that no call path shows it. */
static void define_entry(PyObject *function)
{
	const PyFunctionObject *p = (PyFunctionObject *)function;
	const char *module =
	    p->func_module && PyUnicode_Check(p->func_module) ? PyUnicode_AsUTF8(p->func_module) : NULL;
	const char *name = module ? PyUnicode_AsUTF8(p->func_qualname) : NULL;
	char text[256];
	const int n = name ? snprintf(text, sizeof text, "%s:%s", module, name) : 0;
	if (n > 0 && n < (int)sizeof text)
		sp_define_meta(SP_META_ENTRY, text, (size_t)n);
	PyErr_Clear();
}

static void process_begins(sp_frame *f, PyObject *process)
{
	(void)f;
	name_process(process, "_name");
	PyObject *target = sp_self && process ? sp_plain_attribute(process, "_target") : NULL;
	if (target && PyFunction_Check(target))
		define_entry(target);
	Py_XDECREF(target);
}

static void xdist_begins(sp_frame *f, PyObject *worker)
{
	static const char entry[] = "__channelexec__:WorkerInteractor.pytest_sessionstart";
	(void)f;
	name_process(worker, "workerid");
	if (sp_self)
		sp_define_meta(SP_META_ENTRY, entry, sizeof entry - 1);
}

/* The thread id is also an attribute of the instance. Joining the current thread or one that was never started
 * raises. */
static void thread_joins(PyObject *thread, bool recorded)
{
	PyObject *tid = thread && sp_self ? sp_plain_attribute(thread, "_native_id") : NULL;
	unsigned long id = tid && PyLong_CheckExact(tid) ? PyLong_AsUnsignedLong(tid) : 0;
	PyErr_Clear();
	if (id && id != (unsigned long)-1)
		sp_task_joins(sp_self, id, recorded);
	Py_XDECREF(tid);
}

/* With the setting scorep a thread begins with its run(): earlier events are discarded. */
static void thread_runs(sp_frame *f)
{
	sp_frame *caller = sp_hook_caller(f);
	if (!sp_process.settings.scorep || !caller || !sp_self || sp_stack_depth(sp_self))
		return;
	PyObject *module = PyDict_GetItemString(sp_frame_globals(caller), "__name__"); /* borrowed */
	if (module && PyUnicode_Check(module) && !PyUnicode_CompareWithASCIIString(module, "threading") &&
	    !PyUnicode_CompareWithASCIIString(sp_frame_code(caller)->co_name, "_bootstrap_inner"))
		sp_thread_restart(sp_self);
}

static void module_begins(sp_frame *f, PyObject *self)
{
	(void)self;
	PyObject *module = PyDict_GetItemString(sp_frame_globals(f), "__name__"); /* borrowed */
	if (module && PyUnicode_Check(module) && !PyUnicode_CompareWithASCIIString(module, "greenlet"))
		sp_greenlet_loaded();
	else if (sp_self && sp_self->booting && sp_stack_settle(sp_self, sp_ticks()))
		sp_thread_restart(sp_self);
}

/* ---- tasks ---- */

static void loop_runs(sp_frame *f, PyObject *self)
{
	(void)f, (void)self;
	if (sp_self)
		sp_self->tasks = true;
}

static const struct watched *row_of(sp_frame *f);

/* Whether another of the functions that make a task called this one: there is only one task for a coroutine. */
static bool is_made_by_caller(sp_frame *f, PyObject *coroutine)
{
	sp_frame *caller = sp_hook_caller(f);
	const struct watched *w = caller ? row_of(caller) : NULL;
	return w && (w->begins == task_of_first || w->begins == task_of_second) &&
	       sp_cell_value(sp_frame_argument(caller, w->begins == task_of_second)) == coroutine;
}

static void task_of(sp_frame *f, PyObject *coroutine)
{
	if (!sp_self)
		return;
	sp_self->tasks = true;
	if (coroutine && !is_made_by_caller(f, coroutine))
		sp_hook_task_created(coroutine);
}

static void task_of_first(sp_frame *f, PyObject *self)
{
	task_of(f, self);
}

static void task_of_second(sp_frame *f, PyObject *self)
{
	(void)self;
	task_of(f, sp_cell_value(sp_frame_argument(f, 1)));
}

static void work_given(sp_frame *f, PyObject *self)
{
	(void)f;
	if (sp_self)
		sp_task_handover(sp_self, (uint64_t)self, false);
}

static void work_taken(sp_frame *f, PyObject *self)
{
	(void)f;
	if (sp_self)
		sp_task_handover(sp_self, (uint64_t)self, true);
}

/* ---- enter of a watched function ---- */

static const struct watched *row_of(sp_frame *f)
{
	PyObject *module = PyDict_GetItemString(sp_frame_globals(f), "__name__"); /* borrowed */
	const char *m = module && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : NULL;
	const char *name = m ? PyUnicode_AsUTF8(sp_frame_code(f)->co_name) : NULL;
	for (size_t i = 0; name && i < sizeof watched / sizeof *watched; i++)
		if (!strcmp(name, last_part(watched[i].name)) && !strcmp(m, watched[i].module))
			return &watched[i];
	PyErr_Clear();
	return NULL;
}

void sp_watch_enter(sp_frame *f, bool begins, bool recorded)
{
	const struct watched *w = row_of(f);
	PyObject *self = sp_cell_value(sp_frame_argument(f, 0));
	if (begins && sp_process.settings.scorep && !PyUnicode_CompareWithASCIIString(sp_frame_code(f)->co_name, "run"))
		thread_runs(f);
	if (!w || (w->once && !begins))
		return;
	if (w->begins)
		w->begins(f, self);
	else
		thread_joins(self, recorded);
}
