/* SPDX-License-Identifier: BSD-3-Clause */
/* A table that maps byte strings to dense numbers from 0. Each string is stored once. */
#ifndef SP_BASE_INTERN_H
#define SP_BASE_INTERN_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

struct sp_intern_entry {
	const char *p; /* in the arena, also NUL-terminated */
	size_t n;
	uint64_t hash;
};

/* A table of zero bytes with an arena set is an empty table. */
struct sp_intern {
	struct sp_arena *arena;
	struct sp_intern_entry *entries; /* owned */
	uint32_t *slots;                 /* owned; hash table: entry + 1; 0: empty */
	size_t n, capacity, mask;
};

/* The number of the string, which is added if it is new; SP_INTERN_FAILED: no memory. */
#define SP_INTERN_FAILED UINT32_MAX
uint32_t sp_intern(struct sp_intern *t, const char *p, size_t n);
void sp_intern_free(struct sp_intern *t);

#endif
