/* SPDX-License-Identifier: BSD-3-Clause */
/* Binary search in tables that are sorted by an address. */
#ifndef SP_BASE_SEARCH_H
#define SP_BASE_SEARCH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The first of n rows of `size` bytes whose 64-bit word at the offset `field` is greater than the address; n: no such
 * row. */
static inline size_t sp_first_behind(const void *rows, size_t n, size_t size, size_t field, uint64_t address)
{
	size_t low = 0, high = n;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		uint64_t word;
		memcpy(&word, (const char *)rows + middle * size + field, sizeof word);
		if (word <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

#endif
