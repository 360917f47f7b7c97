/* SPDX-License-Identifier: BSD-3-Clause */
/* Hints for the compiler: probable branches, rarely called functions, exported functions, thread-local variables. */
#ifndef SP_BASE_COMPILER_H
#define SP_BASE_COMPILER_H

#include <features.h>

#define SP_LIKELY(x)   __builtin_expect(!!(x), 1)
#define SP_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define SP_COLD        __attribute__((cold, noinline))
#define SP_EXPORT      __attribute__((visibility("default")))

/* Of thread-local variables in libraries that the program loads when it runs: the fastest model that the C library
 * allows there. musl has no space for such variables of the model initial-exec. */
#if defined(__GLIBC__)
#define SP_TLS_MODEL __attribute__((tls_model("initial-exec")))
#else
#define SP_TLS_MODEL
#endif

#endif
