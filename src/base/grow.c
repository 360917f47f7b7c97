/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/grow.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST = 64 };

bool sp_grow_now(void *p, size_t *capacity, size_t size)
{
	const size_t more = *capacity ? *capacity * 2 : FIRST;
	void *larger, *old;

	memcpy(&old, p, sizeof(old)); /* it points to a pointer of any type */
	larger = more <= SIZE_MAX / 2 / size ? realloc(old, more * size) : NULL;
	if (!larger)
		return false;
	*capacity = more;
	memcpy(p, &larger, sizeof(larger));
	return true;
}
