/* SPDX-License-Identifier: BSD-3-Clause */
/* Perf events of the threads of another process: what they grew by between two looks belongs to the stack that was
 * found, like processor time. */
#ifndef SP_SAMPLE_CONTROL_COUNTERS_H
#define SP_SAMPLE_CONTROL_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { SP_COUNTERS_MOST = 16 };

/* Of one thread; zero bytes: not begun. */
struct sp_counters {
	int *fds; /* owned */
	unsigned n_fds;
	bool failed;
	uint64_t last[SP_COUNTERS_MOST];
};

/* The perf:… metrics of a list as --metric has it, as far as they can be counted here: how many. Each is defined as a
 * column of the file, one after the other. */
unsigned sp_counters_define(const char *list);
/* How much they grew since the call before, or since now; false: nothing is known. */
bool sp_counters_read(struct sp_counters *c, pid_t thread, uint64_t *grown);
void sp_counters_close(struct sp_counters *c);

#endif
