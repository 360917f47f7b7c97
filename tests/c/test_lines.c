/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of several threads and processes: open calls at the end, sums, damage, and the same lines in a merged
 * experiment. */
#include "check.h"
#include "model/builder/source.h"
#include "model/line.h"
#include "model/merge/merge.h"
#include "model/model.h"
#include "model/process.h"
#include "model/region.h"
#include "model/report/lines.h"
#include "model/str.h"
#include "scratch.h"

enum { PROCESSES = 4, BEGIN = 1000, END = 9000, NONE = 99 };

static void ran(struct rg_thread *t, size_t line, uint64_t hits, uint64_t own, uint64_t callees)
{
	rg_line(t, line)->hits = hits;
	rg_line(t, line)->own = own;
	rg_line(t, line)->callees = callees;
}

/* Each process has different numbers for regions, and one region that others do not have. It has two threads. The
 * second one calls f, whose second line calls f again, whose third line is open at the end. */
static void add_threads(struct rg_process *p, uint32_t k)
{
	struct rg_thread *t = rg_thread(p, "MainThread", 100, SP_RAW_NONE, BEGIN);
	size_t f = rg_lines(t, 5 + k, 10, 14), own = rg_lines(t, 20 + k, 30, 31), lost = rg_lines(t, NONE, 1, 2), again;

	ran(t, f, 1, 50 + k, 0);
	ran(t, f + 4, 7, 70, 700);
	ran(t, own + 1, 1, 5, 0);
	if (k == 2)
		ran(t, lost, 1, 1, 1);
	again = rg_lines(t, 5 + k, 10, 14); /* another code object of the same function */
	ran(t, again + 4, 3, 30, 300);
	t = rg_thread(p, "worker", 101, 0, BEGIN);
	f = rg_lines(t, 5 + k, 10, 14);
	ran(t, f + 1, 1, 10, 0);
	ran(t, f + 2, 1, 20, 0);
	rg_line_frame(t, f + 1, 2000, 1900, true, 0);
	rg_line_frame(t, f + 2, 6000, 5000, false, 1);
	rg_location(t)->end = END;
}

static const char *experiment(void)
{
	const char *dir = scratch_experiment();
	uint32_t k;

	for (k = 0; k < PROCESSES; k++) {
		const char name[] = {(char)('a' + k), '.', 'r', 'a', 'w', 0};
		struct rg_process *p = rg_process(50 + (int32_t)k, 1, BEGIN + k, true);
		char own[16];

		snprintf(own, sizeof(own), "only_%u", k);
		rg_region(p, 5 + k, 0, "m", "f", "/m.py", 10);
		rg_region(p, 20 + k, 0, "m", own, "/m.py", 30);
		rg_region(p, 40 + k, 0, "m", "unused", "/m.py", 40);
		if (k != 1)
			add_threads(p, k);
		else
			rg_thread(p, "MainThread", 100, SP_RAW_NONE, BEGIN);
		scratch_add(dir, p, name, SP_RAW_ENDED_NORMAL, END);
	}
	return dir;
}

static void expect(const struct sp_line *v, uint32_t line, uint64_t hits, uint64_t own, uint64_t callees)
{
	CHECK(v->line == line && v->hits == hits && v->own == own && v->callees == callees);
}

static void check_locations(const struct sp_model *m)
{
	const struct sp_line *v = m->lines;

	MUST(m->n_lines == (PROCESSES - 1) * 5);
	MUST(v[0].location == 0 && strcmp(m->regions[v[0].region].qualname.p, "f") == 0);
	expect(v, 10, 1, 50, 0);
	expect(v + 1, 14, 10, 100, 1000);
	MUST(strcmp(m->regions[v[2].region].qualname.p, "only_0") == 0);
	expect(v + 2, 31, 1, 5, 0);
	CHECK(v[3].location == 1 && v[3].region == v[0].region);
	/* of the 7000 since the begin, 4000 belong to the inner call, whose last line has 3000 more */
	expect(v + 3, 11, 1, 10, 3000);
	expect(v + 4, 12, 1, 3020, 0);
	CHECK(v[5].location == m->processes[2].first_location);
	MUST(m->n_problems == 1 && strstr(m->problems[0].text.p, "region 99, which is not defined"));
}

static void check_sums(const struct sp_model *m)
{
	struct sp_line *v;
	struct sp_err e;
	size_t n;

	MUST(sp_lines_sum(&v, &n, m, SP_NONE, SP_NONE, &e) == 0 && n == 4 + PROCESSES - 1);
	expect(v, 10, 3, 50 + 52 + 53, 0);
	expect(v + 1, 11, 3, 30, 9000);
	expect(v + 2, 12, 3, 9060, 0);
	expect(v + 3, 14, 30, 300, 3000);
	CHECK(v[0].location == SP_NONE && strcmp(m->regions[v[5].region].qualname.p, "only_2") == 0);
	free(v);
	MUST(sp_lines_sum(&v, &n, m, 2, SP_NONE, &e) == 0 && n == 5);
	expect(v, 10, 1, 52, 0);
	free(v);
	MUST(sp_lines_sum(&v, &n, m, 1, SP_NONE, &e) == 0 && n == 0);
	free(v);
	MUST(sp_lines_sum(&v, &n, m, SP_NONE, m->processes[3].first_location + 1, &e) == 0 && n == 2);
	expect(v + 1, 12, 1, 3020, 0);
	free(v);
}

static void compare(const struct sp_model *a, const struct sp_model *b)
{
	size_t i;

	MUST(a->n_lines == b->n_lines && a->n_regions == b->n_regions);
	for (i = 0; i < a->n_lines; i++) {
		const struct sp_line *p = &a->lines[i], *q = &b->lines[i];

		CHECK(p->location == q->location && p->region == q->region);
		expect(p, q->line, q->hits, q->own, q->callees);
	}
}

/* A writer that was killed at any point, or a damaged file. */
static void test_damage(void)
{
	const char *dir = scratch_experiment();
	struct rg_process *p = rg_process(50, 1, BEGIN, false);
	struct rg_thread *t = rg_thread(p, "MainThread", 100, SP_RAW_NONE, BEGIN);
	struct sp_model *m;
	size_t f;

	rg_region(p, 5, 0, "m", "f", "/m.py", 10);
	f = rg_lines(t, 5, 10, 14);
	ran(t, f, 1, 50, 0);
	rg_line_frame(t, f, 2000, 1900, true, 7);         /* a frame that is below itself */
	rg_line_frame(t, 1000, 3000, 2900, false, 1);     /* a line that does not exist */
	rg_line_frame(t, SIZE_MAX, 3000, 2900, false, 1); /* no line yet */
	rg_line_frame(t, f + 1, 0, 2900, false, 1);       /* the line is complete */
	rg_line_frame(t, f + 2, END + 5, END + 4, false, 1);
	rg_line_frame(t, f + 3, END - 5, UINT64_MAX, false, 2);
	rg_location(t)->end = END;
	scratch_add(dir, p, "a.raw", SP_RAW_RUNNING, END);
	m = scratch_load(dir, SP_MODEL_RAW);
	MUST(m->n_lines == 2 && m->n_problems == 1 && strstr(m->problems[0].text.p, "open line 2 is damaged"));
	expect(m->lines, 10, 1, 50, 0); /* two inner calls have more than all of its time */
	expect(m->lines + 1, 13, 0, 5, 0);
	sp_model_free(m);
}

int main(void)
{
	const char *dir = experiment();
	struct sp_model *raw = scratch_load(dir, SP_MODEL_RAW), *m;
	struct sp_merge_result r;
	struct sp_err e;
	int n;

	check_locations(raw);
	check_sums(raw);
	for (n = 1; n <= PROCESSES; n++) {
		MUST(sp_merge_here(dir, &(struct sp_merge_options){.force = true}, n, &r, &e) == 0);
		m = scratch_load(dir, 0);
		CHECK(m->priv->image != NULL && m->n_problems == raw->n_problems);
		compare(raw, m);
		sp_model_free(m);
	}
	sp_model_free(raw);
	test_damage();
	return check_failures != 0;
}
