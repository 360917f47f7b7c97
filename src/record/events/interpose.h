/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of the C library as the interpreter calls them: pthread_create, to know who starts a thread and when, and
 * pthread_cond_timedwait, in which a thread waits for the GIL. The entries of the interpreter's own object file (the
 * program or libpython) in the table that the dynamic linker fills are replaced; nobody else's are. */
#ifndef SP_RECORD_EVENTS_INTERPOSE_H
#define SP_RECORD_EVENTS_INTERPOSE_H

#include <stdbool.h>
#include <stdint.h>

/* at: an address in the interpreter. The GIL only where the settings want it. What cannot be had is said in the META
 * record missing_gil. Stays for good: without a measurement the functions are called as ever. */
void sp_interpose_start(const void *at);
/* A metric for the time waited, where the settings want it; as sp_adapter_columns(). */
void sp_interpose_columns(void);
/* Are threads seen when the interpreter creates them? */
bool sp_interpose_threads(void);
/* Who created the calling thread, and the number of that; false: not known. */
bool sp_interpose_creator(uint32_t *location, uint32_t *number);

#endif
