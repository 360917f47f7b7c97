/* SPDX-License-Identifier: BSD-3-Clause */
/* Retired measurements: they are over, but another thread may still be in one of their events. All functions but the
 * last need the process lock. */
#ifndef SP_RECORD_RETIRED_H
#define SP_RECORD_RETIRED_H

struct sp_thread;

/* Retires the current measurement, so that another one can begin. The calling thread is in none of its events. */
void sp_retired_add(void);
/* The thread with this location is in no event of a retired measurement any more. The location may already be freed. */
void sp_retired_left(const struct sp_thread *location);
/* In a child of fork, which has no other threads: frees all retired measurements. */
void sp_retired_forget(void);
/* The calling thread is in no event of a retired measurement. Forgets its location there, because another location may
 * reuse the address. */
void sp_thread_leave(void);

#endif
