/* SPDX-License-Identifier: BSD-3-Clause */
/* Wait states of collective operations. */
#include <stdlib.h>
#include <string.h>

#include "model/comm.h"
#include "model/model.h"
#include "model/mpi/waits_private.h"
#include "model/str.h"

/* Values of OTF2's CollectiveOp. */
enum {
	OP_BARRIER,
	OP_BCAST,
	OP_GATHER,
	OP_GATHERV,
	OP_SCATTER,
	OP_SCATTERV,
	OP_REDUCE = 12,
	OP_SCAN = 14,
	OP_EXSCAN,
	OP_CREATE = 17,
	OP_LAST = 22
};

enum sp_wait_kind sp_wait_kind_of(const struct sp_participation *p)
{
	if (p->window)
		return SP_WAIT_FENCE;
	switch (p->operation) {
	case OP_BARRIER:
		return SP_WAIT_BARRIER;
	case OP_BCAST:
	case OP_SCATTER:
	case OP_SCATTERV:
		return SP_WAIT_LATE_BROADCAST;
	case OP_GATHER:
	case OP_GATHERV:
	case OP_REDUCE:
		return SP_WAIT_EARLY_REDUCE;
	case OP_SCAN:
	case OP_EXSCAN:
		return SP_WAIT_EARLY_SCAN;
	default:
		return p->operation >= OP_CREATE ? SP_WAIT_MANAGEMENT : SP_WAIT_NXN;
	}
}

static uint64_t enter_of(const struct sp_waiting *b, const struct sp_participation *p)
{
	return b->x->calls[p->begin].enter;
}

/* The last two arrivals among those that were considered. */
struct latest {
	uint64_t last, before;
	const struct sp_participation *of; /* NULL: no arrival */
};

static void come(struct latest *l, const struct sp_waiting *b, const struct sp_participation *p)
{
	uint64_t at = enter_of(b, p);

	if (!l->of || at > l->last) {
		l->before = l->last;
		l->last = at;
		l->of = p;
	} else if (at > l->before) {
		l->before = at;
	}
}

/* The part cannot continue before the last arrival of l. It counts as waiting until `awaited` arrived: the last one of
 * l or an earlier one. */
static int wait_for(struct sp_waiting *b, enum sp_wait_kind kind, const struct sp_participation *p,
                    const struct latest *l, const struct sp_participation *awaited)
{
	const uint32_t last = b->x->calls[l->of->begin].location, on = b->x->calls[awaited->begin].location;
	const uint64_t until = enter_of(b, awaited);

	if (p->nonblocking) { /* its call may also wait for other operations */
		sp_wait_depend(b, p->done, until, awaited == l->of ? l->before : 0, on, kind, SP_NONE);
		return 0;
	}
	sp_wait_depend(b, p->done, l->last, l->before, last, kind, SP_NONE);
	b->dependencies[p->done].counted = true;
	return sp_wait_add(b, kind, p->done, on, until);
}

/* The time after all have arrived and the first one has left. */
static int complete(struct sp_waiting *b, enum sp_wait_kind kind, const struct sp_participation *p, size_t n,
                    uint64_t from)
{
	const struct sp_mpi_call *calls = b->x->calls;
	uint64_t first = UINT64_MAX;
	struct sp_wait_row *row;
	size_t i;

	for (i = 0; i < n; i++)
		if (calls[p[i].done].leave < first)
			first = calls[p[i].done].leave;
	if (first < from)
		first = from;
	for (i = 0; i < n; i++) {
		const struct sp_mpi_call *c = &calls[p[i].done];

		if (c->leave <= first || p[i].nonblocking)
			continue;
		row = sp_list_add(&b->rows, sizeof(*row));
		if (!row)
			return -1;
		*row = (struct sp_wait_row){kind, c->path, c->location, SP_NONE, 1, (double)(c->leave - first), 0};
		row->longest = row->time;
	}
	return 0;
}

static int all_to_all(struct sp_waiting *b, enum sp_wait_kind kind, const struct sp_participation *p, size_t n)
{
	const bool data = kind == SP_WAIT_NXN;
	struct latest l = {.of = NULL};
	size_t i;
	int rc = 0;

	for (i = 0; i < n; i++)
		if (!data || p[i].sent)
			come(&l, b, &p[i]);
	if (!l.of)
		return 0;
	if (kind == SP_WAIT_MANAGEMENT || kind == SP_WAIT_FENCE)
		for (i = 0; i < n; i++)
			if (b->x->calls[p[i].done].leave < l.last)
				/* the operation did not wait for all: a process left before the last arrival */
				return 0;
	for (i = 0; i < n && rc == 0; i++) {
		if (data && !p[i].received)
			continue;
		if (l.of == &p[i]) { /* the last one does not wait; its dependency has the previous arrival */
			sp_wait_depend(b, p[i].done, l.before, 0, b->x->calls[p[i].begin].location, kind, SP_NONE);
			b->dependencies[p[i].done].counted |= !p[i].nonblocking;
		} else {
			rc = wait_for(b, kind, &p[i], &l, l.of);
		}
	}
	if (rc == 0 && kind == SP_WAIT_BARRIER)
		rc = complete(b, SP_WAIT_BARRIER_COMPLETION, p, n, l.last);
	if (rc == 0 && kind == SP_WAIT_NXN)
		rc = complete(b, SP_WAIT_NXN_COMPLETION, p, n, l.last);
	return rc;
}

static int one_to_all(struct sp_waiting *b, const struct sp_participation *p, size_t n, uint32_t root)
{
	struct latest l = {.of = NULL};
	size_t i;
	int rc = 0;

	for (i = 0; i < n; i++)
		if (p[i].process == root)
			come(&l, b, &p[i]);
	for (i = 0; l.of && i < n && rc == 0; i++)
		if (p[i].process != root && p[i].received)
			rc = wait_for(b, SP_WAIT_LATE_BROADCAST, &p[i], &l, l.of);
	return rc;
}

static int all_to_one(struct sp_waiting *b, const struct sp_participation *p, size_t n, uint32_t root)
{
	const struct sp_participation *to = NULL, *first = NULL;
	struct latest l = {.of = NULL};
	size_t i;

	for (i = 0; i < n; i++) {
		if (p[i].process == root) {
			to = &p[i];
		} else if (p[i].sent) {
			come(&l, b, &p[i]);
			if (!first || enter_of(b, &p[i]) < enter_of(b, first))
				first = &p[i];
		}
	}
	return to && to->received && first ? wait_for(b, SP_WAIT_EARLY_REDUCE, to, &l, first) : 0;
}

struct ranked {
	uint32_t rank;
	const struct sp_participation *p;
};

static int by_rank(const void *a, const void *b)
{
	const struct ranked *p = a, *q = b;

	return p->rank < q->rank ? -1 : p->rank > q->rank;
}

/* Finds the ranks of processes, once for all operations of a communicator, which are contiguous. Returns 0, or -1: no
 * memory. */
static int find_ranks(struct sp_waiting *b, uint32_t comm)
{
	const struct sp_model *m = b->x->m;
	const struct sp_group *g = &m->comms[comm].group;
	uint32_t i;

	if (b->rank && b->ranked == comm)
		return 0;
	if (!b->rank)
		b->rank = malloc((m->n_processes + 1) * sizeof(*b->rank));
	if (!b->rank)
		return -1;
	memset(b->rank, 0xff, m->n_processes * sizeof(*b->rank));
	for (i = 0; i < g->n; i++)
		if (g->processes[i] != SP_NONE)
			b->rank[g->processes[i]] = i;
	b->ranked = comm;
	return 0;
}

static int scan(struct sp_waiting *b, const struct sp_participation *p, size_t n)
{
	struct ranked *order = malloc((n + 1) * sizeof(*order));
	struct latest l = {.of = NULL};
	size_t i;
	int rc = order ? find_ranks(b, p->comm) : -1;

	for (i = 0; rc == 0 && i < n; i++)
		order[i] = (struct ranked){b->rank[p[i].process], &p[i]};
	if (rc == 0)
		qsort(order, n, sizeof(*order), by_rank);
	for (i = 0; rc == 0 && i < n && order[i].rank != SP_NONE; i++) {
		if (l.of && (order[i].p->sent || order[i].p->received))
			rc = wait_for(b, SP_WAIT_EARLY_SCAN, order[i].p, &l, l.of);
		come(&l, b, order[i].p);
	}
	free(order);
	return rc;
}

/* Finds the waits of one operation. */
static int operation(struct sp_waiting *b, const struct sp_participation *p, size_t n)
{
	const enum sp_wait_kind kind = sp_wait_kind_of(p);
	uint32_t root = SP_NONE;
	size_t i;

	if (n < 2 || p->operation > OP_LAST)
		return 0;
	for (i = 0; i < n; i++) /* of an intercommunicator, not all processes record the root */
		if (p[i].root != SP_NONE)
			root = p[i].root;
	switch (kind) {
	case SP_WAIT_LATE_BROADCAST:
		return one_to_all(b, p, n, root);
	case SP_WAIT_EARLY_REDUCE:
		return all_to_one(b, p, n, root);
	case SP_WAIT_EARLY_SCAN:
		return scan(b, p, n);
	default:
		return all_to_all(b, kind, p, n);
	}
}

int sp_wait_collectives(struct sp_waiting *b)
{
	const struct sp_messages *x = b->x;
	size_t i, n;
	int rc = 0;

	for (i = 0; i < x->n_parts && rc == 0; i += n) {
		n = sp_operation_parts(x, i);
		rc = operation(b, x->parts + i, n);
	}
	return rc;
}
