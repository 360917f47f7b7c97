/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the raw file of a process that has ended smaller: the trace compressed, unused pages left out. */
#ifndef SP_READER_COMPRESS_H
#define SP_READER_COMPRESS_H

#include <stdint.h>

#include "base/err.h"

enum { SP_RAW_COMPRESS_LEVEL = 3 }; /* of zstd: 9 saves a tenth more and takes five times as long */

/* Called now and then with the bytes of the file that are done; a value other than 0 ends it, with e->code ECANCELED.
 */
typedef int sp_raw_progress_fn(void *arg, uint64_t done);

struct sp_raw_compression {
	int level;
	sp_raw_progress_fn *progress; /* NULL: none */
	void *arg;
	uint64_t before, after; /* set: bytes of the file */
};

/* Replaces the file at path (name in errors: name) by a smaller one that reads the same, at once, or leaves it as it
 * is. Fails, and leaves the file as it is, when its process still runs and when it is damaged. */
int sp_raw_compress(const char *path, const char *name, struct sp_raw_compression *c, struct sp_err *e);

#endif
