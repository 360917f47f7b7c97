/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/compare/table.h"

#include "check.h"
#include "model/model.h"
#include "model/path.h"
#include "model/str.h"
#include "scratch.h"

static struct rg_process *begin(struct rg_thread **t)
{
	struct rg_process *p = rg_process(10, 1, 0, false);

	*t = rg_thread(p, "MainThread", 10, SP_RAW_NONE, 0);
	return p;
}

static struct sp_model *finish(struct rg_process *p)
{
	const char *dir = scratch_experiment();

	scratch_add(dir, p, "p.raw", SP_RAW_ENDED_NORMAL, 2000);
	return scratch_load(dir, 0);
}

/* Calls each region below the previous one and leaves all. */
static void chain(struct rg_thread *t, uint64_t from, uint64_t to, const uint32_t *regions)
{
	int n = 0;

	for (; regions[n]; n++)
		rg_enter(t, from + (uint64_t)n, regions[n]);
	for (int i = 0; i < n; i++)
		rg_leave(t, to + (uint64_t)i);
}
#define CHAIN(t, from, to, ...) chain(t, from, to, (const uint32_t[]){__VA_ARGS__, 0})

/* main > work (twice) and main > gone; two functions with the same name. */
static struct sp_model *old(void)
{
	struct rg_thread *t;
	struct rg_process *p = begin(&t);

	rg_region(p, 1, 0, "m", "main", "/old/m.py", 1);
	rg_region(p, 2, 0, "m", "work", "/old/m.py", 5);
	rg_region(p, 3, 0, "m", "gone", "/old/m.py", 9);
	rg_region(p, 4, 0, "m", "<lambda>", "/old/m.py", 20);
	rg_region(p, 5, 0, "m", "<lambda>", "/old/m.py", 30);
	rg_region(p, 6, 0, "was", "one", "/old/was.py", 1);
	rg_region(p, 7, 0, "was", "two", "/old/was.py", 5);
	rg_region(p, 8, 0, "was", "<module>", "/old/was.py", 1);
	rg_region(p, 9, 0, "left", "one", "/old/left.py", 1);
	CHAIN(t, 0, 100, 1, 2);
	CHAIN(t, 200, 250, 1, 3);
	CHAIN(t, 300, 310, 1, 4);
	CHAIN(t, 400, 430, 1, 5);
	CHAIN(t, 500, 510, 8, 6, 7);
	CHAIN(t, 600, 610, 9);
	return finish(p);
}

/* The same program in another directory: gone does not exist, new calls work, lines differ except for one <lambda>, and
 * was is renamed to is. */
static struct sp_model *new (void)
{
	struct rg_thread *t;
	struct rg_process *p = begin(&t);

	rg_region(p, 8, 0, "m", "new", "/new/m.py", 50);
	rg_region(p, 7, 0, "m", "work", "/new/m.py", 6);
	rg_region(p, 6, 0, "m", "main", "/new/m.py", 2);
	rg_region(p, 5, 0, "m", "<lambda>", "/new/m.py", 30);
	rg_region(p, 1, 0, "is", "one", "/new/is.py", 3);
	rg_region(p, 2, 0, "is", "two", "/new/is.py", 9);
	rg_region(p, 3, 0, "is", "<module>", "/new/is.py", 1);
	CHAIN(t, 0, 300, 6, 7);
	CHAIN(t, 400, 410, 6, 8, 7);
	CHAIN(t, 500, 515, 6, 5);
	CHAIN(t, 600, 620, 3, 1, 2);
	return finish(p);
}

static uint32_t region(const struct sp_model *m, const char *name, uint32_t line)
{
	uint32_t i;

	for (i = 0; i < m->n_regions; i++)
		if (strcmp(m->regions[i].name.p, name) == 0 && (!line || m->regions[i].line == line))
			return i;
	MUST(!"region");
	return 0;
}

static void check_regions(const struct sp_compare *c, const struct sp_model *a, const struct sp_model *b)
{
	static const struct {
		const char *before, *after;
		uint32_t line_before, line_after;
	} same[] = {{"m:main", "m:main", 0, 0},  {"m:work", "m:work", 0, 0},  {"m:<lambda>", "m:<lambda>", 30, 30},
	            {"was:one", "is:one", 0, 0}, {"was:two", "is:two", 0, 0}, {"was:<module>", "is:<module>", 0, 0}};
	size_t i;

	for (i = 0; i < a->n_regions; i++)
		CHECK(c->region_of[0][i] == i && sp_compare_name(c, (uint32_t)i) == &a->regions[i]);
	for (i = 0; i < sizeof(same) / sizeof(*same); i++)
		CHECK(c->region_of[1][region(b, same[i].after, same[i].line_after)] ==
		      region(a, same[i].before, same[i].line_before));
	CHECK(c->n_regions == a->n_regions + 1);
	CHECK(c->region_of[1][region(b, "m:new", 0)] == a->n_regions);
	CHECK(strcmp(sp_compare_name(c, (uint32_t)a->n_regions)->name.p, "m:new") == 0);
	MUST(c->n_renamed == 1);
	CHECK(strcmp(c->renamed[0].before.p, "was") == 0 && strcmp(c->renamed[0].after.p, "is") == 0);
	CHECK(c->renamed[0].model == 1 && c->renamed[0].regions == 3);
}

static void check_paths(const struct sp_compare *c, const struct sp_model *a, const struct sp_model *b)
{
	struct sp_value *base = calloc(c->n_paths, sizeof(*base));
	uint32_t both = PATH(a, "m:main", "m:work"), only = c->path_of[1][PATH(b, "m:main", "m:new", "m:work")];
	size_t i;

	MUST(base);
	sp_compare_paths(c, 1, b->totals, base);
	CHECK(c->n_paths == a->n_paths + 2);
	for (i = 0; i < a->n_paths; i++)
		CHECK(c->path_of[0][i] == i && c->paths[i].parent == a->paths[i].parent &&
		      c->paths[i].region == a->paths[i].region);
	for (i = 1; i < c->n_paths; i++)
		CHECK(c->paths[i].parent < i);
	CHECK(c->path_of[1][PATH(b, "m:main", "m:work")] == both);
	CHECK(base[both].visits == 1);
	CHECK_NUMBER(base[both].incl, 299);
	CHECK_NUMBER(base[PATH(a, "m:main")].incl, 301 + 12 + 16);
	CHECK(only >= a->n_paths && c->paths[only].model == 1);
	CHECK_NUMBER(base[only].incl, 408 - 400);
	CHECK(c->paths[only].region == region(a, "m:work", 0));
	CHECK(base[PATH(a, "m:main", "m:gone")].visits == 0);
	CHECK(c->path_of[1][PATH(b, "is:<module>", "is:one", "is:two")] ==
	      PATH(a, "was:<module>", "was:one", "was:two"));
	free(base);
}

static void check_flat(const struct sp_compare *c, const struct sp_model *a, const struct sp_model *b)
{
	struct sp_numbers *n = calloc(c->n_regions, sizeof(*n));
	struct sp_flat_row *rows;
	struct sp_view v;
	struct sp_err e;
	size_t many;

	MUST(n && sp_view_open(&v, b, SP_NONE, SP_NONE, &e) == 0);
	MUST(sp_report_flat(&v, SP_SORT_EXCL, 0, "", &rows, &many, &e) == 0);
	sp_compare_flat(c, 1, rows, many, n);
	CHECK_NUMBER(n[region(a, "m:work", 0)].v.incl, 299 + 8);
	CHECK(n[region(a, "m:work", 0)].v.visits == 2);
	CHECK(n[region(a, "m:gone", 0)].v.visits == 0 && n[region(a, "left:one", 0)].v.visits == 0);
	free(rows);
	free(n);
	sp_view_close(&v);
}

static void check_files(const struct sp_compare *c)
{
	struct sp_compare_file *files;
	struct sp_err e;
	size_t n;

	MUST(sp_compare_files(c, 1, &files, &n, &e) == 0);
	MUST(n == 2);
	CHECK(strcmp(files[0].before.p, "/old/m.py") == 0 && strcmp(files[0].after.p, "/new/m.py") == 0);
	CHECK(files[0].regions == 3 && files[1].regions == 3);
	free(files);
	MUST(sp_compare_files(c, 0, &files, &n, &e) == 0);
	CHECK(n == 0);
	free(files);
}

/* A call with n=1 and then case=small; and with the values in the opposite order. */
static struct sp_model *with_values(const char *first, const char *second)
{
	struct rg_thread *t;
	struct rg_process *p = begin(&t);

	rg_region(p, 1, 0, "m", "f", "/m.py", 1);
	rg_region(p, 2, SP_RAW_REGION_PARAMETER, "string", "n", first, 0);
	rg_region(p, 3, SP_RAW_REGION_PARAMETER, "string", "n", second, 0);
	rg_enter(t, 0, 1);
	rg_parameter(t, 2);
	rg_leave(t, 10);
	rg_enter(t, 20, 1);
	rg_parameter(t, 3);
	rg_leave(t, 50);
	return finish(p);
}

static void test_values(void)
{
	struct sp_model *a = with_values("one", "two"), *b = with_values("three", "one");
	const struct sp_model *models[] = {a, b};
	struct sp_compare c;
	struct sp_err e;
	size_t p, same = 0, with_value = 0;

	MUST(sp_compare_open(&c, models, 2, &e) == 0);
	for (p = 1; p < b->n_paths; p++) {
		const struct sp_compare_path *x = &c.paths[c.path_of[1][p]];

		if (b->paths[p].parameter == SP_NONE)
			continue;
		with_value++;
		if (x->model == 0) {
			same++;
			CHECK(strcmp(b->parameter_values[b->paths[p].parameter].text.p, "one") == 0);
			CHECK(strcmp(a->parameter_values[a->paths[x->path].parameter].text.p, "one") == 0);
		}
	}
	CHECK(with_value == 2 && same == 1);
	sp_compare_close(&c);
	sp_model_free(a);
	sp_model_free(b);
}

/* Values that differ after a NUL are different. */
static void test_nul(void)
{
	struct sp_model *a = with_values("one", "two"), *b = with_values("three", "four");
	const struct sp_model *models[] = {a, b};
	struct sp_compare c;
	struct sp_err e;
	size_t i;

	for (i = 0; i < a->n_parameter_values; i++)
		a->parameter_values[i].text = (struct sp_str){i ? "x\0a" : "x\0b", 3};
	for (i = 0; i < b->n_parameter_values; i++)
		b->parameter_values[i].text = (struct sp_str){i ? "x\0c" : "x\0d", 3};
	MUST(sp_compare_open(&c, models, 2, &e) == 0);
	for (i = 1; i < b->n_paths; i++)
		CHECK(b->paths[i].parameter == SP_NONE || c.paths[c.path_of[1][i]].model == 1);
	CHECK(c.n_paths == a->n_paths + 2);
	sp_compare_close(&c);
	sp_model_free(a);
	sp_model_free(b);
}

/* Student's distribution has simple forms for 1, 2 and 4 degrees of freedom. */
static void test_welch(void)
{
	double pi = acos(-1), p[] = {0.01, 0.04, 0.03, 0.9};

	CHECK_NUMBER(sp_welch(10, 1.5, 3, 10 + sqrt(0.5), 1.5, 3), 1 - 13 / 27.0);
	CHECK(fabs(sp_welch(0, 1.5, 3, 2.7764451051977987, 1.5, 3) - 0.05) < 1e-12);
	CHECK(fabs(sp_welch(4.604094871415897, 1.5, 3, 0, 1.5, 3) - 0.01) < 1e-12);
	CHECK_NUMBER(sp_welch(0, 1, 2, 3, 1, 2), 1 - 3 / sqrt(11));
	/* only one group varies: one degree of freedom */
	CHECK_NUMBER(sp_welch(0, 0, 7, 2, 2, 2), 1 - 2 / pi * atan(2));
	CHECK(sp_welch(1, 0, 2, 1, 0, 2) == 1 && sp_welch(1, 0, 2, 2, 0, 2) == 0);
	CHECK(sp_welch(0, 0, 1, 2, 2, 5) < 0 && sp_welch(0, 1, 5, 2, 0, 1) < 0);
	CHECK(sp_welch(0, 1, 1000, 100, 1, 1000) < 1e-100 && sp_welch(5, 1, 1000, 5, 1, 1000) == 1);
	CHECK(fabs(sp_welch_margin(1.5, 3, 1.5, 3) - 2.7764451051977987) <
	      1e-9); /* 2.776 is Student's t for four degrees of freedom */
	CHECK(fabs(sp_welch_margin(4, 5, 4, 5) - 2.3060041350333704 * sqrt(1.6)) < 1e-9);
	CHECK(sp_welch_margin(0, 3, 0, 3) == 0 && sp_welch_margin(1, 1, 1, 3) < 0 && sp_welch_margin(1, 3, 1, 1) < 0);
	CHECK(sp_holm(p, 4) == 0);
	CHECK_NUMBER(p[0], 0.04);
	CHECK_NUMBER(p[1], 0.09);
	CHECK_NUMBER(p[2], 0.09);
	CHECK_NUMBER(p[3], 0.9);
}

/* Runs a, b, a against b, a, b: the means differ by a third of the difference between runs. */
static void test_table(const struct sp_model *a, const struct sp_model *b)
{
	const struct sp_model *models[] = {a, b, a, b, a, b};
	const uint32_t runs[] = {3, 3};
	struct sp_compare_query q = {.runs = runs, .groups = 2, .share = 0.05};
	struct sp_compare_table t;
	struct sp_compare c;
	struct sp_err e;
	size_t i, work = 0, judged = 0;
	double sum = 0;

	MUST(sp_compare_open(&c, models, 6, &e) == 0);
	MUST(sp_compare_table(&t, &c, &q, &e) == 0);
	for (i = 0; i < t.n; i++) {
		const struct sp_compare_row *r = &t.rows[i];
		double change = fabs(r->sides[1].excl - r->sides[0].excl);

		sum += r->sides[0].excl;
		CHECK(i == 0 || change <= fabs(t.rows[i - 1].sides[1].excl - t.rows[i - 1].sides[0].excl));
		CHECK(r->changes[1].large == (r->changes[1].holm >= 0));
		judged += r->changes[1].large;
		if (change > 0)
			CHECK(fabs(r->changes[1].p - 14 / 27.0) < 1e-9);
		if (strcmp(sp_compare_name(&c, r->entry)->name.p, "m:work") == 0)
			work = i;
	}
	CHECK(t.n == a->n_regions); /* without the root, with m:new */
	CHECK_NUMBER(sum, t.all.sides[0].excl);
	CHECK_NUMBER(t.rows[work].sides[0].excl, (2 * 99 + 307) / 3.0);
	CHECK_NUMBER(t.rows[work].sides[1].excl, (99 + 2 * 307) / 3.0);
	CHECK_NUMBER(t.rows[work].sides[1].excl_var, 208 * 208 / 3.0);
	CHECK_NUMBER(t.rows[work].sides[0].visits, 4 / 3.0);
	CHECK(judged > 1 && judged < t.n && t.rows[work].changes[1].holm == 1);
	sp_compare_table_free(&t);
	q.match = "m:work";
	q.paths = true;
	q.sort = SP_COMPARE_RELATIVE;
	MUST(sp_compare_table(&t, &c, &q, &e) == 0);
	MUST(t.n == 2);
	CHECK(c.paths[t.rows[0].entry].model == 1 || t.rows[0].sides[0].visits > 0);
	sp_compare_table_free(&t);
	sp_compare_close(&c);
}

int main(void)
{
	struct sp_model *a = old(), *b = new ();
	const struct sp_model *models[] = {a, b, a};
	struct sp_compare c;
	struct sp_err e;
	size_t i;

	MUST(sp_compare_open(&c, models, 3, &e) == 0);
	check_regions(&c, a, b);
	check_paths(&c, a, b);
	check_flat(&c, a, b);
	check_files(&c);
	for (i = 0; i < a->n_paths; i++)
		CHECK(c.path_of[2][i] == i);
	sp_compare_close(&c);
	test_values();
	test_nul();
	test_welch();
	test_table(a, b);
	sp_model_free(a);
	sp_model_free(b);
	return check_failures != 0;
}
