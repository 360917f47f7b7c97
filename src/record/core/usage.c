/* SPDX-License-Identifier: BSD-3-Clause */
/* What the whole process used by the end of its measurement, with the threads that Python does not know. */
#include "record/usage.h"
#include "record/definitions.h"
#include "record/process.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static void define(const char *key, uint64_t value)
{
	char text[24];
	sp_define_meta(key, text, (size_t)snprintf(text, sizeof text, "%" PRIu64, value));
}

/* The threads of this process now; 0: not known. See proc(5): /proc/PID/stat, field 20. The name in field 2 may have
 * spaces and parentheses. */
static uint64_t threads(void)
{
	enum { FIELDS_AFTER_NAME = 18 };
	char text[1024];
	const int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	const ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	const char *p = strrchr(text, ')');
	for (int i = 0; p && i < FIELDS_AFTER_NAME; i++)
		p = strchr(p + 1, ' ');
	return p ? strtoull(p, NULL, 10) : 0;
}

static uint64_t ns(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_usec * 1000u;
}

/* Processor time until the measurement began, with that of the pauses since then, and until the last pause; in a child
 * of fork, with another process id, they begin at 0. */
static struct mark {
	pid_t pid;
	uint64_t ns;
} before, last_pause;

static uint64_t used(void)
{
	struct rusage u;
	return getrusage(RUSAGE_SELF, &u) ? 0 : ns(u.ru_utime) + ns(u.ru_stime);
}

static uint64_t at(const struct mark *m)
{
	return m->pid == getpid() ? m->ns : 0;
}

void sp_usage_begin(void)
{
	before = (struct mark){getpid(), used()};
}

void sp_usage_pause(void)
{
	last_pause = (struct mark){getpid(), used()};
}

void sp_usage_resume(void)
{
	before = (struct mark){getpid(), at(&before) + used() - at(&last_pause)};
}

void sp_usage_end(void)
{
	cpu_set_t set;
	if (sp_process.sampled)
		return; /* this is the sampler */
	const uint64_t n = threads();
	const uint64_t now = sp_process.paused ? at(&last_pause) : used(), begin = at(&before);
	define(SP_META_CPU_TIME, now > begin ? now - begin : 0);
	if (n)
		define(SP_META_OS_THREADS, n);
	if (sched_getaffinity(0, sizeof set, &set) == 0)
		define(SP_META_CPUS, (uint64_t)CPU_COUNT(&set));
}
