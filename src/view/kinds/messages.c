/* SPDX-License-Identifier: BSD-3-Clause */
/* The messages in a viewport. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/grow.h"
#include "model/model.h"
#include "model/str.h"
#include "view/kept.h"
#include "view/span.h"

static const double S = 1e-9;
enum { MAX_MESSAGES = 20000 };

struct chosen {
	uint32_t *p; /* owned; indices */
	size_t n, capacity;
};

static uint64_t length(const struct sp_view_message *x)
{
	return x->received == UINT64_MAX ? 0 : x->received - x->sent;
}

/* Sorts the longest messages first. */
static int by_length(const void *a, const void *b, void *messages)
{
	const uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const uint64_t p = length((const struct sp_view_message *)messages + i),
	               q = length((const struct sp_view_message *)messages + k);

	if (p != q)
		return p > q ? -1 : 1;
	return i < k ? -1 : i > k;
}

static int in_order(const void *a, const void *b)
{
	const uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;

	return i < k ? -1 : i > k;
}

static bool is_asked(const struct sp_model *m, const struct sp_view_query *q, const struct sp_view_message *x)
{
	if (x->to == SP_NONE)
		return false; /* it has no position in the picture */
	if (q->location != SP_NONE && x->from != q->location && x->to != q->location)
		return false;
	return q->process == SP_NONE || m->locations[x->from].process == q->process ||
	       m->locations[x->to].process == q->process;
}

/* Chooses all messages that overlap the span. */
static int choose(struct chosen *c, const struct sp_model *m, const struct sp_view_messages *all,
                  const struct sp_view_query *q, const struct sp_span *span)
{
	size_t i;

	for (i = 0; i < all->n && all->p[i].sent <= span->end; i++) {
		const struct sp_view_message *x = &all->p[i];

		if (i % SP_VIEW_MESSAGES == 0 && all->last[i / SP_VIEW_MESSAGES] < span->begin) {
			i += SP_VIEW_MESSAGES - 1;
			continue;
		}
		if ((x->received == UINT64_MAX ? x->sent : x->received) < span->begin || !is_asked(m, q, x))
			continue;
		if (!sp_grow(&c->p, c->n, &c->capacity, sizeof(*c->p)))
			return -1;
		c->p[c->n++] = (uint32_t)i;
	}
	return 0;
}

static int put_rows(const struct chosen *c, size_t n, const struct sp_view_message *all, struct sp_columns *out)
{
	uint32_t *from = sp_columns_reserve(out, "from", SP_COLUMN_U32, n);
	uint32_t *to = sp_columns_reserve(out, "to", SP_COLUMN_U32, n);
	double *sent = sp_columns_reserve(out, "sent", SP_COLUMN_F64, n);
	double *received = sp_columns_reserve(out, "received", SP_COLUMN_F64, n);
	double *bytes = sp_columns_reserve(out, "bytes", SP_COLUMN_F64, n);
	int32_t *tag = sp_columns_reserve(out, "tag", SP_COLUMN_I32, n);
	uint32_t *comm = sp_columns_reserve(out, "comm", SP_COLUMN_U32, n);
	size_t i;

	if (sp_columns_failed(out))
		return -1;
	for (i = 0; i < n; i++) {
		const struct sp_view_message *x = &all[c->p[i]];

		from[i] = x->from;
		to[i] = x->to;
		sent[i] = (double)x->sent * S;
		received[i] = x->received == UINT64_MAX ? NAN : (double)x->received * S;
		bytes[i] = (double)x->bytes;
		tag[i] = x->tag;
		comm[i] = x->comm;
	}
	return 0;
}

static void put_comms(const struct sp_model *m, struct sp_columns *out)
{
	size_t i;

	sp_meta_open(out, "comms", '[');
	for (i = 0; i < m->n_comms; i++)
		sp_meta_text(out, NULL, m->comms[i].name);
	sp_meta_close(out, ']');
}

int sp_view_messages(const struct sp_viewed *v, const struct sp_view_query *q, struct sp_columns *out, struct sp_err *e)
{
	const size_t max = q->limit ? q->limit : MAX_MESSAGES;
	const struct sp_view_messages *all;
	struct chosen c = {.n = 0};
	struct sp_span span;
	size_t n;
	int rc;

	if (sp_span_of(&span, v->m, q, e) || sp_view_all_messages(v, &all, e))
		return -1;
	rc = choose(&c, v->m, all, q, &span);
	n = c.n < max ? c.n : max;
	if (rc == 0 && n < c.n)
		qsort_r(c.p, c.n, sizeof(*c.p), by_length, all->p);
	if (rc == 0 && n)
		qsort(c.p, n, sizeof(*c.p), in_order);
	if (rc == 0)
		rc = put_rows(&c, n, all->p, out);
	sp_meta_uint(out, "hidden", c.n - n);
	put_comms(v->m, out);
	free(c.p);
	return rc ? sp_fail(e, ENOMEM, "not enough memory") : 0;
}
