/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/report/balance.h"

#include "check.h"
#include "model/model.h"
#include "model/str.h"
#include "scratch.h"
#include "model/region.h"

/* Rank i of 4 is in f for 100 * (i + 1). Only rank 2 calls g there, twice, and so does its second thread. */
static struct sp_model *sample(void)
{
	const char *dir = scratch_experiment();
	char file[16];
	int i;

	for (i = 0; i < 4; i++) {
		struct rg_process *p = rg_process(10 + i, 1, 0, false);
		struct rg_thread *t = rg_thread(p, "MainThread", 10, SP_RAW_NONE, 0);

		rg_region(p, 1, 0, "m", "f", "/m.py", 3);
		rg_region(p, 2, 0, "m", "g", "/m.py", 9);
		rg_enter(t, 0, 1);
		if (i == 2) {
			rg_enter(t, 10, 2);
			rg_leave(t, 40);
			rg_enter(t, 50, 2);
			rg_leave(t, 60);
		}
		rg_leave(t, 100 * ((uint64_t)i + 1));
		if (i == 2) {
			t = rg_thread(p, "T", 11, 0, 0);
			rg_enter(t, 0, 2);
			rg_leave(t, 60);
		}
		snprintf(file, sizeof(file), "%d.raw", i);
		scratch_add(dir, p, file, SP_RAW_ENDED_NORMAL, 2000);
	}
	return scratch_load(dir, 0);
}

static uint32_t region(const struct sp_model *m, const char *name)
{
	uint32_t i;

	for (i = 0; i < m->n_regions; i++)
		if (strcmp(m->regions[i].name.p, name) == 0)
			return i;
	MUST(!"region");
	return 0;
}

static void test_processes(const struct sp_model *m)
{
	struct sp_balance_report r;
	struct sp_err e;
	const struct sp_balance_entry *x;
	bool *idle;

	MUST(sp_balance_report(&r, m, SP_OVER_AUTO, false, NULL, &e) == 0);
	MUST(r.over == SP_OVER_PROCESSES && r.n_units == 4);
	x = &r.regions.entries[region(m, "m:f")];
	CHECK(x->came == 4 && x->incl.n == 4 && x->absent == SP_NONE);
	CHECK_NUMBER(x->incl.mean, 250);
	CHECK_NUMBER(x->incl.min, 100);
	CHECK_NUMBER(x->incl.max, 400);
	CHECK(x->incl.min_unit == 0 && x->incl.max_unit == 3);
	CHECK_NUMBER(sp_spread_std(&x->incl), sqrt(12500));
	CHECK_NUMBER(sp_spread_imbalance(&x->incl), 150);
	CHECK_NUMBER(sp_spread_imbalance_percent(&x->incl), 60);
	CHECK_NUMBER(x->excl.mean, (100 + 200 + 260 + 400) / 4.0);
	x = &r.regions.entries[region(m, "m:g")];
	CHECK(x->came == 1 && x->incl.n == 4 && x->incl.min_unit == 0 && x->incl.max_unit == 2);
	CHECK_NUMBER(x->incl.mean, 25);
	CHECK_NUMBER(x->incl.min, 0);
	CHECK_NUMBER(x->incl.max, 100);
	CHECK_NUMBER(sp_spread_imbalance_percent(&x->incl), 300);
	CHECK_NUMBER(sp_spread_std(&x->incl), sqrt(25 * 25 * 3 + 75 * 75) / 2);
	x = &r.paths.entries[PATH(m, "m:f", "m:g")];
	CHECK_NUMBER(x->incl.max, 40);
	idle = sp_balance_report_idle(&r, m, (uint32_t[]){PATH(m, "m:f", "m:g"), PATH(m, "m:f")}, 2);
	MUST(idle);
	CHECK(idle[0] && idle[1] && !idle[2] && idle[3]);
	for (int u = 4; u < 8; u++)
		CHECK(!idle[u]); /* all units reached m:f */
	free(idle);
	sp_balance_report_free(&r);
	MUST(sp_balance_report(&r, m, SP_OVER_THREADS, false, NULL, &e) == 0 && r.n_units == 5);
	CHECK_NUMBER(r.regions.entries[region(m, "m:g")].incl.max, 60);
	sp_balance_report_free(&r);
	MUST(sp_balance_report(&r, m, SP_OVER_RANKS, false, NULL, &e) == 0 && r.n_units == 0);
	sp_balance_report_free(&r);
}

/* Units 5 to 24 at once, and split at any position into two parts that are merged: the same result. */
static void test_merge(void)
{
	struct sp_balance whole, part[2];
	uint32_t cut, u;

	for (cut = 5; cut <= 25; cut++) {
		MUST(sp_balance_init(&whole, 2, 5) == 0 && sp_balance_init(&part[0], 2, 5) == 0 &&
		     sp_balance_init(&part[1], 2, cut) == 0);
		for (u = 5; u < 25; u++) {
			struct sp_balance *to = &part[u >= cut];

			CHECK(sp_balance_unit(&whole) == u && sp_balance_unit(to) == u);
			sp_balance_add(&whole, 0, u, 1);
			sp_balance_add(to, 0, u, 1);
			if (u % 3 == 0) /* not 5, so that 5 is the first absent unit */
				continue;
			sp_balance_add(&whole, 1, u * u, u % 7);
			sp_balance_add(to, 1, u * u, u % 7);
		}
		sp_balance_merge(&part[0], &part[1]);
		sp_balance_finish(&whole);
		sp_balance_finish(&part[0]);
		for (u = 0; u < 2; u++) {
			const struct sp_balance_entry *x = &whole.entries[u], *y = &part[0].entries[u];

			CHECK(x->came == y->came && x->absent == y->absent && y->incl.n == 20);
			CHECK(x->incl.min_unit == y->incl.min_unit && x->excl.min_unit == y->excl.min_unit);
			CHECK(x->incl.max_unit == y->incl.max_unit && x->excl.max_unit == y->excl.max_unit);
			CHECK(fabs(x->incl.mean - y->incl.mean) < 1e-9 && fabs(x->incl.m2 - y->incl.m2) < 1e-4);
			CHECK(fabs(x->excl.mean - y->excl.mean) < 1e-9 && fabs(x->excl.m2 - y->excl.m2) < 1e-9);
		}
		CHECK(whole.entries[0].absent == SP_NONE && whole.entries[1].absent == 6);
		sp_balance_free(&whole);
		sp_balance_free(&part[0]);
		sp_balance_free(&part[1]);
	}
}

int main(void)
{
	struct sp_model *m = sample();

	test_processes(m);
	test_merge();
	sp_model_free(m);
	return check_failures != 0;
}
