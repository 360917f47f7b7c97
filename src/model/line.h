/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of functions. */
#ifndef SP_MODEL_LINE_H
#define SP_MODEL_LINE_H

#include <stdint.h>

/* Time of a location in one line of a function. In a recursive function, the inner calls count only in their own
 * lines. */
struct sp_line {
	uint32_t location; /* SP_NONE: sum of several, see model/report/lines.h */
	uint32_t region;
	uint32_t line;    /* of the region's file */
	uint64_t hits;    /* number of times the line began */
	uint64_t own;     /* ns in the line itself */
	uint64_t callees; /* ns in functions that the line called */
};

#endif
