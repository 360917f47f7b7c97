/* SPDX-License-Identifier: BSD-3-Clause */
#include "view/pen.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "model/str.h"

void sp_pen_begin(struct sp_pen *p, uint64_t begin, uint64_t end, uint32_t pixels, uint32_t levels)
{
	*p = (struct sp_pen){.levels = levels, .exact = true};
	p->pixel = end > begin && pixels ? (end - begin) / pixels : 0;
	if (p->pixel == 0)
		p->pixel = 1;
}

void sp_pen_free(struct sp_pen *p)
{
	free(p->lanes);
	free(p->rows);
	*p = (struct sp_pen){.pixel = 1};
}

static void put_row(struct sp_pen *p, struct sp_pen_row row)
{
	if (!sp_grow(&p->rows, p->n_rows, &p->row_capacity, sizeof(*p->rows))) {
		p->failed = true;
		return;
	}
	p->rows[p->n_rows++] = row;
}

static void flush(struct sp_pen *p, uint32_t depth)
{
	struct sp_pen_lane *l = &p->lanes[depth];
	const uint64_t width = l->end - l->begin;
	unsigned i, best = 0;

	if (l->calls == 0)
		return;
	for (i = 1; i < SP_PEN_SEVERAL; i++)
		if (l->top[i].region != SP_NONE && l->top[i].ns > l->top[best].ns)
			best = i;
	if (l->calls > 1)
		p->exact = false;
	put_row(
	    p, (struct sp_pen_row){.begin = l->begin,
	                           .end = l->end,
	                           .depth = depth,
	                           .region = l->top[best].region,
	                           .calls = l->calls < UINT32_MAX ? (uint32_t)l->calls : UINT32_MAX,
	                           .busy = l->calls == 1 || width == 0 ? 1 : (float)((double)l->busy / (double)width)});
	l->calls = 0;
}

/* Adds time to a region, replacing the one with the least time if there is no room. */
static void add_region(struct sp_pen_lane *l, uint32_t region, uint64_t ns)
{
	unsigned i, least = 0;

	for (i = 0; i < SP_PEN_SEVERAL; i++) {
		if (l->top[i].region == region) {
			l->top[i].ns += ns;
			return;
		}
		if (l->top[i].region == SP_NONE) {
			least = i;
			break;
		}
		if (l->top[i].ns < l->top[least].ns)
			least = i;
	}
	if (l->top[least].region != SP_NONE && l->top[least].ns >= ns)
		return;
	l->top[least].region = region;
	l->top[least].ns = ns;
}

static bool make_lane(struct sp_pen *p, uint32_t depth)
{
	struct sp_pen_lane *larger;
	uint32_t capacity;

	if (depth < p->n_lanes)
		return true;
	if (depth >= p->lane_capacity) {
		capacity = depth * 2 + 64;
		larger = realloc(p->lanes, capacity * sizeof(*larger));
		if (!larger) {
			p->failed = true;
			return false;
		}
		p->lanes = larger;
		p->lane_capacity = capacity;
	}
	memset(p->lanes + p->n_lanes, 0, (depth + 1 - p->n_lanes) * sizeof(*p->lanes));
	p->n_lanes = depth + 1;
	return true;
}

void sp_pen_add(struct sp_pen *p, uint32_t depth, uint64_t begin, uint64_t end, uint64_t calls, uint64_t busy,
                uint32_t region, uint64_t longest)
{
	struct sp_pen_lane *l;
	unsigned i;

	if (depth >= p->depth)
		p->depth = depth + 1;
	if (depth >= p->levels) {
		p->exact = false;
		return;
	}
	if (!make_lane(p, depth))
		return;
	l = &p->lanes[depth];
	if (l->calls && (end - l->begin > p->pixel || end - begin >= p->pixel))
		flush(p, depth);
	if (calls == 1 && end - begin >= p->pixel) {
		put_row(p, (struct sp_pen_row){begin, end, depth, region, 1, 1});
		return;
	}
	if (l->calls == 0) {
		*l = (struct sp_pen_lane){.begin = begin};
		for (i = 0; i < SP_PEN_SEVERAL; i++)
			l->top[i].region = SP_NONE;
	}
	l->end = end;
	l->calls += calls;
	l->busy += busy;
	add_region(l, region, longest);
}

/* Sorts by depth; rows of one depth are already in the order of time. */
static int sort(struct sp_pen *p)
{
	struct sp_pen_row *sorted = malloc((p->n_rows + 1) * sizeof(*sorted));
	size_t *at = calloc((size_t)p->n_lanes + 1, sizeof(*at)), i;

	if (sorted && at) {
		for (i = 0; i < p->n_rows; i++)
			at[p->rows[i].depth + 1]++;
		for (i = 0; i < p->n_lanes; i++)
			at[i + 1] += at[i];
		for (i = 0; i < p->n_rows; i++)
			sorted[at[p->rows[i].depth]++] = p->rows[i];
		free(p->rows);
		p->rows = sorted;
		p->row_capacity = p->n_rows + 1;
	} else {
		free(sorted);
		p->failed = true;
	}
	free(at);
	return p->failed ? -1 : 0;
}

int sp_pen_end(struct sp_pen *p)
{
	uint32_t depth;

	for (depth = 0; depth < p->n_lanes; depth++)
		flush(p, depth);
	return p->failed || sort(p) ? -1 : 0;
}
