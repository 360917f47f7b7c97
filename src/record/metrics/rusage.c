/* SPDX-License-Identifier: BSD-3-Clause */
/* Metrics of getrusage(2) for the calling thread. Names, units and descriptions are Score-P's, which come from the
 * manual page. */
#include "record/metrics/metric.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

/* struct rusage consists of two timevals followed by longs: a field is read by the index of its first word. */
enum { TIMES = 4, WORDS = sizeof(struct rusage) / sizeof(long) };
_Static_assert(offsetof(struct rusage, ru_maxrss) == TIMES * sizeof(long), "struct rusage begins with two times");

#define WORD(field) (offsetof(struct rusage, field) / sizeof(long))

static const struct field {
	const char *name, *unit, *what;
	int exponent;
	unsigned word, flags;
} fields[] = {
    {"ru_utime", "s", "user CPU time used", -6, WORD(ru_utime), 0},
    {"ru_stime", "s", "system CPU time used", -6, WORD(ru_stime), 0},
    {"ru_maxrss", "kB", "maximum resident set size", 0, WORD(ru_maxrss), SP_RAW_METRIC_LEVEL},
    {"ru_ixrss", "kB", "integral shared memory size", 0, WORD(ru_ixrss), 0},
    {"ru_idrss", "kB", "integral unshared data size", 0, WORD(ru_idrss), 0},
    {"ru_isrss", "kB", "integral unshared stack size", 0, WORD(ru_isrss), 0},
    {"ru_minflt", "#", "page reclaims (soft page faults)", 0, WORD(ru_minflt), 0},
    {"ru_majflt", "#", "page faults (hard page faults)", 0, WORD(ru_majflt), 0},
    {"ru_nswap", "#", "swaps", 0, WORD(ru_nswap), 0},
    {"ru_inblock", "#", "block input operations", 0, WORD(ru_inblock), 0},
    {"ru_oublock", "#", "block output operations", 0, WORD(ru_oublock), 0},
    {"ru_msgsnd", "#", "IPC messages sent", 0, WORD(ru_msgsnd), 0},
    {"ru_msgrcv", "#", "IPC messages received", 0, WORD(ru_msgrcv), 0},
    {"ru_nsignals", "#", "signals received", 0, WORD(ru_nsignals), 0},
    {"ru_nvcsw", "#", "voluntary context switches", 0, WORD(ru_nvcsw), 0},
    {"ru_nivcsw", "#", "involuntary context switches", 0, WORD(ru_nivcsw), 0},
};

static const char *known(unsigned i)
{
	return i < sizeof fields / sizeof *fields ? fields[i].name : NULL;
}

static int find(struct sp_metric_def *m, const char *name, char *why, size_t n)
{
	for (const struct field *f = fields; f < fields + sizeof fields / sizeof *fields; f++)
		if (!strcmp(f->name, name)) {
			snprintf(m->name, sizeof m->name, "%s", f->name);
			snprintf(m->what, sizeof m->what, "%s", f->what);
			m->unit = f->unit;
			m->exponent = f->exponent;
			m->flags = f->flags;
			m->code = f->word;
			return 0;
		}
	snprintf(why, n, "getrusage(2) counts no such thing");
	return -ENOENT;
}

static int read_now(struct sp_metric_state *s, const struct sp_metric_def *m, unsigned n, uint64_t *values)
{
	(void)s;
	union {
		struct rusage usage;
		long word[WORDS];
	} u;
	if (getrusage(RUSAGE_THREAD, &u.usage))
		return -errno;
	for (unsigned i = 0; i < n; i++) {
		const long *w = &u.word[m[i].code];
		values[i] = m[i].code < TIMES ? (uint64_t)w[0] * 1000000 + (uint64_t)w[1] : (uint64_t)w[0];
	}
	return 0;
}

const struct sp_metric_source sp_metric_rusage = {
    .name = "rusage", .kind = SP_RAW_METRIC_RUSAGE, .known = known, .find = find, .read = read_now};
