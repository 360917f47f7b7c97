/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/grow.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST = 64 };

bool sp_grow_now(void *p, size_t *room, size_t size)
{
	const size_t more = *room ? *room * 2 : FIRST;
	void *larger, *old;

	memcpy(&old, p, sizeof(old)); /* it points to a pointer of any type */
	larger = more <= SIZE_MAX / 2 / size ? realloc(old, more * size) : NULL;
	if (!larger)
		return false;
	*room = more;
	memcpy(p, &larger, sizeof(larger));
	return true;
}
