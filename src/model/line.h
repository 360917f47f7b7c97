/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of functions. */
#ifndef SP_MODEL_LINE_H
#define SP_MODEL_LINE_H

#include <stdint.h>

/* What a location did in one line of a function. Where a function is called again while it is open, its inner calls are
 * in their own lines only. */
struct sp_line {
	uint32_t location; /* SP_NONE: of several, see model/report/lines.h */
	uint32_t region;
	uint32_t line;    /* of the region's file */
	uint64_t hits;    /* how often it began */
	uint64_t own;     /* ns in the line itself */
	uint64_t callees; /* ns in what it called */
};

#endif
