/* SPDX-License-Identifier: BSD-3-Clause */
/* What bare calls of getrusage(RUSAGE_THREAD) take: called in the process in which they are held against metrics. */
#define _GNU_SOURCE
#include <sys/resource.h>
#include <time.h>

/* Nanoseconds for each of n calls. */
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
