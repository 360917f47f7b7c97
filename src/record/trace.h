/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of the trace that do not fit the hot path. */
#ifndef SP_RECORD_TRACE_H
#define SP_RECORD_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "format/format.h"

struct sp_thread;

/* First event chunk, or the next one; false: tracing is given up. */
bool sp_thread_events_more(struct sp_thread *t);
void sp_thread_events_rewind(struct sp_thread *t);
/* No trace until sp_thread_restart(). */
void sp_thread_events_hold(struct sp_thread *t);

void sp_event_slow(struct sp_thread *t, uint64_t ticks, uint64_t delta, unsigned kind, uint32_t id);
/* A record with n words of payload; the longest of all records has: */
enum { SP_PAYLOAD_MAX = 255 };
void sp_extra(struct sp_thread *t, enum sp_raw_extra what, const uint64_t *payload, unsigned n);
/* The same at a time that is known; never before the thread's last event. */
void sp_extra_at(struct sp_thread *t, enum sp_raw_extra what, const uint64_t *payload, unsigned n, uint64_t now);
/* Values of metrics at the time of the event that follows. A loss is that event's. */
void sp_event_metrics(struct sp_thread *t, const uint64_t *values, unsigned n, uint64_t now);

#endif
