/* SPDX-License-Identifier: BSD-3-Clause */
/* Off-CPU time: stored completely. Each gap was longer than 20 µs, so there are few in any time. */
#include "model/event.h"
#include "model/lod/file.h"
#include "model/lod/lod.h"
#include "model/lod/made.h"
#include "model/lod/make.h"
#include "model/lod/opened.h"
#include "model/model.h"

/* ---- making ---- */

bool sp_lod_gap(struct sp_lod_maker *x, const struct sp_event *ev, uint64_t length)
{
	struct sp_lod_gap *g = ev->u.uint ? sp_lod_more(&x->out->gaps, 1) : NULL;

	if (g)
		*g = (struct sp_lod_gap){ev->time - length, ev->time, ev->u.uint, x->stack[x->depth - 1].path, ev->id};
	return g || !ev->u.uint;
}

bool sp_lod_gaps_sound(const struct sp_model *m, const struct sp_lod_location *l)
{
	size_t i;

	for (i = 0; i < l->place->gaps.n; i++) {
		const struct sp_lod_gap *g = &l->gaps[i];

		if (g->path >= m->n_paths || g->kind >= SP_OFF_CPU_KINDS || g->end <= g->begin ||
		    g->end > l->place->end || g->off > g->end - g->begin || (i && g[-1].end > g->begin))
			return false;
	}
	return true;
}

/* ---- queries ---- */

/* The first gap that ends after a time. */
static size_t gap_at(const struct sp_lod_location *l, uint64_t time)
{
	size_t low = 0, high = l->place->gaps.n, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (l->gaps[mid].end <= time)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* The part of a gap's off-CPU time that is in [begin, end), ns: in proportion to its length. */
static double part_of(const struct sp_lod_gap *g, double begin, double end)
{
	const double from = begin > (double)g->begin ? begin : (double)g->begin;
	const double to = end < (double)g->end ? end : (double)g->end;

	return to > from ? (to - from) * (double)g->off / (double)(g->end - g->begin) : 0;
}

int sp_lod_waiting(struct sp_lod *p, uint32_t location, const struct sp_lod_asked *q, float *share, struct sp_err *e)
{
	const double begin = (double)q->begin, width = (double)(q->end - q->begin) / q->pixels;
	struct sp_lod_location l;
	uint32_t at;
	size_t i;

	if (!sp_lod_of(p, location, &l))
		return sp_lod_damaged(e);
	for (at = 0; at < q->pixels; at++)
		share[at] = 0;
	for (i = gap_at(&l, q->begin); i < l.place->gaps.n && l.gaps[i].begin < q->end; i++) {
		const struct sp_lod_gap *g = &l.gaps[i];

		if (g->kind != SP_OFF_CPU_WAITING)
			continue;
		at = g->begin > q->begin ? (uint32_t)((double)(g->begin - q->begin) / width) : 0;
		for (; at < q->pixels && begin + at * width < (double)g->end; at++)
			share[at] += (float)(part_of(g, begin + at * width, begin + (at + 1) * width) / width);
	}
	for (at = 0; at < q->pixels; at++)
		if (share[at] > 1)
			share[at] = 1; /* sums are rounded */
	return 0;
}

int sp_lod_off_cpu(struct sp_lod *p, uint32_t location, uint64_t begin, uint64_t end, double (*off)[SP_OFF_CPU_KINDS],
                   struct sp_err *e)
{
	struct sp_lod_location l;
	size_t i;

	if (!sp_lod_of(p, location, &l))
		return sp_lod_damaged(e);
	for (i = gap_at(&l, begin); i < l.place->gaps.n && l.gaps[i].begin < end; i++)
		off[l.gaps[i].path][l.gaps[i].kind] += part_of(&l.gaps[i], (double)begin, (double)end);
	return 0;
}
