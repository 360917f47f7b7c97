/* SPDX-License-Identifier: BSD-3-Clause */
/* The program's own sys.setprofile function, below the setprofile hook (events/chain.c). */
#ifndef SP_HOOK_CHAIN_H
#define SP_HOOK_CHAIN_H

#include <stdbool.h>

#include "hook/frames.h"

/* sp_chain_install() keeps the program's function and calls it from the hook. Returns 0, or -1 with an exception.
 * sp_chain_restore() puts it back in the calling thread. */
int sp_chain_install(void);
void sp_chain_restore(void);
bool sp_chain_used(void); /* whether the program ever set a profile function */
/* Calls the program's function for an event. Returns 0, or -1 with its exception. */
int sp_chain_call(PyFrameObject *f, int what, PyObject *arg);

#endif
