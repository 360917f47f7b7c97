/* SPDX-License-Identifier: BSD-3-Clause */
/* Strings of a model, and the index that means no element. */
#ifndef SP_MODEL_STR_H
#define SP_MODEL_STR_H

#include <stddef.h>
#include <stdint.h>

#define SP_NONE UINT32_MAX

struct sp_str {
	const char *p; /* UTF-8 and NUL-terminated; may contain NUL */
	size_t n;
};

#endif
