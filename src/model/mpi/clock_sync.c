/* SPDX-License-Identifier: BSD-3-Clause */
/* Aligns the clocks of different hosts, from measurements of the processes of an MPI_COMM_WORLD: two pairs of times, in
 * ticks of the process and of rank 0, define a line. */

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/builder/builder.h"
#include "model/builder/clock.h"
#include "model/builder/loading.h"
#include "model/builder/problem.h"
#include "model/builder/source.h"
#include "model/str.h"

#define MONTH (31 * 86400 * 1e9) /* ns; a larger difference between clocks is damage */

/* Maximum drift between the clocks of two machines. If the measurement is less exact than this, and the drift it finds
 * is within its error, only the offset is taken from it; the rate is better taken from the machines' own clocks. */
#define MAX_DRIFT 1e-4

/* A process of a host whose clock is corrected, and the correction. */
struct anchor {
	const struct sp_loading *l; /* NULL: not found yet */
	double rate;                /* ns after the correction for one ns before it */
};

struct clocks {
	struct sp_builder *b;
	struct sp_intern hosts;
	struct anchor *anchors;  /* owned; index: host */
	uint32_t *host;          /* owned; host of each process while loading */
	struct sp_loading **all; /* owned; sorted by world, rank, time */
};

void sp_build_clock_record(struct sp_loading *l, uint64_t at, const struct sp_str *text)
{
	struct sp_raw_clock_sync s;

	if (text->n != sizeof(s)) {
		sp_raw_report(l->source->raw, at, "a comparison of clocks has %zu bytes", text->n);
		return;
	}
	memcpy(&s, text->p, sizeof(s));
	l->sync[l->syncs > 0] = s;
	if (l->syncs < 2)
		l->syncs++;
}

static int compare_ranks(const void *a, const void *b)
{
	const struct sp_loading *p = *(struct sp_loading *const *)a, *q = *(struct sp_loading *const *)b;

	if (p->process.world != q->process.world)
		return p->process.world < q->process.world ? -1 : 1;
	if (p->process.rank != q->process.rank)
		return p->process.rank < q->process.rank ? -1 : 1;
	if (p->process.forked != q->process.forked) /* a forked child of rank 0 has its rank in its definitions too */
		return p->process.forked ? 1 : -1;
	if (p->real != q->real)
		return p->real < q->real ? -1 : 1;
	return strcmp(p->process.file.p, q->process.file.p);
}

static double ticks_between(uint64_t from, uint64_t to)
{
	return (double)(int64_t)(to - from);
}

/* The line from ticks of l to ns of zero's clock: one point of it, and its slope in ns per tick. Returns false if the
 * measurement is damaged. */
static bool find_line(const struct sp_loading *l, const struct sp_clock *zero, double *ticks, double *ns, double *rate)
{
	const struct sp_raw_clock_sync *s = l->sync;
	const struct sp_clock *own = &l->source->clock;
	double width, measured, doubt;

	*ticks = ticks_between(own->first, s[0].ticks);
	*ns = ticks_between(zero->first, s[0].reference) * zero->ns;
	*rate = own->ns;
	if (l->syncs < 2)
		return true;
	width = ticks_between(s[0].ticks, s[1].ticks);
	measured = ticks_between(s[0].reference, s[1].reference) * zero->ns / width;
	if (!(width > 0) || !(measured > own->ns / 2 && measured < own->ns * 2))
		return false;
	doubt = ((double)s[0].error + (double)s[1].error) / width;
	if (doubt <= MAX_DRIFT || fabs(measured / own->ns - 1) > doubt) {
		*rate = measured;
		return true;
	}
	*ticks += width / 2;
	*ns += measured * width / 2;
	return true;
}

static void correct(struct clocks *k, struct sp_loading *l, const struct sp_loading *zero)
{
	struct sp_clock *own = &l->source->clock;
	struct anchor *anchor = &k->anchors[k->host[l - k->b->loading]];
	double ticks, ns, rate, moved;

	if (!find_line(l, &zero->source->clock, &ticks, &ns, &rate) || !(fabs(ns - ticks * rate) < MONTH)) {
		sp_model_problem(k->b->m, "raw/%s: the comparison of its clock with that of rank 0 is damaged",
		                 l->process.file.p);
		return;
	}
	moved = ns - ticks * rate;
	if (!anchor->l)
		*anchor = (struct anchor){l, rate / own->ns};
	l->real = zero->real + (uint64_t)(int64_t)llround(moved);
	own->ns = rate;
}

/* Corrects a process that compared its clock with no other, on a host with a process that did: both have the same
 * clock. */
static void follow(const struct anchor *a, struct sp_loading *l, uint64_t real)
{
	const int64_t difference = (int64_t)((real - l->mono) - (a->l->unmoved - a->l->mono));

	/* the same limit as between all processes of a host */
	if (!real || difference >= INT64_C(1000000000) || difference <= -INT64_C(1000000000))
		return;
	l->real = a->l->real + (uint64_t)(int64_t)llround((double)(int64_t)(l->mono - a->l->mono) * a->rate);
	l->source->clock.ns *= a->rate;
}

static int find_places(struct clocks *k, struct sp_arena *arena)
{
	struct sp_builder *b = k->b;
	size_t i;

	k->hosts.arena = arena;
	k->anchors = calloc(b->n_loading, sizeof(*k->anchors));
	k->host = malloc(b->n_loading * sizeof(*k->host));
	k->all = malloc(b->n_loading * sizeof(struct sp_loading *));
	if (!k->anchors || !k->host || !k->all)
		return -1;
	for (i = 0; i < b->n_loading; i++) {
		struct sp_loading *l = &b->loading[i];

		l->unmoved = l->real;
		k->all[i] = l;
		k->host[i] = sp_intern(&k->hosts, l->process.host.p, l->process.host.n);
		if (k->host[i] == SP_INTERN_FAILED)
			return -1;
	}
	qsort(k->all, b->n_loading, sizeof(struct sp_loading *), compare_ranks);
	return 0;
}

/* Corrects the processes [from, to) of one world. */
static void correct_world(struct clocks *k, size_t from, size_t to)
{
	struct sp_loading *zero = k->all[from];
	struct anchor *anchor = &k->anchors[k->host[zero - k->b->loading]];
	size_t i;

	if (zero->process.rank != 0 || !zero->real || !zero->syncs)
		return;
	if (anchor->l)
		follow(anchor, zero, zero->unmoved);
	else
		*anchor = (struct anchor){zero, 1};
	zero->settled = true;
	for (i = from + 1; i < to; i++) {
		if (!k->all[i]->syncs)
			continue;
		k->all[i]->settled = true;
		correct(k, k->all[i], zero);
	}
}

int sp_build_clocks(struct sp_builder *b)
{
	struct sp_arena arena = {0};
	struct clocks k = {.b = b};
	size_t i, from = 0;
	int rc = find_places(&k, &arena);

	for (i = 1; rc == 0 && i <= b->n_loading; i++) {
		if (i < b->n_loading && k.all[i]->process.world == k.all[from]->process.world)
			continue;
		if (k.all[from]->process.world)
			correct_world(&k, from, i);
		from = i;
	}
	for (i = 0; rc == 0 && i < b->n_loading; i++)
		if (!b->loading[i].settled && k.anchors[k.host[i]].l)
			follow(&k.anchors[k.host[i]], &b->loading[i], b->loading[i].unmoved);
	sp_intern_free(&k.hosts);
	sp_arena_free(&arena);
	free(k.anchors);
	free(k.host);
	free(k.all);
	return rc;
}
