/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "model/model.h"
#include "model/path.h"
#include "model/str.h"
#include "view/kept.h"
#include "view/pen.h"
#include "view/span.h"

static const double S = 1e-9;
static void add(void *arg, uint32_t depth, uint64_t begin, uint64_t end, uint64_t calls, uint64_t busy, uint32_t region,
                uint64_t longest)
{
	sp_pen_add(arg, depth, begin, end, calls, busy, region, longest);
}

/* ---- samples: functions are entered and left when they are first and last found ---- */

struct open_call {
	uint32_t path;
	uint64_t begin;
};

struct open_calls {
	const struct sp_model *m;
	const struct sp_span *span;
	struct sp_pen *pen;
	struct open_call *p; /* owned; index: depth */
	size_t n, capacity;
};

static void leave(struct open_calls *o, uint64_t now)
{
	const struct open_call *c = &o->p[--o->n];

	if (now > o->span->begin && c->begin < o->span->end && now > c->begin)
		sp_pen_add(o->pen, (uint32_t)o->n, c->begin, now, 1, now - c->begin, o->m->paths[c->path].region,
		           now - c->begin);
}

/* Leaves and enters calls, from the open path to the path of a sample. */
static int go_to(struct open_calls *o, uint32_t path, uint64_t now)
{
	const struct sp_path *paths = o->m->paths;
	size_t depth = 0, k;
	uint32_t at;

	for (at = path; at; at = paths[at].parent)
		depth++;
	while (o->n > depth)
		leave(o, now);
	for (at = path, k = depth; k > o->n; k--)
		at = paths[at].parent;
	for (; o->n && o->p[o->n - 1].path != at; at = paths[at].parent)
		leave(o, now);
	for (k = o->n; k < depth; k++)
		if (!sp_grow(&o->p, k, &o->capacity, sizeof(*o->p)))
			return -1;
	for (at = path, k = depth; k > o->n; at = paths[at].parent)
		o->p[--k] = (struct open_call){at, now};
	o->n = depth;
	return 0;
}

/* Draws the calls that overlap the span, with their full length. Returns 0, or -1: no memory. */
static int draw_samples(struct sp_pen *pen, const struct sp_model *m, const struct sp_view_samples *l,
                        const struct sp_span *span)
{
	struct open_calls o = {.m = m, .span = span, .pen = pen};
	uint32_t path = 0;
	int rc = 0;
	size_t k;

	for (k = 0; k < l->n && rc == 0; k++) {
		if (l->time[k] >= span->end && (o.n == 0 || o.p[0].begin >= span->end))
			break;
		if (l->path[k] != path)
			rc = go_to(&o, path = l->path[k], l->time[k]);
		/* what the thread did until the next sample is unknown */
		if (rc == 0 && (k + 1 == l->n || sp_view_samples_until(l, k) < l->time[k + 1]))
			rc = go_to(&o, path = 0, sp_view_samples_until(l, k));
	}
	while (o.n)
		leave(&o, l->end);
	free(o.p);
	return rc;
}

static int put_rows(const struct sp_pen *p, struct sp_columns *out)
{
	double *begin = sp_columns_reserve(out, "begin", SP_COLUMN_F64, p->n_rows);
	double *end = sp_columns_reserve(out, "end", SP_COLUMN_F64, p->n_rows);
	uint32_t *depth = sp_columns_reserve(out, "depth", SP_COLUMN_U32, p->n_rows);
	uint32_t *region = sp_columns_reserve(out, "region", SP_COLUMN_U32, p->n_rows);
	uint32_t *calls = sp_columns_reserve(out, "calls", SP_COLUMN_U32, p->n_rows);
	float *busy = sp_columns_reserve(out, "busy", SP_COLUMN_F32, p->n_rows);
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
	const struct sp_view_samples *samples = NULL;
	struct sp_lod *p = NULL;
	struct sp_span span;
	struct sp_pen pen;
	int rc;

	if (sp_span_of(&span, v->m, q, e))
		return -1;
	if (q->location == SP_NONE)
		return sp_fail(e, EINVAL, "a time line is that of one location: location is missing");
	if (sp_view_samples_only(v->m, q->location) ? sp_view_samples_of(v, q->location, &samples, e)
	                                            : sp_view_lod(v, &p, e))
		return -1;
	sp_pen_begin(&pen, span.begin, span.end, span.pixels, q->levels ? q->levels : SP_SPAN_LEVELS);
	rc = samples ? draw_samples(&pen, v->m, samples, &span)
	             : sp_lod_draw(p, q->location, span.begin, span.end, pen.pixel, add, &pen, e);
	if (rc == 0 && (sp_pen_end(&pen) || put_rows(&pen, out)))
		rc = sp_fail(e, ENOMEM, "not enough memory");
	sp_meta_uint(out, "depth", pen.depth);
	sp_meta_bool(out, "exact", pen.exact);
	sp_meta_real(out, "begin", (double)span.begin * S);
	sp_meta_real(out, "end", (double)span.end * S);
	sp_pen_free(&pen);
	return rc;
}
