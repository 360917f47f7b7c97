/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/mpi/critical.h"

#include <stdlib.h>

#include "model/builder/problem.h"
#include "model/event.h"
#include "model/model.h"
#include "model/mpi/collect.h"
#include "model/path.h"
#include "model/process.h"
#include "model/str.h"

/* A part of a piece without a call that depends on others. */
struct stretch {
	uint64_t from, to;
	uint64_t slack; /* ns that can be saved before it; UINT64_MAX: no limit */
	uint32_t location;
};

/* Time of a region in a stretch. */
struct share {
	uint32_t stretch, region;
	double time;
};

struct finding {
	const struct sp_messages *x;
	const struct sp_waits *w;
	struct sp_critical *c;
	struct sp_list pieces;    /* struct sp_critical_piece, in reverse order of time */
	struct sp_list causes;    /* uint32_t: the call with whose wait a piece begins; SP_NONE: no wait */
	struct sp_list stretches; /* in the order of time */
	struct sp_list shares;    /* of all stretches of a location, one location after the other */
	uint32_t *next;           /* owned; for each location: calls from this index on are already processed */
	uint32_t *share_of;       /* owned; for each region: its share of the current stretch + 1 */
	struct sp_path_index index;
};

/* ---- backwards ---- */

static uint32_t last_location(const struct sp_model *m)
{
	uint32_t l, found = SP_NONE;
	int pass;

	/* ranks first: the process that started them may end later */
	for (pass = 0; pass < 2 && found == SP_NONE; pass++)
		for (l = 0; l < m->n_locations; l++) {
			const struct sp_process *p = &m->processes[m->locations[l].process];

			if (p->traced && (pass || p->world) &&
			    (found == SP_NONE || m->locations[l].end > m->locations[found].end))
				found = l;
		}
	return found;
}

static bool waits(const struct finding *f, uint32_t call)
{
	const struct sp_dependency *d = &f->w->dependencies[call];
	const struct sp_mpi_call *c = &f->x->calls[call];

	return d->on != SP_NONE && d->on != c->location && d->last > c->enter && !c->polls;
}

static uint64_t end_of_wait(const struct finding *f, uint32_t call)
{
	const uint64_t last = f->w->dependencies[call].last, leave = f->x->calls[call].leave;

	return last < leave ? last : leave;
}

/* The last call of a location that waited and ended at `at` or before; SP_NONE: no such call. Each call is found at
 * most once. */
static uint32_t wait_before(struct finding *f, uint32_t location, uint64_t at)
{
	const uint32_t first = f->x->first_call[location];

	while (f->next[location] > first) {
		uint32_t call = --f->next[location];

		if (f->x->calls[call].leave <= at && waits(f, call))
			return call;
	}
	return SP_NONE;
}

static int add_piece(struct finding *f, uint32_t location, uint64_t from, uint64_t to, uint32_t cause)
{
	struct sp_critical_piece *p = sp_list_add(&f->pieces, sizeof(*p));
	uint32_t *why = p ? sp_list_add(&f->causes, sizeof(*why)) : NULL;

	if (!why)
		return -1;
	*p = (struct sp_critical_piece){from, to, location};
	*why = cause;
	return 0;
}

/* The location that started this one; SP_NONE: unknown, or (damage) it did not begin earlier. */
static uint32_t creator_of(const struct sp_model *m, uint32_t location)
{
	const uint32_t creator = m->locations[location].creator;

	if (creator == SP_NONE || m->locations[creator].begin > m->locations[location].begin)
		return SP_NONE;
	return m->locations[creator].begin < m->locations[location].begin || creator < location ? creator : SP_NONE;
}

static int go_back(struct finding *f)
{
	const struct sp_model *m = f->x->m;
	uint32_t location = last_location(m), call, l;
	uint64_t at = location == SP_NONE ? 0 : m->locations[location].end, from;

	for (l = 0; l < m->n_locations; l++)
		f->next[l] = f->x->first_call[l + 1];
	while (location != SP_NONE) {
		call = wait_before(f, location, at);
		from = call == SP_NONE ? m->locations[location].begin : end_of_wait(f, call);
		if (from > at)
			from = at;
		if (add_piece(f, location, from, at, call))
			return -1;
		at = from;
		location = call != SP_NONE ? f->w->dependencies[call].on : creator_of(m, location);
	}
	return 0;
}

/* ---- forwards ---- */

static int add_stretch(struct finding *f, uint32_t location, uint64_t from, uint64_t to, uint64_t slack)
{
	struct stretch *s = sp_list_add(&f->stretches, sizeof(*s));

	if (s)
		*s = (struct stretch){from, to, slack, location};
	return s ? 0 : -1;
}

/* The time between the last arrival and the previous one that the call depends on. */
static uint64_t slack_of(const struct finding *f, uint32_t call)
{
	const struct sp_dependency *d = &f->w->dependencies[call];
	const uint64_t enter = f->x->calls[call].enter;
	uint64_t last = d->last > enter ? d->last : enter, before = d->last > enter ? enter : d->last;

	if (d->before > before)
		before = d->before;
	return last - before;
}

/* The first call of a location that begins at `from` or later. */
static uint32_t call_from(const struct finding *f, uint32_t location, uint64_t from)
{
	uint32_t begin = f->x->first_call[location], end = f->x->first_call[location + 1];

	while (begin < end) {
		uint32_t middle = begin + (end - begin) / 2;

		if (f->x->calls[middle].enter < from)
			begin = middle + 1;
		else
			end = middle;
	}
	return begin;
}

static int cut_piece(struct finding *f, const struct sp_critical_piece *p, uint32_t cause)
{
	const struct sp_messages *x = f->x;
	uint64_t from = p->from, slack = cause == SP_NONE ? UINT64_MAX : slack_of(f, cause);
	uint32_t i;

	for (i = call_from(f, p->location, p->from); i < x->first_call[p->location + 1] && x->calls[i].enter < p->to;
	     i++) {
		if (f->w->dependencies[i].on == SP_NONE || waits(f, i))
			continue;
		if (add_stretch(f, p->location, from, x->calls[i].enter, slack))
			return -1;
		from = x->calls[i].enter;
		slack = slack_of(f, i);
	}
	return add_stretch(f, p->location, from, p->to, slack);
}

static int take_pieces(struct finding *f)
{
	const struct sp_critical_piece *p = f->pieces.p;
	const uint32_t *cause = f->causes.p;
	struct sp_critical *c = f->c;
	size_t i;

	c->pieces = malloc((f->pieces.n + 1) * sizeof(*c->pieces));
	if (!c->pieces)
		return -1;
	for (i = f->pieces.n; i-- > 0;) {
		if (cut_piece(f, &p[i], cause[i]))
			return -1;
		if (c->n_pieces && c->pieces[c->n_pieces - 1].location != p[i].location)
			c->jumps++;
		c->pieces[c->n_pieces++] = p[i];
		c->length += (double)(p[i].to - p[i].from);
		c->locations[p[i].location] += (double)(p[i].to - p[i].from);
	}
	return 0;
}

/* ---- time on the path ---- */

static int add_share(struct finding *f, uint32_t stretch, uint32_t path, double time)
{
	const uint32_t region = f->x->m->paths[path].region;
	struct share *all = f->shares.p, *s;
	uint32_t i = f->share_of[region];

	f->c->paths[path] += time;
	f->c->regions[region].time += time;
	if (i && all[i - 1].stretch == stretch) {
		all[i - 1].time += time;
		return 0;
	}
	s = sp_list_add(&f->shares, sizeof(*s));
	if (!s)
		return -1;
	*s = (struct share){stretch, region, time};
	f->share_of[region] = (uint32_t)f->shares.n;
	return 0;
}

/* The time between two events, and how much of it the location waited (ns). */
struct between {
	uint64_t from, to, waiting;
};

/* Adds the part of the time between two events that is on the path; *at: the first of the location's stretches that
 * does not end before it begins. */
static int add_time(struct finding *f, const uint32_t *mine, size_t n, size_t *at, uint32_t path,
                    const struct between *t)
{
	const struct stretch *all = f->stretches.p;
	const uint64_t from = t->from, to = t->to;
	size_t i;

	while (*at < n && all[mine[*at]].to <= from)
		++*at;
	for (i = *at; i < n && all[mine[i]].from < to; i++) {
		const struct stretch *s = &all[mine[i]];
		uint64_t begin = s->from > from ? s->from : from, end = s->to < to ? s->to : to;

		if (end <= begin)
			continue;
		if (add_share(f, mine[i], path, (double)(end - begin)))
			return -1;
		f->c->waiting[path] += (double)t->waiting * (double)(end - begin) / (double)(to - from);
	}
	return 0;
}

static int read_location(struct finding *f, uint32_t location, const uint32_t *mine, size_t n, struct sp_err *e)
{
	enum { BATCH = 1024 };
	struct sp_event *batch = malloc(BATCH * sizeof(*batch));
	struct sp_events *events = NULL;
	struct sp_follow follow;
	uint64_t before = f->x->m->locations[location].begin;
	size_t at = 0;
	long k = -1, i;
	int failed = !batch || sp_follow_init(&follow, &f->index);

	if (failed) {
		free(batch);
		return sp_model_no_memory(e);
	}
	if (sp_events_open(&events, f->x->m, location, e) == 0)
		while (!failed && (k = sp_events_read(events, batch, BATCH, e)) > 0)
			for (i = 0; i < k && !failed; i++) {
				const struct sp_event *ev = &batch[i];
				const bool waited = ev->kind == SP_EVENT_OFF_CPU && ev->id == SP_OFF_CPU_WAITING;
				const struct between t = {before, ev->time, waited ? ev->u.uint : 0};

				failed = add_time(f, mine, n, &at, sp_follow_path(&follow), &t) ||
				         sp_follow_event(&follow, ev);
				before = ev->time;
			}
	if (!failed && k == 0)
		failed = add_time(f, mine, n, &at, 0, &(struct between){before, f->x->m->locations[location].end, 0});
	sp_events_close(events);
	sp_follow_free(&follow);
	free(batch);
	return failed ? sp_model_no_memory(e) : k < 0 ? -1 : 0;
}

static int by_location(const void *a, const void *b, void *arg)
{
	const struct stretch *all = arg;
	const uint32_t p = *(const uint32_t *)a, q = *(const uint32_t *)b;

	if (all[p].location != all[q].location)
		return all[p].location < all[q].location ? -1 : 1;
	return p < q ? -1 : p > q;
}

static int read_all(struct finding *f, struct sp_err *e)
{
	const struct stretch *all = f->stretches.p;
	size_t n = f->stretches.n, i, k;
	uint32_t *mine = malloc((n + 1) * sizeof(*mine));
	int rc = 0;

	if (!mine)
		return sp_model_no_memory(e);
	for (i = 0; i < n; i++)
		mine[i] = (uint32_t)i;
	if (n)
		qsort_r(mine, n, sizeof(*mine), by_location, f->stretches.p);
	for (i = 0; i < n && rc == 0; i = k) {
		for (k = i + 1; k < n && all[mine[k]].location == all[mine[i]].location;)
			k++;
		rc = read_location(f, all[mine[i]].location, mine + i, k - i, e);
	}
	free(mine);
	return rc;
}

/* ---- savings ---- */

static int by_stretch(const void *a, const void *b)
{
	const struct share *p = a, *q = b;

	if (p->stretch != q->stretch)
		return p->stretch < q->stretch ? -1 : 1;
	return p->region < q->region ? -1 : p->region > q->region;
}

/* The slacks that no later one is smaller than, in the order of their stretches, so they increase. */
struct slacks {
	const struct stretch *all;
	uint32_t *stretch; /* owned */
	size_t n;
};

static void push(struct slacks *s, uint32_t stretch)
{
	while (s->n && s->all[s->stretch[s->n - 1]].slack >= s->all[stretch].slack)
		s->n--;
	s->stretch[s->n++] = stretch;
}

/* The smallest slack after a stretch. */
static double least_after(const struct slacks *s, uint32_t stretch)
{
	size_t begin = 0, end = s->n;

	while (begin < end) {
		size_t middle = begin + (end - begin) / 2;

		if (s->stretch[middle] <= stretch)
			begin = middle + 1;
		else
			end = middle;
	}
	return begin < s->n ? (double)s->all[s->stretch[begin]].slack : (double)UINT64_MAX;
}

static int find_savings(struct finding *f, double part)
{
	struct slacks slacks = {.all = f->stretches.p, .stretch = malloc((f->stretches.n + 1) * sizeof(uint32_t))};
	struct share *share = f->shares.p;
	struct sp_critical_region *r;
	uint32_t *seen = f->share_of, i; /* for each region: the last stretch with it */
	size_t k = 0;

	if (!slacks.stretch)
		return -1;
	if (f->shares.n)
		qsort(share, f->shares.n, sizeof(*share), by_stretch);
	for (i = 0; i < f->stretches.n; i++) {
		push(&slacks, i);
		for (; k < f->shares.n && share[k].stretch == i; k++) {
			r = &f->c->regions[share[k].region];
			if (r->at_least > 0 && least_after(&slacks, seen[share[k].region]) < r->at_least)
				r->at_least = least_after(&slacks, seen[share[k].region]);
			r->at_least += part * share[k].time;
			r->at_most += part * share[k].time;
			seen[share[k].region] = i;
		}
	}
	for (i = 0; i < f->x->m->n_regions; i++) {
		r = &f->c->regions[i];
		if (r->at_least > 0 && least_after(&slacks, seen[i]) < r->at_least)
			r->at_least = least_after(&slacks, seen[i]);
	}
	free(slacks.stretch);
	return 0;
}

int sp_critical_find(struct sp_critical *c, const struct sp_messages *x, const struct sp_waits *w, double share,
                     struct sp_err *e)
{
	const struct sp_model *m = x->m;
	struct finding f = {.x = x, .w = w, .c = c};
	int rc;

	*c = (struct sp_critical){.paths = calloc(m->n_paths + 1, sizeof(*c->paths)),
	                          .waiting = calloc(m->n_paths + 1, sizeof(*c->waiting)),
	                          .locations = calloc(m->n_locations + 1, sizeof(*c->locations)),
	                          .regions = calloc(m->n_regions + 1, sizeof(*c->regions))};
	f.next = calloc(m->n_locations + 1, sizeof(*f.next));
	f.share_of = calloc(m->n_regions + 1, sizeof(*f.share_of));
	rc = sp_path_index_init(&f.index, m);
	if (rc || !c->paths || !c->waiting || !c->locations || !c->regions || !f.next || !f.share_of || go_back(&f) ||
	    take_pieces(&f))
		rc = sp_model_no_memory(e);
	else
		rc = read_all(&f, e);
	for (size_t i = 0; rc == 0 && i < m->n_paths; i++)
		c->regions[m->paths[i].region].waiting += c->waiting[i];
	if (rc == 0 && find_savings(&f, share))
		rc = sp_model_no_memory(e);
	sp_path_index_free(&f.index);
	free(f.next);
	free(f.share_of);
	free(f.pieces.p);
	free(f.causes.p);
	free(f.stretches.p);
	free(f.shares.p);
	return rc;
}

void sp_critical_free(struct sp_critical *c)
{
	free(c->pieces);
	free(c->paths);
	free(c->waiting);
	free(c->locations);
	free(c->regions);
}
