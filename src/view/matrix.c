/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "model/messages.h"
#include "view/view.h"

static const double S = 1e-9;

static int put_rows(struct sp_columns *out, const struct sp_message_row *rows, size_t n)
{
	uint32_t *from = sp_columns_room(out, "from", SP_COLUMN_U32, n);
	uint32_t *to = sp_columns_room(out, "to", SP_COLUMN_U32, n);
	double *messages = sp_columns_room(out, "messages", SP_COLUMN_F64, n);
	double *bytes = sp_columns_room(out, "bytes", SP_COLUMN_F64, n);
	double *received = sp_columns_room(out, "received", SP_COLUMN_F64, n);
	double *time = sp_columns_room(out, "time", SP_COLUMN_F64, n);
	size_t i;

	if (sp_columns_failed(out))
		return -1;
	for (i = 0; i < n; i++) {
		from[i] = rows[i].from;
		to[i] = rows[i].to;
		messages[i] = (double)rows[i].messages;
		bytes[i] = (double)rows[i].bytes;
		received[i] = (double)rows[i].received;
		time[i] = rows[i].time * S;
	}
	return 0;
}

static bool is_selected(const struct sp_messages *x, const struct sp_message *p, const struct sp_view_query *q)
{
	const struct sp_mpi_call *sent = &x->calls[p->send];
	const double at = (double)sent->enter * S;

	if ((!isnan(q->begin) && at < q->begin) || (!isnan(q->end) && at > q->end))
		return false;
	if (q->process != SP_NONE && p->from != q->process && p->to != q->process)
		return false;
	return q->location == SP_NONE || sent->location == q->location ||
	       (p->received != SP_NONE && x->calls[p->received].location == q->location);
}

/* Leaves those out that are not selected. */
static void choose(struct sp_messages *x, const struct sp_view_query *q)
{
	size_t i, n = 0;

	for (i = 0; i < x->n_messages; i++)
		if (is_selected(x, &x->messages[i], q))
			x->messages[n++] = x->messages[i];
	x->n_messages = n;
}

static void put_found(struct sp_columns *out, const struct sp_messages *x)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < x->n_messages; i++)
		bytes += x->messages[i].bytes;
	sp_meta_uint(out, "messages", x->n_messages);
	sp_meta_uint(out, "bytes", bytes);
	sp_meta_uint(out, "unmatched_sends", x->unmatched_sends);
	sp_meta_uint(out, "unmatched_receives", x->unmatched_receives);
	sp_meta_uint(out, "unmeasured", x->unmeasured);
	sp_meta_uint(out, "cancelled", x->cancelled);
	sp_meta_uint(out, "early", x->early);
	sp_meta_real(out, "early_worst", x->early_worst * S);
}

int sp_view_matrix(const struct sp_viewed *v, const struct sp_view_query *q, struct sp_columns *out, struct sp_err *e)
{
	struct sp_message_row *rows = NULL;
	struct sp_messages x;
	size_t n = 0;
	int rc;

	if (!v->m->traced)
		return sp_fail(e, EINVAL, "this needs a trace, and the experiment has none: measure with --trace");
	if (!sp_messages_any(v->m))
		return sp_fail(e, EINVAL, "no MPI was recorded in this experiment");
	rc = sp_messages_read(&x, v->m, e);
	if (rc == 0) {
		choose(&x, q);
		rc = sp_messages_rows(&x, SP_BY_PAIR, &rows, &n, e);
	}
	if (rc == 0) {
		put_found(out, &x);
		rc = put_rows(out, rows, n) ? sp_fail(e, ENOMEM, "not enough memory") : 0;
	}
	free(rows);
	sp_messages_free(&x);
	return rc;
}
