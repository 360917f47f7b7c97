/* SPDX-License-Identifier: BSD-3-Clause */
/* Time of calls of getrusage(RUSAGE_THREAD), measured in the process in which it is compared with metrics. */
#define _GNU_SOURCE
#include <sys/resource.h>
#include <time.h>

/* Nanoseconds per call, over n calls. */
double bare(int n)
{
	struct rusage usage;
	struct timespec begin, end;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (int i = 0; i < n; i++)
		getrusage(RUSAGE_THREAD, &usage);
	clock_gettime(CLOCK_MONOTONIC, &end);
	return ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) / n;
}
