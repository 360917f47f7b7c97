/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/intern.h"

#include <stdlib.h>
#include <string.h>

static uint64_t hash_bytes(const char *p, size_t n)
{
	uint64_t h = n * UINT64_C(0x9e3779b97f4a7c15), w;

	for (; n >= 8; p += 8, n -= 8) {
		memcpy(&w, p, 8);
		h = (h ^ w) * UINT64_C(0xff51afd7ed558ccd);
		h ^= h >> 32;
	}
	w = 0;
	if (n)
		memcpy(&w, p, n);
	h = (h ^ w) * UINT64_C(0xc4ceb9fe1a85ec53);
	return h ^ h >> 29;
}

static int grow(struct sp_intern *t)
{
	size_t capacity = t->capacity ? t->capacity * 2 : 64, mask = capacity * 2 - 1, i, at;
	struct sp_intern_entry *entries;
	uint32_t *slots;

	if (capacity >= UINT32_MAX)
		return -1;
	entries = realloc(t->entries, capacity * sizeof(*entries));
	if (!entries)
		return -1;
	t->entries = entries;
	slots = calloc(mask + 1, sizeof(*slots));
	if (!slots)
		return -1;
	for (i = 0; i < t->n; i++) {
		for (at = entries[i].hash & mask; slots[at]; at = (at + 1) & mask)
			;
		slots[at] = (uint32_t)i + 1;
	}
	free(t->slots);
	t->slots = slots;
	t->capacity = capacity;
	t->mask = mask;
	return 0;
}

uint32_t sp_intern(struct sp_intern *t, const char *p, size_t n)
{
	uint64_t h = hash_bytes(p, n);
	struct sp_intern_entry *e;
	size_t at;

	if (t->n == t->capacity && grow(t))
		return SP_INTERN_FAILED;
	for (at = h & t->mask; t->slots[at]; at = (at + 1) & t->mask) {
		e = &t->entries[t->slots[at] - 1];
		if (e->hash == h && e->n == n && memcmp(e->p, p, n) == 0)
			return t->slots[at] - 1;
	}
	e = &t->entries[t->n];
	e->p = sp_arena_copy(t->arena, p, n);
	if (!e->p)
		return SP_INTERN_FAILED;
	e->n = n;
	e->hash = h;
	t->slots[at] = (uint32_t)++t->n;
	return (uint32_t)t->n - 1;
}

void sp_intern_free(struct sp_intern *t)
{
	free(t->entries);
	free(t->slots);
	memset(t, 0, sizeof(*t));
}
