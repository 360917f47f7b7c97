/* SPDX-License-Identifier: BSD-3-Clause */
/* The clock of the events: the processor's counter where the kernel itself trusts it, else CLOCK_MONOTONIC. */
#ifndef SP_RECORD_CLOCK_H
#define SP_RECORD_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "format/format.h"

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

/* Ticks from begin to end. 0 where the clock went back, which a virtual machine's may when it moves to other hardware.
 */
static inline uint64_t sp_ticks_between(uint64_t begin, uint64_t end)
{
	return end > begin ? end - begin : 0;
}

/* Whether the processor's counter (x86-64) can be the clock: it is invariant, and the kernel keeps its own time by it,
 * so that it is the same on all processors. current and available: what /sys has of the kernel's clock sources. In a
 * virtual machine of KVM the host must say that it is stable, and the kernel must not have thrown it out. */
bool sp_clock_tsc_trusted(bool invariant, const char *current, const char *available, bool kvm_stable);

/* which: "auto" and "tsc" take the best clock that can be trusted here, "monotonic" is CLOCK_MONOTONIC. */
void sp_clock_init(const char *which);

/* The three clocks at one moment: the tightest of several tries. */
struct sp_raw_sync sp_clock_sync(void);

#endif
