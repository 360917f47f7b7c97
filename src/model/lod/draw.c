/* SPDX-License-Identifier: BSD-3-Clause */
/* Queries for a viewport: nodes and strips that are at most a pixel wide, and events where even the finest ones are
 * wider. */
#include "model/event.h"
#include "model/lod/file.h"
#include "model/lod/lod.h"
#include "model/lod/made.h"
#include "model/lod/opened.h"
#include "model/lod/read.h"
#include "model/str.h"

enum {
	BATCH = 256,
	FINER = 4,       /* strips that are drawn together are narrower than a pixel by this factor */
	FEW_STRIPS = 512 /* up to this number of strips, all events are decoded and nothing is rounded */
};

/* ---- the calls of a location ---- */

struct drawing {
	struct sp_lod_reader r;
	uint64_t begin, end, pixel;
	sp_lod_draw_fn *draw;
	void *arg;
};

static void draw_call(struct drawing *d, uint32_t depth, uint64_t begin, uint64_t end, uint32_t region)
{
	if (begin <= d->end && end >= d->begin && end >= begin)
		d->draw(d->arg, depth, begin, end, 1, end - begin, region, end - begin);
}

static int draw_node(struct drawing *d, const struct sp_lod_node *n, struct sp_err *e)
{
	const size_t cells = sp_lod_cells(n);
	size_t i;

	for (i = 0; i < cells; i++) {
		const struct sp_lod_cell is = sp_lod_cell_at(&d->r.l, n, i), *c = &is;
		struct sp_lod_call *call;

		if (c->depth >= d->r.capacity && sp_lod_reader_reserve(&d->r, c->depth, e))
			return -1;
		call = &d->r.calls[c->depth];
		if (c->head != SP_LOD_NO_TIME)
			draw_call(d, c->depth, call->begin, c->head, call->region);
		if (c->calls)
			d->draw(d->arg, c->depth, c->first, c->last, c->calls, c->busy, c->region, c->longest);
		if (c->tail != SP_LOD_NO_TIME) {
			call->begin = c->tail;
			call->region = c->tail_region;
		}
	}
	return 0;
}

/* Draws the events of a bucket. The reader's calls must be those open at its begin. */
static int draw_events(struct drawing *d, size_t bucket, struct sp_err *e)
{
	struct sp_lod_reader *r = &d->r;
	uint64_t left = sp_lod_bucket_events(&r->l, bucket);
	struct sp_event batch[BATCH];
	long n, i;

	r->depth = r->l.points[bucket].depth;
	if (sp_lod_reader_reserve(r, r->depth, e) || sp_lod_reader_go(r, bucket, e))
		return -1;
	r->next = SIZE_MAX;
	for (; left; left -= (uint64_t)n) {
		n = sp_events_read(r->events, batch, left < BATCH ? left : BATCH, e);
		if (n <= 0)
			return n ? -1 : sp_lod_damaged(e);
		for (i = 0; i < n; i++) {
			const struct sp_event *ev = &batch[i];

			if (sp_lod_reader_follow(r, ev, e))
				return -1;
			if (ev->kind == SP_EVENT_LEAVE || ev->kind == SP_EVENT_SUSPEND)
				draw_call(d, (uint32_t)r->depth, r->calls[r->depth].begin, ev->time,
				          r->calls[r->depth].region);
		}
	}
	r->next = bucket + 1;
	return 0;
}

/* Draws the calls that are still open at the begin of a bucket. */
static void draw_open(struct drawing *d, size_t bucket)
{
	const struct sp_lod_location *l = &d->r.l;
	uint32_t depth = l->points[bucket].depth, f = l->points[bucket].frame;

	for (; f && depth > 0; f = l->frames[f - 1].caller)
		draw_call(d, --depth, l->frames[f - 1].begin, l->frames[f - 1].end, l->frames[f - 1].region);
}

/* Whether a node can be drawn instead of its contents. */
static bool is_enough(const struct drawing *d, const struct sp_lod_node *n)
{
	return n[0].time >= d->begin && n[1].time <= d->end && n[1].time - n[0].time <= d->pixel;
}

static int draw_location(struct drawing *d, struct sp_err *e)
{
	const struct sp_lod_location *l = &d->r.l;
	const size_t buckets = l->place->points.n;
	size_t i = sp_lod_bucket_at(l, d->begin), up;
	unsigned level;

	if (buckets == 0)
		return 0;
	if (sp_lod_reader_calls(&d->r, i, e))
		return -1;
	while (i < buckets && l->points[i].time <= d->end) {
		if (!is_enough(d, &l->levels[0].nodes[i])) {
			if (draw_events(d, i++, e))
				return -1;
			continue;
		}
		for (level = 0; level + 1 < l->n_levels; level++) {
			up = i >> (level + 1) * SP_LOD_FAN_BITS;
			if (up << (level + 1) * SP_LOD_FAN_BITS != i || !is_enough(d, &l->levels[level + 1].nodes[up]))
				break;
		}
		if (draw_node(d, &l->levels[level].nodes[i >> level * SP_LOD_FAN_BITS], e))
			return -1;
		i += (size_t)1 << level * SP_LOD_FAN_BITS;
	}
	if (i < buckets)
		draw_open(d, i);
	return 0;
}

int sp_lod_draw(struct sp_lod *p, uint32_t location, uint64_t begin, uint64_t end, uint64_t pixel, sp_lod_draw_fn *draw,
                void *arg, struct sp_err *e)
{
	struct drawing d = {.begin = begin, .end = end, .pixel = pixel, .draw = draw, .arg = arg};
	int rc = sp_lod_reader_open(&d.r, p, location, e);

	if (rc == 0)
		rc = draw_location(&d, e);
	sp_lod_reader_close(&d.r);
	return rc;
}

/* ---- what ran ---- */

struct running {
	struct sp_lod_reader r;
	uint64_t begin, end, pixel;
	sp_lod_ran_fn *ran;
	void *arg;
};

static uint64_t strip_end(const struct sp_lod_location *l, unsigned level, size_t i)
{
	return i + 1 < l->strips[level].n ? l->strips[level].p[i + 1].time : l->place->end;
}

/* Reports the events of a bucket, from one of its strips on; *strip becomes the first strip after the bucket. */
static int run_events(struct running *u, size_t *strip, struct sp_err *e)
{
	struct sp_lod_reader *r = &u->r;
	const size_t bucket = sp_lod_bucket_of(&r->l, *strip * (uint64_t)SP_LOD_STRIP);
	uint64_t left = sp_lod_bucket_events(&r->l, bucket);
	uint64_t skip = *strip * (uint64_t)SP_LOD_STRIP - r->l.points[bucket].event,
	         last = r->l.strips[0].p[*strip].time;
	struct sp_event batch[BATCH];
	unsigned events = 0;
	long n, i;

	*strip = (size_t)sp_lod_up(r->l.points[bucket].event + left, 6);
	if (r->next != bucket && sp_lod_reader_calls(r, bucket, e))
		return -1;
	if (sp_lod_reader_go(r, bucket, e))
		return -1;
	r->next = SIZE_MAX;
	for (; left; left -= (uint64_t)n) {
		n = sp_events_read(r->events, batch, left < BATCH ? left : BATCH, e);
		if (n <= 0)
			return n ? -1 : sp_lod_damaged(e);
		for (i = 0; i < n; i++) {
			if (skip) {
				skip--;
			} else {
				u->ran(u->arg, last, batch[i].time, r->depth ? r->calls[r->depth - 1].region : SP_NONE,
				       (double)(batch[i].time - last), events);
				last = batch[i].time;
				events = 1;
			}
			if (sp_lod_reader_follow(r, &batch[i], e))
				return -1;
		}
	}
	u->ran(u->arg, last, last, SP_NONE, 0, events);
	r->next = bucket + 1;
	return 0;
}

static void run_strips(struct running *u, size_t *strip)
{
	const struct sp_lod_location *l = &u->r.l;
	const uint64_t from = l->strips[0].p[*strip].time;
	uint64_t events;
	unsigned level;
	size_t i, up;

	for (level = 0; level + 1 < l->n_strips; level++) {
		up = *strip >> (level + 1) * SP_LOD_FAN_BITS;
		if (up << (level + 1) * SP_LOD_FAN_BITS != *strip ||
		    strip_end(l, level + 1, up) - from > u->pixel / FINER)
			break;
	}
	i = *strip >> level * SP_LOD_FAN_BITS;
	events = (uint64_t)SP_LOD_STRIP << level * SP_LOD_FAN_BITS;
	if (events > l->place->events - *strip * (uint64_t)SP_LOD_STRIP)
		events = l->place->events - *strip * (uint64_t)SP_LOD_STRIP;
	u->ran(u->arg, from, strip_end(l, level, i), l->strips[level].p[i].region, (double)l->strips[level].p[i].ns,
	       events);
	*strip += (size_t)1 << level * SP_LOD_FAN_BITS;
}

/* The last strip that begins before a time, or the first strip. */
static size_t strip_at(const struct sp_lod_location *l, uint64_t time)
{
	size_t low = 0, high = l->strips[0].n, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (l->strips[0].p[mid].time < time)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? low - 1 : 0;
}

int sp_lod_ran(struct sp_lod *p, uint32_t location, uint64_t begin, uint64_t end, uint64_t pixel, sp_lod_ran_fn *ran,
               void *arg, struct sp_err *e)
{
	struct running u = {.begin = begin, .end = end, .pixel = pixel, .ran = ran, .arg = arg};
	const struct sp_lod_location *l = &u.r.l;
	int rc = sp_lod_reader_open(&u.r, p, location, e);
	size_t i;

	if (rc == 0 && l->n_strips && strip_at(l, end) - strip_at(l, begin) < FEW_STRIPS)
		u.pixel = 0;
	if (rc == 0 && l->n_strips)
		for (i = strip_at(l, begin); rc == 0 && i < l->strips[0].n && l->strips[0].p[i].time <= end;) {
			if (strip_end(l, 0, i) - l->strips[0].p[i].time <= u.pixel)
				run_strips(&u, &i);
			else
				rc = run_events(&u, &i, e);
		}
	sp_lod_reader_close(&u.r);
	return rc;
}
