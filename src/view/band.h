/* SPDX-License-Identifier: BSD-3-Clause */
/* One row of the overview: for each pixel the region with the most exclusive time. */
#ifndef SP_VIEW_BAND_H
#define SP_VIEW_BAND_H

#include "view/columns.h"

struct sp_band_row {
	uint32_t location, bucket, region;
	float share;
	uint32_t events;
	float open;    /* share of the pixel in which a call was open */
	float waiting; /* share of the pixel in which the location waited; 0 until the owner of the band sets it */
};

struct sp_band {
	uint64_t begin, end; /* ns */
	uint32_t pixels;
	uint32_t location;
	double *ns;        /* owned; for each region: time in this pixel */
	uint32_t *touched; /* owned; regions with time in this pixel */
	size_t n_touched;
	uint32_t bucket;          /* the current pixel */
	uint64_t events;          /* number of events in the current pixel */
	struct sp_band_row *rows; /* owned; rows of all locations up to now */
	size_t n_rows, row_capacity;
	bool failed; /* no memory */
};

/* Returns 0, or -1: no memory. Call sp_band_free() in both cases. */
int sp_band_init(struct sp_band *b, size_t regions, uint64_t begin, uint64_t end, uint32_t pixels);
void sp_band_free(struct sp_band *b);
/* Begins a location: what is added next belongs to it. */
void sp_band_location(struct sp_band *b, uint32_t location);
/* Adds time: the region (SP_NONE: no region) ran for ns in [begin, end), which is later than everything added before.
 * events: their number, counted at `begin`. */
void sp_band_add(struct sp_band *b, uint64_t begin, uint64_t end, uint32_t region, double ns, uint64_t events);
/* Completes the last pixel of the location. */
void sp_band_flush(struct sp_band *b);

/* The begin of a pixel, ns; for the number of pixels, the end of the last one. */
static inline uint64_t sp_band_pixel(const struct sp_band *b, uint32_t bucket)
{
	return b->begin + (uint64_t)((double)(b->end - b->begin) * ((double)bucket / (double)b->pixels));
}

#endif
