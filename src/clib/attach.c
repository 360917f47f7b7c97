/* SPDX-License-Identifier: BSD-3-Clause */
/* The real functions, and the way to the measuring half. */
#include "clib/clib.h"

#include <dlfcn.h>
#include <string.h>

void *sp_clib_real[SP_CLIB_N];
const struct sp_clib_recorder *sp_clib_recorder;
__thread int sp_clib_quiet __attribute__((tls_model("initial-exec"), visibility("hidden")));

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

/* All at once and before the program, where nobody calls sooner: dlsym takes locks that a child of fork or a handler
 * must not wait for. */
__attribute__((constructor(101))) void sp_clib_resolve(void)
{
	static __thread bool inside __attribute__((tls_model("initial-exec")));
	if (inside)
		return;
	inside = true;
	for (int i = 0; i < SP_CLIB_N; i++)
		if (!sp_clib_real[i])
			sp_clib_real[i] = find(symbols[i]);
	inside = false;
}

/* NULL: nothing more. 0, or -1: the two are not of one version. */
SP_EXPORT int sp_clib_attach(const struct sp_clib_recorder *r);
int sp_clib_attach(const struct sp_clib_recorder *r)
{
	if (r && (r->version != 1 || r->size < sizeof *r))
		return -1;
	sp_clib_resolve();
	__atomic_store_n(&sp_clib_recorder, r, __ATOMIC_RELEASE);
	return 0;
}
