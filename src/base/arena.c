/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 16, BLOCK = 64 * 1024 };

struct sp_arena_block {
	struct sp_arena_block *next; /* owned */
	_Alignas(ALIGN) char bytes[];
};

void sp_arena_free(struct sp_arena *a)
{
	struct sp_arena_block *b = a->blocks, *next;

	for (; b; b = next) {
		next = b->next;
		free(b);
	}
	memset(a, 0, sizeof(*a));
}

/* A large allocation gets a separate block, so that the rest of the current block is not lost. */
static void *alloc_slow(struct sp_arena *a, size_t n)
{
	size_t size = n > BLOCK / 4 ? n : BLOCK;
	struct sp_arena_block *b;

	if (size > SIZE_MAX - sizeof(*b))
		return NULL;
	b = malloc(sizeof(*b) + size);
	if (!b)
		return NULL;
	b->next = a->blocks;
	a->blocks = b;
	if (size == BLOCK) {
		a->at = b->bytes + n;
		a->end = b->bytes + size;
	}
	return b->bytes;
}

void *sp_arena_alloc(struct sp_arena *a, size_t n)
{
	char *p = a->at;

	if (n > SIZE_MAX - ALIGN)
		return NULL;
	n = (n + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	if (n == 0)
		n = ALIGN;
	if (n > (size_t)(a->end - a->at))
		return alloc_slow(a, n);
	a->at += n;
	return p;
}

void *sp_arena_zalloc(struct sp_arena *a, size_t count, size_t size)
{
	size_t n;
	void *p;

	if (__builtin_mul_overflow(count, size, &n))
		return NULL;
	p = sp_arena_alloc(a, n);
	if (p)
		memset(p, 0, n);
	return p;
}

char *sp_arena_copy(struct sp_arena *a, const char *p, size_t n)
{
	char *q = n < SIZE_MAX ? sp_arena_alloc(a, n + 1) : NULL;

	if (!q)
		return NULL;
	if (n)
		memcpy(q, p, n);
	q[n] = 0;
	return q;
}
