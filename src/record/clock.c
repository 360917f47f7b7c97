/* SPDX-License-Identifier: BSD-3-Clause */
#include "record/clock.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

enum sp_raw_clock sp_clock_kind = SP_RAW_CLOCK_MONOTONIC;

#if defined(__x86_64__)
/* The counter runs at one rate through all power states (CPUID 80000007h, EDX bit 8), and the kernel keeps its own time
 * by it: then it is also the same on all processors. */
static int tsc_is_trusted(void)
{
	unsigned a, b, c, d;
	if (!__get_cpuid(0x80000007u, &a, &b, &c, &d) || !(d & (1u << 8)))
		return 0;
	int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	char text[64] = "";
	ssize_t n = read(fd, text, sizeof text - 1);
	close(fd);
	return n > 0 && (!strncmp(text, "tsc", 3) || !strncmp(text, "kvm-clock", 9) || strstr(text, "_tsc_page"));
}
#endif

void sp_clock_init(const char *which)
{
	sp_clock_kind = SP_RAW_CLOCK_MONOTONIC;
	if (!strcmp(which, "monotonic"))
		return;
#if defined(__x86_64__)
	sp_clock_kind = tsc_is_trusted() ? SP_RAW_CLOCK_TSC : SP_RAW_CLOCK_MONOTONIC;
#elif defined(__aarch64__)
	sp_clock_kind = SP_RAW_CLOCK_CNTVCT;
#endif
}

struct sp_raw_sync sp_clock_sync(void)
{
	struct sp_raw_sync best = {0};
	uint64_t width = UINT64_MAX;
	for (int i = 0; i < 5; i++) {
		uint64_t before = sp_ticks();
		uint64_t mono = sp_clock_nanoseconds(CLOCK_MONOTONIC);
		uint64_t real = sp_clock_nanoseconds(CLOCK_REALTIME);
		uint64_t after = sp_ticks();
		if (after - before >= width)
			continue;
		width = after - before;
		/* the monotonic clock was read after about a third of the interval */
		best = (struct sp_raw_sync){before + width / 3, mono, real};
		if (sp_clock_kind == SP_RAW_CLOCK_MONOTONIC)
			best.ticks = mono;
	}
	return best;
}
