/* SPDX-License-Identifier: BSD-3-Clause */
/* The clock of the events: the processor's counter where the kernel itself trusts it, else CLOCK_MONOTONIC. */
#ifndef SP_RECORD_CLOCK_H
#define SP_RECORD_CLOCK_H

#include <stdint.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "raw/format.h"

extern enum sp_raw_clock sp_clock_kind; /* set once by sp_clock_init() */

static inline uint64_t sp_clock_nanoseconds(clockid_t id)
{
	struct timespec ts;
	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Now, in ticks of sp_clock_kind. */
static inline uint64_t sp_ticks(void)
{
#if defined(__x86_64__)
	if (__builtin_expect(sp_clock_kind == SP_RAW_CLOCK_TSC, 1))
		return __rdtsc();
#elif defined(__aarch64__)
	if (__builtin_expect(sp_clock_kind == SP_RAW_CLOCK_CNTVCT, 1)) {
		uint64_t v;
		__asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
		return v;
	}
#endif
	return sp_clock_nanoseconds(CLOCK_MONOTONIC);
}

/* which: "auto" and "tsc" take the best clock that can be trusted here, "monotonic" is CLOCK_MONOTONIC. */
void sp_clock_init(const char *which);

/* The three clocks at one moment: the tightest of several tries. */
struct sp_raw_sync sp_clock_sync(void);

#endif
