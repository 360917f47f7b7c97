/* SPDX-License-Identifier: BSD-3-Clause */
/* Metrics that are read at each enter and leave, and the sources of their values, one file each. */
#ifndef SP_RECORD_METRICS_METRIC_H
#define SP_RECORD_METRICS_METRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "format/format.h"

enum { SP_METRICS_MAX = 64, SP_METRIC_SOURCES = 3 };

/* One metric of a source: the name the user gave and the source's data. */
struct sp_metric_def {
	char name[128], what[160];
	const char *unit;
	int exponent;
	unsigned flags;      /* SP_RAW_METRIC_…, in addition to the kind */
	uint64_t code, mode; /* private to the source */
};

/* A source's data for one thread. */
struct sp_metric_state {
	pid_t thread;   /* the thread that is counted; 0: the calling one. perf events only */
	int set;        /* PAPI's event set, or -1 */
	int *fds;       /* owned; perf events, the group leader first */
	unsigned n_fds; /* 0: nothing is counted */
	uint64_t
	    *before; /* owned; counts before the last start, for a source whose counts begin at 0 with each start */
};

/* A source of metrics. Negative results are errno values. */
struct sp_metric_source {
	const char *name;
	enum sp_raw_metric_kind kind;
	/* Returns the i-th name that can be listed; NULL after the last one. */
	const char *(*known)(unsigned i);
	/* Fills m for a name. Returns 0, -ENOENT for an unknown name, or another negative errno if it cannot be
	 * counted on this machine; errors come with a sentence in why. */
	int (*find)(struct sp_metric_def *m, const char *name, char *why, size_t n);
	/* Begins to count n metrics for the calling thread. Returns 0 or a negative errno. From here on NULL means
	 * that there is nothing to do. */
	int (*open)(struct sp_metric_state *s, const struct sp_metric_def *m, unsigned n);
	/* Reads the values. After a negative errno nothing is counted any more and the values are unchanged. May
	 * change errno. */
	int (*read)(struct sp_metric_state *s, const struct sp_metric_def *m, unsigned n, uint64_t *values);
	/* forked: in the child, for the parent's data */
	void (*close)(struct sp_metric_state *s, bool forked);
	/* Called around a fork by the forking thread: stop before it, start after it in the parent. */
	void (*stop)(struct sp_metric_state *s, unsigned n);
	void (*start)(struct sp_metric_state *s);
};

extern const struct sp_metric_source sp_metric_rusage, sp_metric_papi, sp_metric_perf;
/* All sources, ending with NULL; columns of metrics are in this order. */
extern const struct sp_metric_source *const sp_metric_sources[SP_METRIC_SOURCES + 1];

#endif
