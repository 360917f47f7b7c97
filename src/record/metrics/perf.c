/* SPDX-License-Identifier: BSD-3-Clause */
/* Metrics of the kernel's perf events: one group for each thread, read with one system call. Names are those of `perf
 * list` and of Score-P: cycles, page-faults, L1-dcache-load-misses, r01c2; the suffix `:u` counts in user mode only. */
#include "record/metrics/metric.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* bits of sp_metric_def.mode, together with the type of the event */
enum { TYPE = 0xff, USER_ONLY = 0x100, KERNEL = 0x200 /* happens only in the kernel */ };
enum { HIGHEST = 4096, BELOW = 512 };

static const struct event {
	const char *name, *what;
	uint32_t type, config, mode;
} events[] = {
    {"cycles", "processor cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 0},
    {"instructions", "instructions retired", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 0},
    {"cache-references", "accesses of the last cache", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES, 0},
    {"cache-misses", "misses of the last cache", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, 0},
    {"branches", "branch instructions retired", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 0},
    {"branch-misses", "mispredicted branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, 0},
    {"bus-cycles", "bus cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES, 0},
    {"stalled-cycles-frontend", "cycles stalled in issue", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND,
     0},
    {"stalled-cycles-backend", "cycles stalled in retirement", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND,
     0},
    {"ref-cycles", "cycles at the constant frequency", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES, 0},
    {"task-clock", "time on a processor", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, 0},
    {"cpu-clock", "time on a processor, by its high-resolution timer", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, 0},
    {"page-faults", "page faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 0},
    {"minor-faults", "page faults without input", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN, 0},
    {"major-faults", "page faults that waited for input", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ, 0},
    {"context-switches", "switches to another thread", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, KERNEL},
    {"cpu-migrations", "moves to another processor", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, KERNEL},
    {"alignment-faults", "accesses that the kernel aligned", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS, 0},
    {"emulation-faults", "instructions that the kernel emulated", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS,
     0},
};
enum { EVENTS = sizeof events / sizeof *events };

static const char *const others[][2] = {{"cpu-cycles", "cycles"},
                                        {"branch-instructions", "branches"},
                                        {"idle-cycles-frontend", "stalled-cycles-frontend"},
                                        {"idle-cycles-backend", "stalled-cycles-backend"},
                                        {"faults", "page-faults"},
                                        {"cs", "context-switches"},
                                        {"migrations", "cpu-migrations"}};

/* In the order of the kernel's numbers. */
static const char *const caches[] = {"L1-dcache", "L1-icache", "LLC", "dTLB", "iTLB", "branch", "node"};
static const char *const operations[][2] = {
    {"-loads", "-load-misses"}, {"-stores", "-store-misses"}, {"-prefetches", "-prefetch-misses"}};
static const char *const listed_caches[] = {"L1-dcache-loads", "L1-dcache-load-misses", "L1-icache-load-misses",
                                            "LLC-loads",       "LLC-load-misses",       "dTLB-load-misses",
                                            "iTLB-load-misses"};

static const char *known(unsigned i)
{
	if (i < EVENTS)
		return events[i].name;
	i -= EVENTS;
	return i < sizeof listed_caches / sizeof *listed_caches ? listed_caches[i] : NULL;
}

/* ---- names ---- */

static bool is_event(struct sp_metric_def *m, const char *name)
{
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (!strcmp(others[i][0], name))
			name = others[i][1];
	for (const struct event *e = events; e < events + EVENTS; e++) {
		if (strcmp(e->name, name))
			continue;
		bool time = e->type == PERF_TYPE_SOFTWARE && e->config <= PERF_COUNT_SW_TASK_CLOCK;
		m->unit = time ? "s" : "#";
		m->exponent = time ? -9 : 0;
		m->code = e->config;
		m->mode = e->type | e->mode;
		snprintf(m->what, sizeof m->what, "%s", e->what);
		return true;
	}
	return false;
}

static bool is_cache(struct sp_metric_def *m, const char *name)
{
	for (unsigned i = 0; i < sizeof caches / sizeof *caches; i++) {
		size_t n = strlen(caches[i]);
		for (unsigned k = 0; k < 6 && !strncmp(name, caches[i], n); k++) {
			if (strcmp(name + n, operations[k / 2][k % 2]))
				continue;
			m->code = i | (uint64_t)(k / 2) << 8 | (uint64_t)(k % 2) << 16;
			m->mode = PERF_TYPE_HW_CACHE;
			snprintf(m->what, sizeof m->what, "%s of %s", operations[k / 2][k % 2] + 1, caches[i]);
			return true;
		}
	}
	return false;
}

static bool is_raw(struct sp_metric_def *m, const char *name)
{
	size_t digits = name[0] == 'r' ? strspn(name + 1, "0123456789abcdefABCDEF") : 0;
	if (!digits || digits > 16 || name[1 + digits])
		return false;
	m->code = strtoull(name + 1, NULL, 16);
	m->mode = PERF_TYPE_RAW;
	snprintf(m->what, sizeof m->what, "event %s of this processor", name + 1);
	return true;
}

/* ---- system calls ---- */

static int open_event(const struct sp_metric_def *m, pid_t thread, int leader)
{
	struct perf_event_attr a = {.size = sizeof a,
	                            .type = m->mode & TYPE,
	                            .config = m->code,
	                            .read_format = PERF_FORMAT_GROUP,
	                            .exclude_kernel = !!(m->mode & USER_ONLY),
	                            .exclude_hv = !!(m->mode & USER_ONLY)};
	int fd = (int)syscall(SYS_perf_event_open, &a, thread, -1, leader, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static long paranoid(void)
{
	char text[16] = "";
	int fd = open("/proc/sys/kernel/perf_event_paranoid", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
	if (fd >= 0)
		close(fd);
	return n > 0 ? strtol(text, NULL, 10) : 2;
}

static int refused(int r, const struct sp_metric_def *m, char *why, size_t n)
{
	bool software = (m->mode & TYPE) == PERF_TYPE_SOFTWARE;
	if (r == -EACCES || r == -EPERM)
		snprintf(why, n,
		         "the kernel does not permit it (/proc/sys/kernel/perf_event_paranoid is %ld; it needs %d, or "
		         "CAP_PERFMON)",
		         paranoid(), m->mode & KERNEL ? 1 : 2);
	else if (r == -ENOSYS)
		snprintf(why, n, "this kernel has no perf events");
	else if (!software && (r == -ENOENT || r == -EOPNOTSUPP || r == -ENODEV || r == -EINVAL))
		snprintf(why, n, "the processor does not count it, or a virtual machine hides that it does");
	else
		snprintf(why, n, "%s", strerror(-r));
	return r == -ENOENT ? -ENODEV : r;
}

static int find(struct sp_metric_def *m, const char *name, char *why, size_t n)
{
	char base[sizeof m->name];
	*m = (struct sp_metric_def){.unit = "#"};
	snprintf(m->name, sizeof m->name, "%s", name);
	snprintf(base, sizeof base, "%s", name);
	size_t length = strlen(base);
	bool user = length > 2 && !strcmp(base + length - 2, ":u");
	if (user)
		base[length - 2] = 0;
	if (strlen(name) >= sizeof base || !(is_event(m, base) || is_cache(m, base) || is_raw(m, base))) {
		snprintf(why, n, "no such event; `spartito doctor` lists them, `perf list` too");
		return -ENOENT;
	}
	if (user)
		m->mode |= USER_ONLY;
	int r = open_event(m, 0, -1);
	if ((r == -EACCES || r == -EPERM) && !(m->mode & (USER_ONLY | KERNEL))) {
		m->mode |= USER_ONLY;
		r = open_event(m, 0, -1);
	}
	if (r < 0)
		return refused(r, m, why, n);
	close(r);
	if (m->mode & USER_ONLY)
		strncat(m->what, ", in user mode", sizeof m->what - strlen(m->what) - 1);
	return 0;
}

/* ---- begin and end in a thread ---- */

static uint64_t open_now; /* open descriptors of all threads */

static uint64_t limit(void)
{
	struct rlimit l;
	return getrlimit(RLIMIT_NOFILE, &l) || l.rlim_cur > HIGHEST ? HIGHEST : l.rlim_cur;
}

/* Moves a descriptor to a high number. The program may close all low descriptors that it did not open and then use
 * their numbers, and a read of the metric would take data from the program's file. */
static int moved(int fd)
{
	uint64_t max = limit();
	int high = fcntl(fd, F_DUPFD_CLOEXEC, (int)(max > 2 * BELOW ? max - BELOW : max / 2));
	if (high < 0)
		return fd;
	close(fd);
	return high;
}

static bool is_ours(int fd)
{
	char path[40], to[40] = "";
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return readlink(path, to, sizeof to - 1) > 0 && !strcmp(to, "anon_inode:[perf_event]");
}

static void close_group(struct sp_metric_state *s, bool forked)
{
	(void)forked;
	for (unsigned i = s->n_fds; i-- > 0;)
		if (is_ours(s->fds[i]))
			close(s->fds[i]);
	__atomic_fetch_sub(&open_now, s->n_fds, __ATOMIC_RELAXED);
	s->n_fds = 0;
	free(s->fds);
	s->fds = NULL;
}

static int open_group(struct sp_metric_state *s, const struct sp_metric_def *m, unsigned n)
{
	/* keep enough descriptors for the program */
	if (__atomic_add_fetch(&open_now, n, __ATOMIC_RELAXED) > limit() / 4) {
		__atomic_fetch_sub(&open_now, n, __ATOMIC_RELAXED);
		return -EMFILE;
	}
	__atomic_fetch_sub(&open_now, n, __ATOMIC_RELAXED);
	s->fds = calloc(n, sizeof *s->fds);
	if (!s->fds)
		return -ENOMEM;
	for (unsigned i = 0; i < n; i++) {
		int fd = open_event(&m[i], s->thread, i ? s->fds[0] : -1);
		if (fd < 0) {
			close_group(s, false);
			return fd;
		}
		s->fds[s->n_fds++] = moved(fd);
		__atomic_fetch_add(&open_now, 1, __ATOMIC_RELAXED);
	}
	return 0;
}

static int read_group(struct sp_metric_state *s, const struct sp_metric_def *m, unsigned n, uint64_t *values)
{
	(void)m;
	uint64_t all[1 + SP_METRICS_MAX];
	ssize_t want = (ssize_t)((1 + n) * sizeof *all),
	        r = s->n_fds ? syscall(SYS_read, s->fds[0], all, sizeof all) : 0;
	if (r != want || all[0] != n)
		return r < 0 ? -errno : -EBADF;
	memcpy(values, all + 1, n * sizeof *values);
	return 0;
}

const struct sp_metric_source sp_metric_perf = {.name = "perf",
                                                .kind = SP_RAW_METRIC_PERF,
                                                .known = known,
                                                .find = find,
                                                .open = open_group,
                                                .read = read_group,
                                                .close = close_group};
