/* SPDX-License-Identifier: BSD-3-Clause */
/* The library that `spartito run --io` has loaded before all others (LD_PRELOAD): it stands in front of the C library's
 * functions on files, calls the real ones, and records each call where the measuring half can say who called.
 *
 * It is in every process of the run, whatever program that is. Until spartito._measure has attached itself a wrapper is
 * one load and one branch. Results, errno, and what a handler, vfork or a cancelled thread may do are those of the real
 * function. */
#ifndef SP_INJECT_IO_PRELOAD_H
#define SP_INJECT_IO_PRELOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "format/format.h"
#include "record/adapter.h"
#include "inject/shared/quiet.h"
#include "inject/shared/wrap.h"

/* Every function that is wrapped; a row is its symbol, and the name of its region: variants that a compiler chooses
 * (fortified ones, old names of macros) are the function that the program's source names. */
#define SP_PRELOAD_FUNCTIONS(X)                                                                                        \
	X(open, "open")                                                                                                \
	X(open64, "open64")                                                                                            \
	X(openat, "openat")                                                                                            \
	X(openat64, "openat64")                                                                                        \
	X(creat, "creat")                                                                                              \
	X(creat64, "creat64")                                                                                          \
	X(__open_2, "open")                                                                                            \
	X(__open64_2, "open64")                                                                                        \
	X(__openat_2, "openat")                                                                                        \
	X(__openat64_2, "openat64")                                                                                    \
	X(close, "close")                                                                                              \
	X(close_range, "close_range")                                                                                  \
	X(dup, "dup")                                                                                                  \
	X(dup2, "dup2")                                                                                                \
	X(dup3, "dup3")                                                                                                \
	X(fcntl, "fcntl")                                                                                              \
	X(fcntl64, "fcntl64")                                                                                          \
	X(fsync, "fsync")                                                                                              \
	X(fdatasync, "fdatasync")                                                                                      \
	X(lseek, "lseek")                                                                                              \
	X(lseek64, "lseek64")                                                                                          \
	X(read, "read")                                                                                                \
	X(__read_chk, "read")                                                                                          \
	X(write, "write")                                                                                              \
	X(pread, "pread")                                                                                              \
	X(pread64, "pread64")                                                                                          \
	X(__pread_chk, "pread")                                                                                        \
	X(__pread64_chk, "pread64")                                                                                    \
	X(pwrite, "pwrite")                                                                                            \
	X(pwrite64, "pwrite64")                                                                                        \
	X(readv, "readv")                                                                                              \
	X(writev, "writev")                                                                                            \
	X(preadv, "preadv")                                                                                            \
	X(preadv64, "preadv64")                                                                                        \
	X(pwritev, "pwritev")                                                                                          \
	X(pwritev64, "pwritev64")                                                                                      \
	X(preadv2, "preadv2")                                                                                          \
	X(preadv64v2, "preadv64v2")                                                                                    \
	X(pwritev2, "pwritev2")                                                                                        \
	X(pwritev64v2, "pwritev64v2")                                                                                  \
	X(fopen, "fopen")                                                                                              \
	X(fopen64, "fopen64")                                                                                          \
	X(fdopen, "fdopen")                                                                                            \
	X(freopen, "freopen")                                                                                          \
	X(freopen64, "freopen64")                                                                                      \
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
	X(fseeko64, "fseeko64")                                                                                        \
	X(ftell, "ftell")                                                                                              \
	X(ftello, "ftello")                                                                                            \
	X(ftello64, "ftello64")                                                                                        \
	X(rewind, "rewind")                                                                                            \
	X(fgetpos, "fgetpos")                                                                                          \
	X(fgetpos64, "fgetpos64")                                                                                      \
	X(fsetpos, "fsetpos")                                                                                          \
	X(fsetpos64, "fsetpos64")

#define SP_PRELOAD_ID(symbol, name) SP_F_##symbol,
enum sp_preload_function { SP_PRELOAD_FUNCTIONS(SP_PRELOAD_ID) SP_PRELOAD_N };

extern void *sp_preload_real[SP_PRELOAD_N]; /* NULL: this C library has none, or none was looked up yet */

/* The real function. Constructors of other libraries run before ours, and may call any. */
#define SP_REAL(name) ((__typeof__(&sp_wrap_##name))sp_preload_real_of(SP_F_##name))
/* Looks up all; the one of f. */
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
	uint32_t handle; /* 0: none, or nothing is traced */
	bool traced;
	uint64_t now; /* of the enter */
};

/* NULL until there is a measurement that wants file I/O. */
extern const struct sp_adapter *sp_preload_adapter;

bool sp_preload_enter(struct sp_preload_call *c, enum sp_preload_function f, const void *caller);
/* Enters the region; false: the call is not recorded, and nothing else may be called with c. */
#define SP_BEGIN(c, name)                                                                                              \
	(SP_UNLIKELY(sp_preload_adapter != NULL) &&                                                                    \
	 sp_preload_enter(c, SP_F_##name, __builtin_extract_return_addr(__builtin_return_address(0))))

/* What belongs to a call, between its enter and the real function. fd: -1 is allowed, and is no handle. */
#define SP_NOT_TOLD UINT64_MAX
void sp_preload_begin_io(struct sp_preload_call *c, int fd, enum sp_raw_io_mode mode, uint64_t asked, uint64_t offset);
void sp_preload_begin_seek(struct sp_preload_call *c, int fd);
/* fd is about to be closed or replaced: forgets its handle, which becomes that of c. */
void sp_preload_begin_close(struct sp_preload_call *c, int fd);

/* And after it: each says what came out, and leaves the region. They keep errno. */
void sp_preload_end(struct sp_preload_call *c);
void sp_preload_end_io(struct sp_preload_call *c, enum sp_raw_io_mode mode, uint64_t bytes); /* SP_NOT_TOLD: failed */
void sp_preload_end_seek(struct sp_preload_call *c, uint64_t asked, int whence, uint64_t reached);
/* path: as given to open(); NULL or relative: found out. fd < 0: it failed. */
void sp_preload_end_open(struct sp_preload_call *c, int fd, const char *path, int flags);
void sp_preload_end_close(struct sp_preload_call *c);
/* closes: `to` was open before, and its handle is that of c. */
void sp_preload_end_dup(struct sp_preload_call *c, int from, int to);
void sp_preload_end_close_range(struct sp_preload_call *c, unsigned first, unsigned last);

/* ---- handles.c: what is open, by its descriptor ---- */

/* The handle of fd, made if it has none: an event, with the path that the system tells. 0: not open. */
uint32_t sp_preload_handle(const struct sp_preload_call *c, int fd);
/* A new one with its event; it takes the place of another. path NULL: that which the system tells. */
uint32_t sp_preload_handle_open(const struct sp_preload_call *c, int fd, const char *path, uint64_t flags);
/* A new one without an event; 0: fd is out of range. */
uint32_t sp_preload_handle_set(int fd);
/* The handle that fd had, which it has no longer; 0: none. */
uint32_t sp_preload_handle_take(int fd);
/* The next descriptor from fd on that has a handle, not above last; -1: none. */
int sp_preload_handle_next(unsigned fd, unsigned last);

#endif
