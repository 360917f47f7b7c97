/* SPDX-License-Identifier: BSD-3-Clause */

#include "model/builder/clock.h"
#include "model/builder/source.h"

/* 2^53 ns are 104 days: up to there a double is exact to the nanosecond; a longer time is damage. */
#define MAX_NS 9007199254740992.0

uint64_t sp_clock_ns(const struct sp_clock *c, uint64_t ticks)
{
	double ns = ticks > c->first ? (double)(ticks - c->first) * c->ns : 0;

	return c->offset + (uint64_t)(ns < MAX_NS ? ns : MAX_NS);
}

uint64_t sp_clock_length(const struct sp_clock *c, uint64_t ticks)
{
	double ns = (double)ticks * c->ns;

	return (uint64_t)(ns < 0x1p63 ? ns : 0x1p63);
}

/* Returns 0, or -1 if the header does not give the length of a tick; a tick counts as a nanosecond then. */
int sp_clock_init(struct sp_clock *c, const struct sp_raw_header *h)
{
	uint64_t ticks = h->last.ticks - h->first.ticks, ns = h->last.mono_ns - h->first.mono_ns;

	*c = (struct sp_clock){.first = h->first.ticks, .ns = 1};
	if (h->clock == SP_RAW_CLOCK_MONOTONIC)
		return 0;
	if (h->last.ticks <= h->first.ticks || h->last.mono_ns <= h->first.mono_ns)
		return -1;
	/* valid clocks: from 100 GHz down to the 1 MHz of slow counters */
	if ((double)ns / (double)ticks < 0.01 || (double)ns / (double)ticks > 1000)
		return -1;
	c->ns = (double)ns / (double)ticks;
	return 0;
}
