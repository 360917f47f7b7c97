/* SPDX-License-Identifier: BSD-3-Clause */
/* The program's own sys.setprofile, under the setprofile hook (events/chain.c). */
#ifndef SP_HOOK_CHAIN_H
#define SP_HOOK_CHAIN_H

#include <stdbool.h>

#include "hook/frames.h"

/* chain.c: the program's own sys.setprofile, under the setprofile hook. 0, or -1 with an exception. */
int sp_chain_install(void);
void sp_chain_restore(void);
bool sp_chain_used(void); /* whether the program ever set a function of its own */
int sp_chain_call(PyFrameObject *f, int what, PyObject *arg);

#endif
