/* SPDX-License-Identifier: BSD-3-Clause */
/* Reduces the raw file of a process that has ended: compresses the trace and leaves out unused pages. */
#ifndef SP_READER_COMPRESS_H
#define SP_READER_COMPRESS_H

#include <stdint.h>

#include "base/err.h"

enum { SP_RAW_COMPRESS_LEVEL = 3 }; /* level of zstd: 9 makes files a tenth smaller and takes five times as long */

/* Reports progress: number of bytes of the file that are done. A result other than 0 cancels, with e->code
 * ECANCELED. */
typedef int sp_raw_progress_fn(void *arg, uint64_t done);

struct sp_raw_compression {
	int level;
	sp_raw_progress_fn *progress; /* NULL: no progress reports */
	void *arg;
	uint64_t before, after; /* result: bytes of the file */
};

/* Replaces the file at path (name: its name in errors) by a smaller one with the same contents, atomically. Fails and
 * leaves the file unchanged if its process is still running or it is damaged. Returns 0, or -1 with e set. */
int sp_raw_compress(const char *path, const char *name, struct sp_raw_compression *c, struct sp_err *e);

#endif
