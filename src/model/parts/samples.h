/* SPDX-License-Identifier: BSD-3-Clause */
/* Single samples of a location. */
#ifndef SP_MODEL_PARTS_SAMPLES_H
#define SP_MODEL_PARTS_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/event.h"

/* counters that are read with each sample: the maximum of a sampler */
enum { SP_SAMPLE_COUNTERS = 16 };
/* As in the format; the last two are only in a Python without the GIL. */
enum sp_sample_state {
	SP_SAMPLE_RUNNING,
	SP_SAMPLE_GIL,
	SP_SAMPLE_SYSCALL,
	SP_SAMPLE_IDLE,
	SP_SAMPLE_OBJECT,
	SP_SAMPLE_STOPPED,
	SP_SAMPLE_STATES
};
extern const char *const sp_sample_state_names[SP_SAMPLE_STATES]; /* "running", … */

/* A sample of a thread that differs from the previous sample. */
struct sp_sample {
	uint64_t time;                        /* as sp_event.time */
	uint32_t path;                        /* 0: no recorded function */
	uint32_t line;                        /* line that is running, in the file of the path's region; 0: unknown */
	uint64_t again;                       /* number of samples since the previous one that were identical to it */
	uint64_t cpu;                         /* ns of processor time since the previous sample */
	uint64_t counted[SP_SAMPLE_COUNTERS]; /* since the previous sample; see sp_events_sampled() */
	uint8_t state;                        /* enum sp_sample_state */
	bool end;                             /* not a sample: the thread has ended; only time and again are set */
};

/* Whether the location has samples instead of a trace. metrics may be NULL; it receives the metric of samples, that of
 * processor time, and those of the values in sp_sample.counted; SP_NONE: undefined. *n: number of metrics. */
bool sp_events_sampled(const struct sp_events *s, uint32_t metrics[2 + SP_SAMPLE_COUNTERS], size_t *n);
/* Reads the samples of a location that has them; do not mix it with sp_events_read(), whose results it has. The number
 * of samples of a path is its own samples plus the `again` of the sample that follows each of them. */
long sp_events_read_samples(struct sp_events *s, struct sp_sample *out, size_t n, struct sp_err *e);
/* For the last sample that was read: the lines at which the functions of its path call the next one, the outermost
 * first; *n: their number; 0: unknown. Valid until the next read or the end. */
const uint32_t *sp_events_call_lines(const struct sp_events *s, size_t *n);

#endif
