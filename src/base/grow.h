/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SP_BASE_GROW_H
#define SP_BASE_GROW_H

#include <stdbool.h>
#include <stddef.h>

bool sp_grow_now(void *p, size_t *capacity, size_t size); /* for sp_grow() only */

/* Makes room for one more element in an array allocated by malloc(). p: address of the pointer to it, of any pointer
 * type (NULL at first); n: elements in use; *capacity: capacity in elements; size: bytes of an element. Returns false
 * if there is no memory; then nothing has changed. The capacity doubles, so that adding n elements copies at most n. */
static inline bool sp_grow(void *p, size_t n, size_t *capacity, size_t size)
{
	return n < *capacity || sp_grow_now(p, capacity, size);
}

#endif
