/* SPDX-License-Identifier: BSD-3-Clause */
/* Safe opening of files that other programs made: a path may be a FIFO, which would block, a terminal, or a device
 * without an end. */
#ifndef SP_BASE_REGULAR_H
#define SP_BASE_REGULAR_H

#include <stdint.h>
#include <stdio.h>

/* Opens a regular file for reading, close-on-exec. Returns a descriptor, or -1 with errno set; SP_NOT_REGULAR: not a
 * regular file. at: a directory's descriptor, or AT_FDCWD. */
int sp_open_regular(int at, const char *path);

/* The same as a stream. NULL with errno EFBIG: it has more than `limit` bytes. */
FILE *sp_fopen_regular(const char *path, uint64_t limit);

/* strerror() for the errors of the functions above. */
const char *sp_open_reason(int error);

enum { SP_NOT_REGULAR = 124 /* EMEDIUMTYPE, which opening a file never returns itself */ };

#endif
