/* SPDX-License-Identifier: BSD-3-Clause */
/* The pyramid's answers, held against all events read one by one. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

#include "check.h"
#include "model/follow.h"
#include "model/merge.h"
#include "model/pyramid.h"
#include "raw/compress.h"
#include "scratch.h"

struct call {
	uint64_t begin, end;
	uint32_t depth, region;
	bool seen;
};

/* One location, event by event. */
struct truth {
	struct call *calls; /* in the order of their ends */
	size_t n, room, events;
	uint64_t *times; /* of all events */
};

static void add_call(struct truth *t, struct call c)
{
	if (t->n == t->room) {
		t->room = t->room * 2 + 1024;
		t->calls = realloc(t->calls, t->room * sizeof(*t->calls));
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
                 uint32_t region, uint64_t most)
{
	struct seen *s = arg;
	size_t i;

	MUST(depth < DEPTHS);
	s->calls[depth] += calls;
	s->busy[depth] += busy;
	s->ordered &= begin >= s->last[depth] && end >= begin && busy <= end - begin && most <= busy;
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

static void check_draw(struct sp_pyramid *p, const struct truth *t, uint32_t location, uint64_t begin, uint64_t end,
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
	CHECK(sp_pyramid_draw(p, location, begin, end, pixel, draw, &s, &e) == 0);
	CHECK(s.ordered && s.narrow);
	CHECK(memcmp(calls, s.calls, sizeof(calls)) == 0 && memcmp(busy, s.busy, sizeof(busy)) == 0);
	/* one that is exactly a pixel wide may have become part of a node */
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
	double busy, most;
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

static void check_ran(struct sp_pyramid *p, const struct truth *t, uint32_t location, uint64_t begin, uint64_t end,
                      uint64_t pixel)
{
	struct ran r = {.begin = begin, .end = end, .ordered = true};
	struct sp_err e = {.code = 0};
	uint64_t low = 0, high = 0, busy = 0;
	size_t i;

	CHECK(sp_pyramid_ran(p, location, begin, end, pixel, ran, &r, &e) == 0);
	CHECK(r.ordered);
	/* strips are told where they begin: one at each end may be on the other side */
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

static void check_range(struct sp_pyramid *p, const struct sp_model *m, uint32_t location, uint64_t begin, uint64_t end,
                        const struct sp_value *want, const double *want_each)
{
	struct sp_value *is = calloc(m->n_paths, sizeof(*is));
	double *each = calloc(m->n_paths, sizeof(*each));
	struct sp_err e = {.code = 0};
	size_t i, wrong = 0;

	MUST(is && each);
	CHECK(sp_pyramid_range(p, location, begin, end, is, each, &e) == 0);
	sp_pyramid_inclusive(m, is);
	for (i = 1; i < m->n_paths; i++)
		wrong += is[i].visits != want[i].visits || is[i].resumed != want[i].resumed ||
		         !near(is[i].incl, want[i].incl) || !near(is[i].excl, want[i].excl) ||
		         is[i].min != want[i].min || is[i].max != want[i].max || !near(is[i].sumsq, want[i].sumsq) ||
		         !near(each[i], want_each[i]);
	CHECK(wrong == 0);
	free(is);
	free(each);
}

/* Every event, by the paths that reports use. */
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
	sp_pyramid_inclusive(m, v);
	sp_events_close(s);
	sp_follow_free(&f);
	sp_path_index_free(&index);
}

static void check_ranges(struct sp_pyramid *p, const struct sp_model *m, uint32_t location, uint64_t begin,
                         uint64_t end)
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

static void check_notes(struct sp_pyramid *p, const struct sp_model *m, uint32_t location, uint64_t begin, uint64_t end,
                        uint32_t pixels)
{
	struct noted is = {.m = m, .begin = begin, .end = end, .low = 1e9, .ordered = true}, want = {.low = 1e9};
	const struct sp_pyramid_asked q = {1, begin, end, pixels};
	struct sp_err e = {.code = 0};
	struct sp_events *s;
	struct sp_event ev;

	CHECK(sp_pyramid_markers(p, location, begin, end, marker, &is, &e) == 0);
	CHECK(sp_pyramid_counters(p, location, &q, value, &is, &e) == 0);
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

static uint64_t pick(uint64_t n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return n ? (random_state >> 11) % n : 0;
}

static void check_all(const struct sp_model *m, const struct sp_pyramid_options *o, unsigned times)
{
	struct sp_pyramid *p;
	struct sp_err e = {.code = 0};
	uint32_t i;
	unsigned k;

	MUST(sp_pyramid_open(&p, m, o, &e) == 0);
	for (i = 0; i < m->n_locations; i++) {
		const struct sp_location *l = &m->locations[i];
		struct truth t;

		read_truth(&t, m, i);
		for (k = 0; k < times; k++) {
			/* of all widths, and places where something is */
			uint64_t begin = k && t.events ? t.times[pick(t.events)] : 0, end = m->end_ns - m->begin_ns;
			uint64_t pixels = k < 2 ? 1000 : 1 + pick(3000);

			if (k > 1)
				end = k % 2 ? t.times[pick(t.events)] + pick(50)
				            : begin + pick((l->end - begin) >> pick(30));
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
	sp_pyramid_close(p);
}

static void remove_tree(const char *dir)
{
	char command[400];

	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	MUST(system(command) == 0);
}

static const char *made_by(const struct rg_options *o)
{
	const char *dir = scratch_experiment();

	remove_tree(dir);
	rg_experiment(dir, o);
	return dir;
}

/* Whether opening it makes it. */
static bool makes(const struct sp_model *m, const struct sp_pyramid_options *o)
{
	struct sp_pyramid *p;
	struct sp_err e = {.code = 0};
	bool made;

	MUST(sp_pyramid_open(&p, m, o, &e) == 0);
	made = sp_pyramid_made(p);
	sp_pyramid_close(p);
	return made;
}

static void test_random(void)
{
	const struct rg_options some = {.processes = 2,
	                                .threads = 3,
	                                .events = 6000,
	                                .trace = true,
	                                .extras = true,
	                                .open = true,
	                                .abrupt = true,
	                                .seed = 3};
	const struct rg_options many = {
	    .processes = 1, .threads = 1, .events = 150000, .regions = 30, .trace = true, .extras = true, .seed = 4};
	struct sp_model *m = scratch_load(made_by(&some), 0);

	CHECK(makes(m, NULL) && !makes(m, NULL));
	check_all(m, NULL, 10);
	check_all(m, &(struct sp_pyramid_options){.fresh = true, .threads = 3}, 4);
	sp_model_free(m);
	m = scratch_load(made_by(&many), 0);
	check_all(m, NULL, 7);
	sp_model_free(m);
}

/* Deep recursion, up and down, and times that stand still. */
static void test_deep(void)
{
	const char *dir = scratch_experiment();
	struct rg_process *p = rg_process(10, 1, 1000, true);
	struct rg_thread *t = rg_thread(p, "MainThread", 10, SP_RAW_NONE, 1000);
	uint64_t now = 1000;
	struct sp_model *m;
	unsigned i, k;

	rg_region(p, 1, 0, "m", "f", "/m.py", 3);
	rg_region(p, 2, 0, "m", "g", "/m.py", 9);
	for (k = 0; k < 6; k++) {
		for (i = 0; i < 3000; i++)
			rg_enter(t, now += i % 3, 1 + i % 2);
		for (i = 0; i < (k == 5 ? 3000u : 2900u - 400 * k); i++)
			rg_leave(t, now += i % 2);
		while (k < 5 && rg_depth(t) > 900)
			rg_leave(t, now);
	}
	scratch_add(dir, p, "a.raw", SP_RAW_ENDED_NORMAL, now + 5);
	m = scratch_load(dir, 0);
	check_all(m, NULL, 7);
	sp_model_free(m);
}

static void test_empty(void)
{
	const char *dir = scratch_experiment();
	struct rg_process *p = rg_process(10, 1, 1000, true), *q = rg_process(11, 1, 1000, false);

	rg_region(p, 1, 0, "m", "f", "/m.py", 3);
	rg_thread(p, "MainThread", 10, SP_RAW_NONE, 1000);
	rg_define(p, SP_RAW_DEF_STRING, 0, "here");
	rg_extra(rg_thread(p, "T", 11, 0, 1100), 1200, SP_RAW_X_MARKER, (uint64_t[]){0}, 1);
	rg_thread(q, "MainThread", 11, SP_RAW_NONE, 1000);
	scratch_add(dir, p, "a.raw", SP_RAW_ENDED_NORMAL, 2000);
	scratch_add(dir, q, "b.raw", SP_RAW_ENDED_NORMAL, 2000);
	struct sp_model *m = scratch_load(dir, 0);
	check_all(m, NULL, 2);
	check_all(m, NULL, 2);
	sp_model_free(m);
}

static void path_of(char *path, size_t n, const char *dir)
{
	snprintf(path, n, "%s/" SP_PYRAMID_NAME, dir);
}

static size_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? (size_t)st.st_size : 0;
}

/* What is not as it was written is not used, and does no harm. */
static void test_damaged(void)
{
	const struct rg_options some = {
	    .processes = 1, .threads = 2, .events = 3000, .trace = true, .extras = true, .seed = 5};
	const char *dir = made_by(&some);
	struct sp_model *m = scratch_load(dir, 0);
	char path[200];
	size_t n, at;
	unsigned i;
	int fd;

	path_of(path, sizeof(path), dir);
	CHECK(makes(m, &(struct sp_pyramid_options){.keep = true}) && size_of(path) == 0);
	CHECK(makes(m, NULL));
	n = size_of(path);
	CHECK(n > 0 && !makes(m, NULL) && size_of(path) == n);
	for (i = 0; i < 60; i++) {
		unsigned char byte;

		at = i < 8 ? 8 * i : i < 10 ? n - 1 - i : pick(n);
		fd = open(path, O_RDWR);
		MUST(fd >= 0 && pread(fd, &byte, 1, (off_t)at) == 1);
		byte ^= (unsigned char)(1u << pick(8));
		MUST(pwrite(fd, &byte, 1, (off_t)at) == 1);
		close(fd);
		/* the rest of the first page means nothing */
		CHECK(makes(m, NULL) == (at < 64 || at >= 4096));
	}
	for (i = 0; i < 3; i++) {
		CHECK(truncate(path, (off_t)(n * i / 3)) == 0);
		CHECK(makes(m, NULL) && size_of(path) == n);
	}
	check_all(m, NULL, 4);
	CHECK(unlink(path) == 0 && mkdir(path, 0777) == 0);
	CHECK(makes(m, NULL));
	CHECK(rmdir(path) == 0);
	sp_model_free(m);
}

/* Markers and counters are known by number: a model that numbers their texts otherwise needs another pyramid. */
static void check_texts(const struct sp_model *m)
{
	struct sp_str was = m->strings[0];

	MUST(m->n_strings > 1 && m->n_counters > 0);
	m->strings[0] = m->strings[1];
	m->strings[1] = was;
	CHECK(makes(m, NULL) && !makes(m, NULL));
	was = m->counters[0];
	m->counters[0] = (struct sp_str){"another", 7};
	CHECK(makes(m, NULL) && !makes(m, NULL));
	m->counters[0] = was;
}

/* Raw files that changed: compressed, and merged into one model. */
static void test_changed(void)
{
	const struct rg_options some = {
	    .processes = 2, .threads = 2, .events = 20000, .trace = true, .extras = true, .seed = 6};
	const char *dir = made_by(&some);
	struct sp_model *m = scratch_load(dir, 0);
	struct sp_merge_result r;
	struct sp_err e = {.code = 0};

	CHECK(makes(m, NULL) && !makes(m, NULL));
	check_texts(m);
	sp_model_free(m);
	m = scratch_load(dir, 0);
	CHECK(makes(m, NULL));
	sp_model_free(m);
#ifdef SP_HAVE_ZSTD
	{
		struct sp_raw_compression c = {.level = 1};
		char path[200];

		snprintf(path, sizeof(path), "%s/raw/node1-1000-0.raw", dir);
		MUST(sp_raw_compress(path, "raw", &c, &e) == 0);
	}
	m = scratch_load(dir, 0);
	CHECK(makes(m, NULL) && !makes(m, NULL));
	check_all(m, NULL, 3);
	sp_model_free(m);
#endif
	MUST(sp_merge(dir, &(struct sp_merge_options){.force = true}, NULL, &r, &e) == 0);
	m = scratch_load(dir, 0);
	check_all(m, NULL, 3);
	CHECK(!makes(m, NULL));
	sp_model_free(m);
}

/* Nobody hears more than that it was interrupted, and nothing stays behind. */
static int interrupt(void *arg, uint64_t done, uint64_t total)
{
	CHECK(done <= total);
	return --*(int *)arg < 0;
}

static void test_interrupted(void)
{
	const struct rg_options some = {.processes = 1, .threads = 3, .events = 5000, .trace = true, .seed = 7};
	const char *dir = made_by(&some);
	struct sp_model *m = scratch_load(dir, 0);
	struct sp_pyramid *p;
	struct sp_err e = {.code = 0};
	int left = 1, n = 0;
	DIR *d;

	CHECK(sp_pyramid_open(&p, m, &(struct sp_pyramid_options){.progress = interrupt, .arg = &left, .threads = 1},
	                      &e) == -1);
	CHECK(e.code == ECANCELED && !p);
	d = opendir(dir);
	MUST(d);
	while (readdir(d))
		n++;
	closedir(d);
	CHECK(n == 4); /* ., .., raw, experiment.json */
	sp_model_free(m);
}

/* Neither the experiment nor the other place has room: nothing stays behind, and what is said names the other place. */
static void test_no_room(void)
{
	const struct rg_options some = {.processes = 1, .threads = 1, .events = 5000, .trace = true, .seed = 8};
	struct sp_model *m = scratch_load(made_by(&some), 0);
	struct rlimit before, little;
	struct sp_pyramid *p;
	struct sp_err e = {.code = 0};

	signal(SIGXFSZ, SIG_IGN);
	MUST(getrlimit(RLIMIT_FSIZE, &before) == 0);
	little = before;
	little.rlim_cur = 8192;
	MUST(setrlimit(RLIMIT_FSIZE, &little) == 0);
	CHECK(sp_pyramid_open(&p, m, NULL, &e) == -1 && !p);
	MUST(setrlimit(RLIMIT_FSIZE, &before) == 0);
	CHECK(e.code == EFBIG && strstr(e.text, "no room to sum up the trace"));
	CHECK(makes(m, NULL) && !makes(m, NULL));
	sp_model_free(m);
}

int main(void)
{
	test_random();
	test_damaged();
	test_changed();
	test_interrupted();
	test_no_room();
	test_deep();
	test_empty();
	return check_failures != 0;
}
