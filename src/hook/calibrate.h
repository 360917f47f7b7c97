/* SPDX-License-Identifier: BSD-3-Clause */
/* What an event costs here (events/calibrate.c). */
#ifndef SP_HOOK_CALIBRATE_H
#define SP_HOOK_CALIBRATE_H

#include "record/thread.h"

struct sp_hook;

/* calibrate.c: what an event costs here, into the header. The thread's stack must be empty; everything recorded is
 * thrown away. h: the hook, not yet installed. A process that measures again in the same way takes what it found
 * before. */
void sp_calibrate_before(const struct sp_hook *h);
void sp_calibrate_after(struct sp_thread *t);

#endif
