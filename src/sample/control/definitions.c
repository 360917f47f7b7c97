/* SPDX-License-Identifier: BSD-3-Clause */
#include "sample/control/definitions.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool sp_file_chunk(int file, uint64_t *at, enum sp_raw_chunk_type type, struct sp_raw_chunk *c)
{
	while (file >= 0 && *at <= INT64_MAX && pread(file, c, sizeof *c, (off_t)*at) == (ssize_t)sizeof *c) {
		const bool is = c->magic == SP_RAW_CHUNK_MAGIC && c->bytes >= SP_RAW_PAGE && c->bytes <= INT64_MAX;
		*at += is ? c->bytes : SP_RAW_PAGE;
		if (is && c->type == type)
			return true;
	}
	return false;
}

static bool walk(const char *bytes, size_t n, sp_file_definition *each, void *arg)
{
	struct sp_raw_def d;
	for (size_t at = 0; at + sizeof d <= n; at += d.bytes) {
		memcpy(&d, bytes + at, sizeof d);
		const uint64_t need = sizeof d + (uint64_t)d.len[0] + d.len[1] + d.len[2] + d.len[3];
		if (d.bytes < need || d.bytes > n - at)
			return false;
		if (each(arg, &d, bytes + at + sizeof d))
			return true;
	}
	return false;
}

bool sp_file_definitions(int file, sp_file_definition *each, void *arg)
{
	struct sp_raw_chunk c;
	bool found = false;
	for (uint64_t at = SP_RAW_PAGE; !found && sp_file_chunk(file, &at, SP_RAW_DEFS, &c);) {
		const size_t limit = c.bytes - sizeof c, n = c.used < limit ? c.used : limit;
		char *bytes = n ? malloc(n) : NULL;
		const ssize_t got = bytes ? pread(file, bytes, n, (off_t)(at - c.bytes + sizeof c)) : -1;
		found = got > 0 && walk(bytes, (size_t)got, each, arg);
		free(bytes);
	}
	return found;
}
