/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "view/band.h"
#include "view/span.h"

static const double S = 1e-9;
enum { BATCH = 1024 };

struct drawing {
	struct sp_band band;
	uint32_t *stack; /* owned; regions */
	size_t depth, room;
	uint64_t last;
};

static int enter(struct drawing *d, uint32_t region)
{
	uint32_t *larger;

	if (d->depth == d->room) {
		larger = realloc(d->stack, (d->room * 2 + 64) * sizeof(*larger));
		if (!larger)
			return -1;
		d->stack = larger;
		d->room = d->room * 2 + 64;
	}
	d->stack[d->depth++] = region;
	return 0;
}

static void event(struct drawing *d, const struct sp_event *ev)
{
	sp_band_add(&d->band, d->last, ev->time, d->depth ? d->stack[d->depth - 1] : SP_NONE,
	            (double)(ev->time - d->last), 0);
	sp_band_add(&d->band, ev->time, ev->time, SP_NONE, 0, 1);
	d->last = ev->time;
	if (ev->kind == SP_EVENT_LEAVE || ev->kind == SP_EVENT_SUSPEND)
		d->depth--;
	else if (ev->kind <= SP_EVENT_INHERIT && enter(d, ev->id))
		d->band.failed = true;
}

/* Every event of the location. */
static int draw(struct drawing *d, const struct sp_model *m, uint32_t location, struct sp_err *e)
{
	struct sp_event batch[BATCH];
	struct sp_events *events;
	long n, i;

	if (sp_events_open(&events, m, location, e))
		return -1;
	sp_band_location(&d->band, location);
	d->depth = 0;
	d->last = m->locations[location].begin;
	while ((n = sp_events_read(events, batch, BATCH, e)) > 0)
		for (i = 0; i < n; i++)
			event(d, &batch[i]);
	sp_events_close(events);
	sp_band_flush(&d->band);
	return n < 0 ? -1 : 0;
}

static int put_rows(const struct sp_band *b, struct sp_columns *out)
{
	uint32_t *location = sp_columns_room(out, "location", SP_COLUMN_U32, b->n_rows);
	uint32_t *bucket = sp_columns_room(out, "bucket", SP_COLUMN_U32, b->n_rows);
	uint32_t *region = sp_columns_room(out, "region", SP_COLUMN_U32, b->n_rows);
	float *share = sp_columns_room(out, "share", SP_COLUMN_F32, b->n_rows);
	uint32_t *events = sp_columns_room(out, "events", SP_COLUMN_U32, b->n_rows);
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
	}
	return 0;
}

/* Whether the query asks for the location. */
static bool is_asked(const struct sp_model *m, const struct sp_view_query *q, uint32_t location)
{
	return (q->location == SP_NONE || q->location == location) &&
	       (q->process == SP_NONE || q->process == m->locations[location].process);
}

int sp_view_overview(const struct sp_viewed *v, const struct sp_view_query *q, struct sp_columns *out, struct sp_err *e)
{
	struct drawing d = {.depth = 0};
	struct sp_span span;
	uint32_t i, first, end, row = 0;
	int rc;

	if (sp_span_of(&span, v->m, q, e) || sp_span_rows(q, &first, &end, e))
		return -1;
	rc = sp_band_init(&d.band, v->m->n_regions, span.begin, span.end, span.pixels);
	for (i = 0; i < v->m->n_locations && rc == 0; i++) {
		if (!is_asked(v->m, q, i))
			continue;
		if (row >= first && row < end)
			rc = draw(&d, v->m, i, e);
		row++;
	}
	free(d.stack);
	if (rc || d.band.failed || put_rows(&d.band, out))
		rc = e->text[0] ? -1 : sp_fail(e, ENOMEM, "not enough memory");
	sp_meta_uint(out, "rows", row);
	sp_meta_uint(out, "pixels", span.pixels);
	sp_meta_real(out, "begin", (double)span.begin * S);
	sp_meta_real(out, "end", (double)span.end * S);
	sp_band_free(&d.band);
	return rc;
}
