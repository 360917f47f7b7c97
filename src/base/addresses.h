/* SPDX-License-Identifier: BSD-3-Clause */
/* A hash table by address with open addressing. All slots have one size, which the caller passes; each begins with its
 * address as a uintptr_t, 0 if it is unused. Inline, so that the compiler knows the size. Adding or removing a slot may
 * move others. */
#ifndef SP_BASE_ADDRESSES_H
#define SP_BASE_ADDRESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct sp_addresses {
	char *slots; /* owned; NULL: no slots */
	size_t mask, used;
};

static inline void *sp_addresses_slot(const struct sp_addresses *t, size_t bytes, size_t i)
{
	return t->slots + i * bytes;
}

static inline uintptr_t sp_addresses_key(const void *slot)
{
	return *(const uintptr_t *)slot;
}

static inline size_t sp_addresses_index(const struct sp_addresses *t, uintptr_t address)
{
	return (size_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> 32) & t->mask;
}

/* The slot of an address, or the unused slot for it. */
static inline void *sp_addresses_slot_of(const struct sp_addresses *t, size_t bytes, uintptr_t address)
{
	size_t i = sp_addresses_index(t, address);
	for (;; i = (i + 1) & t->mask) {
		void *slot = sp_addresses_slot(t, bytes, i);
		if (!sp_addresses_key(slot) || sp_addresses_key(slot) == address)
			return slot;
	}
}

/* The slot of an address; NULL: not in the table. */
static inline void *sp_addresses_find(const struct sp_addresses *t, size_t bytes, const void *p)
{
	void *slot = t->slots ? sp_addresses_slot_of(t, bytes, (uintptr_t)p) : NULL;
	return slot && sp_addresses_key(slot) ? slot : NULL;
}

/* Resizes the table; slots: a power of two. Returns false if there is no memory; then nothing has changed. */
static inline bool sp_addresses_resize(struct sp_addresses *t, size_t bytes, size_t slots)
{
	struct sp_addresses fresh = {calloc(slots, bytes), slots - 1, t->used};
	if (!fresh.slots)
		return false;
	for (size_t i = 0; t->slots && i <= t->mask; i++) {
		const void *slot = sp_addresses_slot(t, bytes, i);
		if (sp_addresses_key(slot))
			memcpy(sp_addresses_slot_of(&fresh, bytes, sp_addresses_key(slot)), slot, bytes);
	}
	free(t->slots);
	*t = fresh;
	return true;
}

/* Adds a slot for an address that is not in the table; all 0 except the address. NULL: no memory. */
static inline void *sp_addresses_add(struct sp_addresses *t, size_t bytes, const void *p)
{
	if ((!t->slots && !sp_addresses_resize(t, bytes, 64)) ||
	    (t->used * 2 > t->mask && !sp_addresses_resize(t, bytes, (t->mask + 1) * 2)))
		return NULL;
	void *slot = sp_addresses_slot_of(t, bytes, (uintptr_t)p);
	*(uintptr_t *)slot = (uintptr_t)p;
	t->used++;
	return slot;
}

/* Removes a slot, and moves following slots that could not be found any more. */
static inline void sp_addresses_remove(struct sp_addresses *t, size_t bytes, void *slot)
{
	size_t gap = (size_t)((char *)slot - t->slots) / bytes, i = (gap + 1) & t->mask;
	for (void *next; sp_addresses_key(next = sp_addresses_slot(t, bytes, i)); i = (i + 1) & t->mask) {
		const size_t place = sp_addresses_index(t, sp_addresses_key(next));
		if (((i - place) & t->mask) >= ((i - gap) & t->mask)) {
			memcpy(sp_addresses_slot(t, bytes, gap), next, bytes);
			gap = i;
		}
	}
	memset(sp_addresses_slot(t, bytes, gap), 0, bytes);
	t->used--;
}

#endif
