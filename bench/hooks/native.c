/* SPDX-License-Identifier: BSD-3-Clause */
/* Cost of a call of a compiled function: figures.py builds it in several ways. */
#include <stdint.h>
#include <time.h>

__attribute__((noinline)) static long leaf(long n)
{
	__asm__ volatile("");
	return n + 1;
}

__attribute__((no_instrument_function)) static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* ns per call, the best of many short rounds: another process may have the processor in some of them */
__attribute__((no_instrument_function)) double calls(long n);
double calls(long n)
{
	double best = 1e30;
	for (int round = 0; round < 500; round++) {
		double start = now();
		for (long i = 0; i < n; i++)
			leaf(i);
		double took = (now() - start) / (double)n;
		if (took < best)
			best = took;
	}
	return best;
}
