/* SPDX-License-Identifier: BSD-3-Clause */
/* Quantities that are counted in addition to time. */
#ifndef SP_MODEL_METRIC_H
#define SP_MODEL_METRIC_H

#include <stdbool.h>
#include <stdint.h>

#include "model/str.h"

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
	SP_METRIC_OFF_CPU, /* "waiting" and "preempted"; the raw format has rows for them instead of definitions */
	SP_METRIC_KINDS
};
extern const char *const sp_metric_kind_names[SP_METRIC_KINDS]; /* "rusage", … */

#endif
