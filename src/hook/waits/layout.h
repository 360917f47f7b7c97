/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory layout of this interpreter's two lock types. Releases of one version differ: Lock of 3.13.0 has a
 * pointer, that of 3.13.5 a PyMutex; from 3.14 on both types have one. The functions here do what the interpreter's
 * own functions do first. They need the GIL. Only a waiter that parks or leaves changes bits without it, and only by
 * atomic operations. */
#ifndef SP_HOOK_WAITS_LAYOUT_H
#define SP_HOOK_WAITS_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hook/chain.h"
#include "hook/task.h"
#include "hook/tool.h"

/* Locks with a pointer to a lock of the C library. */
struct sp_lock {
	PyObject_HEAD PyThread_type_lock lock;
	PyObject *weak;
	char locked;
};
struct sp_rlock {
	PyObject_HEAD PyThread_type_lock lock;
	unsigned long owner, count;
	PyObject *weak;
};
/* Locks with a mutex: bit 0 is "locked", bit 1 "a waiter is parked". owner: 0 if free; level: acquisitions by the
 * owner beyond the first. */
struct sp_mutex_lock {
	PyObject_HEAD uint8_t bits;
};
struct sp_mutex_rlock {
	PyObject_HEAD uint8_t bits;
	unsigned long long owner;
	size_t level;
};

#if PY_VERSION_HEX >= 0x030e0000
#define SP_LOCK_HAS_MUTEX  true
#define SP_RLOCK_HAS_MUTEX true
#elif PY_VERSION_HEX >= 0x030d0000
extern bool sp_lock_has_mutex; /* of the release that runs, not of the one at compile time */
#define SP_LOCK_HAS_MUTEX  sp_lock_has_mutex
#define SP_RLOCK_HAS_MUTEX false
#else
#define SP_LOCK_HAS_MUTEX  false
#define SP_RLOCK_HAS_MUTEX false
#endif

/* Whether the types have one of these layouts. Compares their sizes, and only then the contents of a free and an
 * acquired lock of each type. Calls Python's functions. */
bool sp_locks_known(PyObject *thread, const PyTypeObject *lock, const PyTypeObject *rlock);

static inline bool sp_mutex_is_free(const uint8_t *bits)
{
	return !(__atomic_load_n(bits, __ATOMIC_RELAXED) & 1);
}

/* Acquires the mutex if it is free, with sequentially consistent order. */
static inline bool sp_mutex_try(uint8_t *bits)
{
	uint8_t v = __atomic_load_n(bits, __ATOMIC_RELAXED);
	return !(v & 1) && __atomic_compare_exchange_n(bits, &v, v | 1, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

/* Acquires the lock if it is free. */
static inline bool sp_lock_try(PyObject *o)
{
	struct sp_lock *l = (struct sp_lock *)o;
	if (SP_LOCK_HAS_MUTEX)
		return sp_mutex_try(&((struct sp_mutex_lock *)o)->bits);
	if (!PyThread_acquire_lock(l->lock, NOWAIT_LOCK))
		return false;
	l->locked = 1;
	return true;
}

/* The same for an RLock that the calling thread does not hold. */
static inline bool sp_rlock_try(PyObject *o)
{
	if (SP_RLOCK_HAS_MUTEX) {
		struct sp_mutex_rlock *m = (struct sp_mutex_rlock *)o;
		if (!sp_mutex_try(&m->bits))
			return false;
		__atomic_store_n(&m->owner, PyThread_get_thread_ident(), __ATOMIC_RELAXED);
		m->level = 0;
		return true;
	}
	struct sp_rlock *l = (struct sp_rlock *)o;
	if (!PyThread_acquire_lock(l->lock, NOWAIT_LOCK))
		return false;
	l->owner = PyThread_get_thread_ident();
	l->count = 1;
	return true;
}

/* Whether no thread holds the RLock. */
static inline bool sp_rlock_is_free(PyObject *o)
{
	struct sp_rlock *l = (struct sp_rlock *)o;
	if (SP_RLOCK_HAS_MUTEX)
		return sp_mutex_is_free(&((struct sp_mutex_rlock *)o)->bits);
	if (!PyThread_acquire_lock(l->lock, NOWAIT_LOCK))
		return false;
	PyThread_release_lock(l->lock);
	return true;
}

/* Returns how many acquisitions of the calling thread are outstanding. */
static inline size_t sp_rlock_mine(const PyObject *o)
{
	if (SP_RLOCK_HAS_MUTEX) {
		const struct sp_mutex_rlock *m = (const struct sp_mutex_rlock *)o;
		return __atomic_load_n(&m->owner, __ATOMIC_RELAXED) == PyThread_get_thread_ident() ? m->level + 1 : 0;
	}
	const struct sp_rlock *l = (const struct sp_rlock *)o;
	return l->count && l->owner == PyThread_get_thread_ident() ? l->count : 0;
}

#endif
