/* SPDX-License-Identifier: BSD-3-Clause */
/* The clock of the events: the processor's counter if the kernel itself trusts it, otherwise CLOCK_MONOTONIC. */
#ifndef SP_RECORD_CLOCK_H
#define SP_RECORD_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "format/format.h"
#include "record/machine.h"

extern enum sp_raw_clock sp_clock_kind; /* set by sp_clock_init() */

/* Returns the time of a clock of the system in nanoseconds. */
static inline uint64_t sp_clock_nanoseconds(clockid_t id)
{
	struct timespec ts;
	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Returns the time in ticks of sp_clock_kind. */
static inline uint64_t sp_ticks(void)
{
	if (SP_COUNTER_CLOCK != SP_RAW_CLOCK_MONOTONIC && __builtin_expect(sp_clock_kind == SP_COUNTER_CLOCK, 1))
		return sp_counter();
	return sp_clock_nanoseconds(CLOCK_MONOTONIC);
}

/* Returns the ticks from begin to end; 0 if the clock went back, which can happen when a virtual machine moves to
 * other hardware. */
static inline uint64_t sp_ticks_between(uint64_t begin, uint64_t end)
{
	return end > begin ? end - begin : 0;
}

/* Returns about how many ticks of sp_clock_kind take this number of nanoseconds, at most 2^32. The counter of x86-64
 * does not say its rate: 2 to 5 ticks in a nanosecond, taken as 2.5. */
uint64_t sp_clock_about(uint64_t ns);

/* Whether the processor's counter can be the clock. It must be invariant, and the kernel must keep its time with it,
 * which makes sure that it is the same on all processors. current and available: the contents of the kernel's clock
 * source files in /sys. In a KVM guest with KVM's own clock the host must report the counter as stable, and the kernel
 * must not have rejected it. */
bool sp_clock_counter_trusted(enum sp_raw_clock counter, bool invariant, const char *current, const char *available,
                              bool host_stable);

/* Chooses the clock of the process. which: "auto" and "tsc" choose the best trusted clock, "monotonic"
 * CLOCK_MONOTONIC. */
void sp_clock_init(const char *which);

/* Reads the three clocks at nearly the same time: the closest of five attempts. */
struct sp_raw_sync sp_clock_sync(void);

#endif
