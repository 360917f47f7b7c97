/* SPDX-License-Identifier: BSD-3-Clause */
#include "sample/control/family.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { CAPACITY = 4096, MAX = 8 << 20 }; /* bytes of an environment: first buffer, limit */

/* Reads a file, owned by the caller; NULL: unreadable or empty. */
static char *contents(const char *path, size_t *n)
{
	size_t capacity = 0;
	char *text = NULL;
	ssize_t got = 1;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	*n = 0;
	while (fd >= 0 && got > 0 && *n < MAX) {
		if (*n == capacity) {
			char *more = realloc(text, capacity = capacity ? 2 * capacity : CAPACITY);
			if (!more)
				break;
			text = more;
		}
		got = read(fd, text + *n, capacity - *n);
		*n += got > 0 ? (size_t)got : 0;
	}
	if (fd >= 0)
		close(fd);
	if (*n)
		return text;
	free(text);
	return NULL;
}

/* Whether one of the lines, each ending with a NUL, equals `line`. */
static bool has_line(const char *text, size_t n, const char *line, size_t length)
{
	for (const char *p = text, *end = text + n, *next; p < end; p = next + 1) {
		next = memchr(p, 0, (size_t)(end - p));
		next = next ? next : end;
		if ((size_t)(next - p) == length && !memcmp(p, line, length))
			return true;
	}
	return false;
}

/* Whether a process runs a program: it is neither a zombie nor a thread of the kernel. */
static bool has_program(const char *pid)
{
	char path[300], to[1];
	snprintf(path, sizeof path, "/proc/%s/exe", pid);
	return readlink(path, to, sizeof to) > 0;
}

/* The environment of a process, owned by the caller; NULL: unreadable or empty. It is empty also while the process
 * executes another program, so an empty one is read again, at most *attempts times. */
static char *environment(const char *pid, size_t *n, int *attempts)
{
	const struct timespec pause = {0, 10000000};
	char path[300];
	snprintf(path, sizeof path, "/proc/%s/environ", pid);
	for (;; --*attempts) {
		char *text = contents(path, n);
		if (text || *attempts == 0 || access(path, R_OK) || !has_program(pid))
			return text;
		nanosleep(&pause, NULL);
	}
}

bool sp_family_lives(const char *experiment)
{
	int attempts = 100; /* of all processes: some may have no environment for ever */
	char *line = NULL;
	int length = asprintf(&line, "SPARTITO_EXPERIMENT=%s", experiment);
	DIR *d = length >= 0 ? opendir("/proc") : NULL;
	bool found = false;
	for (const struct dirent *e; d && !found && (e = readdir(d));) {
		size_t n;
		if (!isdigit((unsigned char)*e->d_name))
			continue;
		char *text = environment(e->d_name, &n, &attempts);
		found = text && has_line(text, n, line, (size_t)length);
		free(text);
	}
	if (d)
		closedir(d);
	free(length >= 0 ? line : NULL);
	return found;
}
