/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the real functions, and attaches the measurement. */
#include "inject/waits/clib.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

void *sp_clib_real[SP_CLIB_N];
const struct sp_clib_recorder *sp_clib_recorder;

#define SYMBOL(symbol) #symbol,
static const char *const symbols[] = {SP_CLIB_FUNCTIONS(SYMBOL)};

/* Condition variables had another size in old versions; dlsym() may return the old functions. */
static void *find(const char *symbol)
{
#if defined(__x86_64__) && defined(__GLIBC__)
	void *p = strncmp(symbol, "pthread_cond_", 13) ? NULL : dlvsym(RTLD_NEXT, symbol, "GLIBC_2.3.2");
	if (p)
		return p;
#endif
	return dlsym(RTLD_NEXT, symbol);
}

/* Replaces functions that this C library does not have; a program that checks for them finds these. */
static int missing(void)
{
	errno = ENOSYS;
	return -1;
}

static int missing_of_threads(void)
{
	return ENOSYS;
}

/* For a lock that dlsym(), or an allocator that it calls, takes before any function is known: there is no other thread
 * yet. */
static int nothing(void)
{
	return 0;
}

/* Finds all functions at once, before the program starts unless a wrapper is called earlier: dlsym() takes locks for
 * which a forked child or a handler must not wait. */
static __thread volatile bool inside SP_TLS_MODEL; /* volatile: as in heap/malloc.c */
__attribute__((constructor(101))) static void resolve(void)
{
	if (inside)
		return;
	inside = true;
	for (int i = 0; i < SP_CLIB_N; i++) {
		void *p = sp_clib_real[i] ? sp_clib_real[i] : find(symbols[i]);
		sp_clib_real[i] = p                                    ? p
		                  : strncmp(symbols[i], "pthread_", 8) ? (void *)missing
		                                                       : (void *)missing_of_threads;
	}
	inside = false;
}

SP_COLD void *sp_clib_find(int id)
{
	resolve();
	return sp_clib_real[id] ? sp_clib_real[id] : (void *)nothing;
}

SP_COLD bool sp_clib_must_not_record(const struct sp_clib_recorder *r)
{
	if (!sp_is_quiet())
		return false;
	if (sp_quiet & SP_QUIET_HANDLER)
		__atomic_store_n(r->handlers, true, __ATOMIC_RELAXED);
	return true;
}

/* The allocator that the program uses. */
SP_EXPORT const void *sp_clib_allocator(void);
const void *sp_clib_allocator(void)
{
	return SP_REAL_AS(const void *, malloc);
}

/* Attaches a recorder; NULL: detaches. Returns 0, or -1: both are of different versions. */
SP_EXPORT int sp_clib_attach(const struct sp_clib_recorder *r);
int sp_clib_attach(const struct sp_clib_recorder *r)
{
	if (r && (r->version != 1 || r->size < sizeof *r))
		return -1;
	resolve();
	if (r)
		sp_signals_watch();
	__atomic_store_n(&sp_clib_recorder, r, __ATOMIC_RELEASE);
	return 0;
}
