/* SPDX-License-Identifier: BSD-3-Clause */
/* The index's answers about metrics, compared with all single readings. */
#include "check.h"
#include "model/event.h"
#include "model/events/follow.h"
#include "model/lod/lod.h"
#include "model/model.h"
#include "model/report/report.h"
#include "model/str.h"
#include "scratch.h"
#include "model/metric.h"

enum { TIME, LEVEL, READ, BYTES, METRICS, DEEPEST = 24 }; /* columns; BYTES is exclusive */

static uint64_t random_state = 88172645463325252u;

static uint64_t pick(uint64_t n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return n ? (random_state >> 11) % n : 0;
}

static bool near(double a, double b)
{
	return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b)) + 1e-6;
}

/* ---- the experiment ---- */

struct making {
	struct rg_thread *t;
	uint64_t at, begin;
	uint64_t now[READ + 1];
	uint64_t start[DEEPEST + 1][READ + 1]; /* values at the begins of the open calls */
	uint64_t before[READ + 1];             /* last reading */
	bool off;                              /* recording was off since then */
};

static void read_now(struct making *k)
{
	unsigned depth;
	int i;

	for (depth = 1; k->off && depth <= rg_depth(k->t); depth++)
		for (i = 0; i <= READ; i++)
			k->start[depth][i] += k->now[i] - k->before[i];
	k->off = false;
	memcpy(k->before, k->now, sizeof(k->now));
	rg_extra(k->t, k->at, SP_RAW_X_METRICS, k->now, READ + 1);
}

static void go_on(struct making *k)
{
	const uint64_t ns = pick(8) ? pick(40) : pick(3000);

	k->at += ns;
	k->now[TIME] += ns / 2;
	k->now[LEVEL] += pick(200) ? 0 : pick(9);
	k->now[READ] += pick(3) ? 0 : pick(100000);
}

static void enter(struct making *k)
{
	read_now(k);
	memcpy(k->start[rg_depth(k->t) + 1], k->now, sizeof(k->now));
	rg_enter(k->t, k->at, (uint32_t)(1 + pick(6)));
}

static void leave(struct making *k)
{
	const unsigned depth = rg_depth(k->t);
	int i;

	read_now(k);
	for (i = 0; i <= READ; i++)
		*rg_value(k->t, rg_top(k->t), (uint32_t)i) += k->now[i] - k->start[depth][i];
	rg_leave(k->t, k->at);
}

/* Recording is off: growth during that time is in no call, and neither is growth between the last reading and the next
 * one. */
static void be_off(struct making *k)
{
	int i;

	rg_extra(k->t, k->at, SP_RAW_X_OFF, NULL, 0);
	for (i = 0; i < 20; i++)
		go_on(k);
	rg_extra(k->t, k->at, SP_RAW_X_ON, NULL, 0);
	k->off = true;
}

static void fill(struct rg_thread *t, uint64_t begin, unsigned events)
{
	struct making k = {.t = t, .at = begin, .now = {700, 5000, 1}};
	unsigned n;

	for (n = 0; n < events; n++) {
		const unsigned depth = rg_depth(t);

		go_on(&k);
		if (depth == 0 || (depth < DEEPEST && pick(2)))
			enter(&k);
		else
			leave(&k);
		if (pick(50) == 0)
			rg_counter(t, k.at += 3, 0, 1);
		if (pick(events / 2) == 0)
			be_off(&k);
	}
	while (rg_depth(t)) {
		go_on(&k);
		leave(&k);
	}
}

static const char *made(unsigned events)
{
	const char *dir = scratch_experiment();
	struct rg_process *p = rg_process(7, 1, 900, true), *q = rg_process(8, 7, 2000, true);
	struct rg_thread *t;
	uint32_t i;

	for (i = 1; i <= 6; i++)
		rg_region(p, i, SP_RAW_REGION_PYTHON, "m", (const char *[]){"a", "b", "c", "d", "e", "f"}[i - 1],
		          "/m.py", i);
	rg_define(p, SP_RAW_DEF_COUNTER, 0, "queue");
	rg_metric(p, TIME, SP_RAW_METRIC_RUSAGE, "ru_utime", "s", -6);
	rg_metric(p, LEVEL, SP_RAW_METRIC_RUSAGE | SP_RAW_METRIC_LEVEL, "ru_maxrss", "kB", 0);
	rg_metric(p, READ, SP_RAW_METRIC_PERF, "instructions", "#", 0);
	rg_metric(p, BYTES, SP_RAW_METRIC_BYTES | SP_RAW_METRIC_EXCLUSIVE, "io_bytes_read", "byte", 0);
	fill(rg_thread(p, "MainThread", 7, SP_RAW_NONE, 900), 1000, events);
	fill(rg_thread(p, "helper", 8, 0, 950), 5000, events / 50);
	scratch_add(dir, p, "h-7.raw", SP_RAW_ENDED_NORMAL, UINT64_C(1) << 30);
	/* a process without metrics */
	rg_region(q, 1, SP_RAW_REGION_PYTHON, "m", "a", "/m.py", 1);
	t = rg_thread(q, "MainThread", 8, SP_RAW_NONE, 2000);
	rg_enter(t, 2100, 1);
	rg_leave(t, 2200);
	scratch_add(dir, q, "h-8.raw", SP_RAW_ENDED_NORMAL, 3000);
	return dir;
}

/* ---- growth ---- */

static void grow(const struct sp_model *m, const struct sp_event *ev, uint32_t path, uint64_t last, uint64_t value,
                 uint64_t begin, uint64_t end, double *grown)
{
	const uint64_t from = last > begin ? last : begin, to = ev->time < end ? ev->time : end;
	double part = last >= begin && ev->time <= end ? 1 : to > from ? (double)(to - from) : 0;

	if (!(last >= begin && ev->time <= end) && part > 0)
		part /= (double)(ev->time - last);
	if (path)
		grown[path * sp_lod_metrics(m) + sp_lod_metric(m, ev->id)] += part * (double)(ev->u.uint - value);
}

static void growth_truth(const struct sp_model *m, uint32_t location, uint64_t begin, uint64_t end, double *grown)
{
	struct sp_path_index index;
	struct sp_follow f;
	struct sp_events *s;
	struct sp_event ev;
	struct sp_err e = {.code = 0};
	uint64_t at[METRICS], value[METRICS];
	bool known[METRICS] = {false};

	MUST(sp_path_index_init(&index, m) == 0 && sp_follow_init(&f, &index) == 0);
	MUST(sp_events_open(&s, m, location, &e) == 0);
	while (sp_events_read(s, &ev, 1, &e) > 0) {
		if (ev.kind == SP_EVENT_OFF)
			memset(known, 0, sizeof(known));
		if (ev.kind == SP_EVENT_METRIC) {
			if (known[ev.id])
				grow(m, &ev, sp_follow_path(&f), at[ev.id], value[ev.id], begin, end, grown);
			known[ev.id] = true;
			at[ev.id] = ev.time;
			value[ev.id] = ev.u.uint;
		}
		MUST(sp_follow_event(&f, &ev) == 0);
	}
	sp_events_close(s);
	sp_follow_free(&f);
	sp_path_index_free(&index);
}

static void check_growth(struct sp_lod *p, const struct sp_model *m, uint32_t location, uint64_t begin, uint64_t end)
{
	const size_t n = m->n_paths * sp_lod_metrics(m);
	double *want = calloc(n, sizeof(*want)), *is = calloc(n, sizeof(*is));
	struct sp_err e = {.code = 0};
	size_t i, wrong = 0;

	MUST(want && is);
	growth_truth(m, location, begin, end, want);
	CHECK(sp_lod_grown(p, location, begin, end, is, &e) == 0);
	for (i = 0; i < n; i++)
		wrong += !near(is[i], want[i]);
	CHECK(wrong == 0);
	free(want);
	free(is);
}

/* The growth over the whole run equals the profile's, to the last digit. */
static void check_whole(struct sp_lod *p, const struct sp_model *m)
{
	const size_t width = sp_lod_metrics(m);
	double *grown = calloc(m->n_paths * width, sizeof(*grown));
	struct sp_view v;
	struct sp_sum *sums;
	struct sp_err e = {.code = 0};
	uint32_t i, k;

	MUST(grown && sp_view_open(&v, m, SP_NONE, SP_NONE, &e) == 0 && sp_metric_paths(&v, &sums, &e) == 0);
	for (i = 0; i < m->n_locations; i++)
		CHECK(sp_lod_grown(p, i, 0, m->end_ns - m->begin_ns, grown, &e) == 0);
	for (i = 1; i < m->n_paths; i++)
		for (k = 0; k < m->n_metrics; k++)
			if (!m->metrics[k].own)
				CHECK_NUMBER(grown[i * width + sp_lod_metric(m, k)], sums[i * m->n_metrics + k].excl);
	free(sums);
	free(grown);
	sp_view_close(&v);
}

/* ---- curves ---- */

struct reading {
	uint64_t time, value;
};

struct curve {
	struct reading *all;    /* owned; all readings */
	size_t n, capacity, at; /* at: index of the one that was reported last */
	uint64_t begin, end;
	bool level, fine;
	size_t reported;
	uint32_t metric;
};

static void read_curve(struct curve *c, const struct sp_model *m, uint32_t location)
{
	struct sp_events *s;
	struct sp_event ev;
	struct sp_err e = {.code = 0};

	c->n = 0;
	MUST(sp_events_open(&s, m, location, &e) == 0);
	while (sp_events_read(s, &ev, 1, &e) > 0) {
		if (ev.kind != SP_EVENT_METRIC || ev.id != c->metric)
			continue;
		if (c->n == c->capacity) {
			c->capacity = c->capacity * 2 + 1024;
			c->all = realloc(c->all, c->capacity * sizeof(*c->all));
			MUST(c->all);
		}
		c->n -= c->n && c->all[c->n - 1].time == ev.time;
		c->all[c->n++] = (struct reading){ev.time, ev.u.uint};
	}
	sp_events_close(s);
}

static double rate(const struct reading *from, const struct reading *to)
{
	return ((double)to->value - (double)from->value) / (double)(to->time - from->time) * 1e9;
}

static void reported(void *arg, uint32_t metric, uint64_t time, double value, double low, double high)
{
	struct curve *c = arg;
	double least = HUGE_VAL, highest = -HUGE_VAL;
	size_t i = c->reported ? c->at + 1 : 0, k;

	CHECK(metric == c->metric);
	while (i < c->n && c->all[i].time < time)
		i++;
	MUST(i < c->n);
	CHECK(c->all[i].time == time && near(value, (double)(c->all[i].value - (c->level ? 0 : c->all[0].value))));
	if (c->reported++ == 0) {
		CHECK(isnan(low) && isnan(high));
		CHECK(i == 0 || time <= c->begin);
		CHECK(time >= c->begin || i + 1 == c->n || c->all[i + 1].time > c->begin);
	} else {
		for (k = c->at + 1; k <= i; k++) {
			least = fmin(least, rate(&c->all[k - 1], &c->all[k]));
			highest = fmax(highest, rate(&c->all[k - 1], &c->all[k]));
		}
		CHECK(low <= rate(&c->all[c->at], &c->all[i]) * (1 + 1e-9) &&
		      high >= rate(&c->all[c->at], &c->all[i]) * (1 - 1e-9));
		if (c->fine)
			CHECK(near(low, least) && near(high, highest));
		else
			CHECK(low >= least * (1 - 1e-9) && high <= highest * (1 + 1e-9));
		CHECK(c->all[c->at].time < c->end);
	}
	c->at = i;
}

static void check_curve(struct sp_lod *p, const struct sp_model *m, uint32_t location, uint64_t begin, uint64_t end,
                        uint32_t pixels)
{
	struct curve c = {.begin = begin, .end = end, .fine = (end - begin) / pixels <= 1};
	struct sp_lod_asked q = {.begin = begin, .end = end, .pixels = pixels};
	struct sp_err e = {.code = 0};

	for (c.metric = 0; c.metric < m->n_metrics; c.metric++) {
		q.counter = c.metric;
		c.level = m->metrics[c.metric].level;
		c.reported = 0;
		read_curve(&c, m, location);
		CHECK(sp_lod_metric_curve(p, location, &q, reported, &c, &e) == 0);
		CHECK(c.reported <= pixels + 2 && (c.reported > 0) == (c.n > 0));
		/* up to the first one after the range */
		CHECK(c.reported == 0 || c.at + 1 == c.n || c.all[c.at].time >= end);
	}
	free(c.all);
}

static void check_all(const struct sp_model *m, unsigned times)
{
	const uint64_t whole = m->end_ns - m->begin_ns;
	struct sp_lod *p;
	struct sp_err e = {.code = 0};
	uint32_t i;
	unsigned k;

	MUST(sp_lod_open(&p, m, &(struct sp_lod_options){.fresh = true}, &e) == 0);
	check_whole(p, m);
	for (i = 0; i < m->n_locations; i++) {
		const uint64_t length = m->locations[i].end - m->locations[i].begin;

		for (k = 0; k < times; k++) {
			const uint64_t begin = k ? m->locations[i].begin + pick(length) : 0;
			const uint64_t end = k ? begin + 1 + pick(length >> pick(20)) : whole;

			check_growth(p, m, i, begin, end);
			check_curve(p, m, i, begin, end, k % 2 ? 1000 : (uint32_t)(1 + pick(200)));
			if (k)
				check_curve(p, m, i, begin, begin + 2000, 2000);
		}
	}
	sp_lod_close(p);
}

int main(void)
{
	struct sp_model *m = scratch_load(made(60000), 0);

	check_all(m, 12);
	sp_model_free(m);
	m = scratch_load(made(300), 0);
	check_all(m, 30);
	sp_model_free(m);
	return check_failures != 0;
}
