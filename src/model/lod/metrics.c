/* SPDX-License-Identifier: BSD-3-Clause */
/* Inclusive metrics: their values at the begins of buckets, and their growth in each path of a sum. Readings in between
 * are decoded from the events. */
#include "model/builder/problem.h"
#include "model/builder/source.h"
#include "model/event.h"
#include "model/lod/file.h"
#include "model/lod/lod.h"
#include "model/lod/made.h"
#include "model/lod/make.h"
#include "model/lod/opened.h"
#include "model/lod/read.h"
#include "model/metric.h"
#include "model/model.h"
#include "model/str.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 256, BEYOND = 4096 };
static const uint64_t NOT_READ = (uint64_t)SP_LOD_NOT_READ;

size_t sp_lod_metrics(const struct sp_model *m)
{
	size_t i, n = 0;

	for (i = 0; i < m->n_metrics; i++)
		n += !m->metrics[i].own;
	return n;
}

uint32_t sp_lod_metric(const struct sp_model *m, uint32_t metric)
{
	uint32_t i, n = 0;

	for (i = 0; i < metric; i++)
		n += !m->metrics[i].own;
	return m->metrics[metric].own ? SP_NONE : n;
}

/* ---- making ---- */

bool sp_lod_metrics_init(struct sp_lod_maker *x)
{
	const size_t n = sp_lod_metrics(x->m);

	uint32_t i;

	x->which = calloc(x->m->n_metrics + 1, sizeof(*x->which));
	for (i = 0; x->which && i < x->m->n_metrics; i++)
		x->which[i] = sp_lod_metric(x->m, i);
	x->now = calloc(n + 1, sizeof(*x->now));
	x->grown = calloc(x->m->n_paths * n + 1, sizeof(*x->grown));
	return x->which && x->now && x->grown;
}

void sp_lod_metrics_off(struct sp_lod_maker *x)
{
	size_t i;

	for (i = 0; i < x->n_metrics; i++)
		x->now[i] = NOT_READ;
}

void sp_lod_metrics_begin(struct sp_lod_maker *x, uint32_t location)
{
	const struct sp_model_private *priv = x->m->priv;

	x->n_metrics = priv->sources[priv->places[location].source].n_sync ? sp_lod_metrics(x->m) : 0;
	x->read = 0;
	sp_lod_metrics_off(x);
}

/* The first row has the first reading. */
static void read_first(struct sp_lod_maker *x, const struct sp_event *ev, uint32_t metric)
{
	uint64_t *row = x->out->counts.p;

	if (x->out->counts.n == 0 || row[1 + metric] != NOT_READ)
		return;
	if (row[0] == 0)
		row[0] = ev->time;
	row[1 + metric] = ev->u.uint;
}

void sp_lod_metrics_read(struct sp_lod_maker *x, const struct sp_event *ev)
{
	const uint32_t metric = x->n_metrics ? x->which[ev->id] : SP_NONE;

	if (metric == SP_NONE)
		return;
	if (x->now[metric] != NOT_READ && x->depth)
		x->grown[x->stack[x->depth - 1].path * x->n_metrics + metric] += ev->u.uint - x->now[metric];
	x->now[metric] = ev->u.uint;
	x->read = ev->time;
	read_first(x, ev, metric);
}

bool sp_lod_counts_put(struct sp_lod_maker *x)
{
	uint64_t *to;

	if (x->n_metrics == 0)
		return true;
	to = sp_lod_more(&x->out->counts, 1 + x->n_metrics);
	if (!to)
		return false;
	to[0] = x->read;
	memcpy(to + 1, x->now, x->n_metrics * sizeof(*to));
	return true;
}

bool sp_lod_grown_put(struct sp_lod_maker *x, unsigned level)
{
	const size_t n = x->n_metrics;
	uint64_t *to = sp_lod_more(&x->out->grown[level], n * x->n_touched), *from;
	size_t i;

	if (!to)
		return false;
	for (i = 0; i < x->n_touched; i++) {
		from = x->grown + x->touched[i] * n;
		memcpy(to + i * n, from, n * sizeof(*to));
		memset(from, 0, n * sizeof(*from));
	}
	return true;
}

void sp_lod_grown_add(struct sp_lod_maker *x, unsigned level, uint64_t entry, uint32_t path)
{
	const uint64_t *from = (const uint64_t *)x->out->grown[level].p + entry * x->n_metrics;
	size_t i;

	for (i = 0; i < x->n_metrics; i++)
		x->grown[path * x->n_metrics + i] += from[i];
}

/* ---- growth in a range ---- */

struct growing {
	struct sp_lod_reader r;
	size_t n;            /* number of metrics */
	uint64_t begin, end; /* ns */
	uint64_t *now, *at;  /* owned; value of each metric, and the time of its reading */
	bool past;           /* a reading after the end was seen */
	double *grown;
};

/* The difference of two values; negative if the metric decreased. */
static double step_of(uint64_t from, uint64_t to)
{
	return (double)(int64_t)(to - from);
}

/* The fraction of the growth between two times that is in the range. */
static double part_of(const struct growing *g, uint64_t from, uint64_t to)
{
	const uint64_t first = from > g->begin ? from : g->begin, last = to < g->end ? to : g->end;

	if (from >= g->begin && to <= g->end)
		return to > from || to > g->begin || to == 0;
	return last > first ? (double)(last - first) / (double)(to - from) : 0;
}

static void read_one(struct growing *g, const struct sp_event *ev)
{
	const uint32_t metric = sp_lod_metric(g->r.p->m, ev->id);
	const struct sp_lod_call *top = g->r.depth ? &g->r.calls[g->r.depth - 1] : NULL;

	if (metric == SP_NONE)
		return;
	if (g->now[metric] != NOT_READ && top)
		g->grown[top->path * g->n + metric] +=
		    part_of(g, g->at[metric], ev->time) * step_of(g->now[metric], ev->u.uint);
	g->now[metric] = ev->u.uint;
	g->at[metric] = ev->time;
	g->past = ev->time > g->end;
}

static int grow_event(struct growing *g, const struct sp_event *ev, struct sp_err *e)
{
	struct sp_lod_reader *r = &g->r;
	const uint32_t parent = r->depth ? r->calls[r->depth - 1].path : 0;

	if (ev->kind == SP_EVENT_METRIC)
		read_one(g, ev);
	else if (ev->kind == SP_EVENT_OFF || ev->kind == SP_EVENT_ON)
		memset(g->now, 0xff, g->n * sizeof(*g->now));
	if (sp_lod_reader_follow(r, ev, e))
		return -1;
	if (ev->kind == SP_EVENT_ENTER || ev->kind == SP_EVENT_RESUME || ev->kind == SP_EVENT_INHERIT)
		r->calls[r->depth - 1].path = sp_path_below(&r->p->index, parent, ev->id);
	return 0;
}

static void set_counts(struct growing *g, size_t bucket)
{
	const uint64_t *row = g->r.l.counts + bucket * (g->n + 1);
	size_t i;

	for (i = 0; i < g->n; i++) {
		g->now[i] = row[1 + i];
		g->at[i] = row[0];
	}
}

/* Adds the buckets [first, end), up to the first reading after the range. */
static int grow_events(struct growing *g, size_t first, size_t end, struct sp_err *e)
{
	struct sp_lod_reader *r = &g->r;
	struct sp_event batch[BATCH];
	uint64_t left, beyond = 0;
	bool done = false;
	long n, i;

	if (first >= end)
		return 0;
	if (sp_lod_reader_span(r, first, end, &left, e))
		return -1;
	set_counts(g, first);
	for (g->past = false; left && !done; left -= (uint64_t)n) {
		n = sp_events_read(r->events, batch, left < BATCH ? left : BATCH, e);
		if (n <= 0)
			return n ? -1 : sp_lod_damaged(e);
		for (i = 0; i < n && !done; i++) {
			done = (g->past && batch[i].kind != SP_EVENT_METRIC) || beyond == BEYOND;
			beyond += batch[i].time > g->end;
			if (!done && grow_event(g, &batch[i], e))
				return -1;
		}
	}
	return 0;
}

/* The first sum without growth before the range: it and its first reading are within the range. */
static size_t first_sum(const struct growing *g)
{
	const struct sp_lod_location *l = &g->r.l;
	const struct sp_lod_sums *s = &l->sums[0];
	size_t low = 0, high = s->n, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (s->p[mid].time < g->begin || l->counts[s->p[mid].bucket * (g->n + 1)] < g->begin)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Adds all sums within the range, from the i-th on; returns the first one that is not within it. */
static size_t grow_sums(struct growing *g, size_t i)
{
	const struct sp_lod_location *l = &g->r.l;
	const struct sp_lod_sum *s;
	unsigned level;
	uint64_t k;
	size_t m;

	while (i < l->sums[0].n && l->sums[0].p[i + 1].time <= g->end) {
		level = sp_lod_sum_level(l, i, g->end);
		s = &l->sums[level].p[i >> level * SP_LOD_SUM_FAN_BITS];
		for (k = s[0].entries; k < s[1].entries; k++)
			for (m = 0; m < g->n; m++)
				g->grown[l->entries[k].path * g->n + m] += step_of(0, l->grown[k * g->n + m]);
		i += (size_t)1 << level * SP_LOD_SUM_FAN_BITS;
	}
	return i < l->sums[0].n ? i : l->sums[0].n;
}

static int grow_location(struct growing *g, struct sp_err *e)
{
	const struct sp_lod_location *l = &g->r.l;
	const size_t buckets = l->place->points.n;
	size_t first, sum;

	if (buckets == 0 || !l->counts || g->end < l->place->begin || g->begin > l->place->end)
		return 0;
	first = sp_lod_bucket_at(l, g->begin);
	sum = first_sum(g);
	if (sum == l->sums[0].n || l->sums[0].p[sum + 1].time > g->end)
		return grow_events(g, first, buckets, e);
	if (grow_events(g, first, l->sums[0].p[sum].bucket, e))
		return -1;
	sum = grow_sums(g, sum);
	return sum < l->sums[0].n ? grow_events(g, l->sums[0].p[sum].bucket, buckets, e) : 0;
}

int sp_lod_grown(struct sp_lod *p, uint32_t location, uint64_t begin, uint64_t end, double *grown, struct sp_err *e)
{
	struct growing g = {.begin = begin, .end = end, .grown = grown, .n = sp_lod_metrics(p->m)};
	int rc = sp_lod_reader_open(&g.r, p, location, e);

	g.now = calloc(g.n + 1, sizeof(*g.now));
	g.at = calloc(g.n + 1, sizeof(*g.at));
	if (rc == 0)
		rc = g.now && g.at ? grow_location(&g, e) : sp_model_no_memory(e);
	free(g.now);
	free(g.at);
	sp_lod_reader_close(&g.r);
	return rc;
}

/* ---- a curve ---- */

struct curve {
	struct sp_lod_reader r;
	const struct sp_lod_asked *q;
	size_t row;             /* elements in a row of counts */
	uint32_t metric, which; /* index in the model, and among the inclusive metrics */
	double width;           /* ns per pixel */
	uint64_t zero;          /* its first value; 0 for a level */
	bool any, first;        /* any: a reading was found; first: nothing was reported yet */
	uint64_t time, value;   /* of the last reading */
	double pixel, low, high;
	sp_lod_metric_fn *report;
	void *arg;
};

static double pixel_of(const struct curve *c, uint64_t time)
{
	if (time <= c->q->begin)
		return -1;
	return time >= c->q->end ? c->q->pixels : floor((double)(time - c->q->begin) / c->width);
}

static void report_point(struct curve *c)
{
	if (!c->any)
		return;
	c->report(c->arg, c->metric, c->time, step_of(c->zero, c->value), c->first ? NAN : c->low,
	          c->first ? NAN : c->high);
	c->first = false;
	c->low = HUGE_VAL;
	c->high = -HUGE_VAL;
}

/* Processes the next reading. Returns true if no further readings are needed. */
static bool reading(struct curve *c, uint64_t time, uint64_t value)
{
	const double pixel = pixel_of(c, time);

	if (value != NOT_READ && c->any && time == c->time)
		c->value = value;
	if (value == NOT_READ || (c->any && time <= c->time))
		return c->any && c->time >= c->q->end;
	if (c->any && pixel > c->pixel)
		report_point(c);
	if (c->any) {
		const double rate = step_of(c->value, value) / (double)(time - c->time) * 1e9;

		c->low = fmin(c->low, rate);
		c->high = fmax(c->high, rate);
	}
	c->pixel = c->any ? pixel : -1; /* the first reading is reported separately */
	c->any = true;
	c->time = time;
	c->value = value;
	return time >= c->q->end;
}

/* Processes the readings in a bucket. Returns 1 if no further ones are needed, 0, or -1 with e set. */
static int read_bucket(struct curve *c, size_t bucket, struct sp_err *e)
{
	struct sp_lod_reader *r = &c->r;
	uint64_t left = sp_lod_bucket_events(&r->l, bucket);
	struct sp_event batch[BATCH];
	bool done = false;
	long n, i;

	r->next = SIZE_MAX;
	if (sp_lod_reader_calls(r, bucket, e) || sp_lod_reader_go(r, bucket, e))
		return -1;
	for (; left && !done; left -= (uint64_t)n) {
		n = sp_events_read(r->events, batch, left < BATCH ? left : BATCH, e);
		if (n <= 0)
			return n ? -1 : sp_lod_damaged(e);
		for (i = 0; i < n && !done; i++)
			if (batch[i].kind == SP_EVENT_METRIC && batch[i].id == c->metric)
				done = reading(c, batch[i].time, batch[i].u.uint);
	}
	return done;
}

static int draw_curve(struct curve *c, struct sp_err *e)
{
	const struct sp_lod_location *l = &c->r.l;
	const size_t n = l->place->points.n;
	const uint64_t *value = l->counts + 1 + c->which;
	size_t i = sp_lod_bucket_at(l, c->q->begin);
	int done = 0;

	c->any = false;
	c->first = true;
	c->zero = c->r.p->m->metrics[c->metric].level || value[0] == NOT_READ ? 0 : value[0];
	while (i > 0 && value[i * c->row] == NOT_READ)
		i--;
	for (; i <= n && !done; i++) {
		const uint64_t end = i + 1 < n ? l->points[i + 1].time : l->place->end;

		done = reading(c, l->counts[i * c->row], value[i * c->row]);
		if (!done && i < n && (double)(end - l->points[i].time) > c->width && end > c->q->begin)
			done = read_bucket(c, i, e);
		if (done < 0)
			return -1;
	}
	report_point(c);
	return 0;
}

int sp_lod_metric_curve(struct sp_lod *p, uint32_t location, const struct sp_lod_asked *q, sp_lod_metric_fn *report,
                        void *arg, struct sp_err *e)
{
	struct curve c = {.q = q, .report = report, .arg = arg, .row = sp_lod_metrics(p->m) + 1};
	int rc = sp_lod_reader_open(&c.r, p, location, e);

	c.width = (double)(q->end - q->begin) / q->pixels;
	for (; rc == 0 && c.r.l.counts && c.metric < p->m->n_metrics; c.metric++) {
		c.which = sp_lod_metric(p->m, c.metric);
		if (c.which != SP_NONE && (q->counter == SP_NONE || q->counter == c.metric))
			rc = draw_curve(&c, e);
	}
	sp_lod_reader_close(&c.r);
	return rc;
}
