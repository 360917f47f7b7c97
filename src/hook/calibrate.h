/* SPDX-License-Identifier: BSD-3-Clause */
/* The cost of an event on this machine (events/calibrate.c). */
#ifndef SP_HOOK_CALIBRATE_H
#define SP_HOOK_CALIBRATE_H

#include "record/thread.h"

struct sp_hook;

#define SP_CALIBRATION "(calibration)" /* the module of its code, which no filter leaves out */

/* Measures the cost of an event and stores it in the header: first without the hook h, which is not installed yet,
 * then with it, and if no other thread runs, in turns. The stack of the thread t must be empty; everything it recorded
 * is discarded. A process that measures again with the same hook and trace setting reuses the earlier result. */
void sp_calibrate_before(const struct sp_hook *h);
void sp_calibrate_after(struct sp_thread *t);

/* What a call costs in picoseconds: inside the region's interval, and outside. */
struct sp_cost {
	uint64_t in_ps, out_ps;
};

enum { SP_COSTS = 9 }; /* results that processes share */

/* shared_cost.c. Stores `found` as the latest of the results that processes of this user found on this host since its
 * last start, with the same hook, trace setting and build of Python and Spartito. They are in a file in
 * $XDG_RUNTIME_DIR or, without this variable, in /dev/shm/spartito-UID. Gives the latest ones, oldest first, and
 * returns their number. Results below a nanosecond are not stored. Returns 0 without a result, if there is no such
 * directory, or if it is not the user's alone; an error has no other effect. */
int sp_cost_shared(const struct sp_hook *h, bool traced, struct sp_cost found, struct sp_cost results[SP_COSTS]);

#endif
