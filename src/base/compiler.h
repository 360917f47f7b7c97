/* SPDX-License-Identifier: BSD-3-Clause */
/* Hints for the compiler: probable branches, rarely called functions, exported functions. */
#ifndef SP_BASE_COMPILER_H
#define SP_BASE_COMPILER_H

#define SP_LIKELY(x)   __builtin_expect(!!(x), 1)
#define SP_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define SP_COLD        __attribute__((cold, noinline))
#define SP_EXPORT      __attribute__((visibility("default")))

#endif
