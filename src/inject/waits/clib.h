/* SPDX-License-Identifier: BSD-3-Clause */
/* The library that `spartito run --waits` preloads (LD_PRELOAD): it wraps the C library's functions that wait, calls
 * the real ones, and reports to the recorder when a call has to wait.
 *
 * It is in every process of the run, whatever its program. Until spartito._measure attaches a recorder, a wrapper is
 * one load and one branch. A wrapper first tries to acquire a lock. If the lock is free, only its new holder is
 * reported, and only if there was a waiter before. Results, errno, and the restrictions of signal handlers and
 * cancelled threads are those of the real function. */
#ifndef SP_INJECT_WAITS_CLIB_H
#define SP_INJECT_WAITS_CLIB_H

#include "base/compiler.h"
#include "record/libc.h"
#include "record/waits/clib.h"
#include "inject/shared/quiet.h"
#include "inject/shared/wrap.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

/* All wrapped functions, and those that the wrappers call: first the ones that every lock needs. */
#define SP_CLIB_FUNCTIONS(X)                                                                                           \
	X(pthread_mutex_lock)                                                                                          \
	X(pthread_mutex_unlock)                                                                                        \
	X(pthread_mutex_trylock)                                                                                       \
	X(pthread_mutex_timedlock)                                                                                     \
	X(pthread_mutex_init)                                                                                          \
	X(pthread_mutex_destroy)                                                                                       \
	X(pthread_cond_wait)                                                                                           \
	X(pthread_cond_timedwait)                                                                                      \
	X(pthread_cond_init)                                                                                           \
	X(pthread_cond_destroy)                                                                                        \
	X(pthread_rwlock_rdlock)                                                                                       \
	X(pthread_rwlock_wrlock)                                                                                       \
	X(pthread_rwlock_tryrdlock)                                                                                    \
	X(pthread_rwlock_trywrlock)                                                                                    \
	X(pthread_rwlock_timedrdlock)                                                                                  \
	X(pthread_rwlock_timedwrlock)                                                                                  \
	X(pthread_rwlock_unlock)                                                                                       \
	X(pthread_rwlock_init)                                                                                         \
	X(pthread_rwlock_destroy)                                                                                      \
	X(pthread_barrier_wait)                                                                                        \
	X(pthread_barrier_init)                                                                                        \
	X(pthread_barrier_destroy)                                                                                     \
	X(pthread_join)                                                                                                \
	X(pthread_tryjoin_np)                                                                                          \
	X(pthread_timedjoin_np)                                                                                        \
	X(pthread_getcpuclockid)                                                                                       \
	X(sem_wait)                                                                                                    \
	X(sem_trywait)                                                                                                 \
	X(sem_timedwait)                                                                                               \
	X(sem_init)                                                                                                    \
	X(sem_destroy)                                                                                                 \
	X(nanosleep)                                                                                                   \
	X(clock_nanosleep)                                                                                             \
	X(usleep)                                                                                                      \
	X(sleep)                                                                                                       \
	X(poll)                                                                                                        \
	X(ppoll)                                                                                                       \
	X(select)                                                                                                      \
	X(pselect)                                                                                                     \
	X(epoll_wait)                                                                                                  \
	X(epoll_pwait)                                                                                                 \
	X(flock)                                                                                                       \
	X(fcntl)                                                                                                       \
	SP_LIBC_LARGE(X(fcntl64))                                                                                      \
	X(lockf)                                                                                                       \
	SP_LIBC_LARGE(X(lockf64))                                                                                      \
	X(malloc)                                                                                                      \
	/* not in every C library */                                                                                   \
	X(__poll_chk)                                                                                                  \
	X(__ppoll_chk)                                                                                                 \
	X(epoll_pwait2)                                                                                                \
	X(pthread_mutex_clocklock)                                                                                     \
	X(pthread_cond_clockwait)                                                                                      \
	X(pthread_rwlock_clockrdlock)                                                                                  \
	X(pthread_rwlock_clockwrlock)                                                                                  \
	X(pthread_clockjoin_np)                                                                                        \
	X(sem_clockwait)

#define SP_CLIB_ID(symbol) SP_F_##symbol,
enum { SP_CLIB_FUNCTIONS(SP_CLIB_ID) SP_CLIB_N };
/* NULL: not looked up yet. Functions that this C library does not have fail with ENOSYS. */
extern void *sp_clib_real[SP_CLIB_N] __attribute__((visibility("hidden")));
void *sp_clib_find(int id);

/* Other libraries may call before this one is initialized. */
#define SP_REAL_AS(type, name)                                                                                         \
	((type)(SP_LIKELY(sp_clib_real[SP_F_##name] != NULL) ? sp_clib_real[SP_F_##name] : sp_clib_find(SP_F_##name)))
#define SP_REAL(name)        SP_REAL_AS(__typeof__(&sp_wrap_##name), name)
#define SP_NOT_WRAPPED(name) SP_REAL_AS(__typeof__(&name), name)

/* NULL: nothing is recorded. */
extern const struct sp_clib_recorder *sp_clib_recorder __attribute__((visibility("hidden")));
/* Whether recording is disabled; call if sp_quiet is not 0. */
bool sp_clib_must_not_record(const struct sp_clib_recorder *r);

/* The recorder for waits of a caller; NULL: they are not recorded. */
static inline const struct sp_clib_recorder *sp_clib_recorder_for(const void *caller)
{
	const struct sp_clib_recorder *r = __atomic_load_n(&sp_clib_recorder, __ATOMIC_ACQUIRE);
	if (SP_LIKELY(!r) || (uintptr_t)caller - r->python_begin < r->python_end - r->python_begin ||
	    (uintptr_t)caller - r->own_begin < r->own_end - r->own_begin ||
	    (uintptr_t)caller - r->allocator_begin < r->allocator_end - r->allocator_begin ||
	    (SP_UNLIKELY(sp_quiet) && sp_clib_must_not_record(r)))
		return NULL;
	return r;
}
#define SP_CALLER   __builtin_extract_return_addr(__builtin_return_address(0))
#define SP_RECORDER sp_clib_recorder_for(SP_CALLER)

#define SP_QUIETLY(call)                                                                                               \
	do {                                                                                                           \
		const uintptr_t outer = sp_quiet;                                                                      \
		sp_quiet = (uintptr_t)__builtin_frame_address(0);                                                      \
		call;                                                                                                  \
		sp_quiet = outer;                                                                                      \
	} while (0)

/* A wait that may be recorded. It ends when its variable goes out of scope, also if the thread is cancelled. */
struct sp_clib_wait_scope {
	struct sp_clib_wait wait;
	const struct sp_clib_recorder *r; /* NULL: it is not recorded */
	enum sp_clib_end how;
};
static inline void sp_clib_over(struct sp_clib_wait_scope *g)
{
	if (g->r)
		SP_QUIETLY(g->r->end(&g->wait, g->how));
}
static inline void sp_clib_begin(struct sp_clib_wait_scope *g, const struct sp_clib_recorder *r,
                                 const struct sp_clib_call *call)
{
	bool recorded = false;
	g->how = SP_CLIB_NOT_ACQUIRED;
	if (r)
		SP_QUIETLY(recorded = r->begin(&g->wait, call));
	g->r = recorded ? r : NULL;
}
#define SP_GOING struct sp_clib_wait_scope going __attribute__((cleanup(sp_clib_over)))

/* Reports that the calling thread holds the object, or is about to release it. */
static inline void sp_clib_got(const struct sp_clib_recorder *r, const void *object)
{
	if (r && SP_UNLIKELY(sp_clib_may_be_in(r->waited, object)))
		SP_QUIETLY(r->acquired(object));
}
static inline void sp_clib_gives(const struct sp_clib_recorder *r, const void *object)
{
	if (r && SP_UNLIKELY(sp_clib_may_be_in(r->waited, object)))
		SP_QUIETLY(r->released(object));
}
static inline void sp_clib_made(const struct sp_clib_recorder *r, const void *object, const void *caller)
{
	if (r)
		SP_QUIETLY(r->made(object, caller));
}
static inline void sp_clib_gone(const struct sp_clib_recorder *r, const void *object)
{
	if (r && SP_UNLIKELY(sp_clib_may_be_in(r->known, object)))
		SP_QUIETLY(r->gone(object));
}

#endif
