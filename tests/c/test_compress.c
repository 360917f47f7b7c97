/* SPDX-License-Identifier: BSD-3-Clause */
/* A compressed file has the same contents and is smaller; a file that cannot be compressed is left unchanged. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "check.h"
#include "model/event.h"
#include "model/model.h"
#include "reader/compress.h"
#include "reader/reader.h"
#include "scratch.h"
#include "model/path.h"

enum { MAX = 200000, GONE = 0x3ffffff0 }; /* larger than any process id */

struct reading {
	struct sp_model *m;
	struct sp_event *events;
	size_t n;
};

static struct reading read_all(const char *dir)
{
	struct reading r = {.m = scratch_load(dir, 0), .events = malloc(MAX * sizeof(*r.events))};
	struct sp_err e = {.code = 0};
	struct sp_events *s;
	uint32_t l;
	long n;

	MUST(r.events);
	for (l = 0; l < r.m->n_locations; l++) {
		MUST(sp_events_open(&s, r.m, l, &e) == 0);
		while ((n = sp_events_read(s, r.events + r.n, MAX - r.n, &e)) > 0)
			r.n += (size_t)n;
		MUST(n == 0 && r.n < MAX);
		sp_events_close(s);
	}
	return r;
}

static void done(struct reading *r)
{
	sp_model_free(r->m);
	free(r->events);
}

static bool same_events(const struct reading *p, const struct reading *q)
{
	size_t i;

	for (i = 0; i < p->n && i < q->n; i++)
		if (p->events[i].time != q->events[i].time || p->events[i].kind != q->events[i].kind ||
		    p->events[i].id != q->events[i].id)
			return false;
		else if (p->events[i].kind < SP_EVENT_IO_CREATE && p->events[i].u.uint != q->events[i].u.uint)
			return false; /* the target of a reference is missing */
	return p->n == q->n;
}

static bool same_models(const struct sp_model *p, const struct sp_model *q)
{
	size_t i;

	if (p->n_paths != q->n_paths || p->n_regions != q->n_regions || p->n_locations != q->n_locations ||
	    p->n_values != q->n_values || p->n_problems != q->n_problems || p->begin_ns != q->begin_ns)
		return false;
	for (i = 0; i < p->n_locations; i++)
		if (strcmp(p->locations[i].name.p, q->locations[i].name.p) != 0 ||
		    p->locations[i].begin != q->locations[i].begin || p->locations[i].end != q->locations[i].end)
			return false;
	if (p->n_metrics != q->n_metrics || p->n_io_handles != q->n_io_handles ||
	    p->n_parameter_values != q->n_parameter_values)
		return false;
	if (p->n_metrics &&
	    memcmp(p->row_metrics, q->row_metrics, p->n_values * p->n_metrics * sizeof(*p->row_metrics)) != 0)
		return false;
	return memcmp(p->paths, q->paths, p->n_paths * sizeof(*p->paths)) == 0 &&
	       memcmp(p->values, q->values, p->n_values * sizeof(*p->values)) == 0 &&
	       memcmp(p->totals, q->totals, p->n_paths * sizeof(*p->totals)) == 0;
}

/* Two threads with calls, counters (the last with value 0, whose words are zero) and open calls at the end. */
static struct rg_process *program(uint64_t *now, unsigned calls)
{
	struct rg_process *p = rg_process(GONE, 1, 1000, true);
	struct rg_thread *t;
	uint64_t random = 5;
	unsigned i, k;

	gethostname(rg_header(p)->host, sizeof(rg_header(p)->host) - 1);
	rg_region(p, 1, 0, "m", "f", "/m.py", 3);
	rg_region(p, 2, 0, "m", "g", "/m.py", 9);
	rg_define(p, SP_RAW_DEF_COUNTER, 0, "c");
	for (k = 0; k < 2; k++) {
		t = rg_thread(p, k ? "T" : "MainThread", GONE + k, k ? 0 : SP_RAW_NONE, 1000);
		*now = 1000;
		rg_enter(t, *now += 5, 1);
		for (i = 0; i < calls; i++) {
			random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
			rg_enter(t, *now += 30 + (random >> 58), 1 + i % 2);
			if (i % 100 == 0)
				rg_counter(t, *now += 1, 0, i);
			rg_leave(t, *now += 20 + (random >> 50 & 255));
		}
		rg_enter(t, *now += UINT64_C(1) << 39, 2); /* too long for one word */
		rg_enter(t, *now += 7, 1);
		rg_counter(t, *now += 1, 0, 0.0);
	}
	return p;
}

static int compress(const char *dir, struct sp_raw_compression *c, struct sp_err *e)
{
	char path[256];

	c->level = SP_RAW_COMPRESS_LEVEL;
	snprintf(path, sizeof(path), "%s/raw/a.raw", dir);
	return sp_raw_compress(path, "raw/a.raw", c, e);
}

static size_t size_of(const char *dir)
{
	char path[256];
	struct stat st;

	snprintf(path, sizeof(path), "%s/raw/a.raw", dir);
	MUST(stat(path, &st) == 0);
	return (size_t)st.st_size;
}

static unsigned char *contents(const char *dir, size_t *n)
{
	char path[256];
	unsigned char *bytes;
	FILE *f;

	snprintf(path, sizeof(path), "%s/raw/a.raw", dir);
	*n = size_of(dir);
	bytes = malloc(*n);
	f = fopen(path, "rb");
	MUST(bytes && f && fread(bytes, 1, *n, f) == *n);
	fclose(f);
	return bytes;
}

static void test_same(enum sp_raw_ended ended, unsigned calls)
{
	const char *dir = scratch_experiment();
	struct sp_raw_compression c = {.progress = NULL};
	struct sp_err e = {.code = 0};
	struct reading before, after;
	uint64_t now;
	struct rg_process *p = program(&now, calls);

	scratch_add(dir, p, "a.raw", ended, now + 40);
	before = read_all(dir);
	CHECK(before.n == 2 * (2 * calls + (calls + 99) / 100 + 7) && before.m->n_problems == 0);
	CHECK(compress(dir, &c, &e) == 0);
	CHECK(c.after <= c.before && c.after == size_of(dir));
	if (calls > 1000)
		CHECK(c.after < c.before && c.after < 4 * before.n);
	after = read_all(dir);
	CHECK(same_models(before.m, after.m) && same_events(&before, &after));
	CHECK(compress(dir, &c, &e) == 0 && c.after == c.before && c.after == size_of(dir));
	done(&before);
	done(&after);
}

/* A damaged file is left unchanged, and the damage is reported. */
static void test_damaged(void)
{
	const char *dir = scratch_experiment();
	struct sp_raw_compression c = {.progress = NULL};
	struct sp_err e = {.code = 0};
	uint64_t now;
	struct rg_process *p = program(&now, 3000);
	size_t n, k;
	unsigned char *bytes = rg_bytes(p, SP_RAW_ENDED_NORMAL, (now = 1000) + 40, &n), *left;

	scratch_bytes(dir, "a.raw", bytes, n - 4096);
	CHECK(compress(dir, &c, &e) == -1 && strstr(e.text, "raw/a.raw at 0x") && strstr(e.text, "left as it is") &&
	      c.after == n - 4096);
	left = contents(dir, &k);
	CHECK(k == n - 4096 && memcmp(left, bytes, k) == 0);
	free(left);
	bytes[4096] ^= 1;
	scratch_bytes(dir, "a.raw", bytes, n);
	CHECK(compress(dir, &c, &e) == -1 && strstr(e.text, "raw/a.raw at 0x1000: ") && size_of(dir) == n);
	scratch_bytes(dir, "a.raw", bytes, 100);
	CHECK(compress(dir, &c, &e) == -1 && size_of(dir) == 100);
	free(bytes);
}

/* Invalid words are kept, so that nothing more is lost. */
static void test_damaged_events(void)
{
	const char *dir = scratch_experiment();
	struct sp_raw_compression c = {.progress = NULL};
	struct sp_err e = {.code = 0};
	struct rg_process *p = rg_process(GONE, 1, 1000, true);
	struct rg_thread *t = rg_thread(p, "MainThread", GONE, SP_RAW_NONE, 1000);
	struct reading before, after;
	uint64_t now = 1000;
	unsigned i;

	rg_region(p, 1, 0, "m", "f", "/m.py", 3);
	for (i = 0; i < 9000; i++) {
		rg_enter(t, now += 10, 1);
		rg_leave(t, now += 10);
		if (i % 3000 == 1000)
			rg_word(t, i & 1000 ? 7 : 0xffffffff00000000);
	}
	scratch_add(dir, p, "a.raw", SP_RAW_ENDED_NORMAL, now);
	before = read_all(dir);
	CHECK(before.m->n_problems > 0);
	CHECK(compress(dir, &c, &e) == 0 && c.after < c.before);
	after = read_all(dir);
	CHECK(before.m->n_problems == after.m->n_problems && same_events(&before, &after));
	done(&before);
	done(&after);
}

/* Later damage of a compressed file is reported as for any other file. */
static void test_damaged_later(void)
{
	const char *dir = scratch_experiment();
	struct sp_raw_compression c = {.progress = NULL};
	struct sp_err e = {.code = 0};
	struct sp_model *m;
	uint64_t now, random = 77;
	struct rg_process *p = program(&now, 3000);
	unsigned char *bytes;
	size_t n, i, at;

	scratch_add(dir, p, "a.raw", SP_RAW_ENDED_NORMAL, now + 40);
	CHECK(compress(dir, &c, &e) == 0);
	bytes = contents(dir, &n);
	for (i = 0; i < 200; i++) {
		random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
		at = 8192 + (random >> 20) % (n - 8192);
		bytes[at] ^= 64;
		scratch_bytes(dir, "a.raw", bytes, n);
		m = scratch_load(dir, 0);
		scratch_events(m);
		sp_model_free(m);
		bytes[at] ^= 64;
	}
	free(bytes);
}

static int stop(void *arg, uint64_t bytes)
{
	return bytes > *(uint64_t *)arg;
}

static void test_refused(void)
{
	const char *dir = scratch_experiment();
	uint64_t now, limit = 30000;
	struct sp_raw_compression c = {.progress = stop, .arg = &limit};
	struct sp_err e = {.code = 0};
	struct rg_process *p = program(&now, 5000);
	char path[256], command[300];
	void *map;
	int fd;

	/* this process is running, and has mapped the file */
	rg_header(p)->pid = getpid();
	scratch_add(dir, p, "a.raw", SP_RAW_RUNNING, now + 40);
	snprintf(path, sizeof(path), "%s/raw/a.raw", dir);
	fd = open(path, O_RDWR);
	map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	MUST(fd >= 0 && map != MAP_FAILED);
	CHECK(compress(dir, &c, &e) == -1 && strstr(e.text, "raw/a.raw: its process") && strstr(e.text, "still runs"));
	munmap(map, 4096);
	close(fd);
	/* now it is another process with that id; but the work is cancelled half way */
	CHECK(compress(dir, &c, &e) == -1 && e.code == ECANCELED && c.after == c.before);
	limit = UINT64_MAX;
	CHECK(compress(dir, &c, &e) == 0 && c.after < c.before);
	p = program(&now, 10);
	strcpy(rg_header(p)->host, "elsewhere.example");
	scratch_add(dir, p, "a.raw", SP_RAW_RUNNING, now + 40);
	CHECK(compress(dir, &c, &e) == -1 && strstr(e.text, "elsewhere.example"));
	/* no temporary file is left */
	snprintf(command, sizeof(command), "test $(ls %s/raw | wc -l) = 1", dir);
	CHECK(system(command) == 0);
}

/* Everything that the format can record is the same. */
static void test_sample(void)
{
	const char *dir = scratch_experiment();
	struct sp_raw_compression c = {.progress = NULL};
	struct rg_process *p = rg_sample(true);
	struct rg_thread *t = rg_thread(p, "long", 9, 0, 1000);
	struct reading before, after;
	struct sp_err e = {.code = 0};
	uint64_t i;

	for (i = 1000; i < 8000; i++) {
		rg_extra(t, i, SP_RAW_X_METRICS, (uint64_t[]){i, 0}, 2);
		rg_enter(t, i, 2);
		rg_extra(t, i, SP_RAW_X_IO_COMPLETE, (uint64_t[]){1, 0}, 2);
		rg_leave(t, i);
	}

	rg_header(p)->pid = GONE;
	gethostname(rg_header(p)->host, sizeof(rg_header(p)->host) - 1);
	scratch_add(dir, p, "a.raw", SP_RAW_RUNNING, 9000);
	before = read_all(dir);
	CHECK(before.m->n_metrics == 4 && before.m->n_io_handles == 3);
	MUST(compress(dir, &c, &e) == 0);
	after = read_all(dir);
	CHECK(c.after < c.before && same_models(before.m, after.m) && same_events(&before, &after));
	done(&before);
	done(&after);
}

int main(void)
{
	test_sample();
	test_same(SP_RAW_ENDED_NORMAL, 20000);
	test_same(SP_RAW_RUNNING, 20000);
	test_same(SP_RAW_RUNNING, 1);
	test_damaged();
	test_damaged_events();
	test_damaged_later();
	test_refused();
	return check_failures != 0;
}
