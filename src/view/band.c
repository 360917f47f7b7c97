/* SPDX-License-Identifier: BSD-3-Clause */
#include "view/band.h"

#include <stdlib.h>

#include "base/grow.h"
#include "model/str.h"

int sp_band_init(struct sp_band *b, size_t regions, uint64_t begin, uint64_t end, uint32_t pixels)
{
	*b = (struct sp_band){.begin = begin, .end = end, .pixels = pixels};
	b->ns = calloc(regions + 1, sizeof(*b->ns));
	b->touched = malloc((regions + 1) * sizeof(*b->touched));
	return b->ns && b->touched ? 0 : -1;
}

void sp_band_free(struct sp_band *b)
{
	free(b->ns);
	free(b->touched);
	free(b->rows);
	*b = (struct sp_band){.pixels = 1};
}

void sp_band_location(struct sp_band *b, uint32_t location)
{
	b->location = location;
	b->bucket = 0;
}

static void put_row(struct sp_band *b, struct sp_band_row row)
{
	if (!sp_grow(&b->rows, b->n_rows, &b->row_capacity, sizeof(*b->rows))) {
		b->failed = true;
		return;
	}
	b->rows[b->n_rows++] = row;
}

void sp_band_flush(struct sp_band *b)
{
	const double width = (double)(sp_band_pixel(b, b->bucket + 1) - sp_band_pixel(b, b->bucket));
	uint32_t best = SP_NONE;
	double share = 0, open = 0;
	size_t i;

	for (i = 0; i < b->n_touched; i++) {
		const uint32_t region = b->touched[i];

		open += b->ns[region];
		if (best == SP_NONE || b->ns[region] > share || (b->ns[region] >= share && region < best)) {
			best = region;
			share = b->ns[region];
		}
	}
	for (i = 0; i < b->n_touched; i++)
		b->ns[b->touched[i]] = 0;
	b->n_touched = 0;
	if (best != SP_NONE || b->events) {
		share = width > 0 ? share / width : 0;
		open = width > 0 ? open / width : 0;
		put_row(b, (struct sp_band_row){b->location, b->bucket, best, (float)(share < 1 ? share : 1),
		                                b->events < UINT32_MAX ? (uint32_t)b->events : UINT32_MAX,
		                                (float)(open < 1 ? open : 1), 0});
	}
	b->events = 0;
}

static uint32_t bucket_of(const struct sp_band *b, uint64_t at)
{
	uint32_t i;

	if (at <= b->begin)
		return 0;
	i = (uint32_t)((double)(at - b->begin) / (double)(b->end - b->begin) * (double)b->pixels);
	if (i >= b->pixels)
		i = b->pixels - 1;
	while (i > 0 && sp_band_pixel(b, i) > at)
		i--;
	while (i + 1 < b->pixels && sp_band_pixel(b, i + 1) <= at)
		i++;
	return i;
}

static void go_to(struct sp_band *b, uint32_t bucket)
{
	if (bucket <= b->bucket)
		return;
	sp_band_flush(b);
	b->bucket = bucket;
}

void sp_band_add(struct sp_band *b, uint64_t begin, uint64_t end, uint32_t region, double ns, uint64_t events)
{
	const double rate = end > begin ? ns / (double)(end - begin) : 0;
	uint64_t edge;

	if (begin < b->begin) {
		events = 0;
		begin = b->begin;
	}
	if (begin >= b->end || (end <= begin && events == 0))
		return;
	go_to(b, bucket_of(b, begin));
	b->events += events;
	if (end > b->end)
		end = b->end;
	while (region != SP_NONE && begin < end) {
		edge = b->bucket + 1 < b->pixels ? sp_band_pixel(b, b->bucket + 1) : b->end;
		if (edge > end)
			edge = end;
		if (edge > begin && rate > 0) {
			if (b->ns[region] <= 0)
				b->touched[b->n_touched++] = region;
			b->ns[region] += rate * (double)(edge - begin);
		}
		begin = edge;
		if (begin < end)
			go_to(b, b->bucket + 1);
	}
}
