/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/report/report.h"

#include "check.h"
#include "model/model.h"
#include "model/str.h"
#include "scratch.h"
#include "model/region.h"

/* f(0..100) calls f(10..60) calls g(20..50); then f calls g(70..80); another thread: g(0..1000). */
static struct sp_model *sample(void)
{
	const char *dir = scratch_experiment();
	struct rg_process *p = rg_process(10, 1, 0, false);
	struct rg_thread *t = rg_thread(p, "MainThread", 10, SP_RAW_NONE, 0);

	rg_region(p, 1, 0, "m", "f", "/m.py", 3);
	rg_region(p, 2, 0, "m", "g", "/m.py", 9);
	rg_enter(t, 0, 1);
	rg_enter(t, 10, 1);
	rg_enter(t, 20, 2);
	rg_leave(t, 50);
	rg_leave(t, 60);
	rg_enter(t, 70, 2);
	rg_leave(t, 80);
	rg_leave(t, 100);
	t = rg_thread(p, "T", 11, 0, 0);
	rg_enter(t, 0, 2);
	rg_leave(t, 1000);
	scratch_add(dir, p, "a.raw", SP_RAW_ENDED_NORMAL, 2000);
	return scratch_load(dir, 0);
}

static void test_flat(const struct sp_model *m)
{
	struct sp_view v;
	struct sp_flat_row *r;
	struct sp_err e;
	size_t n;

	MUST(sp_view_open(&v, m, SP_NONE, SP_NONE, &e) == 0);
	MUST(sp_report_flat(&v, SP_SORT_EXCL, 0, "", &r, &n, &e) == 0 && n == 2);
	CHECK(strcmp(m->regions[r[0].region].name.p, "m:g") == 0);
	CHECK_NUMBER(r[0].n.v.incl, 1040);
	CHECK(r[0].n.v.visits == 3);
	CHECK_NUMBER(r[0].n.v.min, 10);
	/* the inner f is within the outer one */
	CHECK_NUMBER(r[1].n.v.incl, 100);
	CHECK_NUMBER(r[1].n.v.excl, 60);
	CHECK(r[1].n.v.visits == 2);
	CHECK_NUMBER(sp_numbers_mean(&r[1].n), 75);
	CHECK_NUMBER(sp_numbers_std(&r[1].n), 25);
	free(r);
	MUST(sp_report_flat(&v, SP_SORT_NAME, 1, NULL, &r, &n, &e) == 0 && n == 1);
	CHECK(strcmp(m->regions[r[0].region].name.p, "m:f") == 0);
	free(r);
	MUST(sp_report_flat(&v, SP_SORT_VISITS, 0, "?:g", &r, &n, &e) == 0 && n == 1);
	free(r);
	MUST(sp_report_flat(&v, SP_SORT_VISITS, 0, "nothing", &r, &n, &e) == 0 && n == 0);
	free(r);
	sp_view_close(&v);
	MUST(sp_view_open(&v, m, SP_NONE, 0, &e) == 0);
	CHECK_NUMBER(v.values[0].incl, 100);
	MUST(sp_report_flat(&v, SP_SORT_INCL, 0, "g", &r, &n, &e) == 0 && n == 1);
	CHECK_NUMBER(r[0].n.v.incl, 40);
	free(r);
	sp_view_close(&v);
	CHECK(sp_sort_find("mean") == SP_SORT_MEAN && sp_sort_find("colour") == SP_SORTS);
}

static void test_tree(const struct sp_model *m)
{
	struct sp_tree_options o = {.sort = SP_SORT_INCL};
	struct sp_view v;
	struct sp_tree_row *r;
	struct sp_err e;
	size_t n;

	MUST(sp_view_open(&v, m, SP_NONE, SP_NONE, &e) == 0);
	MUST(sp_report_tree(&v, &o, &r, &n, &e) == 0 && n == 5);
	CHECK(r[0].path == PATH(m, "m:g") && r[0].depth == 0);
	CHECK(r[1].path == PATH(m, "m:f") && r[2].path == PATH(m, "m:f", "m:f") && r[2].depth == 1);
	CHECK(r[3].path == PATH(m, "m:f", "m:f", "m:g") && r[3].depth == 2 && r[4].path == PATH(m, "m:f", "m:g"));
	free(r);
	o.depth = 1;
	MUST(sp_report_tree(&v, &o, &r, &n, &e) == 0 && n == 2);
	CHECK(r[1].hidden == 2);
	CHECK_NUMBER(r[1].hidden_time, 60);
	free(r);
	o = (struct sp_tree_options){.sort = SP_SORT_NAME, .limit = 3};
	MUST(sp_report_tree(&v, &o, &r, &n, &e) == 0 && n == 3);
	CHECK(r[0].path == PATH(m, "m:f") && r[0].hidden == 1 && r[1].hidden == 1 && r[2].path == PATH(m, "m:g"));
	free(r);
	/* the root has a row only if it has hidden children */
	o = (struct sp_tree_options){.sort = SP_SORT_INCL, .threshold = 0.5};
	MUST(sp_report_tree(&v, &o, &r, &n, &e) == 0 && n == 2);
	CHECK(r[0].path == 0 && r[0].hidden == 1 && r[1].path == PATH(m, "m:g"));
	CHECK_NUMBER(r[0].hidden_time, 100);
	free(r);
	sp_view_close(&v);
}

static const struct sp_edge *edge(const struct sp_model *m, const struct sp_edge *edges, size_t n, const char *caller,
                                  const char *callee)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (strcmp(m->regions[edges[i].caller].name.p, caller) == 0 &&
		    strcmp(m->regions[edges[i].callee].name.p, callee) == 0)
			return &edges[i];
	fprintf(stderr, "%s does not call %s\n", caller, callee);
	exit(1);
}

static void test_edges(const struct sp_model *m)
{
	struct sp_view v;
	struct sp_edge *d;
	struct sp_err e;
	size_t n;

	MUST(sp_view_open(&v, m, SP_NONE, SP_NONE, &e) == 0);
	MUST(sp_report_edges(&v, "m:g", &d, &n, &e) == 0 && n == 2);
	CHECK_NUMBER(edge(m, d, n, "<root>", "m:g")->n.v.incl, 1000);
	CHECK_NUMBER(edge(m, d, n, "m:f", "m:g")->n.v.incl, 40);
	CHECK(edge(m, d, n, "m:f", "m:g")->n.v.visits == 2);
	free(d);
	MUST(sp_report_edges(&v, "m:f", &d, &n, &e) == 0 && n == 3);
	CHECK_NUMBER(edge(m, d, n, "m:f", "m:f")->n.v.incl, 50);
	free(d);
	sp_view_close(&v);
}

int main(void)
{
	struct sp_model *m = sample();

	test_flat(m);
	test_tree(m);
	test_edges(m);
	sp_model_free(m);
	return check_failures != 0;
}
