/* SPDX-License-Identifier: BSD-3-Clause */
/* For LD_PRELOAD: gives each rank of an MPI run another host name and wrong clocks. SKEW and DRIFT have a number for
 * each rank: ns by which its clocks are ahead, and ns that they gain in a million. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int (*real_gettime)(clockid_t, struct timespec *);
static int (*real_sleep)(clockid_t, int, const struct timespec *, struct timespec *);
static int (*real_hostname)(char *, size_t);
static long long ahead, begin[2];
static double gain;
static int rank = -1;

static long long number(const char *variable, int which)
{
	const char *text = getenv(variable);
	for (; text && which > 0; which--)
		text = (text = strchr(text, ',')) ? text + 1 : NULL;
	return text ? atoll(text) : 0;
}

static long long nanoseconds(const struct timespec *t)
{
	return (long long)t->tv_sec * 1000000000 + t->tv_nsec;
}

static struct timespec time_of(long long ns)
{
	return (struct timespec){ns / 1000000000, ns % 1000000000};
}

static long long now(clockid_t clock)
{
	struct timespec t;
	real_gettime(clock, &t);
	return nanoseconds(&t);
}

__attribute__((constructor(101))) static void begins(void)
{
	const char *text = getenv("OMPI_COMM_WORLD_RANK");
	text = text ? text : getenv("PMI_RANK");
	real_gettime = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	real_sleep =
	    (int (*)(clockid_t, int, const struct timespec *, struct timespec *))dlsym(RTLD_NEXT, "clock_nanosleep");
	real_hostname = (int (*)(char *, size_t))dlsym(RTLD_NEXT, "gethostname");
	begin[0] = now(CLOCK_REALTIME);
	begin[1] = now(CLOCK_MONOTONIC);
	if (!text)
		return;
	rank = atoi(text);
	ahead = number("SKEW", rank);
	gain = (double)number("DRIFT", rank) / 1e6;
}

static int is_wrong(clockid_t clock)
{
	return rank >= 0 && (clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC);
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
	if (!real_gettime)
		begins();
	if (!is_wrong(clock))
		return real_gettime(clock, t);
	const long long ns = now(clock);
	*t = time_of(ns + ahead + (long long)((double)(ns - begin[clock == CLOCK_MONOTONIC]) * gain));
	return 0;
}

/* A sleep until a time of the wrong clock must not last until that time of the right clock. */
int clock_nanosleep(clockid_t clock, int flags, const struct timespec *t, struct timespec *rest)
{
	if (!is_wrong(clock) || !(flags & TIMER_ABSTIME))
		return real_sleep(clock, flags, t, rest);
	const long long from = begin[clock == CLOCK_MONOTONIC];
	const struct timespec right = time_of(from + (long long)((double)(nanoseconds(t) - ahead - from) / (1 + gain)));
	return real_sleep(clock, flags, &right, rest);
}

int gethostname(char *name, size_t n)
{
	if (rank < 0)
		return real_hostname(name, n);
	snprintf(name, n, "host%d", rank);
	return 0;
}
