/* SPDX-License-Identifier: BSD-3-Clause */
/* Locks, their holders and waiters. The C functions in the types' own method definitions are replaced in place, so
 * that names, docstrings, signatures and references that the program took earlier stay valid: specialised bytecode and
 * bound methods read the definition at each call.
 *
 * A free lock is acquired here, in the same way as the interpreter's own function does first. Only if that fails, the
 * interpreter's function is called to wait, and the wait is recorded; otherwise only the holder is. A lock's
 * information is found by its address, from its creation to its end. */
#include "hook/waits/waits.h"
#include "hook/slot.h"
#include "hook/stacks.h"
#include "hook/waits/arguments.h"
#include "hook/waits/layout.h"
#include "record/adapter.h"
#include "record/definitions.h"
#include "record/thread.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

const PyInterpreterState *sp_waits_home;
static PyTypeObject *lock_type, *rlock_type;

bool sp_waits_is_lock(PyObject *o)
{
	return PyObject_TypeCheck(o, lock_type) || PyObject_TypeCheck(o, rlock_type);
}

SP_WAITS_TOGETHER struct sp_thread *sp_waits_thread(void)
{
	if (!sp_waits_wanted || !sp_recording || !sp_waits_at_home())
		return NULL;
	struct sp_thread *t = sp_hook_thread(NULL);
	return t && t->epoch == sp_epoch && !t->booting ? t : NULL;
}

/* ---- creation and end of locks ---- */

enum { LOCK_TYPE, RLOCK_TYPE, SEMAPHORE_TYPE, TYPES };
/* The original functions of a type. */
static struct {
	const PyTypeObject *type;
	allocfunc alloc;
	newfunc make;
	destructor dealloc;
} theirs[TYPES];

#define DEALLOC(name, which)                                                                                           \
	static void name##_dealloc(PyObject *o)                                                                        \
	{                                                                                                              \
		if (sp_waits_at_home())                                                                                \
			sp_known_forget(o);                                                                            \
		theirs[which].dealloc(o);                                                                              \
	}
#define TYPE(name, which)                                                                                              \
	static PyObject *name##_alloc(PyTypeObject *type, Py_ssize_t n)                                                \
	{                                                                                                              \
		PyObject *o = theirs[which].alloc(type, n);                                                            \
		sp_known_made(o);                                                                                      \
		return o;                                                                                              \
	}                                                                                                              \
	DEALLOC(name, which)
TYPE(lock, LOCK_TYPE)
TYPE(rlock, RLOCK_TYPE)
DEALLOC(semaphore, SEMAPHORE_TYPE)

/* Not called for a semaphore that came from another process, where it was made. */
static PyObject *semaphore_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	PyObject *o = theirs[SEMAPHORE_TYPE].make(type, args, kwargs);
	if (o && sp_waits_at_home())
		sp_known_made(o);
	return o;
}

static void take_type(int which, PyTypeObject *type)
{
	static const allocfunc allocs[TYPES] = {lock_alloc, rlock_alloc, NULL};
	static const destructor deallocs[TYPES] = {lock_dealloc, rlock_dealloc, semaphore_dealloc};
	if (theirs[which].type == type)
		return;  /* already replaced, perhaps below the functions of another tool */
	Py_INCREF(type); /* so that its address is not reused */
	theirs[which].type = type;
	theirs[which].alloc = type->tp_alloc;
	theirs[which].make = type->tp_new;
	theirs[which].dealloc = type->tp_dealloc;
	if (allocs[which])
		type->tp_alloc = allocs[which];
	else
		type->tp_new = semaphore_new; /* before 3.11 it does not allocate by tp_alloc */
	type->tp_dealloc = deallocs[which];
}

void sp_waits_take_semaphores(PyTypeObject *type)
{
	take_type(SEMAPHORE_TYPE, type);
}

/* Returns the row that counts such waits of t; NULL: no space. */
SP_WAITS_TOGETHER static struct sp_raw_wait *row_of(struct sp_thread *t, const struct sp_waits_site *p,
                                                    const struct sp_raw_object *o, unsigned kind, uint32_t holder,
                                                    uint64_t holder_node)
{
	const struct sp_wait_key key = {.node = p->node,
	                                .code = (uint64_t)p->code,
	                                .holder_node = holder_node,
	                                .at = (uint32_t)p->at,
	                                .object = o ? o->id : 0,
	                                .holder = holder,
	                                .kind = kind};
	struct sp_raw_wait *row = sp_waits_find(t, &key);
	if (SP_UNLIKELY(!row)) {
		uint32_t line, file = sp_waits_line(p->code, p->at, &line);
		row = sp_waits_add(t, &key, file, line);
	}
	return row;
}

SP_WAITS_TOGETHER void sp_waits_begin(struct sp_wait *w, struct sp_thread *t, const struct sp_waits_site *p,
                                      struct sp_raw_object *o, unsigned kind, uint32_t holder, uint64_t holder_node,
                                      unsigned flags)
{
	struct sp_raw_wait *row = row_of(t, p, o, kind, holder, holder_node);
	sp_wait_begin(w, t, p->node, row, o, flags);
}

/* ---- the methods that are replaced ---- */

enum {
	LOCK_ACQUIRE,
	LOCK_ACQUIRE_LOCK,
	LOCK_ENTER,
	LOCK_RELEASE,
	LOCK_RELEASE_LOCK,
	LOCK_EXIT,
	LOCK_REINIT,
	RLOCK_ACQUIRE,
	RLOCK_ENTER,
	RLOCK_RELEASE,
	RLOCK_EXIT,
	RLOCK_REINIT,
	RLOCK_SAVE,
	RLOCK_RESTORE,
	ALLOCATE_LOCK,
	ALLOCATE,
	METHODS
};
static struct sp_method methods[METHODS];
/* Their calling conventions. */
static const int flags_of[METHODS] = {
    [LOCK_ACQUIRE] = SP_ACQUIRE_FLAGS, [LOCK_ACQUIRE_LOCK] = SP_ACQUIRE_FLAGS, [LOCK_ENTER] = SP_ENTER_FLAGS,
    [LOCK_RELEASE] = METH_NOARGS,      [LOCK_RELEASE_LOCK] = METH_NOARGS,      [LOCK_EXIT] = SP_EXIT_FLAGS,
    [LOCK_REINIT] = METH_NOARGS,       [RLOCK_ACQUIRE] = SP_ACQUIRE_FLAGS,     [RLOCK_ENTER] = SP_ENTER_FLAGS,
    [RLOCK_RELEASE] = METH_NOARGS,     [RLOCK_EXIT] = SP_EXIT_FLAGS,           [RLOCK_REINIT] = METH_NOARGS,
    [RLOCK_SAVE] = METH_NOARGS,        [RLOCK_RESTORE] = SP_RESTORE_FLAGS,     [ALLOCATE_LOCK] = METH_NOARGS,
    [ALLOCATE] = METH_NOARGS,
};

/* Calls the interpreter's own function. */
SP_WAITS_TOGETHER static PyObject *original(int which, PyObject *self, const struct sp_arguments *a)
{
	return sp_arguments_call(sp_method_real(&methods[which]), flags_of[which], self, a);
}

/* ---- waiting for a lock ---- */

/* How long acquire() waits: microseconds, or one of these. */
enum {
	FOREVER = -1,
	NEVER = 0, /* it does not wait, or the original function must check its arguments */
	LONG = -2  /* too many microseconds to count here: the original function waits */
};

/* A call for a lock that was not free. */
struct request {
	int which; /* method */
	PyObject *self;
	const struct sp_arguments *arguments;
	PY_TIMEOUT_T us; /* LONG: the original function waits */
	unsigned kind;
};

static int64_t microseconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Waits like the interpreter's functions: handles signals meanwhile, and an exception of a handler ends the wait. */
static PyLockStatus wait_without_gil(PyThread_type_lock lock, PY_TIMEOUT_T us)
{
	const int64_t end = us > 0 ? microseconds() + us : 0;
	PyLockStatus r;
	for (;;) {
		Py_BEGIN_ALLOW_THREADS r = PyThread_acquire_lock_timed(lock, us, 1);
		Py_END_ALLOW_THREADS if (SP_LIKELY(r != PY_LOCK_INTR) || Py_MakePendingCalls() < 0) return r;
		if (us >= 0) {
			const int64_t left = end - microseconds();
			us = left > 0 ? left : 0; /* with 0 it is tried once more, without waiting */
		}
	}
}

static PyObject *wait_here(const struct request *q)
{
	const bool is_r = q->kind == SP_RAW_WAIT_RLOCK;
	if (q->us == LONG || (is_r ? SP_RLOCK_HAS_MUTEX : SP_LOCK_HAS_MUTEX))
		return original(q->which, q->self, q->arguments);
	struct sp_rlock *rlock = (struct sp_rlock *)q->self;
	struct sp_lock *lock = (struct sp_lock *)q->self;
	const PyLockStatus status = wait_without_gil(is_r ? rlock->lock : lock->lock, q->us);
	if (status == PY_LOCK_INTR)
		return NULL;
	if (status == PY_LOCK_ACQUIRED && is_r) {
		rlock->owner = PyThread_get_thread_ident();
		rlock->count = 1;
	} else if (status == PY_LOCK_ACQUIRED) {
		lock->locked = 1;
	}
	return PyBool_FromLong(status == PY_LOCK_ACQUIRED);
}

/* flags: SP_RAW_WAIT_TIMED or 0. As much work as possible is done before the wait, when it costs the program no
 * time. */
__attribute__((noinline, hot)) static PyObject *wait_for(const struct request *q, struct sp_thread *t, unsigned flags)
{
	struct sp_waits_site p;
	struct sp_wait w;
	if (SP_UNLIKELY(t->epoch != sp_epoch || !sp_recording || t->booting) && !(t = sp_waits_thread()))
		return wait_here(q);
	sp_waits_find_site(t, &p);
	uint64_t holder_node;
	uint32_t holder;
	struct sp_raw_object *o = sp_known_holder(q->self, &holder, &holder_node);
	struct sp_asker *asker = holder == SP_RAW_NONE ? sp_known_ask(q->self) : NULL;
	/* Condition.wait() waits for a lock that it made for this wait and acquired itself */
	if (holder == t->loc.id && p.notified && q->kind == SP_RAW_WAIT_LOCK) {
		o = sp_waits_object(p.user, p.kind, NULL);
		holder = SP_RAW_NONE;
		holder_node = 0;
		flags |= SP_RAW_WAIT_FOR_NEWS;
	} else {
		if (SP_UNLIKELY(!o))
			o = sp_waits_object(q->self, q->kind, NULL);
		if (o && p.user && !o->user) {
			const struct sp_raw_object *user = sp_waits_object(p.user, p.kind, NULL);
			o->user = user ? user->id : 0;
		}
	}
	Py_CLEAR(p.held);
	sp_waits_begin(&w, t, &p, o, p.user ? p.kind : q->kind, holder, holder_node, flags);
	PyObject *r = wait_here(q);
	if (SP_UNLIKELY(!r) && w.process == sp_adapter_read(&sp_adapter_process) && sp_self == t)
		sp_waits_find_cycle(&w);
	if (asker && sp_known_answered(q->self, asker, &holder, &holder_node) &&
	    w.process == sp_adapter_read(&sp_adapter_process) && sp_self == t)
		sp_wait_move(&w, row_of(t, &p, o, p.user ? p.kind : q->kind, holder, holder_node));
	sp_wait_end(&w, r && r != Py_False);
	return r;
}

/* Converts seconds to microseconds, rounded up as in the interpreter. */
static PY_TIMEOUT_T of_seconds(double s)
{
	const double ns = s * 1e9;
	int64_t whole = (int64_t)ns;
	whole += (double)whole < ns;
	return (whole + 999) / 1000;
}

static PY_TIMEOUT_T shape_of_timeout(PyObject *timeout)
{
	const double longest = 1e9, limit = (double)(PY_TIMEOUT_MAX / 1000000);
	const double s = PyFloat_Check(timeout)  ? PyFloat_AS_DOUBLE(timeout)
	                 : PyLong_Check(timeout) ? PyLong_AsDouble(timeout)
	                                         : -2;
	if (s == -1) {
		if (!PyErr_Occurred())
			return FOREVER;
		PyErr_Clear(); /* too large: the original function raises the error */
		return NEVER;
	}
	return s > 0 && s < longest ? of_seconds(s) : s >= longest && s < limit ? LONG : NEVER;
}

/* The arguments are acquire(blocking=True, timeout=-1). */
static PY_TIMEOUT_T shape_of(const struct sp_arguments *a)
{
	const Py_ssize_t n = sp_arguments_n(a), named = sp_arguments_named(a);
	if (SP_LIKELY(!n && !named))
		return FOREVER;
	PyObject *blocking = n > 0 ? sp_arguments_at(a, 0) : NULL, *timeout = n > 1 ? sp_arguments_at(a, 1) : NULL;
	if (named) {
		PyObject *b = sp_arguments_of(a, "blocking"), *s = sp_arguments_of(a, "timeout");
		if (named != (b != NULL) + (s != NULL) || (b && blocking) || (s && timeout))
			return NEVER;
		blocking = b ? b : blocking;
		timeout = s ? s : timeout;
	}
	if (n > 2 || (blocking && blocking != Py_True &&
	              !(PyLong_CheckExact(blocking) && Py_SIZE(blocking) != 0 &&
	                PyObject_RichCompareBool(blocking, Py_True, Py_EQ) == 1)))
		return NEVER;
	return timeout ? shape_of_timeout(timeout) : FOREVER;
}

/* ---- Lock ---- */

SP_WAITS_TOGETHER static PyObject *lock_acquire(PyObject *self, const struct sp_arguments *a, int which)
{
	struct sp_thread *t = sp_self;
	PyObject *r;
	if (SP_UNLIKELY(!t || !sp_waits_at_home()))
		return original(which, self, a);
	const PY_TIMEOUT_T us = shape_of(a);
	if (SP_UNLIKELY(us == NEVER)) {
		r = original(which, self, a);
	} else if (SP_LIKELY(sp_lock_try(self))) {
		Py_INCREF(Py_True);
		r = Py_True;
	} else {
		const struct request q = {which, self, a, us, SP_RAW_WAIT_LOCK};
		r = wait_for(&q, t, us == FOREVER ? 0 : SP_RAW_WAIT_TIMED);
	}
	if (SP_LIKELY(r == Py_True) && (t = sp_self))
		sp_known_acquired(t, self);
	return r;
}

#if PY_VERSION_HEX >= 0x030f0000
#define ACQUIRE(name, type, which)                                                                                     \
	static PyObject *name(PyObject *self, PyObject *const *all, Py_ssize_t n, PyObject *names)                     \
	{                                                                                                              \
		return type##_acquire(self, &(struct sp_arguments){all, n, names}, which);                             \
	}
#define ENTER(name, type, which)                                                                                       \
	static PyObject *name(PyObject *self, PyObject *none)                                                          \
	{                                                                                                              \
		(void)none;                                                                                            \
		return type##_acquire(self, &(struct sp_arguments){NULL, 0, NULL}, which);                             \
	}
#define EXIT_PARAMETERS   PyObject *self, PyObject *const *all, Py_ssize_t n
#define EXIT_ARGUMENTS    ((struct sp_arguments){all, n, NULL})
#define RESTORE_ARGUMENTS ((struct sp_arguments){&state, 1, NULL})
#else
#define ACQUIRE(name, type, which)                                                                                     \
	static PyObject *name(PyObject *self, PyObject *all, PyObject *names)                                          \
	{                                                                                                              \
		return type##_acquire(self, &(struct sp_arguments){all, names}, which);                                \
	}
#define ENTER(name, type, which) ACQUIRE(name, type, which)
#define EXIT_PARAMETERS          PyObject *self, PyObject *all
#define EXIT_ARGUMENTS           ((struct sp_arguments){all, NULL})
#define RESTORE_ARGUMENTS        ((struct sp_arguments){state, NULL})
#endif
ACQUIRE(on_lock_acquire, lock, LOCK_ACQUIRE)
ACQUIRE(on_lock_acquire_lock, lock, LOCK_ACQUIRE_LOCK)
ENTER(on_lock_enter, lock, LOCK_ENTER)

#define RELEASE(name, which)                                                                                           \
	static PyObject *name(PyObject *self, PyObject *args)                                                          \
	{                                                                                                              \
		if (SP_LIKELY(sp_waits_at_home()))                                                                     \
			sp_known_released(self);                                                                       \
		return sp_method_real(&methods[which])(self, args);                                                    \
	}
RELEASE(on_lock_release, LOCK_RELEASE)
RELEASE(on_lock_release_lock, LOCK_RELEASE_LOCK)
RELEASE(on_lock_reinit, LOCK_REINIT)
RELEASE(on_rlock_reinit, RLOCK_REINIT)
RELEASE(on_rlock_save, RLOCK_SAVE)

static PyObject *on_lock_exit(EXIT_PARAMETERS)
{
	if (SP_LIKELY(sp_waits_at_home()))
		sp_known_released(self);
	return original(LOCK_EXIT, self, &EXIT_ARGUMENTS);
}

/* ---- RLock ---- */

SP_WAITS_TOGETHER static PyObject *rlock_acquire(PyObject *self, const struct sp_arguments *a, int which)
{
	struct sp_thread *t = sp_self;
	PyObject *r;
	if (SP_UNLIKELY(!t || !sp_waits_at_home()) || sp_rlock_mine(self))
		return original(which, self, a);
	const PY_TIMEOUT_T us = shape_of(a);
	if (SP_UNLIKELY(us == NEVER)) {
		r = original(which, self, a);
	} else if (SP_LIKELY(sp_rlock_try(self))) {
		Py_INCREF(Py_True);
		r = Py_True;
	} else {
		const struct request q = {which, self, a, us, SP_RAW_WAIT_RLOCK};
		r = wait_for(&q, t, us == FOREVER ? 0 : SP_RAW_WAIT_TIMED);
	}
	if (SP_LIKELY(r == Py_True) && (t = sp_self))
		sp_known_acquired(t, self);
	return r;
}
ACQUIRE(on_rlock_acquire, rlock, RLOCK_ACQUIRE)
ENTER(on_rlock_enter, rlock, RLOCK_ENTER)

static void rlock_released(PyObject *self)
{
	if (sp_rlock_mine(self) == 1 && sp_waits_at_home())
		sp_known_released(self);
}

static PyObject *on_rlock_release(PyObject *self, PyObject *none)
{
	rlock_released(self);
	return sp_method_real(&methods[RLOCK_RELEASE])(self, none);
}

static PyObject *on_rlock_exit(EXIT_PARAMETERS)
{
	rlock_released(self);
	return original(RLOCK_EXIT, self, &EXIT_ARGUMENTS);
}

/* Called at the end of Condition.wait(), with (count, owner), before 3.15 in a tuple. It cannot be tried without
 * waiting, so this checks first whether the lock is free. If another thread acquires it in between, the wait is not
 * recorded. */
static PyObject *on_rlock_restore(PyObject *self, PyObject *state)
{
	const struct sp_arguments a = RESTORE_ARGUMENTS;
	struct sp_thread *t = sp_self;
	if (!t || !sp_waits_at_home())
		return original(RLOCK_RESTORE, self, &a);
	const bool is_free = sp_rlock_is_free(self);
	const struct request q = {RLOCK_RESTORE, self, &a, LONG, SP_RAW_WAIT_RLOCK};
	PyObject *r = is_free ? original(RLOCK_RESTORE, self, &a) : wait_for(&q, t, 0);
	if (r && (t = sp_self))
		sp_known_acquired(t, self);
	return r;
}

/* ---- start and stop ---- */

static PyObject *on_allocate_lock(PyObject *self, PyObject *args)
{
	PyObject *o = sp_method_real(&methods[ALLOCATE_LOCK])(self, args);
	sp_known_made(o);
	return o;
}

static PyObject *on_allocate(PyObject *self, PyObject *args)
{
	PyObject *o = sp_method_real(&methods[ALLOCATE])(self, args);
	sp_known_made(o);
	return o;
}

PyMethodDef *sp_method_of(PyObject *o, const char *name)
{
	PyObject *dict = PyType_Check(o)     ? ((PyTypeObject *)o)->tp_dict
	                 : PyModule_Check(o) ? PyModule_GetDict(o)
	                                     : NULL;
	PyObject *found = dict ? PyDict_GetItemString(dict, name) : NULL; /* borrowed */
	if (found && Py_IS_TYPE(found, &PyMethodDescr_Type))
		return ((PyMethodDescrObject *)found)->d_method;
	return found && PyCFunction_Check(found) ? ((PyCFunctionObject *)found)->m_ml : NULL;
}

/* If another tool installed its function on top of this one meanwhile, it calls this one: then nothing is replaced. */
void sp_method_take(struct sp_method *m, PyMethodDef *def, PyCFunction ours)
{
	if (!def || def->ml_meth == ours || (m->def && (m->def != def || def->ml_meth != m->real)))
		return;
	m->def = def;
	m->ours = ours;
	__atomic_store_n(&m->real, def->ml_meth, __ATOMIC_RELAXED);
	__atomic_store_n(&def->ml_meth, ours, __ATOMIC_RELEASE);
}

/* If another tool's function is on top of this one, this one stays and passes calls on. */
void sp_method_give_back(struct sp_method *m)
{
	if (!m->def || m->def->ml_meth != m->ours)
		return;
	__atomic_store_n(&m->def->ml_meth, m->real,
	                 __ATOMIC_RELEASE); /* `real` keeps its value: a call may be using it */
	m->def = NULL;
}

#define CAST(f) ((PyCFunction)(void (*)(void))(f))
static const struct row {
	const char *name;
	PyCFunction ours;
} rows[METHODS] = {
    [LOCK_ACQUIRE] = {"acquire", CAST(on_lock_acquire)},
    [LOCK_ACQUIRE_LOCK] = {"acquire_lock", CAST(on_lock_acquire_lock)},
    [LOCK_ENTER] = {"__enter__", CAST(on_lock_enter)},
    [LOCK_RELEASE] = {"release", on_lock_release},
    [LOCK_RELEASE_LOCK] = {"release_lock", on_lock_release_lock},
    [LOCK_EXIT] = {"__exit__", CAST(on_lock_exit)},
    [LOCK_REINIT] = {"_at_fork_reinit", on_lock_reinit},
    [RLOCK_ACQUIRE] = {"acquire", CAST(on_rlock_acquire)},
    [RLOCK_ENTER] = {"__enter__", CAST(on_rlock_enter)},
    [RLOCK_RELEASE] = {"release", on_rlock_release},
    [RLOCK_EXIT] = {"__exit__", CAST(on_rlock_exit)},
    [RLOCK_REINIT] = {"_at_fork_reinit", on_rlock_reinit},
    [RLOCK_SAVE] = {"_release_save", on_rlock_save},
    [RLOCK_RESTORE] = {"_acquire_restore", on_rlock_restore},
    [ALLOCATE_LOCK] = {"allocate_lock", on_allocate_lock},
    [ALLOCATE] = {"allocate", on_allocate},
};

static PyMethodDef *definition(int which, PyObject *thread)
{
	PyObject *of = which >= ALLOCATE_LOCK   ? thread
	               : which >= RLOCK_ACQUIRE ? (PyObject *)rlock_type
	                                        : (PyObject *)lock_type;
	PyMethodDef *def = sp_method_of(of, rows[which].name);
	return def && def->ml_flags == flags_of[which] ? def : NULL;
}

/* Whether all functions that acquire or release a lock exist with the expected calling convention. The others are old
 * names and functions that make locks. */
static bool has_functions(PyObject *thread)
{
	bool has = true;
	for (int i = 0; i < METHODS; i++)
		if (i != LOCK_ACQUIRE_LOCK && i != LOCK_RELEASE_LOCK && i < ALLOCATE_LOCK)
			has = has && definition(i, thread);
	return has;
}

static void missing(void)
{
	static const char why[] = "waits for Python's locks, because this interpreter has them in a way not known";
	sp_define_meta("missing_waits", why, sizeof why - 1);
}

void sp_waits_start(void)
{
#ifdef Py_GIL_DISABLED
	sp_waits_parallel = true;
#endif
	if (!sp_waits_wanted)
		return;
	sp_waits_clib_start();
	SP_SAVE_EXCEPTION;
	PyObject *thread = PyImport_ImportModule("_thread");
	PyObject *dict = thread ? PyModule_GetDict(thread) : NULL;
	lock_type = dict ? (PyTypeObject *)PyDict_GetItemString(dict, "LockType") : NULL;
	rlock_type = dict ? (PyTypeObject *)PyDict_GetItemString(dict, "RLock") : NULL;
	const bool known = lock_type && rlock_type && PyType_Check(lock_type) && PyType_Check(rlock_type) &&
	                   has_functions(thread) && sp_locks_known(thread, lock_type, rlock_type);
	if (!known || !sp_known_begin()) {
		missing();
	} else {
		sp_waits_home = PyThreadState_Get()->interp;
		for (int i = 0; i < METHODS; i++)
			sp_method_take(&methods[i], definition(i, thread), rows[i].ours);
		take_type(LOCK_TYPE, lock_type);
		take_type(RLOCK_TYPE, rlock_type);
		sp_waits_calls_start();
	}
	Py_XDECREF(thread); /* the interpreter keeps a reference */
	PyErr_Clear();
	SP_RESTORE_EXCEPTION;
}

/* The types keep the replaced functions: they must report a lock's end as long as the table exists. */
void sp_waits_stop(void)
{
	sp_waits_clib_stop();
	if (!sp_waits_home)
		return;
	sp_waits_calls_stop();
	for (int i = 0; i < METHODS; i++)
		sp_method_give_back(&methods[i]);
	sp_waits_home = NULL;
	sp_known_end();
}
