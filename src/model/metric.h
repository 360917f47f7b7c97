/* SPDX-License-Identifier: BSD-3-Clause */
/* Quantities that are counted in addition to time. */
#ifndef SP_MODEL_METRIC_H
#define SP_MODEL_METRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/str.h"

struct sp_model;

/* A quantity that is counted in addition to time. */
struct sp_metric {
	struct sp_str name, unit, what;
	int exponent; /* the unit is 10^exponent of `unit` */
	uint8_t kind; /* enum sp_metric_kind */
	bool own;     /* exclusive: counts only the region itself; otherwise callees are included */
	bool level;   /* a level, such as a size, instead of a count: events have its absolute value */
};
/* The valid range of exponents; others are damage, and a loop up to such an exponent would not end in reasonable
 * time. */
static inline bool sp_metric_exponent(int exponent)
{
	return exponent >= -30 && exponent <= 30;
}
enum sp_metric_kind {
	SP_METRIC_RUSAGE,
	SP_METRIC_PAPI,
	SP_METRIC_PERF,
	SP_METRIC_BYTES,
	SP_METRIC_WAIT,
	SP_METRIC_SAMPLE,
	SP_METRIC_MEMORY,
	SP_METRIC_OFF_CPU, /* "running", "waiting", "preempted"; the raw format has rows instead of definitions */
	SP_METRIC_KINDS
};
/* Whether off-CPU time is known over time in all processes with a trace that measured it. */
bool sp_off_cpu_in_trace(const struct sp_model *m);
enum { SP_WAITING = 4 };
/* The metrics that count time off the processor: indices + 1, 0: the model does not have it. If no process measured
 * off-CPU time, `waiting` are those of samples: idle, waiting for the GIL or for an object's lock, and stopped. */
struct sp_off_cpu_columns {
	size_t waiting[SP_WAITING], preempted;
	size_t running; /* the rest of the exclusive time; computed by the model, not recorded */
};
struct sp_off_cpu_columns sp_off_cpu_columns(const struct sp_model *m);
/* Whether any time is known as waiting: times are split into running and waiting. */
bool sp_off_cpu_split(const struct sp_off_cpu_columns *c);
/* Whether they are of a model with n metrics; others are damage. */
bool sp_off_cpu_columns_fit(const struct sp_off_cpu_columns *c, size_t n);
/* The metrics of an entry, n for each one. NULL without metrics. */
static inline const uint64_t *sp_metrics_at(const uint64_t *metrics, size_t entry, size_t n)
{
	return metrics && n ? metrics + entry * n : NULL;
}

/* Exclusive time of a path in which the thread was off the processor, ns; at most the path's exclusive time `excl`.
 * metrics: the values of the path. */
struct sp_off_cpu {
	double waiting, preempted;
};
struct sp_off_cpu sp_off_cpu_of(const struct sp_off_cpu_columns *c, const uint64_t *metrics, double excl);
/* The same from measured or estimated times, which may be longer than `excl`. */
struct sp_off_cpu sp_off_cpu_within(double excl, double waiting, double preempted);
/* The rest of an exclusive time: that in which the thread ran, ns. */
double sp_off_cpu_rest(double excl, struct sp_off_cpu off);
/* The same from the values of the path. */
double sp_running_of(const struct sp_off_cpu_columns *c, const uint64_t *metrics, double excl);

extern const char *const sp_metric_kind_names[SP_METRIC_KINDS]; /* "rusage", … */

#endif
