/* SPDX-License-Identifier: BSD-3-Clause */
/* Wrappers of functions, in a library that the dynamic linker loads before all others (LD_PRELOAD). */
#ifndef SP_INJECT_SHARED_WRAP_H
#define SP_INJECT_SHARED_WRAP_H

#include "base/compiler.h"

/* The wrapper has another name in C than its symbol, so that macros, builtins, attributes and large-file names in
 * headers do not apply to it. */
#define SP_WRAP(type, name, parameters)                                                                                \
	SP_EXPORT type sp_wrap_##name parameters __asm__(#name);                                                       \
	type sp_wrap_##name parameters

#endif
