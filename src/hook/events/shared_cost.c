/* SPDX-License-Identifier: BSD-3-Clause */
/* The lowest cost of an event that processes of this user measured on this host. A small file holds it, because one
 * process cannot know whether the processor is slow only now. */
#include "hook/calibrate.h"
#include "hook/hook.h"
#include "record/clock.h"

#include <Python.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A lower result is noise of a busy machine: an event reads the clock, which takes longer. */
enum { LEAST_PS = 1000 };

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

/* Opens the directory. Returns -1 if it is missing or other users can use it. */
static int directory(void)
{
	const char *path = secure_getenv("XDG_RUNTIME_DIR");
	struct stat st;
	const int fd = path && *path == '/' ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (fd >= 0 && (fstat(fd, &st) || st.st_uid != geteuid() || st.st_mode & 077)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Formats the contents of a file. Returns the number of bytes. */
static size_t format(struct sp_cost c, char text[64])
{
	return (size_t)snprintf(text, 64, "%" PRIu64 " %" PRIu64 "\n", c.in_ps, c.out_ps);
}

/* Whether there is such a file, with the text that format() makes and nothing else. */
static bool load(int dir, const char *name, struct sp_cost *c)
{
	char text[64], expected[64];
	struct stat st;
	const int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return false;
	const bool is_file = !fstat(fd, &st) && S_ISREG(st.st_mode);
	const ssize_t n = is_file ? read(fd, text, sizeof text - 1) : -1;
	close(fd);
	text[n > 0 ? n : 0] = 0;
	if (sscanf(text, "%10" SCNu64 " %10" SCNu64, &c->in_ps, &c->out_ps) != 2)
		return false;
	format(*c, expected);
	return !strcmp(text, expected);
}

/* Replaces the file at once: another process reads the earlier or the new text. */
static void store(int dir, const char *name, struct sp_cost c)
{
	char text[64], new[96];
	const size_t n = format(c, text);
	snprintf(new, sizeof new, "%s.%ld", name, (long)getpid());
	const int fd = openat(dir, new, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	const bool written = write(fd, text, n) == (ssize_t)n;
	close(fd);
	if (!written || renameat(dir, new, dir, name))
		unlinkat(dir, new, 0);
}

struct sp_cost sp_cost_shared(const struct sp_hook *h, bool traced, struct sp_cost found)
{
	char name[64];
	struct sp_cost known;
	const int error = errno, dir = directory();
	if (dir >= 0) {
		name_of(h, traced, name);
		if (load(dir, name, &known) && known.in_ps + known.out_ps >= LEAST_PS &&
		    known.in_ps + known.out_ps <= found.in_ps + found.out_ps)
			found = known;
		else if (found.in_ps + found.out_ps)
			store(dir, name, found);
		close(dir);
	}
	errno = error;
	return found;
}
