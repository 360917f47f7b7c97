/* SPDX-License-Identifier: BSD-3-Clause */
/* Perf events of the threads of another process. Their growth between two samples belongs to the stack of the second
 * one, like processor time. */
#ifndef SP_SAMPLE_CONTROL_COUNTERS_H
#define SP_SAMPLE_CONTROL_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { SP_COUNTERS_MAX = 16 };

/* The counters of one thread; all bytes zero: not started. */
struct sp_counters {
	int *fds; /* owned */
	unsigned n_fds;
	bool failed;
	uint64_t last[SP_COUNTERS_MAX];
};

/* Defines the perf:… metrics of a list (as for --metric) that can be counted here, each as the next column of the file.
 * Returns their number. */
unsigned sp_counters_define(const char *list);
/* Reads the growth since the previous call, or starts counting in the first call. Returns false if the growth is
 * unknown. */
bool sp_counters_read(struct sp_counters *c, pid_t thread, uint64_t *grown);
void sp_counters_close(struct sp_counters *c);

#endif
