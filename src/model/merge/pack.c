/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/merge/pack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "model/builder/problem.h"
#include "model/builder/source.h"
#include "model/comm.h"
#include "model/str.h"

void sp_pack_write(struct sp_pack *k)
{
	*k = (struct sp_pack){.reading = false};
}

void sp_pack_read(struct sp_pack *k, struct sp_arena *arena, const void *bytes, size_t n)
{
	*k = (struct sp_pack){.reading = true, .arena = arena, .begin = bytes};
	k->at = k->begin;
	k->end = k->begin + n;
}

void sp_pack_free(struct sp_pack *k)
{
	sp_intern_free(&k->maps);
	sp_arena_free(&k->keys);
	free(k->known);
	free(k->bytes);
	memset(k, 0, sizeof(*k));
}

void sp_pack_fail(struct sp_pack *k)
{
	k->failed = true;
	k->at = k->end;
}

void sp_pack_no_memory(struct sp_pack *k)
{
	k->no_memory = true;
	sp_pack_fail(k);
}

int sp_pack_end(struct sp_pack *k, struct sp_err *e)
{
	if (k->no_memory)
		return sp_model_no_memory(e);
	if (k->failed)
		return sp_fail(e, 0, "its contents contradict each other");
	if (k->reading && k->at != k->end)
		return sp_fail(e, 0, "%zu bytes too many", (size_t)(k->end - k->at));
	return 0;
}

/* Makes room for n more bytes; NULL: no memory. */
static char *grow(struct sp_pack *k, size_t n)
{
	size_t capacity;
	char *larger;

	if (k->failed)
		return NULL;
	if (n > k->capacity - k->n) {
		capacity = (k->n + n) / 2 * 3 + 4096;
		larger = realloc(k->bytes, capacity);
		if (!larger) {
			sp_pack_no_memory(k);
			return NULL;
		}
		k->bytes = larger;
		k->capacity = capacity;
	}
	k->n += n;
	return k->bytes + k->n - n;
}

/* The next n bytes of the input; NULL: there are fewer. */
static const char *next(struct sp_pack *k, size_t n)
{
	const char *p = k->at;

	if (k->failed || n > (size_t)(k->end - p)) {
		sp_pack_fail(k);
		return NULL;
	}
	k->at += n;
	return p;
}

void sp_pack_raw(struct sp_pack *k, void *p, size_t n)
{
	const char *from;
	char *to;

	if (n == 0)
		return;
	if (!k->reading) {
		to = grow(k, n);
		if (to)
			memcpy(to, p, n);
		return;
	}
	from = next(k, n);
	if (from)
		memcpy(p, from, n);
	else
		memset(p, 0, n);
}

void sp_pack_bool(struct sp_pack *k, bool *v)
{
	uint8_t byte = *v;

	sp_pack_byte(k, &byte, 2);
	*v = byte;
}

void sp_pack_byte(struct sp_pack *k, uint8_t *v, unsigned limit)
{
	sp_pack_number(k, *v);
	if (k->reading && *v >= limit) {
		*v = 0;
		sp_pack_fail(k);
	}
}

void sp_pack_index(struct sp_pack *k, uint32_t *v, size_t limit)
{
	sp_pack_number(k, *v);
	if (k->reading && *v >= limit)
		sp_pack_fail(k);
}

void sp_pack_index_or_none(struct sp_pack *k, uint32_t *v, size_t limit)
{
	sp_pack_number(k, *v);
	if (k->reading && *v >= limit && *v != SP_NONE)
		sp_pack_fail(k);
}

void sp_pack_count(struct sp_pack *k, size_t *n)
{
	uint64_t count = *n;

	sp_pack_number(k, count);
	if (k->reading && count > (uint64_t)(k->end - k->at)) {
		count = 0;
		sp_pack_fail(k);
	}
	*n = count;
}

void sp_pack_str(struct sp_pack *k, struct sp_str *s)
{
	static const struct sp_str empty = {"", 0};
	size_t n = s->n;
	const char *p;

	sp_pack_count(k, &n);
	if (!k->reading) {
		sp_pack_raw(k, (char *)s->p, n);
		sp_pack_raw(k, &(char){0}, 1);
		return;
	}
	*s = empty;
	p = next(k, n + 1);
	if (!p || p[n]) {
		sp_pack_fail(k);
		return;
	}
	if (k->copy)
		p = sp_arena_copy(k->arena, p, n);
	if (!p)
		sp_pack_no_memory(k);
	else
		*s = (struct sp_str){p, n};
}

void *sp_pack_make(struct sp_pack *k, size_t n, size_t size)
{
	void *made;

	if (k->failed)
		return NULL;
	made = sp_arena_zalloc(k->arena, n, size);
	if (!made)
		sp_pack_no_memory(k);
	return made;
}

void *sp_pack_list(struct sp_pack *k, void *p, size_t *n, size_t size)
{
	sp_pack_count(k, n);
	return k->reading ? sp_pack_make(k, *n, size) : p;
}

static void align(struct sp_pack *k)
{
	static char zero[SP_PACK_ALIGN];
	size_t at = k->reading ? (size_t)(k->at - k->begin) : k->n, n = -at % SP_PACK_ALIGN;

	if (!k->reading)
		sp_pack_raw(k, zero, n);
	else if (!k->failed)
		next(k, n);
}

void sp_pack_array(struct sp_pack *k, void *array, size_t n, size_t size)
{
	void **to = array;
	const char *from;
	size_t bytes;

	align(k);
	if (!k->reading) {
		sp_pack_raw(k, *to, n * size);
		return;
	}
	*to = NULL;
	if (k->failed || __builtin_mul_overflow(n, size, &bytes) || !(from = next(k, bytes))) {
		sp_pack_fail(k);
		return;
	}
	*to = (void *)from;
	if (!k->copy)
		return;
	*to = sp_arena_alloc(k->arena, bytes);
	if (*to)
		memcpy(*to, from, bytes);
	else
		sp_pack_no_memory(k);
}

static void read_map(struct sp_pack *k)
{
	struct sp_pack_map map = {NULL, 0, 0, false};
	size_t i;

	sp_pack_count(k, &map.n);
	sp_pack_array(k, &map.to, map.n, sizeof(*map.to));
	for (i = 0; !k->failed && i < map.n; i++)
		if (map.to[i] == SP_NONE)
			map.none = true;
		else if (map.to[i] > map.max)
			map.max = map.to[i];
	if (!sp_grow(&k->known, k->n_known, &k->known_capacity, sizeof(*k->known))) {
		sp_pack_no_memory(k);
		return;
	}
	k->known[k->n_known++] = map;
}

/* Writes a map, or only its number if it was written before. Reading: returns NULL if it is invalid. */
static const struct sp_pack_map *pack_map(struct sp_pack *k, uint32_t *to, size_t n)
{
	const size_t known = k->reading ? k->n_known : k->maps.n;
	uint32_t map = 0;

	if (!k->reading) {
		k->maps.arena = &k->keys;
		map = sp_intern(&k->maps, n ? (const char *)to : "", n * sizeof(*to));
		if (map == SP_INTERN_FAILED)
			sp_pack_no_memory(k);
	}
	sp_pack_index(k, &map, known + 1);
	if (k->reading) {
		if (!k->failed && map == known)
			read_map(k);
		return k->failed ? NULL : &k->known[map];
	}
	if (map == known) {
		sp_pack_count(k, &n);
		sp_pack_array(k, &to, n, sizeof(*to));
	}
	return NULL;
}

void sp_pack_ids(struct sp_pack *k, struct sp_ids *ids, size_t limit)
{
	const struct sp_pack_map *map = pack_map(k, ids->to, ids->n);

	if (map && (map->max > limit || map->none))
		sp_pack_fail(k);
	else if (map)
		*ids = (struct sp_ids){map->to, map->n};
}

void sp_pack_group(struct sp_pack *k, struct sp_group *g, size_t limit)
{
	const struct sp_pack_map *map = pack_map(k, g->processes, g->n);

	if (map && (map->n >= SP_NONE || (map->max >= limit && map->max)))
		sp_pack_fail(k);
	else if (map)
		*g = (struct sp_group){.processes = map->to, .n = (uint32_t)map->n};
}

uint64_t sp_pack_hash(const void *bytes, size_t n)
{
	const char *p = bytes;
	uint64_t h[4] = {n, 1, 2, 3}, w[4], all;
	size_t i;

	for (; n >= sizeof(w); p += sizeof(w), n -= sizeof(w)) {
		memcpy(w, p, sizeof(w));
		for (i = 0; i < 4; i++) {
			h[i] = (h[i] ^ w[i]) * UINT64_C(0xff51afd7ed558ccd);
			h[i] ^= h[i] >> 29;
		}
	}
	memset(w, 0, sizeof(w));
	if (n)
		memcpy(w, p, n);
	for (i = 0, all = 0; i < 4; i++) {
		h[i] = (h[i] ^ w[i]) * UINT64_C(0xc4ceb9fe1a85ec53);
		all = (all ^ h[i] ^ h[i] >> 32) * UINT64_C(0x9e3779b97f4a7c15);
	}
	return all ^ all >> 31;
}
