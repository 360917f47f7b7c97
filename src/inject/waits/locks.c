/* SPDX-License-Identifier: BSD-3-Clause */
/* Mutexes, condition variables, read-write locks and barriers. The lock holder is in the object, if the
 * C library stores it there. */
#include "inject/waits/clib.h"

/* ---- mutexes ---- */

static bool has(int e)
{
	return e == 0 || e == EOWNERDEAD;
}

static inline int acquired_mutex(const struct sp_clib_recorder *r, const pthread_mutex_t *m, int e)
{
	if (r && SP_UNLIKELY(sp_clib_may_be_in(r->waited, m)) && has(e) && !sp_libc_mutex_is_inner(m))
		SP_QUIETLY(r->acquired(m));
	return e;
}

static inline void gives_mutex(const struct sp_clib_recorder *r, const pthread_mutex_t *m)
{
	if (r && SP_UNLIKELY(sp_clib_may_be_in(r->waited, m)) && !sp_libc_mutex_is_inner(m))
		SP_QUIETLY(r->released(m));
}

static enum sp_clib_end end_of(int e)
{
	return has(e) ? SP_CLIB_ACQUIRED : e == ETIMEDOUT ? SP_CLIB_NOT_ACQUIRED : SP_CLIB_NO_WAIT;
}

/* Calls a function that waits, for a thread that cannot acquire the object now. */
#define WAITING(r, what, holder, bits, call)                                                                           \
	__extension__({                                                                                                \
		SP_GOING;                                                                                              \
		const struct sp_clib_call waiting_call = {.kind = (what),                                              \
		                                          .flags = (bits),                                             \
		                                          .object = (const void *)object,                              \
		                                          .caller = SP_CALLER,                                         \
		                                          .owner = (holder),                                           \
		                                          .fd = -1};                                                   \
		sp_clib_begin(&going, (r), &waiting_call);                                                             \
		const int waiting_result = (call);                                                                     \
		going.how = end_of(waiting_result);                                                                    \
		waiting_result;                                                                                        \
	})

SP_WRAP(int, pthread_mutex_trylock, (pthread_mutex_t * object))
{
	return acquired_mutex(SP_RECORDER, object, SP_REAL(pthread_mutex_trylock)(object));
}

#define MUTEX(name, parameters, arguments, flags)                                                                      \
	SP_WRAP(int, name, parameters)                                                                                 \
	{                                                                                                              \
		const struct sp_clib_recorder *r = SP_RECORDER;                                                        \
		if (SP_LIKELY(!r))                                                                                     \
			return SP_REAL(name) arguments;                                                                \
		int e = SP_REAL(pthread_mutex_trylock)(object);                                                        \
		if (SP_UNLIKELY(e == EBUSY))                                                                           \
			e = WAITING(r, SP_RAW_WAIT_MUTEX, sp_libc_mutex_holder(object), flags,                         \
			            SP_REAL(name) arguments);                                                          \
		return acquired_mutex(r, object, e);                                                                   \
	}
MUTEX(pthread_mutex_lock, (pthread_mutex_t * object), (object), 0)
MUTEX(pthread_mutex_timedlock, (pthread_mutex_t * object, const struct timespec *until), (object, until),
      SP_RAW_WAIT_TIMED)
MUTEX(pthread_mutex_clocklock, (pthread_mutex_t * object, clockid_t clock, const struct timespec *until),
      (object, clock, until), SP_RAW_WAIT_TIMED)

SP_WRAP(int, pthread_mutex_unlock, (pthread_mutex_t * m))
{
	gives_mutex(SP_RECORDER, m);
	return SP_REAL(pthread_mutex_unlock)(m);
}

/* ---- initialization and destruction ---- */

#define MADE(name, type, attributes)                                                                                   \
	SP_WRAP(int, name, (type * object, const attributes *how))                                                     \
	{                                                                                                              \
		const int e = SP_REAL(name)(object, how);                                                              \
		if (!e)                                                                                                \
			sp_clib_made(SP_RECORDER, object, SP_CALLER);                                                  \
		return e;                                                                                              \
	}
MADE(pthread_mutex_init, pthread_mutex_t, pthread_mutexattr_t)
MADE(pthread_cond_init, pthread_cond_t, pthread_condattr_t)
MADE(pthread_rwlock_init, pthread_rwlock_t, pthread_rwlockattr_t)

SP_WRAP(int, pthread_barrier_init, (pthread_barrier_t * object, const pthread_barrierattr_t *how, unsigned n))
{
	const int e = SP_REAL(pthread_barrier_init)(object, how, n);
	if (!e)
		sp_clib_made(SP_RECORDER, object, SP_CALLER);
	return e;
}

#define GONE(name, type)                                                                                               \
	SP_WRAP(int, name, (type * object))                                                                            \
	{                                                                                                              \
		const struct sp_clib_recorder *r = SP_RECORDER;                                                        \
		const int e = SP_REAL(name)(object);                                                                   \
		if (!e)                                                                                                \
			sp_clib_gone(r, object);                                                                       \
		return e;                                                                                              \
	}
GONE(pthread_mutex_destroy, pthread_mutex_t)
GONE(pthread_cond_destroy, pthread_cond_t)
GONE(pthread_rwlock_destroy, pthread_rwlock_t)
GONE(pthread_barrier_destroy, pthread_barrier_t)

/* ---- condition variables: the mutex is free while the thread waits, and the thread holds it again in any case, also
 * if it is cancelled ---- */

struct handed {
	const struct sp_clib_recorder *r;
	const pthread_mutex_t *mutex;
};

static void back(struct handed *h)
{
	acquired_mutex(h->r, h->mutex, 0);
}

#define COND(name, parameters, arguments, more)                                                                        \
	SP_WRAP(int, name, parameters)                                                                                 \
	{                                                                                                              \
		const struct sp_clib_recorder *r = SP_RECORDER;                                                        \
		if (SP_LIKELY(!r))                                                                                     \
			return SP_REAL(name) arguments;                                                                \
		gives_mutex(r, m);                                                                                     \
		struct handed handed __attribute__((cleanup(back), unused)) = {r, m};                                  \
		return WAITING(r, SP_RAW_WAIT_COND, NULL, SP_RAW_WAIT_FOR_NEWS | (more), SP_REAL(name) arguments);     \
	}
COND(pthread_cond_wait, (pthread_cond_t * object, pthread_mutex_t *m), (object, m), 0)
COND(pthread_cond_timedwait, (pthread_cond_t * object, pthread_mutex_t *m, const struct timespec *until),
     (object, m, until), SP_RAW_WAIT_TIMED)
COND(pthread_cond_clockwait,
     (pthread_cond_t * object, pthread_mutex_t *m, clockid_t clock, const struct timespec *until),
     (object, m, clock, until), SP_RAW_WAIT_TIMED)

/* ---- read-write locks: readers are not reported as holders ---- */

SP_WRAP(int, pthread_rwlock_trywrlock, (pthread_rwlock_t * object))
{
	const int e = SP_REAL(pthread_rwlock_trywrlock)(object);
	if (!e)
		sp_clib_got(SP_RECORDER, object);
	return e;
}

#define RWLOCK(name, try, writes, parameters, arguments, flags)                                                        \
	SP_WRAP(int, name, parameters)                                                                                 \
	{                                                                                                              \
		const struct sp_clib_recorder *r = SP_RECORDER;                                                        \
		if (SP_LIKELY(!r))                                                                                     \
			return SP_REAL(name) arguments;                                                                \
		int e = SP_NOT_WRAPPED(try)(object);                                                                   \
		if (SP_UNLIKELY(e == EBUSY))                                                                           \
			e = WAITING(r, SP_RAW_WAIT_RWLOCK, sp_libc_rwlock_holder(object), flags,                       \
			            SP_REAL(name) arguments);                                                          \
		if (!e && (writes))                                                                                    \
			sp_clib_got(r, object);                                                                        \
		return e;                                                                                              \
	}
#define UNTIL (pthread_rwlock_t * object, const struct timespec *until)
#define CLOCK (pthread_rwlock_t * object, clockid_t clock, const struct timespec *until)
RWLOCK(pthread_rwlock_rdlock, pthread_rwlock_tryrdlock, false, (pthread_rwlock_t * object), (object), 0)
RWLOCK(pthread_rwlock_wrlock, pthread_rwlock_trywrlock, true, (pthread_rwlock_t * object), (object), 0)
RWLOCK(pthread_rwlock_timedrdlock, pthread_rwlock_tryrdlock, false, UNTIL, (object, until), SP_RAW_WAIT_TIMED)
RWLOCK(pthread_rwlock_timedwrlock, pthread_rwlock_trywrlock, true, UNTIL, (object, until), SP_RAW_WAIT_TIMED)
RWLOCK(pthread_rwlock_clockrdlock, pthread_rwlock_tryrdlock, false, CLOCK, (object, clock, until), SP_RAW_WAIT_TIMED)
RWLOCK(pthread_rwlock_clockwrlock, pthread_rwlock_trywrlock, true, CLOCK, (object, clock, until), SP_RAW_WAIT_TIMED)

SP_WRAP(int, pthread_rwlock_unlock, (pthread_rwlock_t * object))
{
	if (sp_libc_rwlock_is_written(object)) /* not a reader */
		sp_clib_gives(SP_RECORDER, object);
	return SP_REAL(pthread_rwlock_unlock)(object);
}

/* ---- barriers: the last thread to arrive does not wait. If the C library does not say which one that is,
 * it has a short wait too. ---- */

SP_WRAP(int, pthread_barrier_wait, (pthread_barrier_t * object))
{
	SP_GOING;
	const struct sp_clib_call call = {.kind = SP_RAW_WAIT_PTHREAD_BARRIER,
	                                  .flags = SP_RAW_WAIT_FOR_NEWS,
	                                  .object = object,
	                                  .caller = SP_CALLER,
	                                  .fd = -1};
	sp_clib_begin(&going, SP_RECORDER, &call);
	const int e = SP_REAL(pthread_barrier_wait)(object);
	const bool last = SP_LIBC_SERIAL_IS_LAST && e == PTHREAD_BARRIER_SERIAL_THREAD;
	going.how = last || (e && e != PTHREAD_BARRIER_SERIAL_THREAD) ? SP_CLIB_NO_WAIT : SP_CLIB_ACQUIRED;
	return e;
}
