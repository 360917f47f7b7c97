/* SPDX-License-Identifier: BSD-3-Clause */
/* Serialization: one function for each struct, which writes the fields to bytes or reads them from bytes, so that both
 * cannot differ. Input is untrusted: reading stops at the first invalid value, and a failed result is never used. */
#ifndef SP_MODEL_MERGE_PACK_H
#define SP_MODEL_MERGE_PACK_H

#include "base/arena.h"
#include "base/intern.h"
#include "model/builder/source.h"
#include "model/comm.h"
#include "model/str.h"

enum { SP_PACK_ALIGN = 8 }; /* alignment of arrays, from the first byte */

struct sp_pack {
	bool reading, failed, no_memory;
	/* reading: strings and arrays are copied; otherwise they point into the bytes, which must outlive them */
	bool copy;
	struct sp_arena *arena;       /* reading: for new arrays and copies */
	const char *begin, *at, *end; /* reading; begin is aligned */
	char *bytes;                  /* writing; the caller takes ownership */
	size_t n, capacity;
	struct sp_arena keys; /* owned; keys of maps */
	struct sp_intern maps;
	struct sp_pack_map {
		uint32_t *to;
		size_t n;
		uint32_t max; /* the largest value in it, without SP_NONE */
		bool none;    /* it contains SP_NONE */
	} * known;            /* owned; the maps that were read */
	size_t n_known, known_capacity;
};

void sp_pack_write(struct sp_pack *k); /* starts writing */
void sp_pack_read(struct sp_pack *k, struct sp_arena *arena, const void *bytes, size_t n);
void sp_pack_free(struct sp_pack *k); /* frees everything except what was read; the bytes too */
/* Returns 0 if all fields were valid and every byte was read, or -1 with e set. */
int sp_pack_end(struct sp_pack *k, struct sp_err *e);

void sp_pack_fail(struct sp_pack *k);
void sp_pack_no_memory(struct sp_pack *k);
void sp_pack_raw(struct sp_pack *k, void *p, size_t n);
#define sp_pack_number(k, x) sp_pack_raw((k), &(x), sizeof(x)) /* integers, doubles; structs without padding */
void sp_pack_bool(struct sp_pack *k, bool *v);
void sp_pack_byte(struct sp_pack *k, uint8_t *v, unsigned limit);         /* *v < limit */
void sp_pack_index(struct sp_pack *k, uint32_t *v, size_t limit);         /* *v < limit */
void sp_pack_index_or_none(struct sp_pack *k, uint32_t *v, size_t limit); /* *v < limit or SP_NONE */
/* the count of elements of at least one byte each */
void sp_pack_count(struct sp_pack *k, size_t *n);
void sp_pack_str(struct sp_pack *k, struct sp_str *s);
/* An array of n elements of `size` bytes. Reading: allocates zeros, which the caller fills. */
void *sp_pack_make(struct sp_pack *k, size_t n, size_t size);
/* The length of an array, and the array. Reading: allocates it as sp_pack_make() does; writing: returns p. */
void *sp_pack_list(struct sp_pack *k, void *p, size_t *n, size_t size);
/* An array that is stored byte for byte. */
void sp_pack_array(struct sp_pack *k, void *array, size_t n, size_t size);
/* A table of ids, each at most `limit`. Equal tables are written once, and share memory when they are read. */
void sp_pack_ids(struct sp_pack *k, struct sp_ids *ids, size_t limit);
/* The same for members, each less than limit or SP_NONE. */
void sp_pack_group(struct sp_pack *k, struct sp_group *g, size_t limit);

uint64_t sp_pack_hash(const void *p, size_t n);

#endif
