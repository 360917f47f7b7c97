/* SPDX-License-Identifier: BSD-3-Clause */
/* Wrappers of the functions on streams. The handle is that of the stream's descriptor; a stream without a descriptor
 * (in memory, or with the program's own functions) has regions and bytes but no handle. A stream's internal reads and
 * writes do not pass through the wrappers of read() and write(), so no byte counts twice.
 *
 * Not wrapped: getc_unlocked() and putc_unlocked(), which compilers inline, and input by scanf() and getline(). */
#include "inject/io/preload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

static int descriptor(FILE *f)
{
	int error = errno, fd = f ? fileno(f) : -1;
	errno = error;
	return fd;
}

/* ---- open and close ---- */

static int flags_of(const char *mode)
{
	int flags = *mode == 'r' ? O_RDONLY : O_WRONLY | O_CREAT | (*mode == 'a' ? O_APPEND : O_TRUNC);
	for (const char *m = mode + 1; *m && *m != ','; m++)
		switch (*m) {
		case '+':
			flags = (flags & ~O_ACCMODE) | O_RDWR;
			break;
		case 'x':
			flags |= O_EXCL;
			break;
		case 'e':
			flags |= O_CLOEXEC;
		}
	return flags;
}

#define FOPEN(name)                                                                                                    \
	SP_WRAP(FILE *, name, (const char *path, const char *mode))                                                    \
	{                                                                                                              \
		struct sp_preload_call c;                                                                              \
		if (!SP_BEGIN(&c, name))                                                                               \
			return SP_REAL(name)(path, mode);                                                              \
		FILE *f = SP_REAL(name)(path, mode);                                                                   \
		sp_preload_end_open(&c, descriptor(f), path, f ? flags_of(mode) : 0);                                  \
		return f;                                                                                              \
	}
FOPEN(fopen)
SP_LIBC_LARGE(FOPEN(fopen64))

/* The descriptor keeps its handle. */
SP_WRAP(FILE *, fdopen, (int fd, const char *mode))
{
	struct sp_preload_call c;
	if (!SP_BEGIN(&c, fdopen))
		return SP_REAL(fdopen)(fd, mode);
	FILE *f = SP_REAL(fdopen)(fd, mode);
	sp_preload_end(&c);
	return f;
}

/* Without a path it opens the same file in another mode. */
#define FREOPEN(name)                                                                                                  \
	SP_WRAP(FILE *, name, (const char *path, const char *mode, FILE *f))                                           \
	{                                                                                                              \
		struct sp_preload_call c;                                                                              \
		if (!SP_BEGIN(&c, name))                                                                               \
			return SP_REAL(name)(path, mode, f);                                                           \
		FILE *r = SP_REAL(name)(path, mode, f);                                                                \
		sp_preload_end_open(&c, descriptor(r), path, r ? flags_of(mode) : 0);                                  \
		return r;                                                                                              \
	}
FREOPEN(freopen)
SP_LIBC_LARGE(FREOPEN(freopen64))

SP_WRAP(int, fclose, (FILE * f))
{
	struct sp_preload_call c;
	if (!SP_BEGIN(&c, fclose))
		return SP_REAL(fclose)(f);
	sp_preload_begin_close(&c, descriptor(f));
	int r = SP_REAL(fclose)(f);
	sp_preload_end_close(&c);
	return r;
}

/* ---- read and write ---- */

/* Calls the real function and records the bytes: `moved` is computed from its result r. */
#define STREAM(type, name, direction, f, asked, moved, parameters, arguments)                                          \
	SP_WRAP(type, name, parameters)                                                                                \
	{                                                                                                              \
		struct sp_preload_call c;                                                                              \
		if (!SP_BEGIN(&c, name))                                                                               \
			return SP_REAL(name) arguments;                                                                \
		sp_preload_begin_io(&c, descriptor(f), direction, asked, SP_BYTES_UNKNOWN);                            \
		type r = SP_REAL(name) arguments;                                                                      \
		sp_preload_end_io(&c, direction, moved);                                                               \
		return r;                                                                                              \
	}
#define BLOCK_IN      (r || !n || !size || !ferror(f) ? r * size : SP_BYTES_UNKNOWN)
#define BLOCK_OUT     (r || !n || !size ? r * size : SP_BYTES_UNKNOWN)
#define STRING_IN     (r ? strlen(r) : ferror(f) ? SP_BYTES_UNKNOWN : 0)
#define STRING_OUT    (r == EOF ? SP_BYTES_UNKNOWN : strlen(text))
#define CHARACTER_IN  (r != EOF ? 1 : ferror(f) ? SP_BYTES_UNKNOWN : 0)
#define CHARACTER_OUT (r == EOF ? SP_BYTES_UNKNOWN : 1)
#define NUMBER        (r < 0 ? SP_BYTES_UNKNOWN : (uint64_t)r)
#define CAPACITY      (n > 0 ? (uint64_t)n - 1 : 0)

STREAM(size_t, fread, SP_RAW_IO_READ, f, size *n, BLOCK_IN, (void *p, size_t size, size_t n, FILE *f), (p, size, n, f))
STREAM(size_t, __fread_chk, SP_RAW_IO_READ, f, size *n, BLOCK_IN,
       (void *p, size_t capacity, size_t size, size_t n, FILE *f), (p, capacity, size, n, f))
STREAM(size_t, fread_unlocked, SP_RAW_IO_READ, f, size *n, BLOCK_IN, (void *p, size_t size, size_t n, FILE *f),
       (p, size, n, f))
STREAM(size_t, __fread_unlocked_chk, SP_RAW_IO_READ, f, size *n, BLOCK_IN,
       (void *p, size_t capacity, size_t size, size_t n, FILE *f), (p, capacity, size, n, f))
STREAM(size_t, fwrite, SP_RAW_IO_WRITE, f, size *n, BLOCK_OUT, (const void *p, size_t size, size_t n, FILE *f),
       (p, size, n, f))
STREAM(size_t, fwrite_unlocked, SP_RAW_IO_WRITE, f, size *n, BLOCK_OUT, (const void *p, size_t size, size_t n, FILE *f),
       (p, size, n, f))

STREAM(char *, fgets, SP_RAW_IO_READ, f, CAPACITY, STRING_IN, (char *p, int n, FILE *f), (p, n, f))
STREAM(char *, __fgets_chk, SP_RAW_IO_READ, f, CAPACITY, STRING_IN, (char *p, size_t capacity, int n, FILE *f),
       (p, capacity, n, f))
STREAM(char *, fgets_unlocked, SP_RAW_IO_READ, f, CAPACITY, STRING_IN, (char *p, int n, FILE *f), (p, n, f))
STREAM(char *, __fgets_unlocked_chk, SP_RAW_IO_READ, f, CAPACITY, STRING_IN, (char *p, size_t capacity, int n, FILE *f),
       (p, capacity, n, f))
STREAM(int, fputs, SP_RAW_IO_WRITE, f, strlen(text), STRING_OUT, (const char *text, FILE *f), (text, f))
STREAM(int, fputs_unlocked, SP_RAW_IO_WRITE, f, strlen(text), STRING_OUT, (const char *text, FILE *f), (text, f))
STREAM(int, puts, SP_RAW_IO_WRITE, stdout, strlen(text) + 1, r == EOF ? SP_BYTES_UNKNOWN : strlen(text) + 1,
       (const char *text), (text))

STREAM(int, fgetc, SP_RAW_IO_READ, f, 1, CHARACTER_IN, (FILE * f), (f))
STREAM(int, getc, SP_RAW_IO_READ, f, 1, CHARACTER_IN, (FILE * f), (f))
STREAM(int, _IO_getc, SP_RAW_IO_READ, f, 1, CHARACTER_IN, (FILE * f), (f))
STREAM(int, fputc, SP_RAW_IO_WRITE, f, 1, CHARACTER_OUT, (int character, FILE *f), (character, f))
STREAM(int, putc, SP_RAW_IO_WRITE, f, 1, CHARACTER_OUT, (int character, FILE *f), (character, f))
STREAM(int, _IO_putc, SP_RAW_IO_WRITE, f, 1, CHARACTER_OUT, (int character, FILE *f), (character, f))
STREAM(int, putchar, SP_RAW_IO_WRITE, stdout, 1, CHARACTER_OUT, (int character), (character))
STREAM(int, fflush, SP_RAW_IO_FLUSH, f, 0, r ? SP_BYTES_UNKNOWN : 0, (FILE * f), (f))

STREAM(int, getchar, SP_RAW_IO_READ, stdin, 1, r != EOF ? 1 : ferror(stdin) ? SP_BYTES_UNKNOWN : 0, (void), ())

STREAM(int, vfprintf, SP_RAW_IO_WRITE, f, SP_BYTES_UNKNOWN, NUMBER, (FILE * f, const char *format, va_list list),
       (f, format, list))
STREAM(int, __vfprintf_chk, SP_RAW_IO_WRITE, f, SP_BYTES_UNKNOWN, NUMBER,
       (FILE * f, int flag, const char *format, va_list list), (f, flag, format, list))
STREAM(int, vprintf, SP_RAW_IO_WRITE, stdout, SP_BYTES_UNKNOWN, NUMBER, (const char *format, va_list list),
       (format, list))
STREAM(int, __vprintf_chk, SP_RAW_IO_WRITE, stdout, SP_BYTES_UNKNOWN, NUMBER,
       (int flag, const char *format, va_list list), (flag, format, list))

/* Calls a variadic function through its va_list variant. */
#define PRINTS(name, by, f, parameters, arguments)                                                                     \
	SP_WRAP(int, name, parameters)                                                                                 \
	{                                                                                                              \
		struct sp_preload_call c;                                                                              \
		bool recorded = SP_BEGIN(&c, name);                                                                    \
		va_list list;                                                                                          \
		va_start(list, format);                                                                                \
		if (recorded)                                                                                          \
			sp_preload_begin_io(&c, descriptor(f), SP_RAW_IO_WRITE, SP_BYTES_UNKNOWN, SP_BYTES_UNKNOWN);   \
		int r = SP_REAL(by) arguments;                                                                         \
		if (recorded)                                                                                          \
			sp_preload_end_io(&c, SP_RAW_IO_WRITE, NUMBER);                                                \
		va_end(list);                                                                                          \
		return r;                                                                                              \
	}
PRINTS(fprintf, vfprintf, f, (FILE * f, const char *format, ...), (f, format, list))
PRINTS(__fprintf_chk, __vfprintf_chk, f, (FILE * f, int flag, const char *format, ...), (f, flag, format, list))
PRINTS(printf, vprintf, stdout, (const char *format, ...), (format, list))
PRINTS(__printf_chk, __vprintf_chk, stdout, (int flag, const char *format, ...), (flag, format, list))

/* ---- positions ---- */

static uint64_t place(FILE *f)
{
	off_t (*real)(FILE *) = (off_t(*)(FILE *))sp_preload_real[SP_F_ftello];
	int error = errno;
	off_t at = real(f);
	errno = error;
	return (uint64_t)at;
}

/* Asks for the position after a seek only if it is unknown: that may be a system call. */
#define SEEKS(name, asked, whence, reached, parameters, arguments)                                                     \
	SP_WRAP(int, name, parameters)                                                                                 \
	{                                                                                                              \
		struct sp_preload_call c;                                                                              \
		if (!SP_BEGIN(&c, name))                                                                               \
			return SP_REAL(name) arguments;                                                                \
		sp_preload_begin_seek(&c, descriptor(f));                                                              \
		int r = SP_REAL(name) arguments;                                                                       \
		sp_preload_end_seek(&c, (uint64_t)(asked), whence, r ? SP_BYTES_UNKNOWN : c.handle ? (reached) : 0);   \
		return r;                                                                                              \
	}
#define REACHED (whence == SEEK_SET ? (uint64_t)at : place(f))
SEEKS(fseek, at, whence, REACHED, (FILE * f, long at, int whence), (f, at, whence))
SEEKS(fseeko, at, whence, REACHED, (FILE * f, off_t at, int whence), (f, at, whence))
SP_LIBC_LARGE(SEEKS(fseeko64, at, whence, REACHED, (FILE * f, off64_t at, int whence), (f, at, whence)))
SEEKS(fsetpos, place(f), SEEK_SET, place(f), (FILE * f, const fpos_t *at), (f, at))
SP_LIBC_LARGE(SEEKS(fsetpos64, place(f), SEEK_SET, place(f), (FILE * f, const fpos64_t *at), (f, at)))

SP_WRAP(void, rewind, (FILE * f))
{
	struct sp_preload_call c;
	if (!SP_BEGIN(&c, rewind)) {
		SP_REAL(rewind)(f);
		return;
	}
	sp_preload_begin_seek(&c, descriptor(f));
	SP_REAL(rewind)(f);
	sp_preload_end_seek(&c, 0, SEEK_SET, 0);
}

/* Functions that only query. */
#define ASKS(type, name, parameters, arguments)                                                                        \
	SP_WRAP(type, name, parameters)                                                                                \
	{                                                                                                              \
		struct sp_preload_call c;                                                                              \
		if (!SP_BEGIN(&c, name))                                                                               \
			return SP_REAL(name) arguments;                                                                \
		type r = SP_REAL(name) arguments;                                                                      \
		sp_preload_end(&c);                                                                                    \
		return r;                                                                                              \
	}
ASKS(long, ftell, (FILE * f), (f))
ASKS(off_t, ftello, (FILE * f), (f))
SP_LIBC_LARGE(ASKS(off64_t, ftello64, (FILE * f), (f)))
ASKS(int, fgetpos, (FILE * f, fpos_t *at), (f, at))
SP_LIBC_LARGE(ASKS(int, fgetpos64, (FILE * f, fpos64_t *at), (f, at)))
ASKS(int, ungetc, (int character, FILE *f), (character, f))
