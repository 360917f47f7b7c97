/* SPDX-License-Identifier: BSD-3-Clause */
/* Objects that live as long as the state of a thread (control/keep.c). */
#ifndef SP_HOOK_KEEP_H
#define SP_HOOK_KEEP_H

#include "hook/frames.h"

/* Keeps value until the calling thread's state is cleared or another object of that name replaces it; NULL only
 * releases the earlier one. slot() returns the address of a thread-local variable, which points to the object
 * meanwhile. Returns 0, or -1 with an exception. */
int sp_keep(const char *name, PyObject **(*slot)(void), PyObject *value);

#endif
