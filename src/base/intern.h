/* SPDX-License-Identifier: BSD-3-Clause */
/* Byte strings to dense numbers from 0, each kept once. */
#ifndef SP_BASE_INTERN_H
#define SP_BASE_INTERN_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

struct sp_intern_entry {
	const char *p; /* in the arena, NUL-terminated as well */
	size_t n;
	uint64_t hash;
};

/* A table of zero bytes with an arena set is an empty table. */
struct sp_intern {
	struct sp_arena *arena;
	struct sp_intern_entry *entries; /* owned */
	uint32_t *slots;                 /* owned; entry + 1, 0: empty */
	size_t n, room, mask;
};

/* The number of the string, SP_INTERN_FAILED when there is no memory. */
#define SP_INTERN_FAILED UINT32_MAX
uint32_t sp_intern(struct sp_intern *t, const char *p, size_t n);
void sp_intern_free(struct sp_intern *t);

#endif
