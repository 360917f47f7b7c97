/* SPDX-License-Identifier: BSD-3-Clause */
/* Draws calls for a viewport. A call that is at least a pixel wide is a separate row; narrower calls of one depth share
 * rows. So there are at most about two rows for each pixel and depth, whatever the number of calls. */
#ifndef SP_VIEW_PEN_H
#define SP_VIEW_PEN_H

#include "view/columns.h"

enum { SP_PEN_SEVERAL = 4 }; /* regions that are distinguished within a row */

/* Calls that share a row, until one comes that does not fit. */
struct sp_pen_lane {
	uint64_t begin, end, busy; /* ns */
	uint64_t calls;            /* 0: empty */
	struct {
		uint32_t region;
		uint64_t ns;
	} top[SP_PEN_SEVERAL]; /* the regions with the most time; region SP_NONE: unused */
};

struct sp_pen_row {
	uint64_t begin, end; /* ns */
	uint32_t depth, region, calls;
	float busy;
};

struct sp_pen {
	uint64_t pixel;            /* ns */
	uint32_t levels;           /* number of depths that are drawn; deeper calls are only counted */
	struct sp_pen_lane *lanes; /* owned */
	uint32_t n_lanes, lane_capacity;
	struct sp_pen_row *rows; /* owned */
	size_t n_rows, row_capacity;
	uint32_t depth; /* depth of the deepest call, plus 1; 0: no call */
	bool exact;     /* every row is a single call, and no call is left out */
	bool failed;    /* no memory */
};

/* Sets *p to an empty pen; sp_pen_free() frees it. begin, end: ns, the viewport; levels: number of depths to draw. */
void sp_pen_begin(struct sp_pen *p, uint64_t begin, uint64_t end, uint32_t pixels, uint32_t levels);
void sp_pen_free(struct sp_pen *p);

/* Adds calls of one depth, later than those added before: `calls` calls in [begin, end) that take `busy` ns, of which
 * `region` takes `longest`. */
void sp_pen_add(struct sp_pen *p, uint32_t depth, uint64_t begin, uint64_t end, uint64_t calls, uint64_t busy,
                uint32_t region, uint64_t longest);
/* Adds the last rows, and sorts all by depth and time. Returns 0, or -1: there was no memory. */
int sp_pen_end(struct sp_pen *p);

#endif
