/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "view/kept.h"
#include "view/pen.h"
#include "view/span.h"

static const double S = 1e-9;
static void add(void *arg, uint32_t depth, uint64_t begin, uint64_t end, uint64_t calls, uint64_t busy, uint32_t region,
                uint64_t most)
{
	sp_pen_add(arg, depth, begin, end, calls, busy, region, most);
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
	struct sp_pyramid *p;
	struct sp_pen pen;
	int rc;

	if (sp_span_of(&span, v->m, q, e))
		return -1;
	if (q->location == SP_NONE)
		return sp_fail(e, EINVAL, "a time line is that of one location: location is missing");
	if (sp_view_pyramid(v, &p, e))
		return -1;
	sp_pen_begin(&pen, span.begin, span.end, span.pixels, q->levels ? q->levels : SP_SPAN_LEVELS);
	rc = sp_pyramid_draw(p, q->location, span.begin, span.end, pen.pixel, add, &pen, e);
	if (rc == 0 && (sp_pen_end(&pen) || put_rows(&pen, out)))
		rc = sp_fail(e, ENOMEM, "not enough memory");
	sp_meta_uint(out, "depth", pen.depth);
	sp_meta_bool(out, "exact", pen.exact);
	sp_meta_real(out, "begin", (double)span.begin * S);
	sp_meta_real(out, "end", (double)span.end * S);
	sp_pen_free(&pen);
	return rc;
}
