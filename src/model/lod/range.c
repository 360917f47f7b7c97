/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums up a range of time: from sums that are within it, and from events at both ends. */
#include "model/event.h"
#include "model/lod/file.h"
#include "model/lod/lod.h"
#include "model/lod/made.h"
#include "model/lod/opened.h"
#include "model/lod/read.h"
#include "model/model.h"
#include "model/path.h"

#include <string.h>

enum { BATCH = 256 };

struct range {
	struct sp_lod_reader r;
	uint64_t begin, end;
	struct sp_value *values;
	double *each;
};

static void add_entry(struct range *g, const struct sp_lod_entry *x)
{
	struct sp_value *v = &g->values[x->path];

	if (x->visits + x->resumed) {
		if (v->visits + v->resumed == 0 || (double)x->min < v->min)
			v->min = (double)x->min;
		if ((double)x->max > v->max)
			v->max = (double)x->max;
	}
	v->visits += x->visits;
	v->resumed += x->resumed;
	v->excl += (double)x->excl;
	v->sumsq += x->sumsq;
	g->each[x->path] += (double)x->each;
}

static void add_call(struct range *g, const struct sp_lod_call *call, uint64_t end)
{
	const uint64_t length = end - call->begin;
	const struct sp_lod_entry x = {.path = call->path,
	                               .resumed = call->kind == SP_EVENT_RESUME,
	                               .visits = call->kind != SP_EVENT_RESUME,
	                               .each = length,
	                               .min = length,
	                               .max = length,
	                               .sumsq = (double)length * (double)length};

	if (call->kind != SP_EVENT_INHERIT)
		add_entry(g, &x);
}

static int add_event(struct range *g, const struct sp_event *ev, uint64_t last, struct sp_err *e)
{
	struct sp_lod_reader *r = &g->r;
	const uint64_t from = last > g->begin ? last : g->begin, to = ev->time < g->end ? ev->time : g->end;
	struct sp_lod_call *top = r->depth ? &r->calls[r->depth - 1] : NULL;
	const uint32_t parent = top ? top->path : 0;

	if (top && to > from)
		g->values[parent].excl += (double)(to - from);
	if (sp_lod_reader_follow(r, ev, e))
		return -1;
	if (ev->kind == SP_EVENT_LEAVE || ev->kind == SP_EVENT_SUSPEND) {
		if (top && ev->time >= g->begin && ev->time <= g->end)
			add_call(g, &r->calls[r->depth], ev->time);
	} else if (ev->kind <= SP_EVENT_INHERIT) {
		r->calls[r->depth - 1].path = sp_path_below(&r->p->index, parent, ev->id);
	}
	return 0;
}

/* Adds the events of the buckets [first, end) that are in the range. */
static int add_events(struct range *g, size_t first, size_t end, struct sp_err *e)
{
	struct sp_lod_reader *r = &g->r;
	uint64_t left, last;
	struct sp_event batch[BATCH];
	long n, i;

	if (first >= end)
		return 0;
	last = r->l.points[first].time;
	if (sp_lod_reader_span(r, first, end, &left, e))
		return -1;
	for (; left && last <= g->end; left -= (uint64_t)n) {
		n = sp_events_read(r->events, batch, left < BATCH ? left : BATCH, e);
		if (n <= 0)
			return n ? -1 : sp_lod_damaged(e);
		for (i = 0; i < n && last <= g->end; i++) {
			if (add_event(g, &batch[i], last, e))
				return -1;
			last = batch[i].time;
		}
	}
	return 0;
}

/* The first sum that begins at a time or later. */
static size_t sum_from(const struct sp_lod_sums *s, uint64_t time)
{
	size_t low = 0, high = s->n, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (s->p[mid].time < time)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Adds all sums within the range, from the i-th on; returns the first one that is not within it. */
static size_t add_sums(struct range *g, size_t i)
{
	const struct sp_lod_location *l = &g->r.l;
	const struct sp_lod_sum *s;
	unsigned level;
	uint64_t k;

	while (i < l->sums[0].n && l->sums[0].p[i + 1].time <= g->end) {
		level = sp_lod_sum_level(l, i, g->end);
		s = &l->sums[level].p[i >> level * SP_LOD_SUM_FAN_BITS];
		for (k = s[0].entries; k < s[1].entries; k++)
			add_entry(g, &l->entries[k]);
		i += (size_t)1 << level * SP_LOD_SUM_FAN_BITS;
	}
	return i < l->sums[0].n ? i : l->sums[0].n;
}

static int add_location(struct range *g, struct sp_err *e)
{
	const struct sp_lod_location *l = &g->r.l;
	const size_t buckets = l->place->points.n;
	size_t first, sum;

	if (buckets == 0 || g->end < l->place->begin || g->begin > l->place->end)
		return 0;
	first = sp_lod_bucket_at(l, g->begin);
	sum = sum_from(&l->sums[0], g->begin);
	if (sum == l->sums[0].n || l->sums[0].p[sum + 1].time > g->end)
		return add_events(g, first, buckets, e);
	if (add_events(g, first, l->sums[0].p[sum].bucket, e))
		return -1;
	sum = add_sums(g, sum);
	return sum < l->sums[0].n ? add_events(g, l->sums[0].p[sum].bucket, buckets, e) : 0;
}

int sp_lod_range(struct sp_lod *p, uint32_t location, uint64_t begin, uint64_t end, struct sp_value *values,
                 double *each, struct sp_err *e)
{
	struct range g = {.begin = begin, .end = end, .values = values, .each = each};
	int rc = sp_lod_reader_open(&g.r, p, location, e);

	if (rc == 0)
		rc = add_location(&g, e);
	sp_lod_reader_close(&g.r);
	return rc;
}

void sp_lod_inclusive(const struct sp_model *m, struct sp_value *values)
{
	size_t i;

	for (i = 0; i < m->n_paths; i++)
		values[i].incl = 0;
	for (i = m->n_paths; i-- > 1;) {
		values[i].incl += values[i].excl;
		values[m->paths[i].parent].incl += values[i].incl;
	}
}
