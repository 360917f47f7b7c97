/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions that compilers call for -finstrument-functions. `spartito compile cc` links them into each object file
 * that it makes; they are hidden there, so only the object's own calls bind to them. Built as a library for LD_PRELOAD,
 * they replace the empty ones of the C library. */
#include "record/adapter.h"

#include <dlfcn.h>

#ifdef SP_NATIVE_LIBRARY
#define HOOK __attribute__((visibility("default")))
#else
#define HOOK __attribute__((visibility("hidden")))
#endif

/* NULL while nothing is recorded; _measure sets it if it is loaded after the object, in release order. */
static const struct sp_adapter *adapter;
extern const struct sp_adapter *sp_native_adapter_v1 __attribute__((alias("adapter"), visibility("default")));

HOOK void __cyg_profile_func_enter(void *function, void *caller);
HOOK void __cyg_profile_func_exit(void *function, void *caller);

void __cyg_profile_func_enter(void *function, void *caller)
{
	const struct sp_adapter *a = __atomic_load_n(&adapter, __ATOMIC_ACQUIRE);
	(void)caller;
	if (a)
		a->native_enter(function);
}

void __cyg_profile_func_exit(void *function, void *caller)
{
	const struct sp_adapter *a = __atomic_load_n(&adapter, __ATOMIC_ACQUIRE);
	(void)caller;
	if (a)
		a->native_leave(function);
}

/* before the object's own constructors, which may be instrumented */
__attribute__((constructor(101))) static void find_measurement(void)
{
	const struct sp_adapter *a = dlsym(RTLD_DEFAULT, SP_ADAPTER_SYMBOL);
	if (!a)
		dlerror(); /* resets the error state, which the program may query */
	else if (a->version == 1 && a->size >= offsetof(struct sp_adapter, native_forget) + sizeof a->native_forget)
		__atomic_store_n(&adapter, a, __ATOMIC_RELEASE);
}

__attribute__((destructor(101))) static void leave_measurement(void)
{
	if (adapter)
		adapter->native_forget();
	adapter = NULL;
}
