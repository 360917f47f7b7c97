/* SPDX-License-Identifier: BSD-3-Clause */
/* Wrappers of the functions on descriptors. */
#include "inject/io/preload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/types.h>
#include <sys/uio.h>

/* ---- open ---- */

/* The third argument exists only if a file may be created. */
#define MODE_ARGUMENT(flags, mode)                                                                                     \
	mode_t mode = 0;                                                                                               \
	if ((flags)&O_CREAT || ((flags)&O_TMPFILE) == O_TMPFILE) {                                                     \
		va_list list;                                                                                          \
		va_start(list, flags);                                                                                 \
		mode = va_arg(list, mode_t);                                                                           \
		va_end(list);                                                                                          \
	}

#define OPENS(name, arguments, path, flags)                                                                            \
	struct sp_preload_call c;                                                                                      \
	if (!SP_BEGIN(&c, name))                                                                                       \
		return SP_REAL(name) arguments;                                                                        \
	int fd = SP_REAL(name) arguments;                                                                              \
	sp_preload_end_open(&c, fd, path, flags);                                                                      \
	return fd;

#define OPEN(name)                                                                                                     \
	SP_WRAP(int, name, (const char *path, int flags, ...))                                                         \
	{                                                                                                              \
		MODE_ARGUMENT(flags, mode)                                                                             \
		OPENS(name, (path, flags, mode), path, flags)                                                          \
	}
OPEN(open)
SP_LIBC_LARGE(OPEN(open64))

#define OPENAT(name)                                                                                                   \
	SP_WRAP(int, name, (int at, const char *path, int flags, ...))                                                 \
	{                                                                                                              \
		MODE_ARGUMENT(flags, mode)                                                                             \
		OPENS(name, (at, path, flags, mode), path, flags)                                                      \
	}
OPENAT(openat)
SP_LIBC_LARGE(OPENAT(openat64))

#define CREAT(name)                                                                                                    \
	SP_WRAP(int, name, (const char *path, mode_t mode))                                                            \
	{                                                                                                              \
		OPENS(name, (path, mode), path, O_WRONLY | O_CREAT | O_TRUNC)                                          \
	}
CREAT(creat)
SP_LIBC_LARGE(CREAT(creat64))

#define OPEN_CHECKED(name)                                                                                             \
	SP_WRAP(int, name, (const char *path, int flags))                                                              \
	{                                                                                                              \
		OPENS(name, (path, flags), path, flags)                                                                \
	}
OPEN_CHECKED(__open_2)
SP_LIBC_LARGE(OPEN_CHECKED(__open64_2))

#define OPENAT_CHECKED(name)                                                                                           \
	SP_WRAP(int, name, (int at, const char *path, int flags))                                                      \
	{                                                                                                              \
		OPENS(name, (at, path, flags), path, flags)                                                            \
	}
OPENAT_CHECKED(__openat_2)
SP_LIBC_LARGE(OPENAT_CHECKED(__openat64_2))

/* ---- close and dup ---- */

SP_WRAP(int, close, (int fd))
{
	struct sp_preload_call c;
	if (!SP_BEGIN(&c, close))
		return SP_REAL(close)(fd);
	/* call it before, because another thread may immediately get a new file with this descriptor */
	sp_preload_begin_close(&c, fd);
	int r = SP_REAL(close)(fd);
	sp_preload_end_close(&c);
	return r;
}

SP_WRAP(int, close_range, (unsigned first, unsigned last, int flags))
{
	struct sp_preload_call c;
	if (!SP_REAL(close_range)) {
		errno = ENOSYS;
		return -1;
	}
	if (!SP_BEGIN(&c, close_range))
		return SP_REAL(close_range)(first, last, flags);
	int r = SP_REAL(close_range)(first, last, flags);
	if (r == 0 && flags == 0)
		sp_preload_end_close_range(&c, first, last);
	else
		sp_preload_end(&c);
	return r;
}

SP_WRAP(int, dup, (int fd))
{
	struct sp_preload_call c;
	if (!SP_BEGIN(&c, dup))
		return SP_REAL(dup)(fd);
	int to = SP_REAL(dup)(fd);
	sp_preload_end_dup(&c, fd, to);
	return to;
}

#define DUP_TO(name, parameters, arguments)                                                                            \
	SP_WRAP(int, name, parameters)                                                                                 \
	{                                                                                                              \
		struct sp_preload_call c;                                                                              \
		if (!SP_BEGIN(&c, name))                                                                               \
			return SP_REAL(name) arguments;                                                                \
		int r = SP_REAL(name) arguments;                                                                       \
		if (r >= 0 && from != to)                                                                              \
			sp_preload_begin_close(&c, to);                                                                \
		sp_preload_end_dup(&c, from, r);                                                                       \
		return r;                                                                                              \
	}
DUP_TO(dup2, (int from, int to), (from, to))
DUP_TO(dup3, (int from, int to, int flags), (from, to, flags))

/* Recorded only for its effect on files: as another dup. The argument is a number or a pointer; both are passed in the
 * same register. */
#define FCNTL(name)                                                                                                    \
	SP_WRAP(int, name, (int fd, int command, ...))                                                                 \
	{                                                                                                              \
		struct sp_preload_call c;                                                                              \
		va_list list;                                                                                          \
		va_start(list, command);                                                                               \
		void *argument = va_arg(list, void *);                                                                 \
		va_end(list);                                                                                          \
		bool dup = command == F_DUPFD || command == F_DUPFD_CLOEXEC;                                           \
		if (!dup || !SP_BEGIN(&c, name))                                                                       \
			return SP_REAL(name)(fd, command, argument);                                                   \
		int to = SP_REAL(name)(fd, command, argument);                                                         \
		sp_preload_end_dup(&c, fd, to);                                                                        \
		return to;                                                                                             \
	}
FCNTL(fcntl)
SP_LIBC_LARGE(FCNTL(fcntl64))

/* ---- seek and flush ---- */

#define SEEK(name, type)                                                                                               \
	SP_WRAP(type, name, (int fd, type offset, int whence))                                                         \
	{                                                                                                              \
		struct sp_preload_call c;                                                                              \
		if (!SP_BEGIN(&c, name))                                                                               \
			return SP_REAL(name)(fd, offset, whence);                                                      \
		sp_preload_begin_seek(&c, fd);                                                                         \
		type r = SP_REAL(name)(fd, offset, whence);                                                            \
		sp_preload_end_seek(&c, (uint64_t)offset, whence, (uint64_t)r);                                        \
		return r;                                                                                              \
	}
SEEK(lseek, off_t)
SP_LIBC_LARGE(SEEK(lseek64, off64_t))

#define FLUSH(name)                                                                                                    \
	SP_WRAP(int, name, (int fd))                                                                                   \
	{                                                                                                              \
		struct sp_preload_call c;                                                                              \
		if (!SP_BEGIN(&c, name))                                                                               \
			return SP_REAL(name)(fd);                                                                      \
		sp_preload_begin_io(&c, fd, SP_RAW_IO_FLUSH, 0, SP_BYTES_UNKNOWN);                                     \
		int r = SP_REAL(name)(fd);                                                                             \
		sp_preload_end_io(&c, SP_RAW_IO_FLUSH, r ? SP_BYTES_UNKNOWN : 0);                                      \
		return r;                                                                                              \
	}
FLUSH(fsync)
FLUSH(fdatasync)

/* ---- read and write ---- */

/* A result of -1 becomes SP_BYTES_UNKNOWN. */
#define TRANSFER(name, direction, asked, offset, parameters, arguments)                                                \
	SP_WRAP(ssize_t, name, parameters)                                                                             \
	{                                                                                                              \
		struct sp_preload_call c;                                                                              \
		if (!SP_BEGIN(&c, name))                                                                               \
			return SP_REAL(name) arguments;                                                                \
		sp_preload_begin_io(&c, fd, direction, asked, (uint64_t)(offset));                                     \
		ssize_t r = SP_REAL(name) arguments;                                                                   \
		sp_preload_end_io(&c, direction, (uint64_t)(int64_t)r);                                                \
		return r;                                                                                              \
	}
#define NOWHERE                       SP_BYTES_UNKNOWN
#define IN(name, asked, offset, ...)  TRANSFER(name, SP_RAW_IO_READ, asked, offset, __VA_ARGS__)
#define OUT(name, asked, offset, ...) TRANSFER(name, SP_RAW_IO_WRITE, asked, offset, __VA_ARGS__)

IN(read, n, NOWHERE, (int fd, void *p, size_t n), (fd, p, n))
IN(__read_chk, n, NOWHERE, (int fd, void *p, size_t n, size_t capacity), (fd, p, n, capacity))
IN(pread, n, at, (int fd, void *p, size_t n, off_t at), (fd, p, n, at))
SP_LIBC_LARGE(IN(pread64, n, at, (int fd, void *p, size_t n, off64_t at), (fd, p, n, at)))
IN(__pread_chk, n, at, (int fd, void *p, size_t n, off_t at, size_t capacity), (fd, p, n, at, capacity))
SP_LIBC_LARGE(IN(__pread64_chk, n, at, (int fd, void *p, size_t n, off64_t at, size_t capacity),
                 (fd, p, n, at, capacity)))
OUT(write, n, NOWHERE, (int fd, const void *p, size_t n), (fd, p, n))
OUT(pwrite, n, at, (int fd, const void *p, size_t n, off_t at), (fd, p, n, at))
SP_LIBC_LARGE(OUT(pwrite64, n, at, (int fd, const void *p, size_t n, off64_t at), (fd, p, n, at)))

/* The sum of the lengths; invalid vectors, which the kernel rejects, are not read. */
static uint64_t vector_bytes(const struct iovec *v, int n)
{
	uint64_t bytes = 0;
	for (int i = 0; v && n <= 1024 && i < n; i++)
		bytes += v[i].iov_len;
	return bytes;
}

#define VECTOR vector_bytes(v, n)
IN(readv, VECTOR, NOWHERE, (int fd, const struct iovec *v, int n), (fd, v, n))
OUT(writev, VECTOR, NOWHERE, (int fd, const struct iovec *v, int n), (fd, v, n))
IN(preadv, VECTOR, at, (int fd, const struct iovec *v, int n, off_t at), (fd, v, n, at))
SP_LIBC_LARGE(IN(preadv64, VECTOR, at, (int fd, const struct iovec *v, int n, off64_t at), (fd, v, n, at)))
OUT(pwritev, VECTOR, at, (int fd, const struct iovec *v, int n, off_t at), (fd, v, n, at))
SP_LIBC_LARGE(OUT(pwritev64, VECTOR, at, (int fd, const struct iovec *v, int n, off64_t at), (fd, v, n, at)))
IN(preadv2, VECTOR, at, (int fd, const struct iovec *v, int n, off_t at, int flags), (fd, v, n, at, flags))
SP_LIBC_LARGE(IN(preadv64v2, VECTOR, at, (int fd, const struct iovec *v, int n, off64_t at, int flags),
                 (fd, v, n, at, flags)))
OUT(pwritev2, VECTOR, at, (int fd, const struct iovec *v, int n, off_t at, int flags), (fd, v, n, at, flags))
SP_LIBC_LARGE(OUT(pwritev64v2, VECTOR, at, (int fd, const struct iovec *v, int n, off64_t at, int flags),
                  (fd, v, n, at, flags)))
