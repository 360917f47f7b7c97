/* SPDX-License-Identifier: BSD-3-Clause */
/* Objects that live as long as the state of a thread (control/keep.c). */
#ifndef SP_HOOK_KEEP_H
#define SP_HOOK_KEEP_H

#include "hook/frames.h"

/* keep.c: object is kept until the calling thread's state goes, or another of that name takes its place; NULL: none.
 * slot() is the calling thread's own variable, which points to it meanwhile. 0, or -1 with an exception. */
int sp_keep(const char *name, PyObject **(*slot)(void), PyObject *object);

#endif
