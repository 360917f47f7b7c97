/* SPDX-License-Identifier: BSD-3-Clause */
/* The real functions, and the way to the measuring half. */
#include "inject/waits/clib.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

void *sp_clib_real[SP_CLIB_N];
const struct sp_clib_recorder *sp_clib_recorder;

#define SYMBOL(symbol) #symbol,
static const char *const symbols[] = {SP_CLIB_FUNCTIONS(SYMBOL)};

/* Condition variables have had another size once; dlsym() may give those. */
static void *find(const char *symbol)
{
#if defined(__x86_64__)
	void *p = strncmp(symbol, "pthread_cond_", 13) ? NULL : dlvsym(RTLD_NEXT, symbol, "GLIBC_2.3.2");
	if (p)
		return p;
#endif
	return dlsym(RTLD_NEXT, symbol);
}

/* In place of what this C library does not have; a program that asks whether it is there finds ours. */
static int missing(void)
{
	errno = ENOSYS;
	return -1;
}

static int missing_of_threads(void)
{
	return ENOSYS;
}

/* Of a lock that dlsym() takes, or an allocator that it asks, before we know any function: no other thread is there. */
static int nothing(void)
{
	return 0;
}

/* All at once and before the program, where nobody calls sooner: dlsym takes locks that a child of fork or a handler
 * must not wait for. */
static __thread bool inside __attribute__((tls_model("initial-exec")));
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

/* What the program allocates with. */
SP_EXPORT const void *sp_clib_allocator(void);
const void *sp_clib_allocator(void)
{
	return SP_REAL_AS(const void *, malloc);
}

/* NULL: nothing more. 0, or -1: the two are not of one version. */
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
