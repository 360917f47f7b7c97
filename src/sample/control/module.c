/* SPDX-License-Identifier: BSD-3-Clause */
/* The extension module `spartito._sample`: stacks of other processes, for tools that show them and for tests. */
#include <Python.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sample/native/native.h"
#include "sample/python/offsets.h"
#include "sample/control/run.h"
#include "sample/control/state.h"

enum { ROOM_THREADS = 4096, TRIES = 8 };

struct process {
	PyObject_HEAD struct sp_target target;
	struct sp_python *python;         /* owned; NULL: closed */
	struct sp_native *native;         /* owned; NULL: not requested */
	struct sp_python_thread *threads; /* owned */
};

static PyObject *raise(int error, const char *why)
{
	/* the exception is created here: before 3.12, if it is created later from its arguments, it is caught only as
	 * OSError, not as its subclass */
	PyObject *e = PyObject_CallFunction(PyExc_OSError, "is", -error, why);
	if (e) {
		PyErr_SetObject((PyObject *)Py_TYPE(e), e);
		Py_DECREF(e);
	}
	return NULL;
}

static PyObject *text(const char *s)
{
	return PyUnicode_DecodeUTF8(s, (Py_ssize_t)strlen(s), "backslashreplace");
}

/* ---- Process ---- */

static void process_close(struct process *self)
{
	sp_native_close(self->native);
	self->native = NULL;
	if (self->python) {
		sp_python_close(self->python);
		sp_target_close(&self->target);
	}
	self->python = NULL;
	free(self->threads);
	self->threads = NULL;
}

static PyObject *process_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	static char *names[] = {"pid", "native", "stop", NULL};
	char why[512] = "";
	int pid, native = 0, stop = 1;
	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "i|pp", names, &pid, &native, &stop))
		return NULL;
	struct process *self = (struct process *)type->tp_alloc(type, 0);
	if (!self)
		return NULL;
	int r = sp_target_open(&self->target, pid, why, sizeof why);
	if (!r) {
		r = sp_python_open(&self->python, &self->target, why, sizeof why);
		if (r)
			sp_target_close(&self->target);
		else if (!(self->threads = malloc(ROOM_THREADS * sizeof *self->threads)))
			r = -ENOMEM;
	}
	if (!r && native)
		r = sp_native_open(&self->native, &self->target, stop, why, sizeof why);
	if (r) {
		Py_DECREF(self);
		return r == -ENOMEM ? PyErr_NoMemory() : raise(r, why);
	}
	return (PyObject *)self;
}

static void process_dealloc(PyObject *o)
{
	PyTypeObject *type = Py_TYPE(o);
	process_close((struct process *)o);
	type->tp_free(o);
	Py_DECREF(type);
}

static PyObject *frame_row(const struct sp_python_frame *f)
{
	const struct sp_python_code *c = f->code;
	return Py_BuildValue("(NNNIINK)", text(c->module), text(c->qualname), text(c->file), c->first_line, f->line,
	                     PyBool_FromLong(f->entry), (unsigned long long)f->frame);
}

/* The list of n frames, of which the first `capacity` are available. None: they could not be read. */
static PyObject *frame_list(const struct sp_python_frame *frames, int capacity, int n)
{
	if (n < 0)
		Py_RETURN_NONE;
	int shown = n < capacity ? n : capacity;
	PyObject *list = PyList_New(shown);
	for (int i = 0; list && i < shown; i++) {
		PyObject *row = frame_row(&frames[i]);
		if (!row)
			Py_CLEAR(list);
		else
			PyList_SET_ITEM(list, i, row);
	}
	return list;
}

static bool is_open(struct process *self)
{
	if (!self->python)
		PyErr_SetString(PyExc_ValueError, "the process is closed");
	return self->python;
}

static bool is_depth(int depth)
{
	if (depth < 1 || depth > 1 << 20)
		PyErr_Format(PyExc_ValueError, "depth is %d, not a number from 1 to 1048576", depth);
	return depth >= 1 && depth <= 1 << 20;
}

/* Lists the threads that Python knows. Returns their number, or a negative errno. */
static int list_threads(struct process *self)
{
	int n = sp_python_threads(self->python, self->threads, ROOM_THREADS);
	for (int i = 0; n == -EAGAIN && i < TRIES; i++)
		n = sp_python_threads(self->python, self->threads, ROOM_THREADS);
	return n;
}

static PyObject *process_stacks(PyObject *o, PyObject *args, PyObject *kwargs)
{
	static char *names[] = {"depth", NULL};
	struct process *self = (struct process *)o;
	int depth = 1024;
	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|i", names, &depth) || !is_open(self) || !is_depth(depth))
		return NULL;
	int n = list_threads(self);
	if (n < 0)
		return raise(n,
		             n == -EAGAIN ? "its threads changed while they were sampled" : "Python in it has ended");
	struct sp_python_frame *frames = malloc((size_t)depth * sizeof *frames);
	PyObject *list = frames ? PyList_New(0) : PyErr_NoMemory();
	for (int i = 0; list && i < n && i < ROOM_THREADS; i++) {
		const struct sp_python_thread *t = &self->threads[i];
		int found = sp_python_stack(self->python, t, frames, (size_t)depth);
		PyObject *stack = frame_list(frames, depth, found), *row;
		row = stack ? Py_BuildValue("(iNNN)", (int)t->tid, PyBool_FromLong(t->holds_gil), stack,
		                            PyBool_FromLong(found > depth))
		            : NULL;
		if (!row || PyList_Append(list, row))
			Py_CLEAR(list);
		Py_XDECREF(row);
	}
	free(frames);
	return list;
}

static PyObject *process_alive(PyObject *o, PyObject *unused)
{
	struct process *self = (struct process *)o;
	(void)unused;
	return is_open(self) ? PyBool_FromLong(sp_target_alive(&self->target)) : NULL;
}

static const char *const states[SP_STATES] = {[SP_STATE_RUNNING] = "running",     [SP_STATE_GIL] = "gil",
                                              [SP_STATE_SYSCALL] = "system call", [SP_STATE_IDLE] = "idle",
                                              [SP_STATE_OBJECT] = "object lock",  [SP_STATE_STOPPED] = "stopped"};

/* The number of entries in the list of threads; n: number of threads that Python knows, or an error. */
static size_t known(int n)
{
	return (size_t)(n < 0 ? 0 : n < ROOM_THREADS ? n : ROOM_THREADS);
}

static enum sp_thread_state state_of(const struct process *self, pid_t tid, int n, const struct sp_thread_times *times,
                                     const struct sp_native_frame *native, size_t n_native)
{
	return sp_thread_state(self->python, sp_python_state_of(self->threads, known(n), tid), times, native, n_native);
}

/* A row of `read_threads()`. NULL without an exception: the thread has ended. */
static PyObject *look_at(struct process *self, pid_t tid, int n, struct sp_python_frame *frames, int depth)
{
	struct sp_thread_times times;
	if (sp_target_times(&self->target, tid, &times))
		return NULL;
	const int found = sp_python_stack_of(self->python, self->threads, known(n), tid, frames, (size_t)depth);
	PyObject *stack = frame_list(frames, depth, found);
	return stack ? Py_BuildValue("(isKKNN)", (int)tid, states[state_of(self, tid, n, &times, NULL, 0)],
	                             (unsigned long long)times.cpu, (unsigned long long)times.ready, stack,
	                             PyBool_FromLong(found > depth))
	             : NULL;
}

static PyObject *process_read_threads(PyObject *o, PyObject *args, PyObject *kwargs)
{
	static char *names[] = {"depth", NULL};
	struct process *self = (struct process *)o;
	pid_t ids[ROOM_THREADS];
	int depth = 1024;
	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|i", names, &depth) || !is_open(self) || !is_depth(depth))
		return NULL;
	int n_python = list_threads(self), n = sp_target_threads(&self->target, ids, ROOM_THREADS);
	if (n_python == -ESRCH || n < 0)
		return raise(-ESRCH, "Python in it has ended");
	struct sp_python_frame *frames = malloc((size_t)depth * sizeof *frames);
	PyObject *list = frames ? PyList_New(0) : PyErr_NoMemory();
	for (int i = 0; list && i < n && i < ROOM_THREADS; i++) {
		PyObject *row = look_at(self, ids[i], n_python, frames, depth);
		if ((!row && PyErr_Occurred()) || (row && PyList_Append(list, row)))
			Py_CLEAR(list);
		Py_XDECREF(row);
	}
	free(frames);
	return list;
}

/* ---- compiled frames too ---- */

static PyObject *native_row(const struct sp_native_frame *f)
{
	const struct sp_native_function *of = f->function;
	if (!of)
		return Py_BuildValue("(OOKK)", Py_None, Py_None, 0ull, (unsigned long long)f->pc);
	return Py_BuildValue("(NzKK)", text(of->object), of->name, (unsigned long long)of->address,
	                     (unsigned long long)f->pc);
}

struct mixed {
	struct sp_thread_times times;
	struct sp_python_frame *python;
	struct sp_native_frame *native;
	struct sp_mixed_frame *mixed;
	size_t n_python, n_native, n;
	bool complete;
};

/* Reads both stacks of a thread as one consistent snapshot; n_threads: number of threads that Python knows. Returns 0
 * or a negative errno. */
static int mixed_at(struct process *self, pid_t tid, int n_threads, struct mixed *l, size_t depth)
{
	int r = sp_target_times(&self->target, tid, &l->times);
	r = r ? r : sp_native_begin(self->native, tid, &l->times);
	if (r)
		return r;
	int n = sp_python_stack_of(self->python, self->threads, known(n_threads), tid, l->python, depth);
	r = sp_native_end(self->native);
	if (r || n < 0)
		return r ? r : n;
	l->n_python = (size_t)n < depth ? (size_t)n : depth;
	l->n_native = sp_native_stack(self->native, l->native, depth, &l->complete);
	return 0;
}

static PyObject *mixed_list(const struct mixed *l)
{
	PyObject *list = PyList_New((Py_ssize_t)l->n);
	for (size_t i = 0; list && i < l->n; i++) {
		PyObject *row = l->mixed[i].python ? frame_row(l->mixed[i].python) : native_row(l->mixed[i].native);
		if (!row)
			Py_CLEAR(list);
		else
			PyList_SET_ITEM(list, (Py_ssize_t)i, row);
	}
	return list;
}

static PyObject *mixed_row(struct process *self, pid_t tid, struct mixed *l, size_t depth, int n_threads,
                           bool interpreter)
{
	int r = mixed_at(self, tid, n_threads, l, depth);
	if (r)
		return Py_BuildValue("(iisO)", (int)tid, r, "", Py_None);
	l->n = sp_native_mix(l->python, l->n_python, l->native, l->n_native, l->complete, interpreter, l->mixed,
	                     2 * depth);
	PyObject *list = mixed_list(l);
	const char *state = states[state_of(self, tid, n_threads, &l->times, l->native, l->n_native)];
	return list ? Py_BuildValue("(iisN)", (int)tid, l->complete ? 1 : 0, state, list) : NULL;
}

static PyObject *process_mixed(PyObject *o, PyObject *args, PyObject *kwargs)
{
	static char *names[] = {"depth", "interpreter", NULL};
	struct process *self = (struct process *)o;
	pid_t ids[ROOM_THREADS];
	int depth = 1024, interpreter = 0;
	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|ip", names, &depth, &interpreter) || !is_open(self))
		return NULL;
	if (!self->native || depth < 1 || depth > 1 << 20)
		return PyErr_Format(PyExc_ValueError, "depth is not a number from 1 to 1048576, or native not true");
	struct mixed l = {.python = malloc((size_t)depth * sizeof *l.python),
	                  .native = malloc((size_t)depth * sizeof *l.native),
	                  .mixed = malloc(2 * (size_t)depth * sizeof *l.mixed)};
	PyObject *list = l.python && l.native && l.mixed ? PyList_New(0) : PyErr_NoMemory();
	int n = sp_target_threads(&self->target, ids, ROOM_THREADS);
	int known = sp_python_threads(self->python, self->threads, ROOM_THREADS);
	for (int i = 0; list && i < n && i < ROOM_THREADS; i++) {
		PyObject *row = mixed_row(self, ids[i], &l, (size_t)depth, known, interpreter);
		if (!row || PyList_Append(list, row))
			Py_CLEAR(list);
		Py_XDECREF(row);
	}
	free(l.python);
	free(l.native);
	free(l.mixed);
	return list;
}

static PyObject *process_counts(PyObject *o, PyObject *unused)
{
	struct process *self = (struct process *)o;
	(void)unused;
	if (!is_open(self) || !self->native)
		return PyErr_Occurred() ? NULL : PyDict_New();
	const struct sp_native_counts *c = sp_native_counts(self->native);
	return Py_BuildValue("{sKsKsKsKsKsKsK}", "stops", (unsigned long long)c->stops, "stopped",
	                     (unsigned long long)c->stopped, "repeated", (unsigned long long)c->repeated, "continued",
	                     (unsigned long long)c->continued, "incomplete", (unsigned long long)c->incomplete, "late",
	                     (unsigned long long)c->late, "changed", (unsigned long long)c->changed);
}

static PyObject *process_close_method(PyObject *o, PyObject *unused)
{
	(void)unused;
	process_close((struct process *)o);
	Py_RETURN_NONE;
}

static PyObject *process_version(PyObject *o, void *unused)
{
	struct process *self = (struct process *)o;
	(void)unused;
	if (!is_open(self))
		return NULL;
	unsigned v = sp_python_version(self->python);
	return Py_BuildValue("(II)", v >> 8, v & 0xff);
}

static PyMethodDef process_methods[] = {
    {"stacks", (PyCFunction)(void (*)(void))process_stacks, METH_VARARGS | METH_KEYWORDS, NULL},
    {"read_threads", (PyCFunction)(void (*)(void))process_read_threads, METH_VARARGS | METH_KEYWORDS, NULL},
    {"mixed", (PyCFunction)(void (*)(void))process_mixed, METH_VARARGS | METH_KEYWORDS, NULL},
    {"counts", process_counts, METH_NOARGS, NULL},
    {"alive", process_alive, METH_NOARGS, NULL},
    {"close", process_close_method, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef process_getters[] = {
    {"version", process_version, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot process_slots[] = {
    {Py_tp_new, process_new},
    {Py_tp_dealloc, process_dealloc},
    {Py_tp_methods, process_methods},
    {Py_tp_getset, process_getters},
    {0, NULL},
};

static PyType_Spec process_spec = {
    .name = "spartito._sample.Process",
    .basicsize = sizeof(struct process),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = process_slots,
};

/* ---- the module ---- */

static PyObject *offsets(PyObject *module, PyObject *args)
{
	unsigned version;
	int without_gil = 0;
	const char *name;
	(void)module;
	if (!PyArg_ParseTuple(args, "I|p", &version, &without_gil))
		return NULL;
	const struct sp_offsets *row = sp_offsets_of(version, without_gil);
	PyObject *dict = PyDict_New();
	for (size_t i = 0; dict && row && (name = sp_offsets_name(i)); i++) {
		uint32_t offset = ((const uint32_t *)row)[i];
		PyObject *value =
		    offset == SP_NO_OFFSET ? (Py_INCREF(Py_None), Py_None) : PyLong_FromUnsignedLong(offset);
		if (!value || PyDict_SetItemString(dict, name, value))
			Py_CLEAR(dict);
		Py_XDECREF(value);
	}
	return dict;
}

static PyMethodDef methods[] = {
    {"offsets", offsets, METH_VARARGS, NULL},
    {"check", sp_run_check, METH_NOARGS, NULL},
    {"manage", sp_run_manage, METH_VARARGS, NULL},
    {"sample", sp_run_sample, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static int execute(PyObject *module)
{
	PyObject *type = PyType_FromSpec(&process_spec);
	int r = type ? PyModule_AddObject(module, "Process", type) : -1;
	if (r)
		Py_XDECREF(type);
	return r;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)execute},
#ifdef Py_GIL_DISABLED
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "spartito._sample",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__sample(void);
PyMODINIT_FUNC PyInit__sample(void)
{
	return PyModuleDef_Init(&definition);
}
