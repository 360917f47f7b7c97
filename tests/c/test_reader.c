/* SPDX-License-Identifier: BSD-3-Clause */
/* Complete, truncated and damaged files: intact data are read, damage is reported, and nothing crashes. */
#include <inttypes.h>

#include "check.h"
#include "format/checksum.h"
#include "model/model.h"
#include "model/report/report.h"
#include "model/str.h"
#include "reader/reader.h"
#include "scratch.h"

static unsigned char *sample(size_t *n)
{
	struct rg_process *p = rg_process(7, 1, 1000, true);
	struct rg_thread *t;
	uint64_t now = 1000;
	unsigned i, k;

	rg_meta(p, "command", "python x.py");
	rg_region(p, 1, 0, "m", "f", "/m.py", 3);
	rg_region(p, 2, 0, "m", "g", "/m.py", 9);
	rg_define(p, SP_RAW_DEF_COUNTER, 0, "c");
	for (k = 0; k < 2; k++) {
		t = rg_thread(p, k ? "T" : "MainThread", 7 + k, k ? 0 : SP_RAW_NONE, 1000);
		now = 1000;
		for (i = 0; i < 3000; i++) {
			rg_enter(t, now += 10, 1);
			rg_enter(t, now += 10, 2);
			rg_counter(t, now += 1, 0, i);
			rg_leave(t, now += 10);
			rg_leave(t, now += 10);
		}
		rg_enter(t, now += 5, 1);
	}
	return rg_bytes(p, SP_RAW_RUNNING, now + 50, n);
}

/* Reads everything that is readable; returns the number of events, -1 if nothing was readable. */
static long read_all(const char *dir, struct sp_err *e, size_t *problems)
{
	struct sp_model *m;
	struct sp_view v;
	struct sp_flat_row *rows;
	size_t n;
	long events;

	if (sp_model_load(&m, dir, SP_MODEL_COMPENSATE, e))
		return -1;
	events = (long)scratch_events(m);
	CHECK(sp_view_open(&v, m, SP_NONE, SP_NONE, e) == 0 &&
	      sp_report_flat(&v, SP_SORT_EXCL, 0, "", &rows, &n, e) == 0);
	free(rows);
	sp_view_close(&v);
	*problems = m->n_problems;
	for (n = 0; n < m->n_problems; n++)
		CHECK(strstr(m->problems[n].text.p, "raw/a.raw") == m->problems[n].text.p &&
		      !strchr(m->problems[n].text.p, '\n'));
	sp_model_free(m);
	return events;
}

static void test_whole(void)
{
	const char *dir = scratch_experiment();
	struct sp_err e = {.code = 0};
	size_t n, problems;
	unsigned char *bytes = sample(&n);

	scratch_bytes(dir, "a.raw", bytes, n);
	CHECK(read_all(dir, &e, &problems) == 2 * (5 * 3000 + 2));
	CHECK(problems == 0);
	free(bytes);
}

static void test_truncated(void)
{
	const char *dir = scratch_experiment();
	struct sp_err e = {.code = 0};
	size_t n, at, problems;
	unsigned char *bytes = sample(&n);
	long events;

	for (at = 0; at < n; at += at % 4096 == 0 ? 1 : at % 4096 == 1 ? 1776 : 4096 - at % 4096) {
		scratch_bytes(dir, "a.raw", bytes, at);
		events = read_all(dir, &e, &problems);
		CHECK((events < 0) == (at < 4096));
		CHECK(at < 4096 ? strstr(e.text, "raw/a.raw at 0x") != NULL : problems > 0);
	}
	free(bytes);
}

static void test_flipped(void)
{
	const char *dir = scratch_experiment();
	struct sp_err e = {.code = 0};
	size_t n, i, at, problems;
	unsigned char *bytes = sample(&n);
	uint64_t random = 12345;

	for (i = 0; i < 600; i++) {
		random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
		/* mostly in the structure: the first bytes of pages */
		at = (random >> 20) % n;
		if (i % 4)
			at = at / 4096 * 4096 + at % 320;
		bytes[at] ^= (unsigned char)(1u << (random >> 60) % 8);
		scratch_bytes(dir, "a.raw", bytes, n);
		read_all(dir, &e, &problems);
		if (i % 8 == 7) { /* damage accumulates for a while */
			free(bytes);
			bytes = sample(&n);
		}
	}
	free(bytes);
}

static void expect_error(size_t offset, uint32_t value, const char *text)
{
	const char *dir = scratch_experiment();
	struct sp_err e = {.code = 0};
	struct sp_model *m;
	size_t n;
	unsigned char *bytes = sample(&n);

	memcpy(bytes + offset, &value, sizeof(value));
	scratch_bytes(dir, "a.raw", bytes, n);
	CHECK(sp_model_load(&m, dir, 0, &e) == -1 && !m);
	if (!strstr(e.text, text) || !strstr(e.text, "raw/a.raw at 0x") || strchr(e.text, '\n')) {
		fprintf(stderr, "unexpected: %s\n", e.text);
		check_failures++;
	}
	free(bytes);
}

/* A process that ends between making the file and writing its header leaves an empty file or a page of zeros. */
static void test_without_header(void)
{
	static const unsigned char zeros[4096];
	const size_t sizes[] = {0, 7, 4096};
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		const char *dir = scratch_experiment();
		struct sp_err e = {.code = 0};
		struct sp_model *m;

		scratch_bytes(dir, "a.raw", zeros, sizes[i]);
		CHECK(sp_model_load(&m, dir, 0, &e) == -1 && strstr(e.text, "just beginning to record"));
	}
}

static void test_refused(void)
{
	struct sp_err e = {.code = 0};
	struct sp_model *m;

	expect_error(0, 0x12345678, "not a raw file");
	char newer[80];
	snprintf(newer, sizeof(newer), "format version %u, this Spartito reads up to %u", SP_RAW_VERSION + 1,
	         SP_RAW_VERSION);
	expect_error(offsetof(struct sp_raw_header, version), SP_RAW_VERSION + 1, newer);
	expect_error(offsetof(struct sp_raw_header, byte_order), 0x04030201, "other byte order");
	CHECK(sp_model_load(&m, scratch_experiment(), 0, &e) == -1 && strstr(e.text, "no process was measured"));
	CHECK(sp_model_load(&m, "/nowhere/at all", 0, &e) == -1 && strstr(e.text, "/nowhere/at all: "));
}

/* One chunk of nodes is overwritten: its paths are lost, later ones are read. */
static void test_lost_chunk(void)
{
	const char *dir = scratch_experiment();
	struct rg_process *p = rg_process(7, 1, 1000, false);
	struct rg_thread *t;
	struct sp_model *m;
	unsigned char *bytes;
	uint32_t node = 0;
	size_t n, i, nodes = 0;

	rg_region(p, 1, 0, "m", "f", "/m.py", 3);
	rg_region(p, 2, 0, "m", "g", "/m.py", 9);
	t = rg_thread(p, "MainThread", 7, SP_RAW_NONE, 1000);
	for (i = 0; i < 10000; i++) {
		node = rg_node(t, node, 1 + i % 2);
		rg_node_at(t, node)->visits = 1;
	}
	bytes = rg_bytes(p, SP_RAW_ENDED_NORMAL, 5000, &n);
	for (i = 4096; i < n; i += 4096)
		if (((struct sp_raw_chunk *)(bytes + i))->magic == SP_RAW_CHUNK_MAGIC &&
		    ((struct sp_raw_chunk *)(bytes + i))->type == SP_RAW_NODES && ++nodes == 2)
			memset(bytes + i, 0xaa, 64);
	MUST(nodes == 3);
	scratch_bytes(dir, "a.raw", bytes, n);
	m = scratch_load(dir, 0);
	CHECK(m->n_problems >= 2);
	CHECK(m->n_values > 1000 && m->n_values < 10000);
	sp_model_free(m);
	free(bytes);
}

/* Files of every released version stay readable, without a problem. */
static void test_old(const char *name, size_t events)
{
	const char *dir = scratch_experiment();
	struct sp_err e = {.code = 0};
	size_t problems = 1;

	scratch_old(dir, name);
	CHECK(read_all(dir, &e, &problems) == (long)events && problems == 0);
}

static void on_problem(void *arg, const char *text)
{
	++*(unsigned *)arg;
	fprintf(stderr, "%s\n", text);
}

/* The offset of the first chunk of this type. */
static size_t chunk_of(const unsigned char *bytes, size_t n, uint32_t type)
{
	for (size_t at = SP_RAW_PAGE; at < n; at += SP_RAW_PAGE) {
		const struct sp_raw_chunk *c = (const struct sp_raw_chunk *)(bytes + at);

		if (c->magic == SP_RAW_CHUNK_MAGIC && c->type == type)
			return at;
	}
	MUST(!"a chunk of this type");
	return 0;
}

static unsigned problems_of(const char *dir, const unsigned char *bytes, size_t n)
{
	struct sp_err e = {.code = 0};
	struct sp_raw_file *f;
	unsigned problems = 0;
	char path[256];

	scratch_bytes(dir, "a.raw", bytes, n);
	snprintf(path, sizeof(path), "%s/raw/a.raw", dir);
	MUST(sp_raw_open(&f, path, "raw/a.raw", on_problem, &problems, &e) == 0);
	sp_raw_close(f);
	return problems;
}

/* A free chunk has no checksum: damage of its type and its length is found all the same. */
static void test_free_chunk(void)
{
	const char *dir = scratch_experiment();
	size_t n, at;
	unsigned char *bytes = sample(&n);
	struct sp_raw_header *h = (struct sp_raw_header *)bytes;
	struct sp_raw_chunk *c;

	for (at = SP_RAW_PAGE; at < n; at += c->bytes) {
		c = (struct sp_raw_chunk *)(bytes + at);
		sp_raw_chunk_seal(c, c + 1, c->bytes - sizeof(*c));
	}
	at = chunk_of(bytes, n, SP_RAW_STACK);
	c = (struct sp_raw_chunk *)(bytes + at);
	c->type = SP_RAW_FREE;
	c->words = 0;
	h->ended = SP_RAW_ENDED_NORMAL;
	h->end_ticks = h->last.ticks;
	h->sum = 0;
	h->sum = sp_raw_header_sum(h);
	CHECK(problems_of(dir, bytes, n) == 0);
	MUST(at + c->bytes < n);
	c->bytes += SP_RAW_PAGE;
	CHECK(problems_of(dir, bytes, n) == 1);
	c->bytes -= SP_RAW_PAGE;
	c->type = SP_RAW_STACK;
	CHECK(problems_of(dir, bytes, n) == 1);
	h->version = SP_RAW_ALL_SUMS - 1; /* in older files a chunk may be without one */
	h->sum = 0;
	h->sum = sp_raw_header_sum(h);
	CHECK(problems_of(dir, bytes, n) == 0);
	free(bytes);
}

/* A process that may still be running on another host: room for later chunks disappears when it ends, and is not
 * accessed. */
static void test_unfinished(void)
{
	const char *dir = scratch_experiment();
	struct sp_err e = {.code = 0};
	struct sp_raw_header h;
	struct sp_raw_file *f;
	unsigned problems = 0;
	size_t n, written, parts;
	unsigned char *bytes = sample(&written), *more;
	char path[256];

	snprintf(path, sizeof(path), "%s/raw/a.raw", dir);
	n = written + 5 * SP_RAW_PAGE;
	more = calloc(1, n);
	MUST(more);
	memcpy(more, bytes, written);
	memcpy(&h, more, sizeof(h));
	strcpy(h.host, "elsewhere");
	memcpy(bytes, &h, sizeof(h));
	h.bytes = n;
	memcpy(more, &h, sizeof(h));
	scratch_bytes(dir, "a.raw", bytes, written);
	CHECK(sp_raw_open(&f, path, "raw/a.raw", on_problem, &problems, &e) == 0);
	parts = f->n_parts;
	sp_raw_close(f);
	scratch_bytes(dir, "a.raw", more, n);
	CHECK(sp_raw_open(&f, path, "raw/a.raw", on_problem, &problems, &e) == 0);
	CHECK(f->size == written && f->n_parts == parts && !f->bytes.running && !problems);
	sp_raw_close(f);
	/* data there that are not a chunk are reported */
	memset(more + written + SP_RAW_PAGE, 1, 10);
	scratch_bytes(dir, "a.raw", more, n);
	CHECK(sp_raw_open(&f, path, "raw/a.raw", on_problem, &problems, &e) == 0);
	CHECK(f->size == written + 2 * SP_RAW_PAGE && problems == 1);
	sp_raw_close(f);
	free(more);
	free(bytes);
}

int main(void)
{
	test_old("v1-profile.raw", 0);
	test_old("v1-trace.raw", 2 * (15 * 6 + 12 + 1 + 4));
	test_old("v3-mpi-2.raw", 55);
	test_old("v4-profile.raw", 0);
	test_old("v7-rare.raw", 0);
	test_old("v8-rare.raw", 0);
	test_old("v8-trace.raw", 163); /* a chunk of events without a checksum, as a rewind left it */
	test_whole();
	test_refused();
	test_without_header();
	test_truncated();
	test_flipped();
	test_lost_chunk();
	test_free_chunk();
	test_unfinished();
	return check_failures != 0;
}
