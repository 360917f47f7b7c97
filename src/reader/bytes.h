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
	size_t safe;   /* number of bytes that cannot disappear; bytes after them must not be accessed */
	size_t mapped; /* n, or 0 if the bytes are in `copy` or belong to the caller */
	void *copy;    /* owned; for a file that its process still writes, unless it is large */
	bool running;  /* its process is known to be still writing */
};

/* Reads or maps the file at the descriptor, which may be closed afterwards. name: as it appears in errors; without
 * directories it is the file's name. Free the result with sp_raw_bytes_free(). Returns 0, or -1 with e set. */
int sp_raw_bytes_get(struct sp_raw_bytes *out, int fd, const char *name, struct sp_err *e);
void sp_raw_bytes_free(struct sp_raw_bytes *b);

/* Whether this can be the begin of a chunk. */
static inline bool sp_raw_is_chunk(const struct sp_raw_chunk *c)
{
	return c->magic == SP_RAW_CHUNK_MAGIC && c->type >= SP_RAW_DEFS && c->type < SP_RAW_CHUNK_TYPES &&
	       c->bytes >= SP_RAW_PAGE && c->bytes % SP_RAW_PAGE == 0;
}

#endif
