/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "model/model.h"
#include "model/mpi/messages.h"
#include "model/str.h"
#include "view/kept.h"

static const double S = 1e-9;

static int put_rows(struct sp_columns *out, const struct sp_message_row *rows, size_t n)
{
	uint32_t *from = sp_columns_reserve(out, "from", SP_COLUMN_U32, n);
	uint32_t *to = sp_columns_reserve(out, "to", SP_COLUMN_U32, n);
	double *messages = sp_columns_reserve(out, "messages", SP_COLUMN_F64, n);
	double *bytes = sp_columns_reserve(out, "bytes", SP_COLUMN_F64, n);
	double *received = sp_columns_reserve(out, "received", SP_COLUMN_F64, n);
	double *time = sp_columns_reserve(out, "time", SP_COLUMN_F64, n);
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

static bool is_selected(const struct sp_model *m, const struct sp_view_message *x, const struct sp_view_query *q)
{
	const double at = (double)x->sent * S;

	if ((!isnan(q->begin) && at < q->begin) || (!isnan(q->end) && at > q->end))
		return false;
	if (q->process != SP_NONE && m->locations[x->from].process != q->process && x->to_process != q->process)
		return false;
	return q->location == SP_NONE || x->from == q->location || (x->received != UINT64_MAX && x->to == q->location);
}

static void add(struct sp_message_row *row, const struct sp_view_message *x)
{
	row->messages++;
	row->bytes += x->bytes;
	if (x->received != UINT64_MAX) {
		row->received++;
		row->time += (double)(x->received - x->sent);
	}
}

/* A row for each pair of processes, sorted; to be freed with free(). NULL: no memory. */
static struct sp_message_row *make_rows(const struct sp_model *m, const struct sp_view_messages *all,
                                        const struct sp_view_query *q, size_t *n)
{
	struct sp_message_row *rows = malloc(sizeof(*rows)), *larger;
	size_t capacity = 1, i;

	for (i = *n = 0; rows && i < all->n; i++) {
		const struct sp_view_message *x = &all->p[all->paired[i]];
		const uint32_t from = m->locations[x->from].process;

		if (!is_selected(m, x, q))
			continue;
		if (*n == 0 || rows[*n - 1].from != from || rows[*n - 1].to != x->to_process) {
			if (*n == capacity) {
				larger = realloc(rows, (capacity *= 2) * sizeof(*rows));
				if (!larger)
					free(rows);
				rows = larger;
			}
			if (!rows)
				break;
			rows[(*n)++] = (struct sp_message_row){.from = from, .to = x->to_process};
		}
		add(&rows[*n - 1], x);
	}
	return rows;
}

static void put_found(struct sp_columns *out, const struct sp_view_messages *all, const struct sp_message_row *rows,
                      size_t n)
{
	uint64_t messages = 0, bytes = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		messages += rows[i].messages;
		bytes += rows[i].bytes;
	}
	sp_meta_uint(out, "messages", messages);
	sp_meta_uint(out, "bytes", bytes);
	sp_meta_uint(out, "unmatched_sends", all->unmatched_sends);
	sp_meta_uint(out, "unmatched_receives", all->unmatched_receives);
	sp_meta_uint(out, "unmeasured", all->unmeasured);
	sp_meta_uint(out, "cancelled", all->cancelled);
	sp_meta_uint(out, "early", all->early);
	sp_meta_real(out, "early_worst", all->early_worst * S);
}

int sp_view_matrix(const struct sp_viewed *v, const struct sp_view_query *q, struct sp_columns *out, struct sp_err *e)
{
	const struct sp_view_messages *all;
	struct sp_message_row *rows;
	size_t n = 0;
	int rc;

	if (!v->m->traced)
		return sp_fail(e, EINVAL, "this needs a trace, and the experiment has none: measure with --trace");
	if (!sp_messages_any(v->m))
		return sp_fail(e, EINVAL, "no MPI was recorded in this experiment");
	if (sp_view_all_messages(v, &all, e))
		return -1;
	rows = make_rows(v->m, all, q, &n);
	put_found(out, all, rows, rows ? n : 0);
	rc = !rows || put_rows(out, rows, n) ? sp_fail(e, ENOMEM, "not enough memory") : 0;
	free(rows);
	return rc;
}
