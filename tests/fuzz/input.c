/* SPDX-License-Identifier: BSD-3-Clause */
#include "input.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[64], path[96];

static int remove_one(const char *name, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(name);
}

static void clean_up(void)
{
	nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void make_directory(void)
{
	const char *base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
	char raw[80];

	snprintf(dir, sizeof(dir), "%s/spartito-fuzz-XXXXXX", base);
	if (!mkdtemp(dir))
		abort();
	snprintf(raw, sizeof(raw), "%s/raw", dir);
	snprintf(path, sizeof(path), "%s/a.raw", raw);
	if (mkdir(raw, 0700) != 0)
		abort();
	atexit(clean_up);
}

const char *input_directory(void)
{
	if (!dir[0])
		make_directory();
	return dir;
}

void input_write(const char *name, const uint8_t *data, size_t n)
{
	char file[128];
	int fd;

	snprintf(file, sizeof(file), "%s/%s", input_directory(), name);
	fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, data, n) != (ssize_t)n || close(fd) != 0)
		abort();
}

const char *input_experiment(const uint8_t *data, size_t n)
{
	input_write("raw/a.raw", data, n);
	return dir;
}

const char *input_file(void)
{
	return path;
}
