/* SPDX-License-Identifier: BSD-3-Clause */
/* Converts the samples of a location to events: functions are entered and left when samples show them appear and
 * disappear. */
#ifndef SP_MODEL_EVENTS_SAMPLED_EVENTS_H
#define SP_MODEL_EVENTS_SAMPLED_EVENTS_H

#include "model/event.h"
#include "model/model.h"
#include "model/parts/samples.h"
#include "model/process.h"

struct sp_sampled_events;

/* Opens the samples of a location; *out is NULL if it has no samples. The model must outlive *out. This function and
 * those below read mapped files: call them under sp_guarded(). */
int sp_sampled_open(struct sp_sampled_events **out, const struct sp_model *m, uint32_t location, struct sp_err *e);
/* As sp_events_read_samples(). */
long sp_sampled_read(struct sp_sampled_events *s, struct sp_sample *out, size_t n, struct sp_err *e);

/* The sampling period of a process in ns; 0: unknown. */
uint64_t sp_sampled_period(const struct sp_process *p);
/* The end of the time for which a sample is valid. The next sample at `next` reports `again` identical samples in
 * between; the sample is valid for at most SP_SAMPLE_PERIODS periods for each. The sampler skips idle threads of
 * libraries, which run no Python code. */
enum { SP_SAMPLE_PERIODS = 2 };
uint64_t sp_sampled_until(uint64_t time, uint64_t next, uint64_t again, uint64_t period);

/* As sp_sampled_open(), but only for a location without a trace, whose events the samples replace. */
int sp_sampled_events_open(struct sp_sampled_events **out, const struct sp_model *m, uint32_t location,
                           struct sp_err *e);
/* As sp_events_read(). */
long sp_sampled_events_read(struct sp_sampled_events *s, struct sp_event *out, size_t n, struct sp_err *e);
void sp_sampled_events_close(struct sp_sampled_events *s);

#endif
