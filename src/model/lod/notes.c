/* SPDX-License-Identifier: BSD-3-Clause */
/* Markers and values of counters: stored completely, those of one counter together. */
#include <math.h>

#include "model/event.h"
#include "model/lod/file.h"
#include "model/lod/lod.h"
#include "model/lod/made.h"
#include "model/lod/make.h"
#include "model/lod/opened.h"
#include "model/lod/read.h"
#include "model/str.h"

/* ---- making ---- */

bool sp_lod_note(struct sp_lod_maker *x, const struct sp_event *ev)
{
	struct sp_lod_sample *s;
	struct sp_lod_mark *k;

	if (ev->kind == SP_EVENT_MARKER) {
		k = sp_lod_more(&x->out->markers, 1);
		if (k)
			*k = (struct sp_lod_mark){ev->time, ev->id, 0};
		return k;
	}
	if (isnan(ev->u.real))
		return true;
	x->values[ev->id].size = sizeof(*s);
	s = sp_lod_more(&x->values[ev->id], 1);
	if (s)
		*s = (struct sp_lod_sample){ev->time, ev->u.real};
	return s;
}

static bool put_series(struct sp_lod_made *out, uint32_t counter, const struct sp_lod_sample *from, size_t n)
{
	struct sp_lod_series *series = sp_lod_more(&out->series, 1);
	struct sp_lod_sample *to = sp_lod_more(&out->samples, n);
	struct sp_lod_group *g = NULL;
	size_t i;

	if (!series || !to)
		return false;
	*series = (struct sp_lod_series){counter, 0, out->samples.n - n, n, out->groups.n};
	for (i = 0; i < n; i++) {
		to[i] = from[i];
		if (i % SP_LOD_GROUP == 0) {
			g = sp_lod_more(&out->groups, 1);
			if (!g)
				return false;
			*g = (struct sp_lod_group){from[i].value, from[i].value, 0};
		}
		g->min = fmin(g->min, from[i].value);
		g->max = fmax(g->max, from[i].value);
		g->sum += from[i].value;
	}
	return true;
}

bool sp_lod_series_finish(struct sp_lod_maker *x)
{
	uint32_t i;

	for (i = 0; i < x->m->n_counters; i++)
		if (x->values[i].n && !put_series(x->out, i, x->values[i].p, x->values[i].n))
			return false;
	return true;
}

/* ---- queries ---- */

/* The first marker at a time or later. */
static size_t marker_at(const struct sp_lod_location *l, uint64_t time)
{
	size_t low = 0, high = l->place->markers.n, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (l->markers[mid].time < time)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

int sp_lod_markers(struct sp_lod *p, uint32_t location, uint64_t begin, uint64_t end, size_t limit,
                   sp_lod_marker_fn *report, void *arg, size_t *all, struct sp_err *e)
{
	struct sp_lod_location l;
	size_t i, last;

	*all = 0;
	if (!sp_lod_of(p, location, &l))
		return sp_lod_damaged(e);
	i = marker_at(&l, begin);
	last = end < UINT64_MAX ? marker_at(&l, end + 1) : l.place->markers.n;
	*all = last > i ? last - i : 0;
	for (last = *all < limit ? last : i + limit; i < last; i++)
		report(arg, l.markers[i].time, l.markers[i].string);
	return 0;
}

/* The first sample at a time or later, from the i-th on. */
static size_t sample_at(const struct sp_lod_sample *s, size_t i, size_t n, double time)
{
	size_t mid;

	while (i < n) {
		mid = i + (n - i) / 2;
		if ((double)s[mid].time < time)
			i = mid + 1;
		else
			n = mid;
	}
	return i;
}

/* Sums up the samples [first, end) of a series. */
static struct sp_lod_group add_up(const struct sp_lod_sample *s, const struct sp_lod_group *groups, size_t first,
                                  size_t end)
{
	struct sp_lod_group all = {s[first].value, s[first].value, 0};
	size_t i = first;

	while (i < end) {
		const bool whole = i % SP_LOD_GROUP == 0 && i + SP_LOD_GROUP <= end;
		const struct sp_lod_group *g = &groups[i / SP_LOD_GROUP];
		const double v = s[i].value;

		all.min = fmin(all.min, whole ? g->min : v);
		all.max = fmax(all.max, whole ? g->max : v);
		all.sum += whole ? g->sum : v;
		i += whole ? SP_LOD_GROUP : 1;
	}
	return all;
}

static void tell_series(const struct sp_lod_location *l, const struct sp_lod_series *x, const struct sp_lod_asked *q,
                        sp_lod_counter_fn *report, void *arg)
{
	const struct sp_lod_sample *s = l->samples + x->first;
	const double width = (double)(q->end - q->begin) / q->pixels;
	size_t i = sample_at(s, 0, x->n, (double)q->begin), next;
	struct sp_lod_group g;
	double pixel;

	if (i > 0) /* include the previous value, which is valid until the next one */
		report(arg, x->counter, s[i - 1].time, 1, s[i - 1].value, s[i - 1].value, s[i - 1].value);
	while (i < x->n && s[i].time <= q->end) {
		pixel = floor((double)(s[i].time - q->begin) / width);
		next = pixel + 1 < q->pixels ? sample_at(s, i + 1, x->n, (double)q->begin + (pixel + 1) * width)
		                             : sample_at(s, i + 1, x->n, nextafter((double)q->end, HUGE_VAL));
		g = add_up(s, l->groups + x->group, i, next);
		report(arg, x->counter, s[i].time, next - i, g.min, g.max, g.sum / (double)(next - i));
		i = next;
	}
}

int sp_lod_counters(struct sp_lod *p, uint32_t location, const struct sp_lod_asked *q, sp_lod_counter_fn *report,
                    void *arg, struct sp_err *e)
{
	struct sp_lod_location l;
	size_t i;

	if (!sp_lod_of(p, location, &l))
		return sp_lod_damaged(e);
	for (i = 0; i < l.place->series.n; i++)
		if (q->counter == SP_NONE || q->counter == l.series[i].counter)
			tell_series(&l, &l.series[i], q, report, arg);
	return 0;
}
