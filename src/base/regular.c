/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/regular.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail(int fd, int error)
{
	close(fd);
	errno = error;
	return -1;
}

int sp_open_regular(int at, const char *path)
{
	struct stat s;
	int fd = openat(at, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0) /* ENXIO: a socket, or a device without a driver */
		return errno == ENXIO ? (errno = SP_NOT_REGULAR, -1) : -1;
	if (fstat(fd, &s))
		return fail(fd, errno);
	return S_ISREG(s.st_mode) ? fd : fail(fd, SP_NOT_REGULAR);
}

FILE *sp_fopen_regular(const char *path, uint64_t limit)
{
	int fd = sp_open_regular(AT_FDCWD, path);
	struct stat s;
	FILE *f;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &s) || (uint64_t)s.st_size > limit) {
		fail(fd, EFBIG);
		return NULL;
	}
	f = fdopen(fd, "rb");
	if (!f)
		fail(fd, errno);
	return f;
}

const char *sp_open_reason(int error)
{
	return error == SP_NOT_REGULAR ? "not a regular file" : strerror(error);
}
