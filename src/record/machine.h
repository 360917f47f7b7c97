/* SPDX-License-Identifier: BSD-3-Clause */
/* What differs between processors. Other processors than these use CLOCK_MONOTONIC, and what needs the rest is missing
 * there. */
#ifndef SP_RECORD_MACHINE_H
#define SP_RECORD_MACHINE_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#elif defined(__aarch64__)
#include <stdio.h>
#endif

#include "format/format.h"

/* - SP_MACHINE_PAGE: bytes of the largest page that a kernel for the processor may have.
 * - SP_COUNTER_CLOCK: the clock that sp_counter() reads.
 * - sp_counter(): the processor's counter, in ticks.
 * - sp_counter_hertz(): ticks in a second; 0: the processor does not say it.
 * - sp_counter_is_invariant(): whether it runs at one rate through all power states.
 * - sp_counter_host_is_stable(): whether KVM, if it runs this system, says that it is the same on all processors.
 * - sp_machine_name(): the processor's own name for itself, because reading /proc/cpuinfo may take milliseconds on a
 *   large machine; false: unknown.
 * - SP_MACHINE_JUMP_SLOT, SP_MACHINE_GLOB_DAT: the types of relocations of the entries through which an object file
 *   calls functions of others. */

enum { SP_MACHINE_NAME = 64 };

#if defined(__x86_64__)

enum { SP_MACHINE_PAGE = 4096 };
#define SP_COUNTER_CLOCK SP_RAW_CLOCK_TSC
enum { SP_MACHINE_JUMP_SLOT = R_X86_64_JUMP_SLOT, SP_MACHINE_GLOB_DAT = R_X86_64_GLOB_DAT };

static inline uint64_t sp_counter(void)
{
	return __rdtsc();
}

static inline uint64_t sp_counter_hertz(void)
{
	return 0;
}

/* CPUID 80000007h, EDX bit 8. */
static inline bool sp_counter_is_invariant(void)
{
	unsigned a, b, c, d;
	return __get_cpuid(0x80000007u, &a, &b, &c, &d) && d & (1u << 8);
}

/* CPUID 40000001h of KVM, EAX bit 24 (KVM_FEATURE_CLOCKSOURCE_STABLE_BIT). Without this bit the kernel corrects the
 * counter for each processor separately. */
static inline bool sp_counter_host_is_stable(void)
{
	unsigned a, b, c, d;
	__cpuid(0x40000000u, a, b, c, d);
	(void)c, (void)d;
	if (b != 0x4b4d564bu || a < 0x40000001u) /* "KVMK" */
		return false;
	__cpuid(0x40000001u, a, b, c, d);
	return a & (1u << 24);
}

static inline bool sp_machine_name(char name[SP_MACHINE_NAME])
{
	enum { BRAND = 0x80000002, PARTS = 3 };
	unsigned r[4 * PARTS + 1] = {0};
	for (unsigned i = 0; i < PARTS; i++)
		if (!__get_cpuid(BRAND + i, &r[4 * i], &r[4 * i + 1], &r[4 * i + 2], &r[4 * i + 3]))
			return false;
	const char *begin = (const char *)r + strspn((const char *)r, " ");
	memcpy(name, begin, strlen(begin) + 1);
	return *name;
}

#elif defined(__aarch64__)

enum { SP_MACHINE_PAGE = 64 << 10 };
#define SP_COUNTER_CLOCK SP_RAW_CLOCK_CNTVCT
enum { SP_MACHINE_JUMP_SLOT = R_AARCH64_JUMP_SLOT, SP_MACHINE_GLOB_DAT = R_AARCH64_GLOB_DAT };

/* Without a barrier before it, as __rdtsc() above: it may be read some instructions early. */
static inline uint64_t sp_counter(void)
{
	uint64_t ticks;
	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
}

static inline uint64_t sp_counter_hertz(void)
{
	uint64_t hertz;
	__asm__ volatile("mrs %0, cntfrq_el0" : "=r"(hertz));
	return hertz;
}

/* The architecture demands it, and one count for all processors. */
static inline bool sp_counter_is_invariant(void)
{
	return true;
}

static inline bool sp_counter_host_is_stable(void)
{
	return true;
}

/* Implementer, part and revision, as the kernel has read them from the processor (MIDR_EL1). */
static inline bool sp_machine_name(char name[SP_MACHINE_NAME])
{
	FILE *f = fopen("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1", "re");
	unsigned long long id = 0;
	const bool known = f && fscanf(f, "%llx", &id) == 1;
	if (f)
		fclose(f);
	return known && snprintf(name, SP_MACHINE_NAME, "MIDR 0x%llx", id) > 0;
}

#else

enum { SP_MACHINE_PAGE = 64 << 10 };
#define SP_COUNTER_CLOCK SP_RAW_CLOCK_MONOTONIC
enum { SP_MACHINE_JUMP_SLOT = -1, SP_MACHINE_GLOB_DAT = -1 }; /* no relocation has them */

static inline uint64_t sp_counter(void)
{
	return 0;
}

static inline uint64_t sp_counter_hertz(void)
{
	return 0;
}

static inline bool sp_counter_is_invariant(void)
{
	return false;
}

static inline bool sp_counter_host_is_stable(void)
{
	return false;
}

static inline bool sp_machine_name(char name[SP_MACHINE_NAME])
{
	(void)name;
	return false;
}

#endif
#endif
