/* SPDX-License-Identifier: BSD-3-Clause */
/* A preloaded library of the program, for tests/py/waits/test_waits_faults.py: an allocator with one mutex, which it
 * also locks in a fork handler, before all libraries that the program loads itself. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);
extern void __libc_free(void *p);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;

#define WITH_LOCK(call)                                                                                                \
	pthread_mutex_lock(&lock);                                                                                     \
	void *p = call;                                                                                                \
	pthread_mutex_unlock(&lock);                                                                                   \
	return p

void *malloc(size_t n)
{
	WITH_LOCK(__libc_malloc(n));
}

void *calloc(size_t n, size_t size)
{
	WITH_LOCK(__libc_calloc(n, size));
}

void *realloc(void *old, size_t n)
{
	WITH_LOCK(__libc_realloc(old, n));
}

void free(void *p)
{
	pthread_mutex_lock(&lock);
	__libc_free(p);
	pthread_mutex_unlock(&lock);
}

static void before(void)
{
	pthread_mutex_lock(&other);
	pthread_mutex_lock(&lock);
}

static void after(void)
{
	pthread_mutex_unlock(&lock);
	pthread_mutex_unlock(&other);
}

static __attribute__((constructor)) void begin(void)
{
	pthread_atfork(before, after, after);
}

/* ---- called by the program through a library that is not the allocator ---- */

pthread_mutex_t *taken_for_fork(void)
{
	return &other;
}
