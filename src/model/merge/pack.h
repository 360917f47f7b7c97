/* SPDX-License-Identifier: BSD-3-Clause */
/* One walk over the fields of a thing, which writes them to bytes or reads them from bytes: what is written and what is
 * read cannot differ. Nothing that is read is trusted; the first thing that cannot be right ends the reading, and what
 * was read until then is never used. */
#ifndef SP_MODEL_MERGE_PACK_H
#define SP_MODEL_MERGE_PACK_H

#include "base/arena.h"
#include "base/intern.h"
#include "model/builder/source.h"
#include "model/comm.h"
#include "model/str.h"

enum { SP_PACK_ALIGN = 8 }; /* of arrays, counted from the first byte */

struct sp_pack {
	bool reading, failed, no_memory;
	bool copy; /* reading: strings and arrays are copied; else they stay in the bytes, which outlive them */
	struct sp_arena *arena;       /* reading: for what is made, and the copies */
	const char *begin, *at, *end; /* reading; begin is aligned */
	char *bytes;                  /* writing; owned by who asked for it */
	size_t n, room;
	struct sp_arena keys; /* owned; of maps */
	struct sp_intern maps;
	struct sp_pack_map {
		uint32_t *to;
		size_t n;
		uint32_t most; /* the largest number in it, without SP_NONE */
		bool none;     /* SP_NONE is in it */
	} * known;             /* owned; the maps read so far */
	size_t n_known, known_room;
};

void sp_pack_write(struct sp_pack *k); /* begins to write */
void sp_pack_read(struct sp_pack *k, struct sp_arena *arena, const void *bytes, size_t n);
void sp_pack_free(struct sp_pack *k); /* all but what was read, and the bytes too */
/* What went wrong, or that it is all right when every byte has been read. */
int sp_pack_end(struct sp_pack *k, struct sp_err *e);

void sp_pack_fail(struct sp_pack *k);
void sp_pack_no_memory(struct sp_pack *k);
void sp_pack_raw(struct sp_pack *k, void *p, size_t n);
#define sp_pack_number(k, x) sp_pack_raw((k), &(x), sizeof(x)) /* integers, doubles; structs without padding */
void sp_pack_bool(struct sp_pack *k, bool *v);
void sp_pack_byte(struct sp_pack *k, uint8_t *v, unsigned limit);         /* less than limit */
void sp_pack_index(struct sp_pack *k, uint32_t *v, size_t limit);         /* less than limit */
void sp_pack_index_or_none(struct sp_pack *k, uint32_t *v, size_t limit); /* or SP_NONE */
void sp_pack_count(struct sp_pack *k, size_t *n);                         /* each takes a byte at least */
void sp_pack_str(struct sp_pack *k, struct sp_str *s);
/* An array of n; reading: made by make(), all zero, and then filled by the caller. */
void *sp_pack_make(struct sp_pack *k, size_t n, size_t size);
/* How long an array is, and the array: reading, as sp_pack_make() makes it; else p. */
void *sp_pack_list(struct sp_pack *k, void *p, size_t *n, size_t size);
/* An array whose bytes are taken as they are. */
void sp_pack_array(struct sp_pack *k, void *array, size_t n, size_t size);
/* A table of ids, each at most `limit`. Tables that are equal are written once, and read as one. */
void sp_pack_ids(struct sp_pack *k, struct sp_ids *ids, size_t limit);
/* The same for members, each less than limit or SP_NONE. */
void sp_pack_group(struct sp_pack *k, struct sp_group *g, size_t limit);

uint64_t sp_pack_hash(const void *p, size_t n);

#endif
