/* SPDX-License-Identifier: BSD-3-Clause */
/* The bytes of a raw file, whether its process has ended or not. */
#ifndef SP_READER_BYTES_H
#define SP_READER_BYTES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "format/format.h"

struct sp_raw_bytes {
	const void *p;
	size_t n;
	size_t safe;   /* how many of them will stay: what lies behind must not be touched */
	size_t mapped; /* n, or 0: they are `copy`, or the caller's */
	void *copy;    /* owned; of a file that its process still writes, unless it is large */
	bool running;  /* its process is known to write it still */
};

/* Of the file at the descriptor, which may be closed afterwards; name: as it appears in errors, and without directories
 * the file's own. To be freed with sp_raw_bytes_free(). */
int sp_raw_bytes_get(struct sp_raw_bytes *out, int fd, const char *name, struct sp_err *e);
void sp_raw_bytes_free(struct sp_raw_bytes *b);

/* Whether this can be the beginning of a chunk. */
static inline bool sp_raw_is_chunk(const struct sp_raw_chunk *c)
{
	return c->magic == SP_RAW_CHUNK_MAGIC && c->type >= SP_RAW_DEFS && c->type < SP_RAW_CHUNK_TYPES &&
	       c->bytes >= SP_RAW_PAGE && c->bytes % SP_RAW_PAGE == 0;
}

#endif
