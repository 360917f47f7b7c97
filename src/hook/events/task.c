/* SPDX-License-Identifier: BSD-3-Clause */
/* Detects which coroutines are tasks. An event loop, not another coroutine, enters the outermost coroutine of a task.
 * The first time, this file asks the loop which task runs; later it recognizes the coroutine by its address. It calls
 * only C functions and reads only exact attributes: no code of the program runs. */
#include "record/events/task.h"
#include "hook/naming.h"
#include "hook/serial.h"
#include "hook/slot.h"
#include "hook/stacks.h"
#include "hook/task.h"
#include "hook/variables.h"
#include "record/definitions.h"
#include "record/stack.h"
#include "record/thread.h"

#include <errno.h>
#include <string.h>

/* Objects of _asyncio, owned; NULL: unavailable. They belong to the first interpreter. */
static struct {
	PyObject *running_loop; /* function */
	PyObject *current_task; /* function; NULL before 3.12, where `current` is used */
	PyObject *current;      /* the dictionary of the current tasks */
	PyObject *task;         /* type */
	PyObject *get_coro, *get_name;
} aio;
static int64_t interpreter = -1;

static PyObject *attribute(PyObject *o, const char *name)
{
	PyObject *value = o ? PyObject_GetAttrString(o, name) : NULL;
	PyErr_Clear();
	return value;
}

/* Returns false if _asyncio is missing or not loaded yet. */
static bool asyncio_ready(void)
{
	if (SP_SHARED(aio.task))
		return true;
	SP_SERIAL(sp_serial_names);
	if (aio.task)
		return true;
	PyObject *modules = PyImport_GetModuleDict();
	PyObject *module = modules ? PyDict_GetItemString(modules, "_asyncio") : NULL; /* borrowed */
	if (!module || !PyModule_CheckExact(module))
		return false;
	PyObject *task = attribute(module, "Task");
	aio.running_loop = attribute(module, "_get_running_loop");
	aio.current_task = attribute(module, "current_task");
	aio.current = aio.current_task ? NULL : attribute(module, "_current_tasks");
	aio.get_coro = attribute(task, "get_coro");
	aio.get_name = attribute(task, "get_name");
	if (aio.running_loop && PyCFunction_Check(aio.running_loop) && aio.get_coro && aio.get_name &&
	    (aio.current_task ? PyCFunction_Check(aio.current_task) : aio.current && PyDict_CheckExact(aio.current))) {
		__atomic_store_n(&aio.task, task, __ATOMIC_RELEASE);
		return true;
	}
	Py_XDECREF(task);
	return false;
}

static bool interpreter_is_first(void)
{
	/* without the GIL, and in interpreters with a GIL each, several threads may ask at once; all but the first only
	 * read */
	int64_t id = PyInterpreterState_GetID(PyInterpreterState_Get());
	int64_t first = __atomic_load_n(&interpreter, __ATOMIC_RELAXED);
	if (first < 0 &&
	    __atomic_compare_exchange_n(&interpreter, &first, id, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return true;
	return id == first;
}

PyObject *sp_plain_attribute(PyObject *o, const char *name)
{
	PyObject *key = PyUnicode_InternFromString(name), *value = NULL;
	PyObject *of_class = key ? _PyType_Lookup(Py_TYPE(o), key) : NULL; /* borrowed */
	if (key && (!of_class || Py_TYPE(of_class) == &PyMemberDescr_Type))
		value = PyObject_GenericGetAttr(o, key);
	PyErr_Clear();
	Py_XDECREF(key);
	return value;
}

/* ---- asyncio ---- */

/* Returns the task that the running loop executes; owned, NULL: none. */
static PyObject *asyncio_current(void)
{
	PyObject *loop = PyObject_CallNoArgs(aio.running_loop), *task = NULL;
	/* without a loop there is no task, and the call would raise; a loop with its own __hash__ would run code of
	 * the program */
	if (!loop || loop == Py_None || Py_TYPE(loop)->tp_hash != PyBaseObject_Type.tp_hash) {
		/* no task */
	} else if (aio.current_task) {
		task = PyObject_CallNoArgs(aio.current_task);
		if (task == Py_None)
			Py_CLEAR(task);
	} else {
		task = PyDict_GetItem(aio.current, loop); /* borrowed */
		Py_XINCREF(task);
	}
	Py_XDECREF(loop);
	PyErr_Clear();
	return task;
}

static PyObject *of_task(PyObject *task, PyObject *method, const char *name)
{
	PyObject *value = PyObject_TypeCheck(task, (PyTypeObject *)aio.task)
	                      ? PyObject_CallFunctionObjArgs(method, task, NULL)
	                      : sp_plain_attribute(task, name);
	PyErr_Clear();
	return value;
}

/* A framework's information about the coroutine that it runs. */
struct answer {
	PyObject *coroutine, *name; /* owned */
	PyObject *parent;           /* owned; the coroutine of the task that created it, if known */
};

static bool ask_asyncio(struct answer *a)
{
	PyObject *task = asyncio_ready() ? asyncio_current() : NULL;
	if (!task)
		return false;
	a->coroutine = of_task(task, aio.get_coro, "_coro");
	a->name = of_task(task, aio.get_name, "_name");
	Py_DECREF(task);
	return a->coroutine != NULL;
}

/* ---- trio: the task is the variable `task` of the generator that runs all tasks ---- */

static PyObject *local_variable(sp_frame *f, const char *name)
{
	PyCodeObject *code = sp_frame_code(f);
#if PY_VERSION_HEX >= 0x030B0000
	for (int i = 0; i < code->co_nlocalsplus; i++)
		if (!PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(code->co_localsplusnames, i), name))
			return sp_cell_value(SP_FRAME_LOCAL(f, i));
#else
	for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(code->co_varnames); i++)
		if (!PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(code->co_varnames, i), name))
			return sp_cell_value(f->f_localsplus[i]);
#endif
	return NULL;
}

static bool ask_trio(sp_frame *caller, struct answer *a)
{
	if (!caller || PyUnicode_CompareWithASCIIString(sp_frame_code(caller)->co_name, "unrolled_run"))
		return false;
	PyObject *task = local_variable(caller, "task"); /* borrowed */
	if (!task)
		return false;
	a->coroutine = sp_plain_attribute(task, "coro");
	a->name = sp_plain_attribute(task, "name");
	PyObject *nursery = sp_plain_attribute(task, "_parent_nursery");
	PyObject *parent = nursery && nursery != Py_None ? sp_plain_attribute(nursery, "_parent_task") : NULL;
	a->parent = parent && parent != Py_None ? sp_plain_attribute(parent, "coro") : NULL;
	Py_XDECREF(parent);
	Py_XDECREF(nursery);
	return a->coroutine != NULL;
}

/* ---- enter of a coroutine ---- */

static struct sp_task *known_or_new(struct sp_thread *t, uint64_t key, uint32_t region, const struct answer *a)
{
	struct sp_task *k = sp_task_find(key), *parent = a->parent ? sp_task_find((uint64_t)a->parent) : NULL;
	if (k && k->begun)
		return k;
	struct sp_text name = {"", 0};
	Py_ssize_t n;
	if (a->name && PyUnicode_CheckExact(a->name) && (name.p = PyUnicode_AsUTF8AndSize(a->name, &n)))
		name.n = (size_t)n;
	else
		name.p = "";
	PyErr_Clear();
	k = sp_task_begun(t, key, region, name);
	if (k && parent && !k->raw->creator)
		k->raw->creator = parent->number;
	return k;
}

/* Returns the task whose step begins with the enter of f, or NULL. */
static struct sp_task *task_of(struct sp_thread *t, uint32_t region, sp_frame *f, unsigned kind)
{
	const int coroutine = CO_COROUTINE | CO_ITERABLE_COROUTINE | CO_ASYNC_GENERATOR;
	sp_frame *caller = sp_hook_caller(f);
	if (!(sp_frame_code(f)->co_flags & coroutine) || (caller && sp_frame_code(caller)->co_flags & coroutine))
		return NULL;
	PyObject *self = sp_frame_generator(f);
	struct sp_task *k = self ? sp_task_find((uint64_t)self) : NULL;
	if (k && k->begun && kind == SP_RAW_RESUME)
		return k;
	if (!self || !interpreter_is_first())
		return NULL;
	struct answer a = {NULL, NULL, NULL};
	SP_SAVE_EXCEPTION;
	bool native = true;
	if (ask_trio(caller, &a) || ask_asyncio(&a))
		native = PyCoro_CheckExact(a.coroutine) || PyGen_CheckExact(a.coroutine);
	if (k && k->begun) {
		sp_task_dropped(t, k); /* an earlier coroutine at this address never ended */
		k = NULL;
	}
	if (a.coroutine && (a.coroutine == self || !native)) {
		k = known_or_new(t, (uint64_t)a.coroutine, region, &a);
		if (k)
			k->open = !native;
	} else {
		k = NULL;
	}
	Py_XDECREF(a.parent);
	Py_XDECREF(a.name);
	Py_XDECREF(a.coroutine);
	SP_RESTORE_EXCEPTION;
	return k;
}

/* Resumes the user regions that were suspended with the coroutine. */
static void resume(struct sp_thread *t, sp_frame *f, unsigned kind, uint64_t now)
{
	uint64_t id = (uint64_t)(f ? f : sp_frame_current(PyThreadState_Get()));
	if (kind == SP_RAW_RESUME)
		sp_stack_bring_back(t, id, now);
	else
		sp_stack_forget_aside(t, id);
}

void sp_hook_enter_coroutine(struct sp_thread *t, uint64_t slot, uint64_t key, sp_frame *f, unsigned kind, uint64_t now)
{
	const uint32_t region = (uint32_t)(slot >> SP_SLOT_ID);
	struct sp_task *k = NULL;
	int error = errno;
	if (t->tasks && t->epoch == sp_epoch && !sp_slot_is_hidden(slot) && region != SP_REGION_HIDES) {
		/* a step that is over may be the end of its task, which is then no longer found */
		sp_stack_unmark(t, now);
		k = task_of(t, region, f ? f : sp_frame_current(PyThreadState_Get()), kind);
	}
	if (k)
		sp_task_step(t, k, region, key, now, kind);
	else if (SP_UNLIKELY(sp_slot_is_hidden(slot)))
		sp_stack_inherit(t, 0, key, 0, SP_RAW_FRAME_SKIPPED | SP_RAW_FRAME_HIDDEN, now);
	else
		sp_enter(t, region, key, now, kind);
	if (t->aside.n)
		resume(t, f, kind, now);
	errno = error;
}

/* ---- leave of a coroutine ---- */

/* Returns a string of the file with the type's name; caches the latest type. */
static uint32_t kind_of(const PyObject *value)
{
	static __thread const char *last_name SP_TLS_MODEL;
	static __thread uint32_t last_id SP_TLS_MODEL;
	static __thread uint64_t generation SP_TLS_MODEL;
	if (!value || value == Py_None)
		return 0;
	const char *name = Py_TYPE(value)->tp_name;
	if (name != last_name || generation != sp_slot_ok) {
		last_id = sp_define_name(SP_RAW_DEF_STRING, name, strlen(name));
		last_name = name;
		generation = sp_slot_ok;
	}
	return last_id;
}

/* Returns the innermost frame with that key in the current step of the thread's task; NULL if there is no such frame.
 * Frames above it may still be open, such as user regions. */
static const struct sp_raw_frame *frame_of(const struct sp_thread *t, uint64_t key)
{
	const struct sp_raw_frame *f = (const struct sp_raw_frame *)t->loc.top;
	for (size_t depth = sp_stack_depth(t); depth >= t->task->depth; depth--, f--)
		if (sp_stack_key(f) == key)
			return f;
	return NULL;
}

/* Coroutines that wait for each other are suspended one after the other, the innermost first, and yield the same
 * object. User regions may be open between them. */
void sp_hook_task_suspends(struct sp_thread *t, uint64_t key, const PyObject *value, uint64_t now)
{
	const struct sp_raw_frame *f = frame_of(t, key);
	struct sp_task *k = t->task;
	if (!f)
		return;
	const size_t depth = (size_t)(f - (const struct sp_raw_frame *)t->loc.base);
	if (k->await_depth <= depth || k->awaited != value || k->await_time != t->loc.last) {
		k->what = sp_stack_region(f);
		k->await_node = f->node;
	}
	k->await_depth = depth;
	k->awaited = value;
	k->await_time = now > t->loc.last ? now : t->loc.last; /* the time of the event; the clock may have gone back */
	if (depth == k->depth) {
		int error = errno;
		sp_task_suspends(t, kind_of(value));
		errno = error;
	}
}

void sp_hook_task_raises(struct sp_thread *t, uint64_t key, const PyTypeObject *type)
{
	struct sp_task *k = t->task;
	if (frame_of(t, key) != (const struct sp_raw_frame *)t->loc.base + k->depth)
		return;
	k->raised = SP_RAW_TASK_RAISED;
	/* asyncio's CancelledError, trio's Cancelled, and types derived from them */
	for (; type; type = type->tp_base)
		if (!strcmp(type->tp_name, "CancelledError") || !strcmp(type->tp_name, "Cancelled"))
			k->raised = SP_RAW_TASK_CANCELLED;
}

/* ---- creation of a task ---- */

void sp_hook_task_created(PyObject *coroutine)
{
	if (!sp_self || sp_self->epoch != sp_epoch || !coroutine ||
	    !(PyCoro_CheckExact(coroutine) || PyGen_CheckExact(coroutine)) || !interpreter_is_first())
		return;
	sp_frame *f = sp_generator_frame(coroutine);
	uint64_t slot = f ? sp_names_slot(sp_frame_code(f), f) : 0;
	/* if the filter excludes the coroutine, its begin would not be seen */
	if (slot >> SP_SLOT_ID && !(slot & SP_SLOT_FILTERED))
		sp_task_created(sp_self, (uint64_t)coroutine);
}
