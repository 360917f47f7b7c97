/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts of a model, and the index that stands for none. */
#ifndef SP_MODEL_STR_H
#define SP_MODEL_STR_H

#include <stddef.h>
#include <stdint.h>

#define SP_NONE UINT32_MAX

struct sp_str {
	const char *p; /* UTF-8, NUL-terminated as well; may hold NUL */
	size_t n;
};

#endif
