/* SPDX-License-Identifier: BSD-3-Clause */
/* Wait states of messages, and what all wait states share; collective operations are in waits_collective.c. */
#include "model/mpi/waits.h"

#include <stdlib.h>

#include "model/builder/problem.h"
#include "model/mpi/waits_private.h"
#include "model/str.h"

#define BIT(kind) (1u << SP_WAIT_##kind)
#define WRONG     (BIT(WRONG_ORDER_DIFFERENT) | BIT(WRONG_ORDER_SAME))

const struct sp_wait_metric sp_wait_metrics[SP_WAIT_METRICS] = {
    {"mpi_latesender", "Late Sender", "Time a receiving process is waiting for a message", BIT(LATE_SENDER) | WRONG,
     -1},
    {"mpi_latesender_wo", "Messages in Wrong Order", "Late Sender time due to messages received in wrong order", WRONG,
     0},
    {"mpi_lswo_different", "Messages from different sources",
     "Wrong order due to messages received from different sources", BIT(WRONG_ORDER_DIFFERENT), 1},
    {"mpi_lswo_same", "Messages from same source", "Wrong order due to messages received from the same source",
     BIT(WRONG_ORDER_SAME), 1},
    {"mpi_latereceiver", "Late Receiver", "Time a sending process is waiting for the receiver to become ready",
     BIT(LATE_RECEIVER), -1},
    {"mpi_barrier_wait", "Wait at Barrier", "Waiting time in front of MPI barriers", BIT(BARRIER), -1},
    {"mpi_barrier_completion", "Barrier Completion", "Time to finish MPI barriers", BIT(BARRIER_COMPLETION), -1},
    {"mpi_wait_nxn", "Wait at N x N", "Time due to inherent synchronization in MPI n-to-n operations", BIT(NXN), -1},
    {"mpi_nxn_completion", "N x N Completion", "Time to finish MPI n-to-n operations", BIT(NXN_COMPLETION), -1},
    {"mpi_latebroadcast", "Late Broadcast", "Waiting time due to a late sender in MPI 1-to-n operations",
     BIT(LATE_BROADCAST), -1},
    {"mpi_earlyreduce", "Early Reduce", "Waiting time due to an early receiver in MPI n-to-1 operations",
     BIT(EARLY_REDUCE), -1},
    {"mpi_earlyscan", "Early Scan", "Waiting time due to an early receiver in an MPI scan operation", BIT(EARLY_SCAN),
     -1},
    {"mpi_rma_wait_at_fence", "Wait at Fence", "Waiting time in collective operations on MPI windows", BIT(FENCE), -1},
    {"mpi_management_wait", "Wait at Init, Finalize, Communicators",
     "Waiting time in MPI calls that make or free something together", BIT(MANAGEMENT), -1},
};

int sp_wait_add(struct sp_waiting *b, enum sp_wait_kind kind, uint32_t call, uint32_t on, uint64_t until)
{
	const struct sp_mpi_call *c = &b->x->calls[call];
	struct sp_wait_row *row;

	if (until > c->leave)
		until = c->leave;
	if (until <= c->enter || c->polls)
		return 0;
	row = sp_list_add(&b->rows, sizeof(*row));
	if (!row)
		return -1;
	*row = (struct sp_wait_row){kind, c->path, c->location, on, 1, (double)(until - c->enter), 0};
	row->longest = row->time;
	return 0;
}

void sp_wait_depend(struct sp_waiting *b, uint32_t call, uint64_t last, uint64_t before, uint32_t on,
                    enum sp_wait_kind kind, uint32_t message)
{
	struct sp_dependency *d = &b->dependencies[call];

	if (d->on == SP_NONE || last > d->last) {
		if (d->on != SP_NONE && d->last > before)
			before = d->last;
		*d = (struct sp_dependency){last, before, on, message, (uint8_t)kind, false};
	} else if (last > d->before) {
		d->before = last;
	}
}

/* ---- point to point ---- */

static void depend_on_message(struct sp_waiting *b, uint32_t index)
{
	const struct sp_mpi_call *calls = b->x->calls;
	const struct sp_message *m = &b->x->messages[index];
	const struct sp_mpi_call *send = &calls[m->send], *posted;

	if (m->received == SP_NONE)
		return;
	posted = &calls[m->posted];
	sp_wait_depend(b, m->received, send->enter, 0, send->location, SP_WAIT_LATE_SENDER, index);
	if (m->probe != SP_NONE)
		sp_wait_depend(b, m->probe, send->enter, 0, send->location, SP_WAIT_LATE_SENDER, index);
	/* a send that ended before the receive was posted did not wait for it */
	if (m->sent != SP_NONE && posted->enter > calls[m->sent].enter && posted->enter < calls[m->sent].leave)
		sp_wait_depend(b, m->sent, posted->enter, 0, posted->location, SP_WAIT_LATE_RECEIVER, index);
}

struct arrival {
	uint64_t time; /* end of the receive */
	uint32_t message;
};

static int by_arrival(const void *a, const void *b, void *arg)
{
	const struct arrival *p = a, *q = b;
	const struct sp_message *all = arg, *m = &all[p->message], *n = &all[q->message];

	if (m->to != n->to)
		return m->to < n->to ? -1 : 1;
	if (p->time != q->time)
		return p->time < q->time ? -1 : 1;
	if (m->received != n->received)
		return m->received < n->received ? -1 : 1;
	return p->message < q->message ? -1 : p->message > q->message;
}

/* The earliest sends among a receiver's messages, while these are visited from the last to the first: for each sender
 * and for all. */
struct soonest {
	uint64_t *of;          /* owned; for each sender */
	uint32_t *receiver;    /* owned; the entry is valid for this receiver + 1 */
	uint64_t first, other; /* of all senders; of all senders except that of `first` */
	uint32_t first_from;
};

static uint8_t order_of(const struct soonest *s, const struct sp_message *m, uint64_t sent)
{
	const uint64_t others = s->first_from == m->from ? s->other : s->first;

	if (s->receiver[m->from] == m->to + 1 && s->of[m->from] < sent)
		return SP_WAIT_WRONG_ORDER_SAME;
	return others < sent ? SP_WAIT_WRONG_ORDER_DIFFERENT : SP_WAIT_LATE_SENDER;
}

static void note(struct soonest *s, const struct sp_message *m, uint64_t sent)
{
	if (s->receiver[m->from] != m->to + 1 || sent < s->of[m->from]) {
		s->receiver[m->from] = m->to + 1;
		s->of[m->from] = sent;
	}
	if (sent < s->first) {
		if (s->first_from != m->from)
			s->other = s->first;
		s->first = sent;
		s->first_from = m->from;
	} else if (s->first_from != m->from && sent < s->other) {
		s->other = sent;
	}
}

static void find_orders(const struct sp_messages *x, const struct arrival *a, size_t n, struct soonest *s,
                        uint8_t *orders)
{
	const struct sp_message *all = x->messages;
	size_t i, k, end;

	for (end = n; end > 0; end = i) {
		/* messages that one call received together count as simultaneous */
		for (i = end; i > 0 && all[a[i - 1].message].received == all[a[end - 1].message].received;)
			i--;
		if (end == n || all[a[end].message].to != all[a[end - 1].message].to) {
			s->first = s->other = UINT64_MAX;
			s->first_from = SP_NONE;
		}
		for (k = i; k < end; k++)
			orders[a[k].message] = order_of(s, &all[a[k].message], x->calls[all[a[k].message].send].enter);
		for (k = i; k < end; k++)
			note(s, &all[a[k].message], x->calls[all[a[k].message].send].enter);
	}
}

/* For each message: the kind of wait it causes if a call waits for it. To be freed with free(); NULL: no memory. */
static uint8_t *wrong_orders(const struct sp_messages *x)
{
	uint8_t *orders = calloc(x->n_messages + 1, 1);
	struct arrival *a = malloc((x->n_messages + 1) * sizeof(*a));
	struct soonest s = {.of = calloc(x->m->n_processes + 1, sizeof(*s.of)),
	                    .receiver = calloc(x->m->n_processes + 1, sizeof(*s.receiver))};
	size_t n = 0;
	uint32_t i;

	if (!orders || !a || !s.of || !s.receiver) {
		free(orders);
		orders = NULL;
	} else {
		for (i = 0; i < x->n_messages; i++)
			if (x->messages[i].received != SP_NONE)
				a[n++] = (struct arrival){x->calls[x->messages[i].received].leave, i};
		if (n)
			qsort_r(a, n, sizeof(*a), by_arrival, x->messages);
		find_orders(x, a, n, &s, orders);
	}
	free(a);
	free(s.of);
	free(s.receiver);
	return orders;
}

/* Finds all waits. A call may complete messages and collective operations together: then it waited for the last one. */
static int find_all(struct sp_waiting *b)
{
	uint8_t *orders = wrong_orders(b->x);
	uint32_t i;
	int rc = orders ? sp_wait_collectives(b) : -1;

	for (i = 0; rc == 0 && i < b->x->n_messages; i++)
		depend_on_message(b, i);
	for (i = 0; rc == 0 && i < b->x->n_calls; i++) {
		struct sp_dependency *d = &b->dependencies[i];

		if (d->on == SP_NONE || d->counted)
			continue;
		if (d->message != SP_NONE && d->kind == SP_WAIT_LATE_SENDER)
			d->kind = orders[d->message];
		rc = sp_wait_add(b, (enum sp_wait_kind)d->kind, i, d->on, d->last);
	}
	free(orders);
	return rc;
}

/* ---- all ---- */

static int by_keys(const void *a, const void *b)
{
	const struct sp_wait_row *p = a, *q = b;

	if (p->kind != q->kind)
		return p->kind < q->kind ? -1 : 1;
	if (p->path != q->path)
		return p->path < q->path ? -1 : 1;
	if (p->location != q->location)
		return p->location < q->location ? -1 : 1;
	return p->on < q->on ? -1 : p->on > q->on;
}

static size_t add_up(struct sp_wait_row *rows, size_t n)
{
	size_t i, k = 0;

	if (n)
		qsort(rows, n, sizeof(*rows), by_keys);
	for (i = 1; i < n; i++) {
		if (by_keys(&rows[k], &rows[i])) {
			rows[++k] = rows[i];
			continue;
		}
		rows[k].count += rows[i].count;
		rows[k].time += rows[i].time;
		if (rows[i].longest > rows[k].longest)
			rows[k].longest = rows[i].longest;
	}
	return n ? k + 1 : 0;
}

int sp_waits_find(struct sp_waits *w, const struct sp_messages *x, struct sp_err *e)
{
	struct sp_waiting b = {.x = x};
	size_t i;
	int rc;

	*w = (struct sp_waits){.rows = NULL};
	w->dependencies = b.dependencies = malloc((x->n_calls + 1) * sizeof(*b.dependencies));
	for (i = 0; b.dependencies && i < x->n_calls; i++)
		b.dependencies[i] = (struct sp_dependency){.on = SP_NONE, .message = SP_NONE};
	rc = !b.dependencies || find_all(&b) ? -1 : 0;
	free(b.rank);
	w->rows = b.rows.p;
	w->n_rows = rc ? 0 : add_up(b.rows.p, b.rows.n);
	return rc ? sp_model_no_memory(e) : 0;
}

void sp_waits_free(struct sp_waits *w)
{
	free(w->rows);
	free(w->dependencies);
}
