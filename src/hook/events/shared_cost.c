/* SPDX-License-Identifier: BSD-3-Clause */
/* What processes of this user measured last on this host as the cost of an event. A small file holds it, because one
 * process cannot know whether the processor is slow only now. */
#include "hook/calibrate.h"
#include "hook/control.h"
#include "hook/hook.h"
#include "record/clock.h"

#include <Python.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

/* LEAST_PS: a lower result is noise of a busy machine, because an event reads the clock, which takes longer.
 * LINE: bytes of a line with two numbers below END_PS. */
#define END_PS UINT64_C(10000000000)
enum { LEAST_PS = 1000, LINE = 22, TEXT = SP_HOST_NAME + SP_COSTS * LINE + 1 };

static uint64_t hash(uint64_t h, const char *text)
{
	do
		h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	while (*text++);
	return h;
}

/* Gives the file's name. */
static void name_of(const struct sp_hook *h, bool traced, char name[64])
{
	uint64_t key = hash(UINT64_C(0xcbf29ce484222325), SP_VERSION);
	key = hash(key, Py_GetVersion()); /* with the compiler and the time of the build */
	key = hash(hash(key, h->name), traced ? "trace" : "profile");
	snprintf(name, 64, "spartito-cost-%d-%016" PRIx64, (int)sp_clock_kind, key);
}

/* Opens the directory. Containers, batch jobs and services have no $XDG_RUNTIME_DIR: then it is made in /dev/shm.
 * Returns -1 if it is missing, other users can use it, or the program has more rights than its user. */
static int directory(void)
{
	const char *path = getenv("XDG_RUNTIME_DIR");
	char own[48];
	struct stat st;
	int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
	if (getauxval(AT_SECURE))
		return -1;
	if (!path || *path != '/') {
		snprintf(own, sizeof own, "/dev/shm/spartito-%u", (unsigned)geteuid());
		mkdir(own, 0700); /* usually it exists already */
		path = own;
		flags |= O_NOFOLLOW; /* all users can make files and links in /dev/shm */
	}
	const int fd = open(path, flags);
	if (fd >= 0 && (fstat(fd, &st) || st.st_uid != geteuid() || st.st_mode & 077)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Formats the contents of a file: the host since its last start, and a line for each result. Returns the number of
 * bytes. */
static size_t format(const struct sp_cost *c, int n, char text[TEXT])
{
	sp_host_name(text);
	size_t used = strlen(text);
	text[used++] = '\n';
	for (int i = 0; i < n; i++)
		used +=
		    (size_t)snprintf(text + used, TEXT - used, "%" PRIu64 " %" PRIu64 "\n", c[i].in_ps, c[i].out_ps);
	return used;
}

static bool is_usable(struct sp_cost c)
{
	return c.in_ps < END_PS && c.out_ps < END_PS && c.in_ps + c.out_ps >= LEAST_PS;
}

/* Returns the number of results in the text; 0 if it is not one that format() makes on this host. */
static int parse(const char *text, struct sp_cost c[SP_COSTS])
{
	char expected[TEXT];
	const char *at = strchr(text, '\n');
	int n = 0, length = 0;
	while (at && n < SP_COSTS &&
	       sscanf(at, "\n%10" SCNu64 " %10" SCNu64 "%n", &c[n].in_ps, &c[n].out_ps, &length) == 2) {
		at += length;
		if (!is_usable(c[n++]))
			return 0;
	}
	expected[format(c, n, expected)] = 0;
	return strcmp(text, expected) ? 0 : n;
}

/* Returns the number of results in the file; 0 without a file, or if it is damaged. */
static int load(int dir, const char *name, struct sp_cost c[SP_COSTS])
{
	char text[TEXT];
	struct stat st;
	const int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return 0;
	const bool is_file = !fstat(fd, &st) && S_ISREG(st.st_mode);
	const ssize_t n = is_file ? read(fd, text, sizeof text - 1) : -1;
	close(fd);
	text[n > 0 ? n : 0] = 0;
	return parse(text, c);
}

/* Replaces the file at once: another process reads the earlier or the new text. Of two processes that do this at the
 * same time, one may overwrite the result of the other. */
static void store(int dir, const char *name, const struct sp_cost *c, int n)
{
	char text[TEXT], new[96];
	const size_t size = format(c, n, text);
	snprintf(new, sizeof new, "%s.%ld", name, (long)getpid());
	const int fd = openat(dir, new, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	const bool written = write(fd, text, size) == (ssize_t)size;
	close(fd);
	if (!written || renameat(dir, new, dir, name))
		unlinkat(dir, new, 0);
}

int sp_cost_shared(const struct sp_hook *h, bool traced, struct sp_cost found, struct sp_cost results[SP_COSTS])
{
	char name[64];
	const int error = errno, dir = directory();
	int n = 0;
	if (dir >= 0) {
		name_of(h, traced, name);
		n = load(dir, name, results);
		if (is_usable(found)) {
			if (n == SP_COSTS)
				memmove(results, results + 1, (size_t)--n * sizeof *results);
			results[n++] = found;
			store(dir, name, results, n);
		}
		close(dir);
	}
	errno = error;
	return n;
}
