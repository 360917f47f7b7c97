/* SPDX-License-Identifier: BSD-3-Clause */
/* Condition variables with their size from before glibc 2.3.2. A library that was linked without the C library requests
 * no version and gets these functions. Its pthread_cond_signal() is not wrapped and expects the old size, so the old
 * functions are called unchanged and not recorded. */
#include "inject/waits/clib.h"

#include <dlfcn.h>

enum { OLD_WAIT, OLD_TIMEDWAIT, OLD_INIT, OLD_DESTROY, OLD_FUNCTIONS };
static int (*real[OLD_FUNCTIONS])(void *condition, void *more, const void *until);

__attribute__((constructor(101))) static void resolve(void)
{
	static const char *const names[OLD_FUNCTIONS] = {"pthread_cond_wait", "pthread_cond_timedwait",
	                                                 "pthread_cond_init", "pthread_cond_destroy"};
	for (int i = 0; i < OLD_FUNCTIONS; i++)
		if (!real[i])
			real[i] = (int (*)(void *, void *, const void *))dlvsym(RTLD_NEXT, names[i], "GLIBC_2.2.5");
}

/* All functions get the longest argument list; a function ignores the arguments that it does not have. */
#define OLD(name, which)                                                                                               \
	SP_EXPORT int sp_clib_old_##name(void *condition, void *more, const void *until);                              \
	__asm__(".symver sp_clib_old_" #name ", " #name "@GLIBC_2.2.5");                                               \
	int sp_clib_old_##name(void *condition, void *more, const void *until)                                         \
	{                                                                                                              \
		if (SP_UNLIKELY(!real[which]))                                                                         \
			resolve();                                                                                     \
		return real[which] ? real[which](condition, more, until) : ENOSYS;                                     \
	}
OLD(pthread_cond_wait, OLD_WAIT)
OLD(pthread_cond_timedwait, OLD_TIMEDWAIT)
OLD(pthread_cond_init, OLD_INIT)
OLD(pthread_cond_destroy, OLD_DESTROY)
