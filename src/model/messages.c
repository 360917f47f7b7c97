/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/messages.h"

#include <stdlib.h>

#include "model/collect.h"
#include "model/private.h"

#define COMPARE(a, b)                                                                                                  \
	do {                                                                                                           \
		if ((a) != (b))                                                                                        \
			return (a) < (b) ? -1 : 1;                                                                     \
	} while (0)

bool sp_messages_any(const struct sp_model *m)
{
	size_t i;

	for (i = 0; i < m->n_regions; i++)
		if (m->regions[i].kind == SP_REGION_MPI)
			return true;
	return false;
}

/* ---- point to point ---- */

static int compare_channels(const struct sp_message *p, const struct sp_receiving *q)
{
	COMPARE(p->from, q->from);
	COMPARE(p->to, q->to);
	COMPARE(p->comm, q->comm);
	COMPARE(p->tag, q->tag);
	return 0;
}

/* Within a location calls are numbered in their order; of several threads the times tell. */
static int compare_calls(const struct sp_mpi_call *calls, uint32_t a, uint32_t b)
{
	if (calls[a].location != calls[b].location)
		COMPARE(calls[a].enter, calls[b].enter);
	COMPARE(a, b);
	return 0;
}

struct sorting {
	const struct sp_mpi_call *calls;
};

static int by_send(const void *a, const void *b, void *arg)
{
	const struct sp_sending *p = a, *q = b;
	const struct sorting *s = arg;
	int c;

	COMPARE(p->from, q->from);
	COMPARE(p->to, q->to);
	COMPARE(p->comm, q->comm);
	COMPARE(p->tag, q->tag);
	c = compare_calls(s->calls, p->call, q->call);
	if (c)
		return c;
	COMPARE(p->order, q->order);
	return 0;
}

/* What was found by a probe was matched then. */
static uint32_t matched_in(const struct sp_receiving *r)
{
	return r->probe != SP_NONE ? r->probe : r->posted;
}

static int by_receive(const void *a, const void *b, void *arg)
{
	const struct sp_receiving *p = a, *q = b;
	const struct sorting *s = arg;
	int c;

	COMPARE(p->from, q->from);
	COMPARE(p->to, q->to);
	COMPARE(p->comm, q->comm);
	COMPARE(p->tag, q->tag);
	c = compare_calls(s->calls, matched_in(p), matched_in(q));
	if (c)
		return c;
	COMPARE(p->order, q->order);
	return 0;
}

static void check_clock(struct sp_messages *x, const struct sp_message *m)
{
	const uint64_t sent = x->calls[m->send].enter;

	if (m->arrived >= sent)
		return;
	x->early++;
	if ((double)(sent - m->arrived) > x->early_worst)
		x->early_worst = (double)(sent - m->arrived);
}

static void match(struct sp_messages *x, const struct sp_receiving *r, size_t n)
{
	size_t i, k = 0;
	int c;

	for (i = 0; i < x->n_messages; i++) {
		struct sp_message *m = &x->messages[i];

		for (c = 1; k < n && (c = compare_channels(m, &r[k])) > 0; k++) {
			x->unmatched_receives++;
			x->unmeasured += r[k].from == SP_NONE;
		}
		if (k == n || c) {
			x->unmatched_sends++;
			x->unmeasured += m->to == SP_NONE;
			continue;
		}
		m->posted = r[k].posted;
		m->received = r[k].done;
		m->probe = r[k].probe;
		m->arrived = r[k++].arrived;
		check_clock(x, m);
	}
	for (; k < n; k++) {
		x->unmatched_receives++;
		x->unmeasured += r[k].from == SP_NONE;
	}
}

/* Sends become messages; the order of equal ones stays as they were found. */
static int match_messages(struct sp_messages *x, struct sp_collected *c)
{
	struct sorting s = {x->calls};
	struct sp_sending *sends = c->sends.p;
	size_t i;

	if (c->sends.n)
		qsort_r(sends, c->sends.n, sizeof(*sends), by_send, &s);
	if (c->receives.n)
		qsort_r(c->receives.p, c->receives.n, sizeof(struct sp_receiving), by_receive, &s);
	x->messages = malloc((c->sends.n + 1) * sizeof(*x->messages));
	if (!x->messages)
		return -1;
	for (i = 0; i < c->sends.n; i++) {
		if (sends[i].cancelled) {
			x->cancelled++;
			continue;
		}
		x->messages[x->n_messages++] = (struct sp_message){sends[i].bytes,
		                                                   sends[i].from,
		                                                   sends[i].to,
		                                                   sends[i].comm,
		                                                   sends[i].tag,
		                                                   sends[i].call,
		                                                   sends[i].done,
		                                                   SP_NONE,
		                                                   SP_NONE,
		                                                   SP_NONE,
		                                                   0};
	}
	match(x, c->receives.p, c->receives.n);
	return 0;
}

/* ---- collective operations ---- */

static int compare_kinds(const struct sp_participation *p, const struct sp_participation *q)
{
	COMPARE(p->window, q->window);
	COMPARE(p->nonblocking, q->nonblocking);
	COMPARE(p->comm, q->comm);
	COMPARE(p->operation, q->operation);
	return 0;
}

static int by_process(const void *a, const void *b, void *arg)
{
	const struct sp_participation *p = a, *q = b;
	const struct sorting *s = arg;
	int c = compare_kinds(p, q);

	if (c)
		return c;
	COMPARE(p->process, q->process);
	return compare_calls(s->calls, p->begin, q->begin);
}

static int by_number(const void *a, const void *b)
{
	const struct sp_participation *p = a, *q = b;
	int c = compare_kinds(p, q);

	if (c)
		return c;
	COMPARE(p->number, q->number);
	COMPARE(p->process, q->process);
	return 0;
}

static void number_parts(struct sp_messages *x)
{
	struct sorting s = {x->calls};
	struct sp_participation *p = x->parts;
	size_t i;

	if (!x->n_parts)
		return;
	qsort_r(p, x->n_parts, sizeof(*p), by_process, &s);
	for (i = 1; i < x->n_parts; i++)
		if (compare_kinds(&p[i], &p[i - 1]) == 0 && p[i].process == p[i - 1].process)
			p[i].number = p[i - 1].number + 1;
	qsort(p, x->n_parts, sizeof(*p), by_number);
}

int sp_messages_read(struct sp_messages *x, const struct sp_model *m, struct sp_err *e)
{
	struct sp_collected c;
	int rc;

	*x = (struct sp_messages){.m = m};
	rc = sp_collect(&c, m, e);
	if (rc == 0) {
		x->calls = c.calls.p;
		x->n_calls = c.calls.n;
		x->first_call = c.first_call;
		x->parts = c.parts.p;
		x->n_parts = c.parts.n;
		c.calls.p = c.parts.p = NULL;
		c.first_call = NULL;
		if (match_messages(x, &c))
			rc = sp_model_no_memory(e);
		else
			number_parts(x);
	}
	sp_collected_free(&c);
	return rc;
}

void sp_messages_free(struct sp_messages *x)
{
	free(x->calls);
	free(x->first_call);
	free(x->messages);
	free(x->parts);
}

/* ---- the matrix ---- */

static int by_keys(const void *a, const void *b)
{
	const struct sp_message_row *p = a, *q = b;

	COMPARE(p->from, q->from);
	COMPARE(p->to, q->to);
	COMPARE(p->comm, q->comm);
	COMPARE(p->path, q->path);
	return 0;
}

static struct sp_message_row row_of(const struct sp_messages *x, const struct sp_message *m, unsigned by)
{
	struct sp_message_row row = {SP_NONE, SP_NONE, SP_NONE, SP_NONE, 1, m->bytes, m->received != SP_NONE, 0};

	if (by & (SP_BY_PAIR | SP_BY_SENDER))
		row.from = m->from;
	if (by & (SP_BY_PAIR | SP_BY_RECEIVER))
		row.to = m->to;
	if (by & SP_BY_COMM)
		row.comm = m->comm;
	if (by & SP_BY_PATH)
		row.path = x->calls[m->send].path;
	if (row.received && m->arrived > x->calls[m->send].enter)
		row.time = (double)(m->arrived - x->calls[m->send].enter);
	return row;
}

int sp_messages_rows(const struct sp_messages *x, unsigned by, struct sp_message_row **rows, size_t *n,
                     struct sp_err *e)
{
	struct sp_message_row *all = malloc((x->n_messages + 1) * sizeof(*all));
	size_t i, k = 0;

	*rows = all;
	*n = 0;
	if (!all)
		return sp_model_no_memory(e);
	for (i = 0; i < x->n_messages; i++)
		all[i] = row_of(x, &x->messages[i], by);
	if (x->n_messages)
		qsort(all, x->n_messages, sizeof(*all), by_keys);
	for (i = 1; i < x->n_messages; i++) {
		if (by_keys(&all[k], &all[i])) {
			all[++k] = all[i];
			continue;
		}
		all[k].messages += all[i].messages;
		all[k].bytes += all[i].bytes;
		all[k].received += all[i].received;
		all[k].time += all[i].time;
	}
	*n = x->n_messages ? k + 1 : 0;
	return 0;
}
