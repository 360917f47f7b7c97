/* SPDX-License-Identifier: BSD-3-Clause */
#include "record/clock.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum sp_raw_clock sp_clock_kind = SP_RAW_CLOCK_MONOTONIC;

bool sp_clock_counter_trusted(enum sp_raw_clock counter, bool invariant, const char *current, const char *available,
                              bool host_stable)
{
	if (!invariant)
		return false;
	if (counter == SP_RAW_CLOCK_CNTVCT)
		return !strncmp(current, "arch_sys_counter", strlen("arch_sys_counter"));
	if (!strncmp(current, "kvm-clock", strlen("kvm-clock")))
		return host_stable && strstr(available, "tsc");
	return !strncmp(current, "tsc", strlen("tsc")) || strstr(current, "_tsc_page");
}

static void read_line(const char *path, char *text, size_t n)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd >= 0 ? read(fd, text, n - 1) : -1;
	if (fd >= 0)
		close(fd);
	text[got > 0 ? got : 0] = 0;
}

#define CLOCKSOURCE "/sys/devices/system/clocksource/clocksource0/"

static bool counter_is_trusted(void)
{
	char current[64], available[256];
	read_line(CLOCKSOURCE "current_clocksource", current, sizeof current);
	read_line(CLOCKSOURCE "available_clocksource", available, sizeof available);
	return sp_clock_counter_trusted(SP_COUNTER_CLOCK, sp_counter_is_invariant(), current, available,
	                                sp_counter_host_is_stable());
}

void sp_clock_init(const char *which)
{
	enum sp_raw_clock best = SP_RAW_CLOCK_MONOTONIC;
	if (SP_COUNTER_CLOCK != SP_RAW_CLOCK_MONOTONIC && strcmp(which, "monotonic") != 0 && counter_is_trusted())
		best = SP_COUNTER_CLOCK;
	/* threads of an earlier measurement may be reading it; relaxed: no other data depends on it */
	if (__atomic_load_n(&sp_clock_kind, __ATOMIC_RELAXED) != best)
		__atomic_store_n(&sp_clock_kind, best, __ATOMIC_RELAXED);
}

uint64_t sp_clock_about(uint64_t ns)
{
	if (sp_clock_kind == SP_RAW_CLOCK_MONOTONIC)
		return ns;
	const uint64_t hertz = sp_counter_hertz();
	return hertz ? ns * (hertz / 1000) / 1000000 : ns * 5 / 2;
}

struct sp_raw_sync sp_clock_sync(void)
{
	struct sp_raw_sync best = {0};
	uint64_t least = 0;
	for (int i = 0; i < 5; i++) {
		const uint64_t before = sp_ticks();
		const uint64_t mono = sp_clock_nanoseconds(CLOCK_MONOTONIC);
		const uint64_t real = sp_clock_nanoseconds(CLOCK_REALTIME);
		const uint64_t after = sp_ticks();
		const bool back = after < before; /* the clock went back: every other attempt is closer */
		const uint64_t took = back ? UINT64_MAX : after - before;
		if (i > 0 && took >= least)
			continue;
		least = took;
		/* the monotonic clock was read after about one third of the interval */
		best = (struct sp_raw_sync){back ? after : before + took / 3, mono, real};
		if (sp_clock_kind == SP_RAW_CLOCK_MONOTONIC)
			best.ticks = mono;
	}
	return best;
}
