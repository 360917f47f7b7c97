/* SPDX-License-Identifier: BSD-3-Clause */
/* One row of the overview: in each pixel the region that ran longest itself. */
#ifndef SP_VIEW_BAND_H
#define SP_VIEW_BAND_H

#include "view/columns.h"

struct sp_band_row {
	uint32_t location, bucket, region;
	float share;
	uint32_t events;
};

struct sp_band {
	uint64_t begin, end; /* ns */
	uint32_t pixels;
	uint32_t location;
	double *ns;        /* owned; for each region: time in this pixel */
	uint32_t *touched; /* owned; regions with time in this pixel */
	size_t n_touched;
	uint32_t bucket;          /* this pixel */
	uint64_t events;          /* in it */
	struct sp_band_row *rows; /* owned; of all locations so far */
	size_t n_rows, row_room;
	bool failed; /* no memory */
};

/* 0, or -1: no memory. sp_band_free() either way. */
int sp_band_init(struct sp_band *b, size_t regions, uint64_t begin, uint64_t end, uint32_t pixels);
void sp_band_free(struct sp_band *b);
/* What follows is of that location. */
void sp_band_location(struct sp_band *b, uint32_t location);
/* In [begin, end), later than what was added before, the region (SP_NONE: none) ran for ns, and there were so many
 * events, which count where it begins. */
void sp_band_add(struct sp_band *b, uint64_t begin, uint64_t end, uint32_t region, double ns, uint64_t events);
/* The last pixel of the location. */
void sp_band_flush(struct sp_band *b);

/* The begin of a pixel; of the one behind the last, the end. */
static inline uint64_t sp_band_pixel(const struct sp_band *b, uint32_t bucket)
{
	return b->begin + (uint64_t)((double)(b->end - b->begin) * ((double)bucket / (double)b->pixels));
}

#endif
