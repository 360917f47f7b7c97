/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "view/band.h"
#include "view/kept.h"
#include "view/span.h"

static const double S = 1e-9;
static void add(void *arg, uint64_t begin, uint64_t end, uint32_t region, double ns, uint64_t events)
{
	sp_band_add(arg, begin, end, region, ns, events);
}

static int draw(struct sp_pyramid *p, struct sp_band *b, uint32_t location, struct sp_err *e)
{
	int rc;

	sp_band_location(b, location);
	rc = sp_pyramid_ran(p, location, b->begin, b->end, (b->end - b->begin) / b->pixels, add, b, e);
	sp_band_flush(b);
	return rc;
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

int sp_view_overview(const struct sp_viewed *v, const struct sp_view_query *q, struct sp_columns *out, struct sp_err *e)
{
	struct sp_pyramid *p;
	struct sp_band band;
	struct sp_span span;
	uint32_t i, first, end, row = 0;
	int rc;

	if (sp_span_of(&span, v->m, q, e) || sp_span_rows(q, &first, &end, e) || sp_view_pyramid(v, &p, e))
		return -1;
	rc = sp_band_init(&band, v->m->n_regions, span.begin, span.end, span.pixels);
	for (i = 0; i < v->m->n_locations && rc == 0; i++) {
		if (!sp_span_asks(v->m, q, i))
			continue;
		if (row >= first && row < end)
			rc = draw(p, &band, i, e);
		row++;
	}
	if (rc || band.failed || put_rows(&band, out))
		rc = e->text[0] ? -1 : sp_fail(e, ENOMEM, "not enough memory");
	sp_meta_uint(out, "rows", row);
	sp_meta_uint(out, "pixels", span.pixels);
	sp_meta_real(out, "begin", (double)span.begin * S);
	sp_meta_real(out, "end", (double)span.end * S);
	sp_band_free(&band);
	return rc;
}
