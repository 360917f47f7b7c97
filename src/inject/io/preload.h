/* SPDX-License-Identifier: BSD-3-Clause */
/* The library that `spartito run --io` preloads (LD_PRELOAD): it wraps the C library's functions on files, calls the
 * real ones, and records each call if the recorder knows the caller.
 *
 * It is in every process of the run, whatever its program. Until spartito._measure attaches an adapter, a wrapper is
 * one load and one branch. Results, errno, and the restrictions of signal handlers, vfork and cancelled threads are
 * those of the real function. */
#ifndef SP_INJECT_IO_PRELOAD_H
#define SP_INJECT_IO_PRELOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "format/format.h"
#include "record/adapter.h"
#include "record/libc.h"
#include "inject/shared/quiet.h"
#include "inject/shared/wrap.h"

/* All wrapped functions; each row has the symbol and the name of its region. Variants that a compiler chooses
 * (fortified ones, old names of macros) have the name of the function in the program's source. */
#define SP_PRELOAD_FUNCTIONS(X)                                                                                        \
	X(open, "open")                                                                                                \
	SP_LIBC_LARGE(X(open64, "open64"))                                                                             \
	X(openat, "openat")                                                                                            \
	SP_LIBC_LARGE(X(openat64, "openat64"))                                                                         \
	X(creat, "creat")                                                                                              \
	SP_LIBC_LARGE(X(creat64, "creat64"))                                                                           \
	X(__open_2, "open")                                                                                            \
	SP_LIBC_LARGE(X(__open64_2, "open64"))                                                                         \
	X(__openat_2, "openat")                                                                                        \
	SP_LIBC_LARGE(X(__openat64_2, "openat64"))                                                                     \
	X(close, "close")                                                                                              \
	X(close_range, "close_range")                                                                                  \
	X(dup, "dup")                                                                                                  \
	X(dup2, "dup2")                                                                                                \
	X(dup3, "dup3")                                                                                                \
	X(fcntl, "fcntl")                                                                                              \
	SP_LIBC_LARGE(X(fcntl64, "fcntl64"))                                                                           \
	X(fsync, "fsync")                                                                                              \
	X(fdatasync, "fdatasync")                                                                                      \
	X(lseek, "lseek")                                                                                              \
	SP_LIBC_LARGE(X(lseek64, "lseek64"))                                                                           \
	X(read, "read")                                                                                                \
	X(__read_chk, "read")                                                                                          \
	X(write, "write")                                                                                              \
	X(pread, "pread")                                                                                              \
	SP_LIBC_LARGE(X(pread64, "pread64"))                                                                           \
	X(__pread_chk, "pread")                                                                                        \
	SP_LIBC_LARGE(X(__pread64_chk, "pread64"))                                                                     \
	X(pwrite, "pwrite")                                                                                            \
	SP_LIBC_LARGE(X(pwrite64, "pwrite64"))                                                                         \
	X(readv, "readv")                                                                                              \
	X(writev, "writev")                                                                                            \
	X(preadv, "preadv")                                                                                            \
	SP_LIBC_LARGE(X(preadv64, "preadv64"))                                                                         \
	X(pwritev, "pwritev")                                                                                          \
	SP_LIBC_LARGE(X(pwritev64, "pwritev64"))                                                                       \
	X(preadv2, "preadv2")                                                                                          \
	SP_LIBC_LARGE(X(preadv64v2, "preadv64v2"))                                                                     \
	X(pwritev2, "pwritev2")                                                                                        \
	SP_LIBC_LARGE(X(pwritev64v2, "pwritev64v2"))                                                                   \
	X(fopen, "fopen")                                                                                              \
	SP_LIBC_LARGE(X(fopen64, "fopen64"))                                                                           \
	X(fdopen, "fdopen")                                                                                            \
	X(freopen, "freopen")                                                                                          \
	SP_LIBC_LARGE(X(freopen64, "freopen64"))                                                                       \
	X(fclose, "fclose")                                                                                            \
	X(fflush, "fflush")                                                                                            \
	X(fread, "fread")                                                                                              \
	X(__fread_chk, "fread")                                                                                        \
	X(fread_unlocked, "fread_unlocked")                                                                            \
	X(__fread_unlocked_chk, "fread_unlocked")                                                                      \
	X(fwrite, "fwrite")                                                                                            \
	X(fwrite_unlocked, "fwrite_unlocked")                                                                          \
	X(fgets, "fgets")                                                                                              \
	X(__fgets_chk, "fgets")                                                                                        \
	X(fgets_unlocked, "fgets_unlocked")                                                                            \
	X(__fgets_unlocked_chk, "fgets_unlocked")                                                                      \
	X(fputs, "fputs")                                                                                              \
	X(fputs_unlocked, "fputs_unlocked")                                                                            \
	X(puts, "puts")                                                                                                \
	X(fgetc, "fgetc")                                                                                              \
	X(getc, "getc")                                                                                                \
	X(_IO_getc, "getc")                                                                                            \
	X(getchar, "getchar")                                                                                          \
	X(fputc, "fputc")                                                                                              \
	X(putc, "putc")                                                                                                \
	X(_IO_putc, "putc")                                                                                            \
	X(putchar, "putchar")                                                                                          \
	X(ungetc, "ungetc")                                                                                            \
	X(fprintf, "fprintf")                                                                                          \
	X(__fprintf_chk, "fprintf")                                                                                    \
	X(vfprintf, "vfprintf")                                                                                        \
	X(__vfprintf_chk, "vfprintf")                                                                                  \
	X(printf, "printf")                                                                                            \
	X(__printf_chk, "printf")                                                                                      \
	X(vprintf, "vprintf")                                                                                          \
	X(__vprintf_chk, "vprintf")                                                                                    \
	X(fseek, "fseek")                                                                                              \
	X(fseeko, "fseeko")                                                                                            \
	SP_LIBC_LARGE(X(fseeko64, "fseeko64"))                                                                         \
	X(ftell, "ftell")                                                                                              \
	X(ftello, "ftello")                                                                                            \
	SP_LIBC_LARGE(X(ftello64, "ftello64"))                                                                         \
	X(rewind, "rewind")                                                                                            \
	X(fgetpos, "fgetpos")                                                                                          \
	SP_LIBC_LARGE(X(fgetpos64, "fgetpos64"))                                                                       \
	X(fsetpos, "fsetpos")                                                                                          \
	SP_LIBC_LARGE(X(fsetpos64, "fsetpos64"))

#define SP_PRELOAD_ID(symbol, name) SP_F_##symbol,
enum sp_preload_function { SP_PRELOAD_FUNCTIONS(SP_PRELOAD_ID) SP_PRELOAD_N };

/* NULL: this C library does not have the function, or it was not looked up yet */
extern void *sp_preload_real[SP_PRELOAD_N];

/* The real function. Constructors of other libraries run before this one's, and may call any wrapper. */
#define SP_REAL(name) ((__typeof__(&sp_wrap_##name))sp_preload_real_of(SP_F_##name))
/* Looks up all functions; returns the one of f. */
void *sp_preload_resolve(enum sp_preload_function f);
static inline void *sp_preload_real_of(enum sp_preload_function f)
{
	void *real = sp_preload_real[f];
	return SP_LIKELY(real != NULL) ? real : sp_preload_resolve(f);
}

/* ---- one call ---- */

struct sp_preload_call {
	struct sp_thread *t;
	uint32_t generation, region;
	uint32_t handle; /* 0: no handle, or not traced */
	bool traced;
	uint64_t now; /* time of the enter */
};

/* NULL: no measurement of file I/O is running. It is set once, in release order. */
extern const struct sp_adapter *sp_preload_adapter;
static inline const struct sp_adapter *sp_preload_attached(void)
{
	return __atomic_load_n(&sp_preload_adapter, __ATOMIC_ACQUIRE);
}

bool sp_preload_enter(struct sp_preload_call *c, enum sp_preload_function f, const void *caller);
/* Enters the region. Returns false if the call is not recorded; then do not use c with other functions. */
#define SP_BEGIN(c, name)                                                                                              \
	(SP_UNLIKELY(sp_preload_attached() != NULL) &&                                                                 \
	 sp_preload_enter(c, SP_F_##name, __builtin_extract_return_addr(__builtin_return_address(0))))

/* Records the begin of an operation, between the enter and the real function. fd may be -1: no handle. */
#define SP_BYTES_UNKNOWN UINT64_MAX
void sp_preload_begin_io(struct sp_preload_call *c, int fd, enum sp_raw_io_mode mode, uint64_t asked, uint64_t offset);
void sp_preload_begin_seek(struct sp_preload_call *c, int fd);
/* Call before fd is closed or replaced: removes its handle and stores it in c. */
void sp_preload_begin_close(struct sp_preload_call *c, int fd);

/* Functions for use after the real function: each records the result and leaves the region. They keep errno. */
void sp_preload_end(struct sp_preload_call *c);
void sp_preload_end_io(struct sp_preload_call *c, enum sp_raw_io_mode mode,
                       uint64_t bytes); /* SP_BYTES_UNKNOWN: failed */
void sp_preload_end_seek(struct sp_preload_call *c, uint64_t asked, int whence, uint64_t reached);
/* path: as passed to open(); if it is NULL or relative, the system is asked. fd < 0: it failed. */
void sp_preload_end_open(struct sp_preload_call *c, int fd, const char *path, int flags);
void sp_preload_end_close(struct sp_preload_call *c);
/* closes: `to` was open before, and c has its handle. */
void sp_preload_end_dup(struct sp_preload_call *c, int from, int to);
void sp_preload_end_close_range(struct sp_preload_call *c, unsigned first, unsigned last);

/* ---- handles.c: table from descriptors to handles ---- */

/* The handle of fd. If it has no handle, makes one and records an event, with the path from the system. 0: not open. */
uint32_t sp_preload_handle(const struct sp_preload_call *c, int fd);
/* Makes a new handle with its event, replacing the old one. path NULL: the path from the system. */
uint32_t sp_preload_handle_open(const struct sp_preload_call *c, int fd, const char *path, uint64_t flags);
/* Makes a new handle without an event; 0: fd is out of range. */
uint32_t sp_preload_handle_set(int fd);
/* Removes the handle of fd and returns it; 0: no handle. */
uint32_t sp_preload_handle_take(int fd);
/* The next descriptor with a handle, from fd to last; -1: none. */
int sp_preload_handle_next(unsigned fd, unsigned last);

#endif
