/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SP_BASE_GROW_H
#define SP_BASE_GROW_H

#include <stdbool.h>
#include <stddef.h>

bool sp_grow_now(void *p, size_t *room, size_t size); /* only for sp_grow */

/* Makes room for one more in an array that malloc gave. p: the address of the pointer to it, of whatever type (NULL at
 * first); n: elements in use; *room: elements there is room for; size: bytes of one. false, and nothing is different,
 * when memory is short. The room doubles, so that adding n elements copies no more than n. */
static inline bool sp_grow(void *p, size_t n, size_t *room, size_t size)
{
	return n < *room || sp_grow_now(p, room, size);
}

#endif
