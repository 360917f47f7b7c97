/* SPDX-License-Identifier: BSD-3-Clause */
/* The samples of a location as events: the functions that were found are entered and left as they come and go. */
#ifndef SP_MODEL_EVENTS_SAMPLED_EVENTS_H
#define SP_MODEL_EVENTS_SAMPLED_EVENTS_H

#include "model/event.h"
#include "model/model.h"
#include "model/parts/samples.h"
#include "model/process.h"

struct sp_sampled_events;

/* *out NULL: there are none of the location. The model must outlive it. Reads files: to be guarded, as the next ones.
 */
int sp_sampled_open(struct sp_sampled_events **out, const struct sp_model *m, uint32_t location, struct sp_err *e);
/* As sp_events_read_samples(). */
long sp_sampled_read(struct sp_sampled_events *s, struct sp_sample *out, size_t n, struct sp_err *e);

/* Nanoseconds between two looks at a process; 0: not known. */
uint64_t sp_sampled_period(const struct sp_process *p);
/* Until when a sample stands, of which the one at `next` tells that it was found `again` so many times: at most
 * SP_SAMPLE_PERIODS periods for each. A thread that only helps, and waits, is not looked at. */
enum { SP_SAMPLE_PERIODS = 2 };
uint64_t sp_sampled_until(uint64_t time, uint64_t next, uint64_t again, uint64_t period);

/* As sp_sampled_open(), where samples take the place of a trace: of a location without one. */
int sp_sampled_events_open(struct sp_sampled_events **out, const struct sp_model *m, uint32_t location,
                           struct sp_err *e);
/* As sp_events_read(). */
long sp_sampled_events_read(struct sp_sampled_events *s, struct sp_event *out, size_t n, struct sp_err *e);
void sp_sampled_events_close(struct sp_sampled_events *s);

#endif
