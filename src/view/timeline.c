/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "view/pen.h"
#include "view/span.h"

static const double S = 1e-9;
enum { BATCH = 1024 };

struct drawing {
	const struct sp_span *span;
	struct sp_pen *pen;
	struct sp_open {
		uint64_t begin;
		uint32_t region;
	} * stack; /* owned */
	size_t depth, room;
};

static int enter(struct drawing *d, const struct sp_event *ev)
{
	struct sp_open *larger;

	if (d->depth == d->room) {
		larger = realloc(d->stack, (d->room * 2 + 64) * sizeof(*larger));
		if (!larger)
			return -1;
		d->stack = larger;
		d->room = d->room * 2 + 64;
	}
	d->stack[d->depth++] = (struct sp_open){ev->time, ev->id};
	return 0;
}

static void leave(struct drawing *d, uint64_t end)
{
	const struct sp_open *o = &d->stack[--d->depth];
	const struct sp_span *s = d->span;

	if (o->begin <= s->end && end >= s->begin)
		sp_pen_add(d->pen, (uint32_t)d->depth, o->begin, end, 1, end - o->begin, o->region, end - o->begin);
}

/* Every event of the location. */
static int draw(struct drawing *d, const struct sp_model *m, uint32_t location, struct sp_err *e)
{
	struct sp_event batch[BATCH];
	struct sp_events *events;
	long n, i;

	if (sp_events_open(&events, m, location, e))
		return -1;
	while ((n = sp_events_read(events, batch, BATCH, e)) > 0)
		for (i = 0; i < n; i++) {
			if (batch[i].kind == SP_EVENT_LEAVE || batch[i].kind == SP_EVENT_SUSPEND)
				leave(d, batch[i].time);
			else if ((batch[i].kind <= SP_EVENT_INHERIT) && enter(d, &batch[i]))
				d->pen->failed = true;
		}
	sp_events_close(events);
	return n < 0 ? -1 : 0;
}

static int put_rows(const struct sp_pen *p, struct sp_columns *out)
{
	double *begin = sp_columns_room(out, "begin", SP_COLUMN_F64, p->n_rows);
	double *end = sp_columns_room(out, "end", SP_COLUMN_F64, p->n_rows);
	uint32_t *depth = sp_columns_room(out, "depth", SP_COLUMN_U32, p->n_rows);
	uint32_t *region = sp_columns_room(out, "region", SP_COLUMN_U32, p->n_rows);
	uint32_t *calls = sp_columns_room(out, "calls", SP_COLUMN_U32, p->n_rows);
	float *busy = sp_columns_room(out, "busy", SP_COLUMN_F32, p->n_rows);
	size_t i;

	if (sp_columns_failed(out))
		return -1;
	for (i = 0; i < p->n_rows; i++) {
		const struct sp_pen_row *r = &p->rows[i];

		begin[i] = (double)r->begin * S;
		end[i] = (double)r->end * S;
		depth[i] = r->depth;
		region[i] = r->region;
		calls[i] = r->calls;
		busy[i] = r->busy;
	}
	return 0;
}

int sp_view_timeline(const struct sp_viewed *v, const struct sp_view_query *q, struct sp_columns *out, struct sp_err *e)
{
	struct sp_span span;
	struct sp_pen pen;
	struct drawing d = {.span = &span, .pen = &pen};
	int rc;

	if (sp_span_of(&span, v->m, q, e))
		return -1;
	if (q->location == SP_NONE)
		return sp_fail(e, EINVAL, "a time line is that of one location: location is missing");
	sp_pen_begin(&pen, span.begin, span.end, span.pixels, q->levels ? q->levels : SP_SPAN_LEVELS);
	rc = draw(&d, v->m, q->location, e);
	free(d.stack);
	if (rc == 0 && (sp_pen_end(&pen) || put_rows(&pen, out)))
		rc = sp_fail(e, ENOMEM, "not enough memory");
	sp_meta_uint(out, "depth", pen.depth);
	sp_meta_bool(out, "exact", pen.exact);
	sp_meta_real(out, "begin", (double)span.begin * S);
	sp_meta_real(out, "end", (double)span.end * S);
	sp_pen_free(&pen);
	return rc;
}
