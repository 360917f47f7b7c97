/* SPDX-License-Identifier: BSD-3-Clause */
/* Metrics that are read at each enter and leave, and where their values come from: one source a file. */
#ifndef SP_RECORD_METRICS_METRIC_H
#define SP_RECORD_METRICS_METRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "format/format.h"

enum { SP_METRICS_MOST = 64, SP_METRIC_SOURCES = 3 };

/* One metric of a source, as the user named it and as the source knows it. */
struct sp_metric_def {
	char name[128], what[160];
	const char *unit;
	int exponent;
	unsigned flags;      /* SP_RAW_METRIC_… beside the kind */
	uint64_t code, mode; /* the source's own */
};

/* What a source needs to count for one thread. */
struct sp_metric_state {
	pid_t thread;     /* that is counted; 0: the calling one. perf events only */
	int set;          /* PAPI's event set, or -1 */
	int *fds;         /* owned; perf events, the leader first */
	unsigned n_fds;   /* 0: nothing is counted */
	uint64_t *before; /* owned; counted before the last start, where a source counts from 0 then */
};

struct sp_metric_source {
	const char *name;
	enum sp_raw_metric_kind kind;
	/* The names that can be listed, one after the other; NULL after the last. */
	const char *(*known)(unsigned i);
	/* Fills m for a name. -ENOENT: there is no such name; another negative errno: it cannot be counted here; both
	 * with a sentence in why. */
	int (*find)(struct sp_metric_def *m, const char *name, char *why, size_t n);
	/* Counts n metrics for the calling thread; 0 or a negative errno. NULL here and below: there is nothing to do.
	 */
	int (*open)(struct sp_metric_state *s, const struct sp_metric_def *m, unsigned n);
	/* Negative errno: nothing is counted any more, values are as they were. errno may change. */
	int (*read)(struct sp_metric_state *s, const struct sp_metric_def *m, unsigned n, uint64_t *values);
	/* forked: in the child, of a state of the parent's */
	void (*close)(struct sp_metric_state *s, bool forked);
	/* Around a fork, in the thread that forks: before it, and after it in the parent. */
	void (*stop)(struct sp_metric_state *s, unsigned n);
	void (*start)(struct sp_metric_state *s);
};

extern const struct sp_metric_source sp_metric_rusage, sp_metric_papi, sp_metric_perf;
/* Ends with NULL; columns of metrics are in this order. */
extern const struct sp_metric_source *const sp_metric_sources[SP_METRIC_SOURCES + 1];

#endif
