/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that is freed all at once. */
#ifndef SP_BASE_ARENA_H
#define SP_BASE_ARENA_H

#include <stddef.h>

struct sp_arena {
	struct sp_arena_block *blocks; /* owned; the newest first */
	char *at, *end;                /* the free rest of the newest block */
};

/* An arena of zero bytes is an empty arena. sp_arena_free() frees all of its memory. */
void sp_arena_free(struct sp_arena *a);

/* Allocates n bytes, aligned for every type, not cleared; NULL: no memory. n may be 0. */
void *sp_arena_alloc(struct sp_arena *a, size_t n);

/* Allocates count * size zero bytes; NULL: no memory, or the product overflows. */
void *sp_arena_zalloc(struct sp_arena *a, size_t count, size_t size);

/* Copies n bytes and adds a NUL; NULL: no memory. */
char *sp_arena_copy(struct sp_arena *a, const char *p, size_t n);

#endif
