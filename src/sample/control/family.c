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

/* Whether a process has `line` in its environment. Sets *unsure if its environment is readable but empty, which is so
 * also while it executes another program. */
static bool is_member(const char *pid, const char *line, size_t length, bool *unsure)
{
	char path[300];
	size_t n;
	snprintf(path, sizeof path, "/proc/%s/environ", pid);
	char *text = contents(path, &n);
	const bool member = text && has_line(text, n, line, length);
	*unsure |= !text && !access(path, R_OK) && has_program(pid);
	free(text);
	return member;
}

/* Searches all processes once. */
static bool search(const char *line, size_t length, bool *unsure)
{
	DIR *d = opendir("/proc");
	bool found = false;
	for (const struct dirent *e; d && !found && (e = readdir(d));)
		found = isdigit((unsigned char)*e->d_name) && is_member(e->d_name, line, length, unsure);
	if (d)
		closedir(d);
	return found;
}

bool sp_family_lives(const char *experiment)
{
	const struct timespec pause = {0, 20000000};
	char *line = NULL;
	const int length = asprintf(&line, "SPARTITO_EXPERIMENT=%s", experiment);
	bool found = false, unsure = length >= 0;
	/* at most one second: some processes have no environment for ever */
	for (int i = 0; !found && unsure && i < 50; i++) {
		if (i)
			nanosleep(&pause, NULL);
		unsure = false;
		found = search(line, (size_t)length, &unsure);
	}
	free(length >= 0 ? line : NULL);
	return found;
}
