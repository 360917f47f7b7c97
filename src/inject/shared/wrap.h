/* SPDX-License-Identifier: BSD-3-Clause */
/* The wrapper of a function, in a library that the dynamic linker loads before all others (LD_PRELOAD). */
#ifndef SP_INJECT_SHARED_WRAP_H
#define SP_INJECT_SHARED_WRAP_H

#include "base/compiler.h"

/* The label in front of the linker keeps it apart from what the headers say of the function (macros, builtins,
 * attributes, other names for large files). */
#define SP_WRAP(type, name, parameters)                                                                                \
	SP_EXPORT type sp_wrap_##name parameters __asm__(#name);                                                       \
	type sp_wrap_##name parameters

#endif
