/* SPDX-License-Identifier: BSD-3-Clause */
/* Retired measurements: they are over, but another thread may still be in an event of one. All functions but the last
 * need the process lock. */
#ifndef SP_RECORD_RETIRED_H
#define SP_RECORD_RETIRED_H

struct sp_thread;

/* The one that is over makes room for another. The calling thread is in no event of it. */
void sp_past_add(void);
/* The thread with this location, which may be gone, is in no event there any more. */
void sp_past_left(const struct sp_thread *location);
/* In a child of fork, where there are no other threads. */
void sp_past_forget(void);
/* The calling thread is in no event of a measurement that is over, and forgets the location that it had there: another
 * may come to the same address. */
void sp_thread_leave(void);

#endif
