/* SPDX-License-Identifier: BSD-3-Clause */
#include "sample/python/snapshot.h"

#include <stdlib.h>
#include <string.h>

enum {
	IOVECS = 1024,              /* maximum of one call: IOV_MAX */
	TOGETHER_BYTES = 512 << 10, /* limit of the first call, so that little time passes between its pieces */
	TOGETHER = IOVECS - SP_SNAPSHOT_PIECES,
	FIRST_ROOM = 64,
};

void sp_snapshot_free(struct sp_snapshot *s)
{
	free(s->at);
	free(s->bytes);
	free(s->slots);
	free(s->needed);
	free(s->marked);
	*s = (struct sp_snapshot){.block = 0};
}

/* ---- by address ---- */

static uint32_t *slot_of(const struct sp_snapshot *s, uint64_t at)
{
	size_t i = (size_t)((at / s->block) * UINT64_C(0x9e3779b97f4a7c15) >> 32);
	for (;; i++) {
		uint32_t *slot = &s->slots[i & (s->n_slots - 1)];
		if (!*slot || s->at[*slot - 1] == at)
			return slot;
	}
}

static bool grow(void *array, size_t n, size_t size)
{
	void *more = realloc(*(void **)array, n * size);
	if (more)
		*(void **)array = more;
	return more;
}

/* Makes room for n blocks, and at least twice as many slots. */
static bool reserve_slots(struct sp_snapshot *s, size_t n)
{
	size_t capacity = s->capacity ? s->capacity : FIRST_ROOM;
	if (n <= s->capacity)
		return true;
	while (capacity < n)
		capacity *= 2;
	if (!grow(&s->at, capacity, sizeof *s->at) || !grow(&s->bytes, capacity, s->block) ||
	    !grow(&s->needed, capacity, sizeof *s->needed) || !grow(&s->marked, capacity, sizeof *s->marked))
		return false;
	uint32_t *slots = calloc(2 * capacity, sizeof *slots);
	if (!slots)
		return false;
	free(s->slots);
	s->slots = slots;
	s->n_slots = 2 * capacity;
	s->capacity = capacity;
	for (size_t i = 0; i < s->n; i++)
		*slot_of(s, s->at[i]) = (uint32_t)i + 1;
	return true;
}

static void add(struct sp_snapshot *s, uint64_t at)
{
	s->marked[s->n] = false;
	s->at[s->n++] = at;
	*slot_of(s, at) = (uint32_t)s->n;
}

/* ---- copying ---- */

struct vector {
	struct iovec to[IOVECS], from[IOVECS];
	size_t n;
};

static void want(struct vector *v, uint64_t at, void *to, size_t n)
{
	v->to[v->n] = (struct iovec){to, n};
	v->from[v->n++] = (struct iovec){(void *)(uintptr_t)at, n};
}

/* Adds the next blocks, at most `limit`, to the vector. Returns their number. */
static size_t want_blocks(struct vector *v, struct sp_snapshot *s, const uint64_t *blocks, size_t n, size_t limit)
{
	size_t i = 0;
	for (; i < n && i < limit; i++)
		want(v, blocks[i], s->bytes + (s->n + i) * s->block, s->block);
	return i;
}

static size_t have_blocks(struct sp_snapshot *s, const uint64_t *blocks, size_t n)
{
	for (size_t i = 0; i < n; i++)
		add(s, blocks[i]);
	return n;
}

int sp_snapshot_copy(struct sp_snapshot *s, const uint64_t *blocks, size_t n, const struct sp_piece *pieces,
                     size_t n_pieces, size_t before)
{
	const size_t limit = TOGETHER_BYTES / s->block < TOGETHER ? TOGETHER_BYTES / s->block : TOGETHER;
	struct vector v;
	s->n = 0;
	if (!reserve_slots(s, n + 1))
		return -1;
	s->n_needed = 0;
	s->recent = SIZE_MAX;
	memset(s->slots, 0, s->n_slots * sizeof *s->slots);
	v.n = 0;
	for (size_t i = 0; i < before; i++)
		want(&v, pieces[i].at, pieces[i].to, pieces[i].bytes);
	const size_t first = want_blocks(&v, s, blocks, n, limit);
	for (size_t i = before; i < n_pieces; i++)
		want(&v, pieces[i].at, pieces[i].to, pieces[i].bytes);
	const size_t got = sp_target_read_many(s->target, v.to, v.from, v.n);
	s->together = got > before ? have_blocks(s, blocks, got - before < first ? got - before : first) : 0;
	for (size_t i = first, asked = 1, there = 1; i < n && asked == there && got == n_pieces + first; i += asked) {
		v.n = 0;
		asked = want_blocks(&v, s, blocks + i, n - i, IOVECS);
		there = have_blocks(s, blocks + i, sp_target_read_many(s->target, v.to, v.from, v.n));
	}
	return (int)(got <= before ? got : got < before + first ? before : got - first);
}

/* The index of the block that begins at an address, or -1. */
static long find(struct sp_snapshot *s, uint64_t at)
{
	if (s->recent < s->n && s->at[s->recent] == at)
		return (long)s->recent;
	const uint32_t *slot = s->n_slots ? slot_of(s, at) : NULL;
	if (slot && *slot) {
		s->recent = *slot - 1;
	} else {
		if (!reserve_slots(s, s->n + 1) || !sp_target_read(s->target, at, s->bytes + s->n * s->block, s->block))
			return -1;
		s->recent = s->n;
		add(s, at);
	}
	if (!s->marked[s->recent]) {
		s->marked[s->recent] = true;
		s->needed[s->n_needed++] = (uint32_t)s->recent;
	}
	return (long)s->recent;
}

const char *sp_snapshot_at(struct sp_snapshot *s, uint64_t at, size_t n, char *buffer, bool *together)
{
	const uint64_t begin = at & ~(uint64_t)(s->block - 1);
	const size_t offset = (size_t)(at - begin), head = s->block - offset;
	const long i = find(s, begin);
	if (i < 0)
		return NULL;
	if ((size_t)i >= s->together)
		*together = false;
	if (n <= head)
		return s->bytes + (size_t)i * s->block + offset;
	memcpy(buffer, s->bytes + (size_t)i * s->block + offset, head);
	const long next = find(s, begin + s->block);
	if (next < 0)
		return NULL;
	if ((size_t)next >= s->together)
		*together = false;
	memcpy(buffer + head, s->bytes + (size_t)next * s->block, n - head);
	return buffer;
}

size_t sp_snapshot_needed(const struct sp_snapshot *s, uint64_t *out, size_t n)
{
	size_t i = 0;
	for (; i < n && i < s->n_needed; i++)
		out[i] = s->at[s->needed[i]];
	return i;
}
