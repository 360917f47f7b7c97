/* SPDX-License-Identifier: BSD-3-Clause */
/* Draws calls for a viewport: what is at least a pixel wide is a row of its own, what is narrower shares one with its
 * neighbours of the same depth. So there are at most some two rows for each pixel and depth, however many calls. */
#ifndef SP_VIEW_PEN_H
#define SP_VIEW_PEN_H

#include "view/columns.h"

enum { SP_PEN_SEVERAL = 4 }; /* regions told apart within a row */

/* Calls that share a row until one comes that does not fit. */
struct sp_pen_lane {
	uint64_t begin, end, busy; /* ns */
	uint64_t calls;            /* 0: empty */
	struct {
		uint32_t region;
		uint64_t ns;
	} most[SP_PEN_SEVERAL]; /* the regions with most time; region SP_NONE: free */
};

struct sp_pen_row {
	uint64_t begin, end; /* ns */
	uint32_t depth, region, calls;
	float busy;
};

struct sp_pen {
	uint64_t pixel;            /* ns */
	uint32_t levels;           /* depths that are drawn; deeper ones are only counted */
	struct sp_pen_lane *lanes; /* owned */
	uint32_t n_lanes, lane_room;
	struct sp_pen_row *rows; /* owned */
	size_t n_rows, row_room;
	uint32_t depth; /* of the deepest call, plus 1; 0: none */
	bool exact;     /* no row is of several calls, and none is left out */
	bool failed;    /* no memory */
};

/* All zero but these three is a pen: sp_pen_free() ends it. */
void sp_pen_begin(struct sp_pen *p, uint64_t begin, uint64_t end, uint32_t pixels, uint32_t levels);
void sp_pen_free(struct sp_pen *p);

/* Calls of one depth, later than those before: `calls` of them in [begin, end), which they fill for `busy` ns, `most`
 * of it in the region. */
void sp_pen_add(struct sp_pen *p, uint32_t depth, uint64_t begin, uint64_t end, uint64_t calls, uint64_t busy,
                uint32_t region, uint64_t most);
/* The last rows, and all in the order of depth and time. -1: there was no memory. */
int sp_pen_end(struct sp_pen *p);

#endif
