/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening files that others made: what has their name may be a FIFO, which would be waited for, a terminal, or a device
 * without an end. */
#ifndef SP_BASE_REGULAR_H
#define SP_BASE_REGULAR_H

#include <stdint.h>
#include <stdio.h>

/* A descriptor of a regular file, open for reading, close-on-exec. -1: errno, SP_NOT_REGULAR where it is no such file.
 * at: a directory's descriptor, or AT_FDCWD. */
int sp_open_regular(int at, const char *path);

/* The same as a stream. EFBIG: it has more than `limit` bytes. */
FILE *sp_fopen_regular(const char *path, uint64_t limit);

/* strerror() for the functions above. */
const char *sp_open_reason(int error);

enum { SP_NOT_REGULAR = 124 /* EMEDIUMTYPE, which opening a file never gives by itself */ };

#endif
