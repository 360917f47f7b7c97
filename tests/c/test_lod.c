/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers of the level-of-detail index, for traces of all kinds. */
#include <math.h>

#include "model/model.h"
#include "truth.h"

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
	struct sp_model *m = scratch_load(truth_made_by(&some), 0);

	CHECK(truth_makes(m, NULL) && !truth_makes(m, NULL));
	truth_check(m, NULL, 10);
	truth_check(m, &(struct sp_lod_options){.fresh = true, .threads = 3}, 4);
	sp_model_free(m);
	m = scratch_load(truth_made_by(&many), 0);
	truth_check(m, NULL, 7);
	sp_model_free(m);
}

/* Deep recursion, up and down, and events with equal times. */
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
	truth_check(m, NULL, 7);
	sp_model_free(m);
}

/* Calls of some ns and of hours: the cells of some nodes are wide. */
static void test_long(void)
{
	const char *dir = scratch_experiment();
	struct rg_process *p = rg_process(10, 1, 1000, true);
	struct rg_thread *t = rg_thread(p, "MainThread", 10, SP_RAW_NONE, 1000);
	const uint64_t longest = UINT64_C(1) << 42;
	uint64_t now = 1000;
	struct sp_model *m;
	unsigned i;

	rg_region(p, 1, 0, "m", "f", "/m.py", 3);
	rg_region(p, 2, 0, "m", "g", "/m.py", 9);
	for (i = 0; i < 40000; i++) {
		now += truth_pick(1000) ? truth_pick(100)
		       : truth_pick(3)  ? UINT32_MAX / 512 * truth_pick(1024)
		                        : longest;
		if (rg_depth(t) && (truth_pick(2) || rg_depth(t) > 20))
			rg_leave(t, now);
		else
			rg_enter(t, now, 1 + (uint32_t)truth_pick(2));
	}
	while (rg_depth(t))
		rg_leave(t, now += longest);
	scratch_add(dir, p, "a.raw", SP_RAW_ENDED_NORMAL, now + longest);
	m = scratch_load(dir, 0);
	truth_check(m, NULL, 7);
	sp_model_free(m);
}

/* Gaps of 1,000 ns of which the thread waited or was preempted for 600 ns, in the paths of f and of g below f. */
static void test_gaps(void)
{
	enum { GAPS = 2000, PIXELS = 50 };
	const struct sp_lod_asked q = {SP_NONE, 500, 500 + 1000 * GAPS, PIXELS};
	const char *dir = scratch_experiment();
	struct rg_process *p = rg_process(10, 1, 0, true);
	struct rg_thread *t = rg_thread(p, "MainThread", 10, SP_RAW_NONE, 0);
	double off[3][SP_OFF_CPU_KINDS] = {{0}};
	float share[PIXELS];
	struct sp_lod *lod;
	struct sp_model *m;
	struct sp_err e;
	uint64_t i;

	rg_region(p, 1, 0, "m", "f", "/m.py", 3);
	rg_region(p, 2, 0, "m", "g", "/m.py", 9);
	rg_enter(t, 0, 1);
	for (i = 1; i <= GAPS; i++) {
		rg_extra(t, i * 1000, SP_RAW_X_OFF_CPU, (uint64_t[]){600 << 1 | (i % 4 == 0)}, 1);
		if (i % 2)
			rg_enter(t, i * 1000, 2);
		else
			rg_leave(t, i * 1000);
	}
	rg_leave(t, GAPS * 1000);
	scratch_add(dir, p, "a.raw", SP_RAW_ENDED_NORMAL, GAPS * 1000 + 1000);
	m = scratch_load(dir, 0);
	MUST(m->n_paths == 3 && sp_lod_open(&lod, m, NULL, &e) == 0);
	/* halves of gaps at both ends */
	MUST(sp_lod_off_cpu(lod, 0, 500, 500 + 1000 * 400, off, &e) == 0);
	CHECK(fabs(off[1][SP_OFF_CPU_WAITING] - 200 * 600) < 1e-3);
	CHECK(fabs(off[2][SP_OFF_CPU_WAITING] - 100 * 600) < 1e-3);
	CHECK(fabs(off[2][SP_OFF_CPU_PREEMPTED] - 100 * 600) < 1e-3);
	MUST(sp_lod_waiting(lod, 0, &q, share, &e) == 0);
	for (i = 0; i + 1 < PIXELS; i++) /* three of four gaps were waited in */
		CHECK(share[i] > 0.43 && share[i] < 0.47);
	sp_lod_close(lod);
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
	truth_check(m, NULL, 2);
	truth_check(m, NULL, 2);
	sp_model_free(m);
}

int main(void)
{
	test_random();
	test_deep();
	test_long();
	test_gaps();
	test_empty();
	return check_failures != 0;
}
