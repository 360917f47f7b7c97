/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "model/model.h"
#include "model/str.h"
#include "view/band.h"
#include "view/kept.h"
#include "view/span.h"

static const double S = 1e-9;
static void add(void *arg, uint64_t begin, uint64_t end, uint32_t region, double ns, uint64_t events)
{
	sp_band_add(arg, begin, end, region, ns, events);
}

struct drawing {
	struct sp_band band; /* first field: add_samples() gets a pointer to it */
	const struct sp_viewed *v;
	struct sp_lod *p; /* NULL: there is no trace */
	float *waiting;   /* owned; for each pixel of the location: share of its time in which it waited */
	float (*states)[SP_SAMPLE_STATES]; /* owned; for each pixel, of a location with samples */
};

static void add_samples(void *arg, uint64_t begin, uint64_t end, uint32_t path, uint64_t ns, const uint64_t *state,
                        uint64_t samples)
{
	struct drawing *d = arg;

	(void)state;
	sp_band_add(&d->band, begin, end, path ? d->v->m->paths[path].region : SP_NONE, (double)ns, samples);
}

static void samples_waiting(struct drawing *d, const struct sp_view_samples *samples)
{
	const struct sp_band *b = &d->band;
	uint32_t i;

	sp_view_samples_shares(samples, b->begin, b->end, b->pixels, d->states);
	for (i = 0; i < b->pixels; i++) {
		const float *s = d->states[i];

		d->waiting[i] =
		    fminf(s[SP_SAMPLE_IDLE] + s[SP_SAMPLE_GIL] + s[SP_SAMPLE_OBJECT] + s[SP_SAMPLE_STOPPED], 1);
	}
}

static int draw(struct drawing *d, uint32_t location, struct sp_err *e)
{
	struct sp_band *b = &d->band;
	const struct sp_lod_asked asked = {SP_NONE, b->begin, b->end, b->pixels};
	const struct sp_view_samples *samples;
	size_t row = b->n_rows;
	int rc = 0;

	sp_band_location(b, location);
	if (sp_view_samples_only(d->v->m, location)) {
		rc = sp_view_samples_of(d->v, location, &samples, e);
		if (rc == 0) {
			sp_view_samples_walk(samples, b->begin, b->end, b->pixels, add_samples, d);
			samples_waiting(d, samples);
		}
	} else if (d->p) {
		rc = sp_lod_ran(d->p, location, b->begin, b->end, (b->end - b->begin) / b->pixels, add, b, e) ||
		             sp_lod_waiting(d->p, location, &asked, d->waiting, e)
		         ? -1
		         : 0;
	}
	sp_band_flush(b);
	for (; rc == 0 && row < b->n_rows; row++)
		b->rows[row].waiting = d->waiting[b->rows[row].bucket];
	return rc;
}

static int by_place(const void *a, const void *b)
{
	const struct sp_band_row *p = a, *q = b;

	if (p->bucket != q->bucket)
		return p->bucket < q->bucket ? -1 : 1;
	return p->region < q->region ? -1 : p->region > q->region;
}

/* Combines the rows from number `from` on, which belong to n locations: one row for each bucket, with the region that
 * ran longest in all of them. */
static void join(struct sp_band *b, size_t from, uint32_t location, uint32_t n)
{
	struct sp_band_row *to = b->rows + from, now;
	const size_t end = b->n_rows;
	size_t i = from;

	if (n > 1 && end > from)
		qsort(to, end - from, sizeof(*to), by_place);
	while (n > 1 && i < end) {
		struct sp_band_row best = {location, b->rows[i].bucket, SP_NONE, 0, 0, 0, 0};
		uint64_t events = 0;
		float waiting = 0, open = 0;

		while (i < end && b->rows[i].bucket == best.bucket) {
			for (now = b->rows[i++], events += now.events, waiting += now.waiting, open += now.open;
			     i < end && b->rows[i].bucket == now.bucket && b->rows[i].region == now.region; i++) {
				now.share += b->rows[i].share;
				events += b->rows[i].events;
				waiting += b->rows[i].waiting;
				open += b->rows[i].open;
			}
			if (now.region != SP_NONE && (best.region == SP_NONE || now.share > best.share)) {
				best.region = now.region;
				best.share = now.share;
			}
		}
		best.share /= (float)n;
		best.waiting = waiting / (float)n;
		best.open = open / (float)n;
		best.events = events < UINT32_MAX ? (uint32_t)events : UINT32_MAX;
		*to++ = best;
	}
	if (n > 1)
		b->n_rows = (size_t)(to - b->rows);
}

/* Draws the locations of the selection for which `wanted` has a 1, n in all, in `groups` groups of adjacent ones. */
static int draw_all(struct drawing *d, const struct sp_view_query *q, const uint8_t *wanted, uint32_t n,
                    uint32_t groups, struct sp_err *e)
{
	const struct sp_model *m = d->v->m;
	struct sp_band *b = &d->band;
	uint32_t i, row = 0, drawn = 0, in = 0, begun = 0;
	size_t from = 0;

	for (i = 0; i < m->n_locations && drawn < n; i++) {
		if (!sp_span_asks(m, q, i) || !wanted[row++])
			continue;
		begun = in++ ? begun : i;
		if (draw(d, i, e))
			return -1;
		drawn++;
		if (drawn < n && (drawn - 1) * (uint64_t)groups / n == drawn * (uint64_t)groups / n)
			continue;
		join(b, from, begun, in);
		from = b->n_rows;
		in = 0;
	}
	return 0;
}

/* joined: each row is about several locations. */
static int put_rows(const struct sp_band *b, bool joined, struct sp_columns *out)
{
	uint32_t *location = sp_columns_reserve(out, "location", SP_COLUMN_U32, b->n_rows);
	uint32_t *bucket = sp_columns_reserve(out, "bucket", SP_COLUMN_U32, b->n_rows);
	uint32_t *region = sp_columns_reserve(out, "region", SP_COLUMN_U32, b->n_rows);
	float *share = sp_columns_reserve(out, "share", SP_COLUMN_F32, b->n_rows);
	uint32_t *events = sp_columns_reserve(out, "events", SP_COLUMN_U32, b->n_rows);
	float *waiting = sp_columns_reserve(out, "waiting", SP_COLUMN_F32, b->n_rows);
	float *open = joined ? sp_columns_reserve(out, "open", SP_COLUMN_F32, b->n_rows) : NULL;
	size_t i;

	if (sp_columns_failed(out))
		return -1;
	for (i = 0; i < b->n_rows; i++) {
		const struct sp_band_row *r = &b->rows[i];

		location[i] = r->location;
		bucket[i] = r->bucket;
		region[i] = r->region;
		share[i] = r->share;
		events[i] = r->events;
		waiting[i] = r->waiting;
		if (open)
			open[i] = r->open;
	}
	return 0;
}

int sp_view_overview(const struct sp_viewed *v, const struct sp_view_query *q, struct sp_columns *out, struct sp_err *e)
{
	struct drawing d = {.v = v};
	struct sp_span span;
	uint32_t i, n = 0, row = 0, groups = 0;
	uint8_t *wanted;
	int rc;

	if (sp_span_of(&span, v->m, q, e) || sp_view_lod_if_any(v, &d.p, e))
		return -1;
	rc = sp_band_init(&d.band, v->m->n_regions, span.begin, span.end, span.pixels);
	for (i = 0; i < v->m->n_locations; i++)
		row += sp_span_asks(v->m, q, i);
	d.waiting = calloc(span.pixels, sizeof(*d.waiting));
	d.states = calloc(span.pixels, sizeof(*d.states));
	wanted = calloc((size_t)row + 1, sizeof(*wanted));
	if (!d.waiting || !d.states || !wanted)
		rc = -1;
	if (rc == 0)
		rc = sp_span_wanted(q, wanted, row, &n, e);
	groups = q->limit && q->limit < n ? q->limit : n;
	if (rc == 0 && groups)
		rc = draw_all(&d, q, wanted, n, groups, e);
	if (rc || d.band.failed || put_rows(&d.band, groups < n, out))
		rc = e->text[0] ? -1 : sp_fail(e, ENOMEM, "not enough memory");
	sp_meta_uint(out, "rows", row);
	sp_meta_uint(out, "groups", groups);
	sp_meta_uint(out, "pixels", span.pixels);
	sp_meta_real(out, "begin", (double)span.begin * S);
	sp_meta_real(out, "end", (double)span.end * S);
	sp_band_free(&d.band);
	free(d.waiting);
	free(d.states);
	free(wanted);
	return rc;
}
