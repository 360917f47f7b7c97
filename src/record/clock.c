/* SPDX-License-Identifier: BSD-3-Clause */
#include "record/clock.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

enum sp_raw_clock sp_clock_kind = SP_RAW_CLOCK_MONOTONIC;

bool sp_clock_tsc_trusted(bool invariant, const char *current, const char *available, bool kvm_stable)
{
	if (!invariant)
		return false;
	if (!strncmp(current, "kvm-clock", 9))
		return kvm_stable && strstr(available, "tsc");
	return !strncmp(current, "tsc", 3) || strstr(current, "_tsc_page");
}

#if defined(__x86_64__)
/* CPUID 80000007h, EDX bit 8: the counter runs at one rate through all power states. */
static bool is_invariant(void)
{
	unsigned a, b, c, d;
	return __get_cpuid(0x80000007u, &a, &b, &c, &d) && d & (1u << 8);
}

/* CPUID 40000001h of KVM, EAX bit 24 (KVM_FEATURE_CLOCKSOURCE_STABLE_BIT): the host's counter is the same on all
 * processors. Without this bit the kernel corrects the counter for each processor separately. */
static bool kvm_is_stable(void)
{
	unsigned a, b, c, d;
	__cpuid(0x40000000u, a, b, c, d);
	(void)c, (void)d;
	if (b != 0x4b4d564bu || a < 0x40000001u) /* "KVMK" */
		return false;
	__cpuid(0x40000001u, a, b, c, d);
	return a & (1u << 24);
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

static bool tsc_is_trusted(void)
{
	char current[64], available[256];
	read_line(CLOCKSOURCE "current_clocksource", current, sizeof current);
	read_line(CLOCKSOURCE "available_clocksource", available, sizeof available);
	return sp_clock_tsc_trusted(is_invariant(), current, available, kvm_is_stable());
}
#endif

void sp_clock_init(const char *which)
{
	enum sp_raw_clock best = SP_RAW_CLOCK_MONOTONIC;
#if defined(__x86_64__)
	if (strcmp(which, "monotonic") != 0 && tsc_is_trusted())
		best = SP_RAW_CLOCK_TSC;
#elif defined(__aarch64__)
	if (strcmp(which, "monotonic") != 0)
		best = SP_RAW_CLOCK_CNTVCT;
#endif
	/* threads of an earlier measurement may be reading it; relaxed: no other data depends on it */
	if (__atomic_load_n(&sp_clock_kind, __ATOMIC_RELAXED) != best)
		__atomic_store_n(&sp_clock_kind, best, __ATOMIC_RELAXED);
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
		/* the monotonic clock was read after about one third of the interval */
		best = (struct sp_raw_sync){before + width / 3, mono, real};
		if (sp_clock_kind == SP_RAW_CLOCK_MONOTONIC)
			best.ticks = mono;
	}
	return best;
}
