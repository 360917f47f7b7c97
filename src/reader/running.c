/* SPDX-License-Identifier: BSD-3-Clause */
#include "reader/running.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/regular.h"

/* Whether the process has mapped the file: its id may have been reused since, and only the process that has mapped the
 * file writes it. If that cannot be read (a process of another user), assume that it has. */
static bool has_mapped(int32_t pid, const char *base)
{
	size_t n = strlen(base), capacity = 0;
	char path[40], *line = NULL, *at;
	bool found = false;
	ssize_t length;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return errno != ENOENT && errno != ESRCH; /* it has ended */
	while (!found && (length = getline(&line, &capacity, f)) > 0) {
		if (line[length - 1] == '\n')
			line[--length] = 0;
		at = strrchr(line, '/');
		found = at && (size_t)(line + length - at - 1) == n && memcmp(at + 1, base, n) == 0;
	}
	if (ferror(f) && errno != ESRCH)
		found = true;
	free(line);
	fclose(f);
	return found;
}

enum sp_raw_running sp_raw_running(const struct sp_raw_header *h, const char *name)
{
	const char *base = strrchr(name, '/');
	char host[sizeof(h->host)] = "", *slash;

	if (h->ended != SP_RAW_RUNNING)
		return SP_RAW_IS_GONE; /* the process is alive, but does not write this file any more */
	gethostname(host, sizeof(host) - 1);
	while ((slash = strchr(host, '/')))
		*slash = '_'; /* as in the recorder */
	if (strncmp(host, h->host, sizeof(host) - 1) != 0)
		return SP_RAW_IS_AWAY;
	const int32_t pid = h->start == SP_RAW_STARTED_SAMPLER ? h->ppid : h->pid;
	if (pid <= 0 || (kill(pid, 0) != 0 && errno == ESRCH))
		return SP_RAW_IS_GONE;
	return has_mapped(pid, base ? base + 1 : name) ? SP_RAW_IS_RUNNING : SP_RAW_IS_GONE;
}

bool sp_raw_may_be_written(const struct sp_raw_header *h, const char *name)
{
	struct sp_raw_header open = *h;

	open.ended = SP_RAW_RUNNING;
	return sp_raw_running(h, name) != SP_RAW_IS_GONE || sp_raw_running(&open, name) == SP_RAW_IS_RUNNING;
}

int sp_raw_running_file(const char *path, struct sp_raw_header *h, enum sp_raw_running *running)
{
	const int fd = sp_open_regular(AT_FDCWD, path);

	if (fd < 0)
		return errno;
	if (pread(fd, h, sizeof(*h), 0) != sizeof(*h) || memcmp(h->magic, SP_RAW_MAGIC, sizeof(h->magic)) != 0)
		*h = (struct sp_raw_header){.ended = SP_RAW_ENDED_NORMAL};
	close(fd);
	h->host[sizeof(h->host) - 1] = 0;
	*running = sp_raw_running(h, path);
	return 0;
}
