/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that is given back all at once. */
#ifndef SP_BASE_ARENA_H
#define SP_BASE_ARENA_H

#include <stddef.h>

struct sp_arena {
	struct sp_arena_block *blocks; /* owned; the newest first */
	char *at, *end;                /* what is left of the newest block */
};

/* An arena of zero bytes is an empty arena. */
void sp_arena_free(struct sp_arena *a);

/* Aligned for every type, not cleared; NULL when there is no memory. n may be 0. */
void *sp_arena_alloc(struct sp_arena *a, size_t n);

/* count * size bytes, all zero; NULL also when the product does not fit. */
void *sp_arena_zalloc(struct sp_arena *a, size_t count, size_t size);

/* A copy of n bytes with a NUL behind them. */
char *sp_arena_copy(struct sp_arena *a, const char *p, size_t n);

#endif
