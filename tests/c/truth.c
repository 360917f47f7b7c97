/* SPDX-License-Identifier: BSD-3-Clause */
#include "truth.h"

#include "model/event.h"
#include "model/events/follow.h"
#include "model/model.h"
#include "model/path.h"
#include "model/process.h"
#include "model/str.h"

struct call {
	uint64_t begin, end;
	uint32_t depth, region;
	bool seen;
};

/* One location, event by event. */
struct truth {
	struct call *calls; /* in the order of their ends */
	size_t n, capacity, events;
	uint64_t *times; /* of all events */
};

static void add_call(struct truth *t, struct call c)
{
	if (t->n == t->capacity) {
		t->capacity = t->capacity * 2 + 1024;
		t->calls = realloc(t->calls, t->capacity * sizeof(*t->calls));
		MUST(t->calls);
	}
	t->calls[t->n++] = c;
}

static void read_truth(struct truth *t, const struct sp_model *m, uint32_t location)
{
	static struct call open[5000];
	struct sp_event batch[100];
	struct sp_events *s;
	struct sp_err e = {.code = 0};
	size_t depth = 0;
	long n, i;

	*t = (struct truth){.n = 0};
	MUST(sp_events_open(&s, m, location, &e) == 0);
	while ((n = sp_events_read(s, batch, 100, &e)) > 0) {
		t->times = realloc(t->times, (t->events + (size_t)n) * sizeof(*t->times));
		MUST(t->times);
		for (i = 0; i < n; i++) {
			t->times[t->events++] = batch[i].time;
			if (batch[i].kind == SP_EVENT_LEAVE || batch[i].kind == SP_EVENT_SUSPEND) {
				open[--depth].end = batch[i].time;
				add_call(t, open[depth]);
			} else if (batch[i].kind <= SP_EVENT_INHERIT) {
				MUST(depth < 5000);
				open[depth] = (struct call){batch[i].time, 0, (uint32_t)depth, batch[i].id, false};
				depth++;
			}
		}
	}
	MUST(n == 0 && depth == 0);
	sp_events_close(s);
}

static void free_truth(struct truth *t)
{
	free(t->calls);
	free(t->times);
}

/* ---- drawing ---- */

enum { DEPTHS = 5000 };

struct seen {
	const struct truth *t;
	uint64_t begin, end, pixel;
	uint64_t calls[DEPTHS], busy[DEPTHS], last[DEPTHS];
	uint64_t wide;
	bool ordered, narrow;
};

static void draw(void *arg, uint32_t depth, uint64_t begin, uint64_t end, uint64_t calls, uint64_t busy,
                 uint32_t region, uint64_t longest)
{
	struct seen *s = arg;
	size_t i;

	MUST(depth < DEPTHS);
	s->calls[depth] += calls;
	s->busy[depth] += busy;
	s->ordered &= begin >= s->last[depth] && end >= begin && busy <= end - begin && longest <= busy;
	s->last[depth] = end;
	if (calls > 1) {
		s->narrow &= end - begin <= s->pixel;
		return;
	}
	if (end - begin < s->pixel)
		return;
	for (i = 0; i < s->t->n; i++) {
		struct call *c = &s->t->calls[i];

		if (c->depth == depth && c->begin == begin && c->end == end && c->region == region && !c->seen) {
			c->seen = true;
			s->wide++;
			return;
		}
	}
	CHECK(!"a call that there is");
}

static void check_draw(struct sp_lod *p, const struct truth *t, uint32_t location, uint64_t begin, uint64_t end,
                       uint64_t pixel)
{
	static struct seen s;
	uint64_t calls[DEPTHS] = {0}, busy[DEPTHS] = {0}, wide = 0;
	struct sp_err e = {.code = 0};
	size_t i;

	s = (struct seen){.t = t, .begin = begin, .end = end, .pixel = pixel, .ordered = true, .narrow = true};
	for (i = 0; i < t->n; i++) {
		struct call *c = &t->calls[i];

		c->seen = false;
		if (c->begin > end || c->end < begin)
			continue;
		calls[c->depth]++;
		busy[c->depth] += c->end - c->begin;
		wide += c->end - c->begin >= pixel;
	}
	CHECK(sp_lod_draw(p, location, begin, end, pixel, draw, &s, &e) == 0);
	CHECK(s.ordered && s.narrow);
	CHECK(memcmp(calls, s.calls, sizeof(calls)) == 0 && memcmp(busy, s.busy, sizeof(busy)) == 0);
	/* a call that is exactly a pixel wide may have become part of a node */
	if (pixel > 1)
		CHECK(s.wide <= wide);
	for (i = 0; i < t->n; i++) {
		const struct call *c = &t->calls[i];

		if (c->begin <= end && c->end >= begin && c->end - c->begin > pixel)
			CHECK(c->seen);
	}
}

/* ---- what ran ---- */

struct ran {
	uint64_t begin, end, last, events;
	double busy, longest;
	bool ordered;
};

static void ran(void *arg, uint64_t begin, uint64_t end, uint32_t region, double ns, uint64_t events)
{
	struct ran *r = arg;

	r->ordered &= begin >= r->last && end >= begin && ns <= (double)(end - begin) * (1 + 1e-6);
	r->last = end;
	r->events += begin >= r->begin && begin <= r->end ? events : 0;
	r->busy += region != SP_NONE ? ns : 0;
}

static void check_ran(struct sp_lod *p, const struct truth *t, uint32_t location, uint64_t begin, uint64_t end,
                      uint64_t pixel)
{
	struct ran r = {.begin = begin, .end = end, .ordered = true};
	struct sp_err e = {.code = 0};
	uint64_t low = 0, high = 0, busy = 0;
	size_t i;

	CHECK(sp_lod_ran(p, location, begin, end, pixel, ran, &r, &e) == 0);
	CHECK(r.ordered);
	/* strips are reported at their begins: one at each end may be on the other side */
	for (i = 0; i < t->events; i++) {
		low += t->times[i] >= begin + 2 * pixel && t->times[i] + 2 * pixel <= end;
		high += t->times[i] + 2 * pixel >= begin && t->times[i] <= end + 2 * pixel;
	}
	CHECK(r.events >= low && r.events <= high);
	if (pixel > 0 || begin > 0)
		return;
	for (i = 0; i < t->n; i++)
		if (t->calls[i].depth == 0)
			busy += t->calls[i].end - t->calls[i].begin;
	CHECK_NUMBER(r.busy, busy);
}

/* ---- ranges ---- */

static bool near(double a, double b)
{
	return fabs(a - b) <= 1e-9 * fabs(b) + 1e-6;
}

static void check_range(struct sp_lod *p, const struct sp_model *m, uint32_t location, uint64_t begin, uint64_t end,
                        const struct sp_value *want, const double *want_each)
{
	struct sp_value *is = calloc(m->n_paths, sizeof(*is));
	double *each = calloc(m->n_paths, sizeof(*each));
	struct sp_err e = {.code = 0};
	size_t i, wrong = 0;

	MUST(is && each);
	CHECK(sp_lod_range(p, location, begin, end, is, each, &e) == 0);
	sp_lod_inclusive(m, is);
	for (i = 1; i < m->n_paths; i++)
		wrong += is[i].visits != want[i].visits || is[i].resumed != want[i].resumed ||
		         !near(is[i].incl, want[i].incl) || !near(is[i].excl, want[i].excl) ||
		         is[i].min != want[i].min || is[i].max != want[i].max || !near(is[i].sumsq, want[i].sumsq) ||
		         !near(each[i], want_each[i]);
	CHECK(wrong == 0);
	free(is);
	free(each);
}

/* Visits every event, with the paths that reports use. */
static void range_truth(const struct sp_model *m, uint32_t location, uint64_t begin, uint64_t end, struct sp_value *v,
                        double *each)
{
	static struct {
		uint64_t begin;
		uint32_t kind;
	} open[DEPTHS];
	struct sp_path_index index;
	struct sp_follow f;
	struct sp_events *s;
	struct sp_event ev;
	struct sp_err e = {.code = 0};
	uint64_t last = 0;
	size_t depth = 0;

	MUST(sp_path_index_init(&index, m) == 0 && sp_follow_init(&f, &index) == 0);
	MUST(sp_events_open(&s, m, location, &e) == 0);
	while (sp_events_read(s, &ev, 1, &e) == 1) {
		const uint64_t from = last > begin ? last : begin, to = ev.time < end ? ev.time : end;
		struct sp_value *x = &v[sp_follow_path(&f)];
		const double length = depth ? (double)(ev.time - open[depth - 1].begin) : 0;

		if (depth && to > from)
			x->excl += (double)(to - from);
		last = ev.time;
		if (ev.kind == SP_EVENT_LEAVE || ev.kind == SP_EVENT_SUSPEND) {
			depth--;
			if (open[depth].kind != SP_EVENT_INHERIT && ev.time >= begin && ev.time <= end) {
				x->min = x->visits + x->resumed == 0 || length < x->min ? length : x->min;
				x->max = length > x->max ? length : x->max;
				x->visits += open[depth].kind == SP_EVENT_ENTER;
				x->resumed += open[depth].kind == SP_EVENT_RESUME;
				x->sumsq += length * length;
				each[sp_follow_path(&f)] += length;
			}
		} else if (ev.kind <= SP_EVENT_INHERIT) {
			open[depth].begin = ev.time;
			open[depth++].kind = ev.kind;
		}
		MUST(sp_follow_event(&f, &ev) == 0);
	}
	sp_lod_inclusive(m, v);
	sp_events_close(s);
	sp_follow_free(&f);
	sp_path_index_free(&index);
}

static void check_ranges(struct sp_lod *p, const struct sp_model *m, uint32_t location, uint64_t begin, uint64_t end)
{
	struct sp_value *want = calloc(m->n_paths, sizeof(*want));
	double *each = calloc(m->n_paths, sizeof(*each));

	MUST(want && each);
	range_truth(m, location, begin, end, want, each);
	check_range(p, m, location, begin, end, want, each);
	free(want);
	free(each);
}

/* ---- markers and counters ---- */

struct noted {
	const struct sp_model *m;
	uint32_t location;
	uint64_t begin, end;
	size_t markers, values, before;
	double sum, low, high;
	uint64_t last;
	bool ordered;
};

static void marker(void *arg, uint64_t time, uint32_t string)
{
	struct noted *k = arg;

	k->ordered &= time >= k->begin && time <= k->end && time >= k->last && string < k->m->n_strings;
	k->last = time;
	k->markers++;
}

static void value(void *arg, uint32_t counter, uint64_t time, uint64_t n, double min, double max, double mean)
{
	struct noted *k = arg;

	k->ordered &= counter == 1 && min <= mean && mean <= max && time <= k->end;
	if (time < k->begin) {
		k->before += n;
		return;
	}
	k->values += n;
	k->sum += mean * (double)n;
	k->low = fmin(k->low, min);
	k->high = fmax(k->high, max);
}

static void check_notes(struct sp_lod *p, const struct sp_model *m, uint32_t location, uint64_t begin, uint64_t end,
                        uint32_t pixels)
{
	struct noted is = {.m = m, .begin = begin, .end = end, .low = 1e9, .ordered = true}, want = {.low = 1e9},
	             few = is;
	size_t all;
	const struct sp_lod_asked q = {1, begin, end, pixels};
	struct sp_err e = {.code = 0};
	struct sp_events *s;
	struct sp_event ev;

	CHECK(sp_lod_markers(p, location, begin, end, SIZE_MAX, marker, &is, &all, &e) == 0);
	CHECK(all == is.markers);
	CHECK(sp_lod_markers(p, location, begin, end, 1, marker, &few, &all, &e) == 0);
	CHECK(all == is.markers && few.markers == (all > 0));
	CHECK(sp_lod_counters(p, location, &q, value, &is, &e) == 0);
	MUST(sp_events_open(&s, m, location, &e) == 0);
	while (sp_events_read(s, &ev, 1, &e) == 1) {
		if (ev.kind == SP_EVENT_COUNTER && ev.id == 1 && ev.time < begin)
			want.before = 1;
		if (ev.time < begin || ev.time > end)
			continue;
		want.markers += ev.kind == SP_EVENT_MARKER;
		if (ev.kind != SP_EVENT_COUNTER || ev.id != 1)
			continue;
		want.values++;
		want.sum += ev.u.real;
		want.low = fmin(want.low, ev.u.real);
		want.high = fmax(want.high, ev.u.real);
	}
	sp_events_close(s);
	CHECK(is.ordered && is.markers == want.markers && is.values == want.values && is.before == want.before);
	CHECK(near(is.sum, want.sum) && is.low == want.low && is.high == want.high);
}

/* ---- whole experiments ---- */

static uint64_t random_state = 88172645463325252u;

uint64_t truth_pick(uint64_t n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return n ? (random_state >> 11) % n : 0;
}

void truth_check(const struct sp_model *m, const struct sp_lod_options *o, unsigned times)
{
	struct sp_lod *p;
	struct sp_err e = {.code = 0};
	uint32_t i;
	unsigned k;

	MUST(sp_lod_open(&p, m, o, &e) == 0);
	for (i = 0; i < m->n_locations; i++) {
		const struct sp_location *l = &m->locations[i];
		struct truth t;

		read_truth(&t, m, i);
		for (k = 0; k < times; k++) {
			/* ranges of all widths, and at times with events */
			uint64_t begin = k && t.events ? t.times[truth_pick(t.events)] : 0,
			         end = m->end_ns - m->begin_ns;
			uint64_t pixels = k < 2 ? 1000 : 1 + truth_pick(3000);

			if (k > 1)
				end = k % 2 ? t.times[truth_pick(t.events)] + truth_pick(50)
				            : begin + truth_pick((l->end - begin) >> truth_pick(30));
			if (end < begin)
				end = begin;
			check_draw(p, &t, i, begin, end, (end - begin) / pixels ? (end - begin) / pixels : 1);
			check_ran(p, &t, i, begin, end, (end - begin) / pixels);
			if (k < 4)
				check_ranges(p, m, i, begin, end);
			if (k % 3 == 0 && end > begin)
				check_notes(p, m, i, begin, end, (uint32_t)pixels);
		}
		check_ran(p, &t, i, 0, m->end_ns - m->begin_ns, 0);
		free_truth(&t);
	}
	sp_lod_close(p);
}

static void remove_tree(const char *dir)
{
	char command[400];

	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	MUST(system(command) == 0);
}

const char *truth_made_by(const struct rg_options *o)
{
	const char *dir = scratch_experiment();

	remove_tree(dir);
	rg_experiment(dir, o);
	return dir;
}

/* Whether opening the index makes it. */
bool truth_makes(const struct sp_model *m, const struct sp_lod_options *o)
{
	struct sp_lod *p;
	struct sp_err e = {.code = 0};
	bool made;

	MUST(sp_lod_open(&p, m, o, &e) == 0);
	made = sp_lod_made(p);
	sp_lod_close(p);
	return made;
}
