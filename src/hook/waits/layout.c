/* SPDX-License-Identifier: BSD-3-Clause */
#include "hook/waits/layout.h"
#include "hook/chain.h"
#include "hook/task.h"

#if PY_VERSION_HEX >= 0x030d0000 && PY_VERSION_HEX < 0x030e0000
bool sp_lock_has_mutex;
#endif

static bool call(PyObject *o, const char *name)
{
	PyObject *r = PyObject_CallMethod(o, name, NULL);
	Py_XDECREF(r);
	return r;
}

/* ---- the contents of a lock with `times` acquisitions: 0, 1 or, for an RLock, 2 ---- */

static bool lock_is(PyObject *o, size_t times)
{
	const struct sp_lock *l = (const struct sp_lock *)o;
	if (SP_LOCK_HAS_MUTEX)
		return ((const struct sp_mutex_lock *)o)->bits == times;
	return l->locked == (char)times && l->lock; /* the pointer is not dereferenced */
}

static bool rlock_is(PyObject *o, size_t times)
{
	const unsigned long me = times ? PyThread_get_thread_ident() : 0;
	if (SP_RLOCK_HAS_MUTEX) {
		const struct sp_mutex_rlock *m = (const struct sp_mutex_rlock *)o;
		return m->bits == (times > 0) && m->owner == me && m->level == (times ? times - 1 : 0);
	}
	const struct sp_rlock *l = (const struct sp_rlock *)o;
	return l->count == times && (!times || l->owner == me) && l->lock;
}

static bool lock_known(PyObject *o)
{
	return lock_is(o, 0) && call(o, "acquire") && lock_is(o, 1) && !sp_lock_try(o) && call(o, "release") &&
	       lock_is(o, 0) && sp_lock_try(o) && lock_is(o, 1) && call(o, "release") && lock_is(o, 0);
}

static bool rlock_known(PyObject *o)
{
	return rlock_is(o, 0) && call(o, "acquire") && call(o, "acquire") && rlock_is(o, 2) && call(o, "release") &&
	       rlock_is(o, 1) && !sp_rlock_is_free(o) && call(o, "release") && rlock_is(o, 0) && sp_rlock_is_free(o) &&
	       sp_rlock_try(o) && rlock_is(o, 1) && call(o, "release") && rlock_is(o, 0);
}

bool sp_locks_known(PyObject *thread, const PyTypeObject *lock, const PyTypeObject *rlock)
{
#if PY_VERSION_HEX >= 0x030d0000 && PY_VERSION_HEX < 0x030e0000
	sp_lock_has_mutex = lock->tp_basicsize == sizeof(struct sp_mutex_lock);
#endif
	const size_t size = SP_LOCK_HAS_MUTEX ? sizeof(struct sp_mutex_lock) : sizeof(struct sp_lock);
	const size_t r_size = SP_RLOCK_HAS_MUTEX ? sizeof(struct sp_mutex_rlock) : sizeof(struct sp_rlock);
	if ((size_t)lock->tp_basicsize != size || (size_t)rlock->tp_basicsize != r_size || lock->tp_itemsize ||
	    rlock->tp_itemsize)
		return false;
	PyObject *l = PyObject_CallMethod(thread, "allocate_lock", NULL);
	PyObject *r = PyObject_CallMethod(thread, "RLock", NULL);
	const bool known = l && r && Py_TYPE(l) == lock && Py_TYPE(r) == rlock && lock_known(l) && rlock_known(r);
	Py_XDECREF(l);
	Py_XDECREF(r);
	PyErr_Clear();
	return known;
}
