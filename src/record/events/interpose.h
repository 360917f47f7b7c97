/* SPDX-License-Identifier: BSD-3-Clause */
/* Replaces functions of the C library that the interpreter calls: pthread_create, to know which thread starts another
 * one and when, and pthread_cond_timedwait, in which a thread waits for the GIL. Only the entries of the interpreter's
 * own object file (the program or libpython) in the table that the dynamic linker fills are replaced. */
#ifndef SP_RECORD_EVENTS_INTERPOSE_H
#define SP_RECORD_EVENTS_INTERPOSE_H

#include <stdbool.h>
#include <stdint.h>

/* Replaces the functions; that of the GIL only if the settings request it. at: an address in the interpreter. If the
 * GIL's cannot be replaced, the META record missing_gil says so. The replacement is permanent: without a measurement
 * it only calls the original function. */
void sp_interpose_start(const void *at);
/* Defines the metric for the time waited, if the settings request it; as sp_adapter_columns(). */
void sp_interpose_columns(void);
/* Whether the recorder sees the threads that the interpreter creates. */
bool sp_interpose_threads(void);
/* Gives the location that created the calling thread and the number of that THREAD_CREATE event. Returns false if they
 * are unknown. */
bool sp_interpose_creator(uint32_t *location, uint32_t *number);

#endif
