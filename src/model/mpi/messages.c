/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/mpi/messages.h"

#include <stdlib.h>

#include "model/builder/problem.h"
#include "model/model.h"
#include "model/mpi/collect.h"
#include "model/region.h"
#include "model/str.h"

#define COMPARE_CHANNELS(p, q)                                                                                         \
	do {                                                                                                           \
		SP_COMPARE((p)->from, (q)->from);                                                                      \
		SP_COMPARE((p)->to, (q)->to);                                                                          \
		SP_COMPARE((p)->comm, (q)->comm);                                                                      \
		SP_COMPARE((p)->tag, (q)->tag);                                                                        \
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
	COMPARE_CHANNELS(p, q);
	return 0;
}

static int compare_messages(const struct sp_message *p, const struct sp_message *q)
{
	COMPARE_CHANNELS(p, q);
	return 0;
}

int sp_calls_compare(const struct sp_mpi_call *calls, uint32_t a, uint32_t b)
{
	SP_COMPARE(calls[a].enter, calls[b].enter);
	SP_COMPARE(a, b);
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

	COMPARE_CHANNELS(p, q);
	c = sp_calls_compare(s->calls, p->call, q->call);
	if (c)
		return c;
	SP_COMPARE(p->order, q->order);
	return 0;
}

/* The call in which a receive was matched: its probe if it has one, otherwise the call that posted it. */
static uint32_t matched_in(const struct sp_receiving *r)
{
	return r->probe != SP_NONE ? r->probe : r->posted;
}

static int by_receive(const void *a, const void *b, void *arg)
{
	const struct sp_receiving *p = a, *q = b;
	const struct sorting *s = arg;
	int c;

	COMPARE_CHANNELS(p, q);
	c = sp_calls_compare(s->calls, matched_in(p), matched_in(q));
	if (c)
		return c;
	SP_COMPARE(p->order, q->order);
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

static void no_receive(struct sp_messages *x, const struct sp_message *m)
{
	x->unmatched_sends++;
	x->unmeasured += m->to == SP_NONE;
}

static void no_send(struct sp_messages *x, const struct sp_receiving *r)
{
	x->unmatched_receives++;
	x->unmeasured += r->from == SP_NONE;
}

static void pair(struct sp_messages *x, struct sp_message *m, const struct sp_receiving *r)
{
	m->posted = r->posted;
	m->received = r->done;
	m->probe = r->probe;
	m->arrived = r->arrived;
	check_clock(x, m);
}

/* The unmatched sends and receives of one channel. */
struct channel {
	struct sp_message *m, *m_end;
	const struct sp_receiving *r, *r_end;
};

/* Whether a send and a receive may match. If there are more receives than sends, some sends were not recorded; a
 * receive that completed before the send began belongs to one of those. */
static bool fits(const struct sp_messages *x, const struct channel *c, const struct sp_message *m,
                 const struct sp_receiving *r)
{
	return m->bytes == r->bytes && (c->r_end - c->r <= c->m_end - c->m || r->arrived >= x->calls[m->send].enter);
}

/* Skips the fewest sends or receives that have no partner, preferably on the side that has more; skips one of each if
 * none of the next ones fits. */
static void leave_out(struct sp_messages *x, struct channel *c)
{
	enum { SEARCH = 64 };
	const bool more_sends = c->m_end - c->m > c->r_end - c->r;
	bool send = false, receive = false;
	int i;

	for (i = 1; i <= SEARCH && !send && !receive; i++) {
		send = i < c->m_end - c->m && fits(x, c, c->m + i, c->r);
		receive = i < c->r_end - c->r && fits(x, c, c->m, c->r + i);
	}
	if (send && receive) {
		send = more_sends;
		receive = !more_sends;
	} else if (!send && !receive) {
		send = receive = true;
		i = 2;
	}
	for (; i > 1; i--) {
		if (send)
			no_receive(x, c->m++);
		if (receive)
			no_send(x, c->r++);
	}
}

/* Matches in order. If one side is incomplete, because the recording of a process ended early, was off or dropped
 * events, sizes and times determine which ones match. */
static void match_channel(struct sp_messages *x, struct channel c)
{
	const bool whole = c.m_end - c.m == c.r_end - c.r;

	while (c.m < c.m_end && c.r < c.r_end) {
		if (whole || fits(x, &c, c.m, c.r))
			pair(x, c.m++, c.r++);
		else
			leave_out(x, &c);
	}
	while (c.m < c.m_end)
		no_receive(x, c.m++);
	while (c.r < c.r_end)
		no_send(x, c.r++);
}

static void match(struct sp_messages *x, const struct sp_receiving *r, size_t n)
{
	const struct sp_receiving *end = n ? r + n : r;
	struct sp_message *m = x->messages, *m_end = m + x->n_messages;
	struct channel c;

	while (m < m_end) {
		for (; r < end && compare_channels(m, r) > 0; r++)
			no_send(x, r);
		c = (struct channel){m, m, r, r};
		while (c.m_end < m_end && compare_messages(c.m_end, m) == 0)
			c.m_end++;
		while (c.r_end < end && compare_channels(m, c.r_end) == 0)
			c.r_end++;
		m = c.m_end;
		r = c.r_end;
		match_channel(x, c);
	}
	for (; r < end; r++)
		no_send(x, r);
}

/* Makes messages of sends. Equal ones stay in the order in which they were found. */
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
			sp_operations_find(x);
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

	SP_COMPARE(p->from, q->from);
	SP_COMPARE(p->to, q->to);
	SP_COMPARE(p->comm, q->comm);
	SP_COMPARE(p->path, q->path);
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
