/* SPDX-License-Identifier: BSD-3-Clause */
/* The cost of an event on this machine (events/calibrate.c). */
#ifndef SP_HOOK_CALIBRATE_H
#define SP_HOOK_CALIBRATE_H

#include "record/thread.h"

struct sp_hook;

/* Measures the cost of an event and stores it in the header: first without the hook h, which is not installed yet,
 * then with it. The stack of the thread t must be empty; everything it recorded is discarded. A process that measures
 * again with the same hook and trace setting reuses the earlier result. */
void sp_calibrate_before(const struct sp_hook *h);
void sp_calibrate_after(struct sp_thread *t);

#endif
