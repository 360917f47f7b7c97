/* SPDX-License-Identifier: BSD-3-Clause */
/* Semaphores, joins of threads, sleeps, descriptors and file locks. */
#include "inject/waits/clib.h"

#include <fcntl.h>
#include <stdarg.h>

/* Calls a function that waits for something other than a lock. */
#define WAITING(r, waiting_call, type, call, outcome)                                                                  \
	__extension__({                                                                                                \
		SP_GOING;                                                                                              \
		sp_clib_begin(&going, (r), (waiting_call));                                                            \
		const type result = (call);                                                                            \
		going.how = (outcome);                                                                                 \
		result;                                                                                                \
	})

/* ---- semaphores ---- */

static bool is_valid(const struct timespec *until)
{
	return until && until->tv_nsec >= 0 && until->tv_nsec < 1000000000;
}

static enum sp_clib_end semaphore_end(int r)
{
	return r == 0 || errno == ETIMEDOUT || errno == EINTR ? r ? SP_CLIB_NOT_ACQUIRED : SP_CLIB_ACQUIRED
	                                                      : SP_CLIB_NO_WAIT;
}

/* Like the real function: the cancellation point comes before the semaphore is taken. */
static bool take_free(sem_t *s)
{
	const int error = errno;
	pthread_testcancel();
	const bool got = SP_NOT_WRAPPED(sem_trywait)(s) == 0;
	errno = error;
	return got;
}

#define SEMAPHORE(name, parameters, arguments, check, more)                                                            \
	SP_WRAP(int, name, parameters)                                                                                 \
	{                                                                                                              \
		const struct sp_clib_recorder *r = SP_RECORDER;                                                        \
		if (SP_LIKELY(!r) || !(check))                                                                         \
			return SP_REAL(name) arguments;                                                                \
		if (take_free(s))                                                                                      \
			return 0;                                                                                      \
		const struct sp_clib_call call = {.kind = SP_RAW_WAIT_SEM,                                             \
		                                  .flags = SP_RAW_WAIT_FOR_NEWS | (more),                              \
		                                  .object = s,                                                         \
		                                  .caller = SP_CALLER,                                                 \
		                                  .fd = -1};                                                           \
		return WAITING(r, &call, int, SP_REAL(name) arguments, semaphore_end(result));                         \
	}
SEMAPHORE(sem_wait, (sem_t * s), (s), true, 0)
SEMAPHORE(sem_timedwait, (sem_t * s, const struct timespec *until), (s, until), is_valid(until), SP_RAW_WAIT_TIMED)
SEMAPHORE(sem_clockwait, (sem_t * s, clockid_t clock, const struct timespec *until), (s, clock, until),
          is_valid(until) && (clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC), SP_RAW_WAIT_TIMED)

SP_WRAP(int, sem_init, (sem_t * s, int shared, unsigned value))
{
	const int e = SP_REAL(sem_init)(s, shared, value);
	if (!e)
		sp_clib_made(SP_RECORDER, s, SP_CALLER);
	return e;
}

SP_WRAP(int, sem_destroy, (sem_t * s))
{
	const struct sp_clib_recorder *r = SP_RECORDER;
	const int e = SP_REAL(sem_destroy)(s);
	if (!e)
		sp_clib_gone(r, s);
	return e;
}

/* ---- joins of threads ---- */

/* The kernel's id of a thread (gettid()), which the id of its clock contains; 0: unknown. */
static int number_of(pthread_t thread)
{
	clockid_t clock;
	return SP_NOT_WRAPPED(pthread_getcpuclockid)(thread, &clock) == 0 ? (int)~((unsigned)clock >> 3 | 7u << 29) : 0;
}

#define JOIN(name, parameters, arguments, more)                                                                        \
	SP_WRAP(int, name, parameters)                                                                                 \
	{                                                                                                              \
		const struct sp_clib_recorder *r = SP_RECORDER;                                                        \
		if (SP_LIKELY(!r) || pthread_equal(thread, pthread_self()))                                            \
			return SP_REAL(name) arguments;                                                                \
		const int number = number_of(thread);                                                                  \
		pthread_testcancel();                                                                                  \
		const int e = SP_NOT_WRAPPED(pthread_tryjoin_np)(thread, value);                                       \
		if (!e) {                                                                                              \
			sp_clib_gone(r, (const void *)thread);                                                         \
			return 0;                                                                                      \
		}                                                                                                      \
		const struct sp_clib_call call = {.kind = SP_RAW_WAIT_THREAD,                                          \
		                                  .flags = (more),                                                     \
		                                  .object = (const void *)thread,                                      \
		                                  .caller = SP_CALLER,                                                 \
		                                  .owner = &number,                                                    \
		                                  .fd = -1};                                                           \
		const int joined = WAITING(e == EBUSY ? r : NULL, &call, int, SP_REAL(name) arguments,                 \
		                           !result               ? SP_CLIB_ACQUIRED                                    \
		                           : result == ETIMEDOUT ? SP_CLIB_NOT_ACQUIRED                                \
		                                                 : SP_CLIB_NO_WAIT);                                   \
		if (!joined)                                                                                           \
			sp_clib_gone(r, (const void *)thread);                                                         \
		return joined;                                                                                         \
	}
JOIN(pthread_join, (pthread_t thread, void **value), (thread, value), 0)
JOIN(pthread_timedjoin_np, (pthread_t thread, void **value, const struct timespec *until), (thread, value, until),
     SP_RAW_WAIT_TIMED)
JOIN(pthread_clockjoin_np, (pthread_t thread, void **value, clockid_t clock, const struct timespec *until),
     (thread, value, clock, until), SP_RAW_WAIT_TIMED)

/* ---- sleeps, descriptors: each call is a wait ---- */

/* waits: false if the call only polls. */
#define CALL(type, name, parameters, arguments, of_kind, how, waits, got)                                              \
	SP_WRAP(type, name, parameters)                                                                                \
	{                                                                                                              \
		const struct sp_clib_recorder *r = SP_RECORDER;                                                        \
		if (SP_LIKELY(!r) || !(waits))                                                                         \
			return SP_REAL(name) arguments;                                                                \
		const struct sp_clib_call call = {.kind = (of_kind), .flags = (how), .caller = SP_CALLER, .fd = -1};   \
		return WAITING(r, &call, type, SP_REAL(name) arguments,                                                \
		               (got) ? SP_CLIB_ACQUIRED : SP_CLIB_NOT_ACQUIRED);                                       \
	}
#define SLEEP(type, name, parameters, arguments)                                                                       \
	CALL(type, name, parameters, arguments, SP_RAW_WAIT_SLEEP, SP_RAW_WAIT_TIMED, true, result == 0)
#define SELECT(name, parameters, arguments, waits)                                                                     \
	CALL(int, name, parameters, arguments, SP_RAW_WAIT_SELECT, SP_RAW_WAIT_FOR_NEWS, waits, result > 0)

SLEEP(int, nanosleep, (const struct timespec *time, struct timespec *left), (time, left))
SLEEP(int, clock_nanosleep, (clockid_t clock, int flags, const struct timespec *time, struct timespec *left),
      (clock, flags, time, left))
SLEEP(int, usleep, (useconds_t us), (us))
SLEEP(unsigned, sleep, (unsigned seconds), (seconds))

static bool is_long(const struct timespec *t)
{
	return !t || t->tv_sec || t->tv_nsec;
}

SELECT(poll, (struct pollfd * fds, nfds_t n, int ms), (fds, n, ms), ms != 0)
SELECT(__poll_chk, (struct pollfd * fds, nfds_t n, int ms, size_t capacity), (fds, n, ms, capacity), ms != 0)
SELECT(ppoll, (struct pollfd * fds, nfds_t n, const struct timespec *time, const sigset_t *mask), (fds, n, time, mask),
       is_long(time))
SELECT(__ppoll_chk, (struct pollfd * fds, nfds_t n, const struct timespec *time, const sigset_t *mask, size_t capacity),
       (fds, n, time, mask, capacity), is_long(time))
SELECT(select, (int n, fd_set *reads, fd_set *writes, fd_set *others, struct timeval *time),
       (n, reads, writes, others, time), !time || time->tv_sec || time->tv_usec)
SELECT(pselect,
       (int n, fd_set *reads, fd_set *writes, fd_set *others, const struct timespec *time, const sigset_t *mask),
       (n, reads, writes, others, time, mask), is_long(time))
SELECT(epoll_wait, (int fd, struct epoll_event *events, int n, int ms), (fd, events, n, ms), ms != 0)
SELECT(epoll_pwait, (int fd, struct epoll_event *events, int n, int ms, const sigset_t *mask),
       (fd, events, n, ms, mask), ms != 0)
SELECT(epoll_pwait2, (int fd, struct epoll_event *events, int n, const struct timespec *time, const sigset_t *mask),
       (fd, events, n, time, mask), is_long(time))

/* ---- file locks ---- */

#define FILE_LOCK(name, parameters, arguments, waits)                                                                  \
	SP_WRAP(int, name, parameters)                                                                                 \
	{                                                                                                              \
		const struct sp_clib_recorder *r = SP_RECORDER;                                                        \
		if (SP_LIKELY(!r) || !(waits))                                                                         \
			return SP_REAL(name) arguments;                                                                \
		const struct sp_clib_call call = {.kind = SP_RAW_WAIT_FILE_LOCK, .caller = SP_CALLER, .fd = fd};       \
		return WAITING(r, &call, int, SP_REAL(name) arguments,                                                 \
		               result ? SP_CLIB_NOT_ACQUIRED : SP_CLIB_ACQUIRED);                                      \
	}
FILE_LOCK(flock, (int fd, int how), (fd, how), (how & (LOCK_SH | LOCK_EX)) && !(how & LOCK_NB))
FILE_LOCK(lockf, (int fd, int how, off_t n), (fd, how, n), how == F_LOCK)
SP_LIBC_LARGE(FILE_LOCK(lockf64, (int fd, int how, off64_t n), (fd, how, n), how == F_LOCK))

/* The argument of a command is an int or a pointer; commands without an argument ignore it. */
#define FCNTL(name)                                                                                                    \
	SP_WRAP(int, name, (int fd, int command, ...))                                                                 \
	{                                                                                                              \
		va_list more;                                                                                          \
		va_start(more, command);                                                                               \
		void *argument = va_arg(more, void *);                                                                 \
		va_end(more);                                                                                          \
		const struct sp_clib_recorder *r =                                                                     \
		    command == F_SETLKW || command == F_OFD_SETLKW ? SP_RECORDER : NULL;                               \
		if (SP_LIKELY(!r) || !argument || ((const struct flock *)argument)->l_type == F_UNLCK)                 \
			return SP_REAL(name)(fd, command, argument);                                                   \
		const struct sp_clib_call call = {.kind = SP_RAW_WAIT_FILE_LOCK, .caller = SP_CALLER, .fd = fd};       \
		return WAITING(r, &call, int, SP_REAL(name)(fd, command, argument),                                    \
		               result ? SP_CLIB_NOT_ACQUIRED : SP_CLIB_ACQUIRED);                                      \
	}
FCNTL(fcntl)
SP_LIBC_LARGE(FCNTL(fcntl64))
