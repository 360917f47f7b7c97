/* SPDX-License-Identifier: BSD-3-Clause */
/* C functions that wait, other than those of locks: sleep, select, join, … Their method definitions are changed in
 * place, like those of locks. */
#include "hook/stacks.h"
#include "hook/task.h"
#include "hook/waits/waits.h"
#include "record/adapter.h"
#include "record/process.h"
#include "record/thread.h"
#include "record/waits/clib.h"

#include <limits.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* One call of such a function. */
struct call {
	struct sp_wait wait;
	PyObject *self, *const *args;
	Py_ssize_t n;
	PyObject *names, *kwargs; /* NULL, or a tuple with the names of the last arguments in args, or a dict */
};

/* Returns an argument by its position or its name (NULL: it has no name); borrowed, NULL if it is not given. */
static PyObject *argument(const struct call *c, Py_ssize_t i, const char *name)
{
	if (i < c->n || !name)
		return i < c->n ? c->args[i] : NULL;
	for (Py_ssize_t k = 0; c->names && k < PyTuple_GET_SIZE(c->names); k++)
		if (!PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(c->names, k), name))
			return c->args[c->n + k];
	return c->kwargs ? PyDict_GetItemString(c->kwargs, name) : NULL;
}

static bool timeout_at(const struct call *c, Py_ssize_t i, const char *name)
{
	/* a timeout of 0 does not wait */
	PyObject *o = argument(c, i, name);
	return !o ||
	       !((PyLong_CheckExact(o) && !PyObject_IsTrue(o)) || (PyFloat_CheckExact(o) && PyFloat_AS_DOUBLE(o) == 0));
}

static bool select_waits(const struct call *c)
{
	return timeout_at(c, 3, NULL);
}

static bool poll_waits(const struct call *c)
{
	return timeout_at(c, 0, "timeout");
}

/* Calls a C method without arguments, even if a class of the program overrides it, because the program's code must not
 * run. Returns a new reference; NULL if it raised or does not exist. */
static PyObject *call_own(PyObject *self, const char *name)
{
	PyTypeObject *type = Py_TYPE(self);
	PyMethodDef *def = NULL;
	while (type && !(def = sp_method_of((PyObject *)type, name)))
		type = type->tp_base;
	PyObject *method = def ? PyDict_GetItemString(type->tp_dict, name) : NULL; /* borrowed */
	PyObject *r = method ? PyObject_CallFunctionObjArgs(method, self, NULL) : NULL;
	PyErr_Clear();
	return r;
}

/* Returns the truth value of such a method; -1 if it raised. */
static int ask(PyObject *self, const char *name)
{
	PyObject *r = call_own(self, name);
	const int is = r ? PyObject_IsTrue(r) : -1;
	PyErr_Clear();
	Py_XDECREF(r);
	return is;
}

/* Whether the argument `block` is false; objects of the program's classes count as true. */
static bool is_false(const struct call *c)
{
	PyObject *o = argument(c, 0, "block");
	return o && (o == Py_False || (PyLong_CheckExact(o) && !PyObject_IsTrue(o)));
}

static bool queue_waits(const struct call *c)
{
	return !is_false(c) && ask(c->self, "empty") == 1;
}

static bool semaphore_waits(const struct call *c)
{
	return !is_false(c) && ask(c->self, "_is_zero") == 1 && ask(c->self, "_is_mine") != 1;
}

/* A timeout of 0.0 means non-blocking, None unlimited. */
static bool socket_waits(const struct call *c)
{
	PyObject *r = call_own(c->self, "gettimeout");
	const bool waits = r && !(PyFloat_Check(r) && PyFloat_AS_DOUBLE(r) == 0);
	Py_XDECREF(r);
	return waits;
}

/* For os.read(): records only reads of multiprocessing's connections. */
static bool read_waits(const struct call *c)
{
	const sp_frame *f = sp_frame_current(PyThreadState_Get());
	PyObject *name = f ? PyDict_GetItemString(sp_frame_globals(f), "__name__") : NULL; /* borrowed */
	(void)c;
	return name && PyUnicode_Check(name) && !PyUnicode_CompareWithASCIIString(name, "multiprocessing.connection");
}

/* False with WNOHANG; at: position of the options. */
static bool child_waits(const struct call *c, Py_ssize_t at)
{
	const long how = c->n > at && PyLong_CheckExact(c->args[at]) ? PyLong_AsLong(c->args[at]) : 0;
	PyErr_Clear();
	return !(how & WNOHANG);
}

static bool wait3_waits(const struct call *c)
{
	return child_waits(c, 0);
}

static bool waitpid_waits(const struct call *c)
{
	return child_waits(c, 1);
}

static bool waitid_waits(const struct call *c)
{
	return child_waits(c, 2);
}

/* False with LOCK_NB, with which the call fails at once. */
static bool file_lock_waits(const struct call *c)
{
	enum { NOT_BLOCKING = 4 };
	const long how = c->n > 1 && PyLong_CheckExact(c->args[1]) ? PyLong_AsLong(c->args[1]) : 0;
	PyErr_Clear();
	return !(how & NOT_BLOCKING);
}

enum about { NOTHING, SELF, THREAD, FILE_NAME }; /* the object of the wait, if the program's own object is unknown */

static const struct row {
	const char *module, *type, *name;
	unsigned kind, flags;
	enum about about;
	bool (*waits)(const struct call *c); /* NULL: it always waits */
} rows[] = {
    {"time", NULL, "sleep", SP_RAW_WAIT_SLEEP, SP_RAW_WAIT_TIMED, NOTHING, NULL},
    {"select", NULL, "select", SP_RAW_WAIT_SELECT, SP_RAW_WAIT_FOR_NEWS, NOTHING, select_waits},
    {"select", "poll()", "poll", SP_RAW_WAIT_SELECT, SP_RAW_WAIT_FOR_NEWS, NOTHING, poll_waits},
    {"select", "epoll", "poll", SP_RAW_WAIT_SELECT, SP_RAW_WAIT_FOR_NEWS, NOTHING, poll_waits},
    {"posix", NULL, "waitpid", SP_RAW_WAIT_PROCESS, SP_RAW_WAIT_FOR_NEWS, NOTHING, waitpid_waits},
    {"posix", NULL, "wait", SP_RAW_WAIT_PROCESS, SP_RAW_WAIT_FOR_NEWS, NOTHING, NULL},
    {"posix", NULL, "wait3", SP_RAW_WAIT_PROCESS, SP_RAW_WAIT_FOR_NEWS, NOTHING, wait3_waits},
    {"posix", NULL, "wait4", SP_RAW_WAIT_PROCESS, SP_RAW_WAIT_FOR_NEWS, NOTHING, waitpid_waits},
    {"posix", NULL, "waitid", SP_RAW_WAIT_PROCESS, SP_RAW_WAIT_FOR_NEWS, NOTHING, waitid_waits},
    {"posix", NULL, "read", SP_RAW_WAIT_PIPE, SP_RAW_WAIT_FOR_NEWS, NOTHING, read_waits},
    {"fcntl", NULL, "flock", SP_RAW_WAIT_FILE_LOCK, 0, FILE_NAME, file_lock_waits},
    {"fcntl", NULL, "lockf", SP_RAW_WAIT_FILE_LOCK, 0, FILE_NAME, file_lock_waits},
    {"_queue", "SimpleQueue", "get", SP_RAW_WAIT_QUEUE, SP_RAW_WAIT_FOR_NEWS, SELF, queue_waits},
    {"_multiprocessing", "SemLock", "acquire", SP_RAW_WAIT_PROCESS_LOCK, 0, SELF, semaphore_waits},
    {"_multiprocessing", "SemLock", "__enter__", SP_RAW_WAIT_PROCESS_LOCK, 0, SELF, semaphore_waits},
    {"_thread", "_ThreadHandle", "join", SP_RAW_WAIT_THREAD, 0, THREAD, NULL},
    {"_signal", NULL, "pause", SP_RAW_WAIT_OTHER, SP_RAW_WAIT_FOR_NEWS, NOTHING, NULL},
    {"_signal", NULL, "sigwait", SP_RAW_WAIT_OTHER, SP_RAW_WAIT_FOR_NEWS, NOTHING, NULL},
    {"_signal", NULL, "sigwaitinfo", SP_RAW_WAIT_OTHER, SP_RAW_WAIT_FOR_NEWS, NOTHING, NULL},
    {"_signal", NULL, "sigtimedwait", SP_RAW_WAIT_OTHER, SP_RAW_WAIT_TIMED, NOTHING, NULL},
    {"_socket", "socket", "_accept", SP_RAW_WAIT_SOCKET, SP_RAW_WAIT_FOR_NEWS, SELF, socket_waits},
    {"_socket", "socket", "connect", SP_RAW_WAIT_SOCKET, SP_RAW_WAIT_FOR_NEWS, SELF, socket_waits},
    {"_socket", "socket", "recv", SP_RAW_WAIT_SOCKET, SP_RAW_WAIT_FOR_NEWS, SELF, socket_waits},
    {"_socket", "socket", "recv_into", SP_RAW_WAIT_SOCKET, SP_RAW_WAIT_FOR_NEWS, SELF, socket_waits},
    {"_socket", "socket", "recvfrom", SP_RAW_WAIT_SOCKET, SP_RAW_WAIT_FOR_NEWS, SELF, socket_waits},
    {"_socket", "socket", "recvfrom_into", SP_RAW_WAIT_SOCKET, SP_RAW_WAIT_FOR_NEWS, SELF, socket_waits},
    {"_socket", "socket", "recvmsg", SP_RAW_WAIT_SOCKET, SP_RAW_WAIT_FOR_NEWS, SELF, socket_waits},
    {"_socket", "socket", "send", SP_RAW_WAIT_SOCKET, SP_RAW_WAIT_FOR_NEWS, SELF, socket_waits},
    {"_socket", "socket", "sendall", SP_RAW_WAIT_SOCKET, SP_RAW_WAIT_FOR_NEWS, SELF, socket_waits},
    {"_socket", "socket", "sendto", SP_RAW_WAIT_SOCKET, SP_RAW_WAIT_FOR_NEWS, SELF, socket_waits},
};
enum { ROWS = sizeof rows / sizeof *rows };
static struct sp_method methods[ROWS];

/* ---- one call ---- */

/* Returns the location of a threading.Thread; SP_RAW_NONE if unknown. */
static uint32_t location_of(PyObject *thread)
{
	PyObject *tid = sp_plain_attribute(thread, "_native_id");
	const unsigned long id = tid && PyLong_CheckExact(tid) ? PyLong_AsUnsignedLong(tid) : 0;
	uint32_t location = SP_RAW_NONE;
	PyErr_Clear();
	Py_XDECREF(tid);
	pthread_mutex_lock(&sp_process.lock);
	for (const struct sp_thread *t = sp_process.threads; id && t; t = t->next)
		if (t->loc.tid == id)
			location = t->loc.id;
	pthread_mutex_unlock(&sp_process.lock);
	return location;
}

static struct sp_raw_object *file_of(const struct call *c, unsigned kind)
{
	PyObject *o = c->n > 0 ? c->args[0] : NULL;
	/* fileno() of the interpreter's own files is not code of the program */
	PyObject *number = o && !PyLong_CheckExact(o) && !strncmp(Py_TYPE(o)->tp_name, "_io.", 4)
	                       ? PyObject_CallMethod(o, "fileno", NULL)
	                       : NULL;
	const long fd = o && PyLong_CheckExact(o) ? PyLong_AsLong(o) : number ? PyLong_AsLong(number) : -1;
	PyErr_Clear();
	Py_XDECREF(number);
	return fd >= 0 && fd <= INT_MAX ? sp_object_of_file(kind, (int)fd) : NULL;
}

static bool begin(struct call *c, int i)
{
	const struct row *r = &rows[i];
	struct sp_thread *t = sp_waits_thread();
	struct sp_waits_site p;
	struct sp_raw_object *o = NULL;
	uint32_t holder = SP_RAW_NONE;
	if (!t || (r->waits && !r->waits(c)))
		return false;
	sp_waits_find_site(t, &p);
	const unsigned kind = p.user && (r->about == SELF || r->kind == SP_RAW_WAIT_PIPE) ? p.kind : r->kind;
	if (r->about == THREAD && p.user) {
		o = sp_waits_object(p.user, p.kind, NULL);
		holder = location_of(p.user);
		if (o)
			sp_object_set_holder(o, holder);
	} else if (r->about == FILE_NAME) {
		o = file_of(c, kind);
	} else if (p.user && r->kind != SP_RAW_WAIT_SLEEP) {
		o = sp_waits_object(p.user, p.kind, NULL);
	} else if (r->about == SELF) {
		o = sp_waits_object(c->self, kind, NULL);
	}
	/* a join with a timeout cannot be part of a deadlock */
	PyObject *timeout = r->about == THREAD ? argument(c, 0, "timeout") : NULL;
	const bool timed = timeout && timeout != Py_None;
	Py_CLEAR(p.held);
	sp_waits_begin(&c->wait, t, &p, o, kind, holder, 0, r->flags | (timed ? SP_RAW_WAIT_TIMED : 0));
	return true;
}

static PyObject *end(struct call *c, PyObject *r)
{
	if (!r && c->wait.process == sp_adapter_read(&sp_adapter_process) && sp_self == c->wait.t)
		sp_waits_find_cycle(&c->wait);
	sp_wait_end(&c->wait, r != NULL);
	return r;
}

/* ---- one function for each row and calling convention ---- */

#define REAL(i, type) ((type)(void (*)(void))sp_method_real(&methods[i]))

typedef PyObject *plain(PyObject *, PyObject *);
typedef PyObject *keywords(PyObject *, PyObject *, PyObject *);
typedef PyObject *fast(PyObject *, PyObject *const *, Py_ssize_t);
typedef PyObject *fast_keywords(PyObject *, PyObject *const *, Py_ssize_t, PyObject *);
typedef PyObject *method(PyObject *, PyTypeObject *, PyObject *const *, size_t, PyObject *);

static struct call of_tuple(PyObject *self, PyObject *args)
{
	return (struct call){.self = self, .args = &PyTuple_GET_ITEM(args, 0), .n = PyTuple_GET_SIZE(args)};
}

static PyObject *call_none(int i, PyObject *self, PyObject *none)
{
	struct call c = {.self = self};
	return begin(&c, i) ? end(&c, REAL(i, plain *)(self, none)) : REAL(i, plain *)(self, none);
}

static PyObject *call_one(int i, PyObject *self, PyObject *arg)
{
	struct call c = {.self = self, .args = &arg, .n = 1};
	return begin(&c, i) ? end(&c, REAL(i, plain *)(self, arg)) : REAL(i, plain *)(self, arg);
}

static PyObject *call_tuple(int i, PyObject *self, PyObject *args)
{
	struct call c = of_tuple(self, args);
	return begin(&c, i) ? end(&c, REAL(i, plain *)(self, args)) : REAL(i, plain *)(self, args);
}

static PyObject *call_keywords(int i, PyObject *self, PyObject *args, PyObject *kwargs)
{
	struct call c = of_tuple(self, args);
	c.kwargs = kwargs;
	return begin(&c, i) ? end(&c, REAL(i, keywords *)(self, args, kwargs))
	                    : REAL(i, keywords *)(self, args, kwargs);
}

static PyObject *call_fast(int i, PyObject *self, PyObject *const *args, Py_ssize_t n)
{
	struct call c = {.self = self, .args = args, .n = n};
	return begin(&c, i) ? end(&c, REAL(i, fast *)(self, args, n)) : REAL(i, fast *)(self, args, n);
}

static PyObject *call_fast_keywords(int i, PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
	struct call c = {.self = self, .args = args, .n = n, .names = names};
	return begin(&c, i) ? end(&c, REAL(i, fast_keywords *)(self, args, n, names))
	                    : REAL(i, fast_keywords *)(self, args, n, names);
}

static PyObject *call_method(int i, PyObject *self, PyTypeObject *type, PyObject *const *args, size_t n,
                             PyObject *names)
{
	struct call c = {.self = self, .args = args, .n = PyVectorcall_NARGS(n), .names = names};
	return begin(&c, i) ? end(&c, REAL(i, method *)(self, type, args, n, names))
	                    : REAL(i, method *)(self, type, args, n, names);
}

#define FUNCTIONS(i)                                                                                                   \
	static PyObject *none_##i(PyObject *s, PyObject *a)                                                            \
	{                                                                                                              \
		return call_none(i, s, a);                                                                             \
	}                                                                                                              \
	static PyObject *one_##i(PyObject *s, PyObject *a)                                                             \
	{                                                                                                              \
		return call_one(i, s, a);                                                                              \
	}                                                                                                              \
	static PyObject *tuple_##i(PyObject *s, PyObject *a)                                                           \
	{                                                                                                              \
		return call_tuple(i, s, a);                                                                            \
	}                                                                                                              \
	static PyObject *keywords_##i(PyObject *s, PyObject *a, PyObject *k)                                           \
	{                                                                                                              \
		return call_keywords(i, s, a, k);                                                                      \
	}                                                                                                              \
	static PyObject *fast_##i(PyObject *s, PyObject *const *a, Py_ssize_t n)                                       \
	{                                                                                                              \
		return call_fast(i, s, a, n);                                                                          \
	}                                                                                                              \
	static PyObject *fast_keywords_##i(PyObject *s, PyObject *const *a, Py_ssize_t n, PyObject *k)                 \
	{                                                                                                              \
		return call_fast_keywords(i, s, a, n, k);                                                              \
	}                                                                                                              \
	static PyObject *method_##i(PyObject *s, PyTypeObject *t, PyObject *const *a, size_t n, PyObject *k)           \
	{                                                                                                              \
		return call_method(i, s, t, a, n, k);                                                                  \
	}
#define POINTER(f) ((PyCFunction)(void (*)(void))(f))
#define POINTERS(i)                                                                                                    \
	{POINTER(none_##i), POINTER(one_##i),           POINTER(tuple_##i), POINTER(keywords_##i),                     \
	 POINTER(fast_##i), POINTER(fast_keywords_##i), POINTER(method_##i)},
#define TEN(X, d) X(d##0) X(d##1) X(d##2) X(d##3) X(d##4) X(d##5) X(d##6) X(d##7) X(d##8) X(d##9)
#define EACH(X)   TEN(X, ) TEN(X, 1) TEN(X, 2)
EACH(FUNCTIONS)
enum { WAYS = 7 };
static const PyCFunction functions[][WAYS] = {EACH(POINTERS)};
_Static_assert(sizeof functions / sizeof *functions == ROWS, "a function for each row");

static const int ways[WAYS] = {
    METH_NOARGS,
    METH_O,
    METH_VARARGS,
    METH_VARARGS | METH_KEYWORDS,
    METH_FASTCALL,
    METH_FASTCALL | METH_KEYWORDS,
    METH_METHOD | METH_FASTCALL | METH_KEYWORDS,
};

/* ---- replacing the functions ---- */

/* Returns the module or type that contains a function: borrowed, or kept alive by its module if only a call returns
 * it. */
static PyObject *holder_of(const struct row *r, PyObject *module)
{
	PyObject *type = NULL, *one;
	if (!r->type)
		return module;
	if (strcmp(r->type, "poll()")) {
		type = PyDict_GetItemString(PyModule_GetDict(module), r->type);
		/* a static type may have no methods before its first use */
		return type && PyType_Check(type) && PyType_Ready((PyTypeObject *)type) == 0 ? type : NULL;
	}
	one = PyObject_CallMethod(module, "poll", NULL);
	type = one ? (PyObject *)Py_TYPE(one) : NULL;
	Py_XDECREF(one);
	return type;
}

static void take(const char *name, PyObject *module)
{
	for (int i = 0; i < ROWS; i++) {
		PyObject *holder = strcmp(name, rows[i].module) ? NULL : holder_of(&rows[i], module);
		PyMethodDef *def = holder ? sp_method_of(holder, rows[i].name) : NULL;
		const int flags = def ? def->ml_flags & ~(METH_CLASS | METH_STATIC | METH_COEXIST) : 0;
		PyErr_Clear();
		if (def && rows[i].kind == SP_RAW_WAIT_PROCESS_LOCK)
			sp_waits_take_semaphores((PyTypeObject *)holder);
		for (int k = 0; def && k < WAYS; k++)
			if (flags == ways[k])
				sp_method_take(&methods[i], def, functions[i][k]);
	}
}

static struct sp_method
    executes[2]; /* _imp.exec_dynamic, _imp.exec_builtin: when they return, a C module is complete */

static PyObject *on_executed(PyObject *module, PyObject *r)
{
	if (!r || !sp_waits_wanted || !PyModule_Check(module))
		return r;
	SP_SAVE_EXCEPTION;
	const char *name = PyModule_GetName(module);
	if (name)
		take(name, module);
	PyErr_Clear();
	SP_RESTORE_EXCEPTION;
	return r;
}

static PyObject *exec_dynamic(PyObject *self, PyObject *module)
{
	return on_executed(module, sp_method_real(&executes[0])(self, module));
}

static PyObject *exec_builtin(PyObject *self, PyObject *module)
{
	return on_executed(module, sp_method_real(&executes[1])(self, module));
}

void sp_waits_calls_start(void)
{
	PyObject *modules = PyImport_GetModuleDict(), *imp = PyDict_GetItemString(modules, "_imp"); /* borrowed */
	for (int i = 0; i < ROWS; i++) {
		PyObject *module = PyDict_GetItemString(modules, rows[i].module); /* borrowed */
		if (module && PyModule_Check(module) && (!i || strcmp(rows[i].module, rows[i - 1].module)))
			take(rows[i].module, module);
	}
	PyMethodDef *dynamic = imp ? sp_method_of(imp, "exec_dynamic") : NULL;
	PyMethodDef *builtin = imp ? sp_method_of(imp, "exec_builtin") : NULL;
	if (dynamic && dynamic->ml_flags == METH_O)
		sp_method_take(&executes[0], dynamic, exec_dynamic);
	if (builtin && builtin->ml_flags == METH_O)
		sp_method_take(&executes[1], builtin, exec_builtin);
	PyErr_Clear();
}

void sp_waits_calls_stop(void)
{
	for (int i = 0; i < ROWS; i++)
		sp_method_give_back(&methods[i]);
	sp_method_give_back(&executes[0]);
	sp_method_give_back(&executes[1]);
}
