/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of the trace that do not fit the hot path. */
#ifndef SP_RECORD_TRACE_H
#define SP_RECORD_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "format/format.h"

struct sp_thread;

/* Makes the first or the next chunk of events. Returns false if tracing of t ends here. */
bool sp_thread_events_more(struct sp_thread *t);
/* Empties the current chunk, if it is the thread's first one. */
void sp_thread_events_rewind(struct sp_thread *t);
/* Disables the trace until sp_thread_restart(). */
void sp_thread_events_hold(struct sp_thread *t);

/* The rare cases of sp_event(); delta: ticks since the event before. */
void sp_event_slow(struct sp_thread *t, uint64_t ticks, uint64_t delta, unsigned kind, uint32_t id);
/* Writes a record with n words of payload, at most SP_PAYLOAD_MAX. */
enum { SP_PAYLOAD_MAX = 255 };
void sp_extra(struct sp_thread *t, enum sp_raw_extra what, const uint64_t *payload, unsigned n);
/* The same with a given time in ticks, or the time of the thread's last event if that is later. */
void sp_extra_at(struct sp_thread *t, enum sp_raw_extra what, const uint64_t *payload, unsigned n, uint64_t now);
/* Writes n values of metrics at the time of the event that follows. If there is no space, that event counts the
 * loss. */
void sp_event_metrics(struct sp_thread *t, const uint64_t *values, unsigned n, uint64_t now);
/* Writes a record of off-CPU time. record: as from sp_off_cpu_count(); 0 writes nothing. */
void sp_event_off_cpu(struct sp_thread *t, uint64_t record, uint64_t now);

#endif
