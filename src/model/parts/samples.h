/* SPDX-License-Identifier: BSD-3-Clause */
/* Samples of a location, one by one. */
#ifndef SP_MODEL_PARTS_SAMPLES_H
#define SP_MODEL_PARTS_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/event.h"

/* Counters that are read with each sample; a sampler counts no more. */
enum { SP_SAMPLE_COUNTERS = 16 };
enum sp_sample_state { SP_SAMPLE_RUNNING, SP_SAMPLE_GIL, SP_SAMPLE_SYSCALL, SP_SAMPLE_IDLE, SP_SAMPLE_STATES };
extern const char *const sp_sample_state_names[SP_SAMPLE_STATES]; /* "running", … */

/* What a thread was found in when it was looked at from outside, where that was anything new. */
struct sp_sample {
	uint64_t time;                        /* as sp_event.time */
	uint32_t path;                        /* 0: in no function that was recorded */
	uint32_t line;                        /* that runs, in the file of the path's region; 0: not told */
	uint64_t again;                       /* looks since the sample before it, which found the same as that one */
	uint64_t cpu;                         /* ns of a processor, since the look before */
	uint64_t counted[SP_SAMPLE_COUNTERS]; /* since the look before; see sp_events_sampled() */
	uint8_t state;                        /* enum sp_sample_state */
	bool end; /* no sample: the thread has ended, and nothing but time and again is told */
};

/* Whether the location has samples in the place of a trace. metrics, which may be NULL: that of looks, that of
 * processor time, and those that sp_sample.counted has values of; SP_NONE: not defined. *n: how many there are. */
bool sp_events_sampled(const struct sp_events *s, uint32_t metrics[2 + SP_SAMPLE_COUNTERS], size_t *n);
/* The samples themselves, of a location that has them; not to be mixed with the other way of reading. As
 * sp_events_read(). The looks of a path are its samples, and what the sample behind each of them has in `again`. */
long sp_events_read_samples(struct sp_events *s, struct sp_sample *out, size_t n, struct sp_err *e);
/* Of the sample that was read last: the lines from which the functions of its path call the next one, the outermost
 * first, *n of them; 0: not told. Until the next read, or the end. */
const uint32_t *sp_events_call_lines(const struct sp_events *s, size_t *n);

#endif
