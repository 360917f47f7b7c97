/* SPDX-License-Identifier: BSD-3-Clause */
/* Collective operations: groups their parts, finds missing parts, and checks their times. */
#include <stdlib.h>

#include "model/comm.h"
#include "model/model.h"
#include "model/mpi/collect.h"
#include "model/mpi/waits.h"
#include "model/str.h"

static int compare_kinds(const struct sp_participation *p, const struct sp_participation *q)
{
	SP_COMPARE(p->window, q->window);
	SP_COMPARE(p->nonblocking, q->nonblocking);
	SP_COMPARE(p->comm, q->comm);
	SP_COMPARE(p->operation, q->operation);
	return 0;
}

static int by_process(const void *a, const void *b, void *arg)
{
	const struct sp_participation *p = a, *q = b;
	int c = compare_kinds(p, q);

	if (c)
		return c;
	SP_COMPARE(p->process, q->process);
	return sp_calls_compare(arg, p->begin, q->begin);
}

static int by_number(const void *a, const void *b)
{
	const struct sp_participation *p = a, *q = b;
	int c = compare_kinds(p, q);

	if (c)
		return c;
	SP_COMPARE(p->number, q->number);
	SP_COMPARE(p->process, q->process);
	return 0;
}

static void number_parts(struct sp_messages *x)
{
	struct sp_participation *p = x->parts;
	size_t i;

	if (!x->n_parts)
		return;
	qsort_r(p, x->n_parts, sizeof(*p), by_process, x->calls);
	for (i = 1; i < x->n_parts; i++)
		if (compare_kinds(&p[i], &p[i - 1]) == 0 && p[i].process == p[i - 1].process)
			p[i].number = p[i - 1].number + 1;
	qsort(p, x->n_parts, sizeof(*p), by_number);
}

size_t sp_operation_parts(const struct sp_messages *x, size_t first)
{
	const struct sp_participation *p = x->parts + first;
	size_t n = 1;

	while (first + n < x->n_parts && p[n].number == p->number && compare_kinds(p, &p[n]) == 0)
		n++;
	return n;
}

/* ---- completeness ---- */

static uint32_t count_traced(const struct sp_model *m, const struct sp_group *g)
{
	uint32_t i, n = 0;

	for (i = 0; i < g->n; i++)
		n += g->processes[i] != SP_NONE && m->processes[g->processes[i]].traced;
	return n;
}

/* ---- clocks ---- */

/* The latest enter of the processes that all others depend on, and the earliest leave of the processes that depend on
 * them. */
struct span {
	uint64_t enter, leave;
};

static void add_to_span(struct span *s, const struct sp_mpi_call *calls, const struct sp_participation *p, bool gives,
                        bool takes)
{
	if (gives && calls[p->begin].enter > s->enter)
		s->enter = calls[p->begin].enter;
	if (takes && calls[p->done].leave < s->leave)
		s->leave = calls[p->done].leave;
}

/* Operations in which each process gives a size for each other one, so that not all processes need to depend on all. */
enum { ALLTOALLV = 9, ALLTOALLW = 10 };

/* The contradiction in the times of a complete operation, in ns. */
static uint64_t too_early(const struct sp_messages *x, const struct sp_participation *p, size_t n)
{
	const enum sp_wait_kind kind = sp_wait_kind_of(p);
	struct span s = {0, UINT64_MAX};
	size_t i;

	for (i = 0; i < n; i++) {
		const bool root = p[i].process == p[i].root;

		if (kind == SP_WAIT_BARRIER)
			add_to_span(&s, x->calls, &p[i], true, true);
		else if (kind == SP_WAIT_NXN && p->operation != ALLTOALLV && p->operation != ALLTOALLW)
			add_to_span(&s, x->calls, &p[i], p[i].sent, p[i].received);
		else if (kind == SP_WAIT_LATE_BROADCAST)
			add_to_span(&s, x->calls, &p[i], root, !root && p[i].received);
		else if (kind == SP_WAIT_EARLY_REDUCE)
			add_to_span(&s, x->calls, &p[i], !root && p[i].sent, root && p[i].received);
	}
	return s.enter > s.leave ? s.enter - s.leave : 0;
}

/* Checks an operation. For intercommunicators, and for calls that create or free something together, the participants
 * are not known. */
static void check(struct sp_messages *x, const struct sp_participation *p, size_t n, uint32_t members)
{
	const enum sp_wait_kind kind = sp_wait_kind_of(p);
	uint64_t early;

	x->operations++;
	if (kind == SP_WAIT_MANAGEMENT || (!p->window && x->m->comms[p->comm].inter))
		return;
	if (n < members) {
		x->incomplete++;
		return;
	}
	early = too_early(x, p, n);
	x->early_operations += early > 0;
	if ((double)early > x->early_operations_worst)
		x->early_operations_worst = (double)early;
}

void sp_operations_find(struct sp_messages *x)
{
	const struct sp_model *m = x->m;
	uint32_t members = 0;
	size_t i, n;

	number_parts(x);
	for (i = 0; i < x->n_parts; i += n) {
		const struct sp_participation *p = &x->parts[i];

		n = sp_operation_parts(x, i);
		if (i == 0 || p->window != p[-1].window || p->comm != p[-1].comm)
			members = count_traced(m, &m->comms[p->window ? m->wins[p->comm].comm : p->comm].group);
		check(x, p, n, members);
	}
}
