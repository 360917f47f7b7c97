/* SPDX-License-Identifier: BSD-3-Clause */
/* Tallies: the contents of rows, several nodes that are one call path, damaged rows, merged and compressed files. */
#include "check.h"
#include "merging.h"
#include "model/model.h"
#include "model/path.h"
#include "model/str.h"
#include "model/tally.h"
#include "reader/compress.h"
#include "scratch.h"

enum { END = 4000 };

static void expect(const struct sp_tally *t, uint32_t path, uint32_t generation, uint64_t count, uint64_t ns)
{
	CHECK(t->kind == SP_TALLY_COLLECTION && t->path == path && t->generation == generation && t->count == count &&
	      t->ns == ns && t->objects == 100 * count);
}

static void check_sample(const char *dir)
{
	struct sp_model *m = scratch_load(dir, 0);
	const uint32_t work = PATH(m, "__main__:main", "__main__:work");

	MUST(m->n_tallies == 4 && m->n_problems == 0);
	expect(&m->tallies[0], 0, 2, 1, 10);
	expect(&m->tallies[1], work, 0, 5, 50);
	expect(&m->tallies[2], work, 2, 1, 200);
	CHECK(m->tallies[3].kind == SP_TALLY_EXCEPTION && m->tallies[3].path == work && m->tallies[3].count == 1);
	sp_model_free(m);
}

static void test_rows(void)
{
	const char *dir = scratch_experiment();
	struct sp_model *m;

	scratch_add(dir, rg_rare(), "a.raw", SP_RAW_ENDED_NORMAL, END);
	check_sample(dir);
#ifdef SP_HAVE_ZSTD
	struct sp_raw_compression c = {.progress = NULL};
	struct sp_err e;
	char path[256];

	snprintf(path, sizeof(path), "%s/raw/a.raw", dir);
	CHECK(sp_raw_compress(path, "raw/a.raw", &c, &e) == 0);
	check_sample(dir);
#endif
	dir = scratch_experiment();
	scratch_old(dir, "v7-rare.raw"); /* the same process, in the version before tallies */
	m = scratch_load(dir, 0);
	CHECK(m->n_tallies == 0 && m->n_problems == 0 && PATH(m, "__main__:main", "__main__:work") != SP_NONE);
	sp_model_free(m);
}

static void add(struct rg_thread *t, uint64_t node, struct sp_raw_tally row)
{
	row.node = node;
	rg_row(t, SP_RAW_TALLIES, &row);
}

/* Processes with different numbers for regions, a function that is defined twice, and a parameter that always has the
 * same value, so that several nodes become one call path. */
static void test_merged(void)
{
	const char *dir = scratch_experiment();
	struct sp_model *m;
	struct sp_err e;
	uint32_t k;
	int ranks;

	for (k = 0; k < 3; k++) {
		const char name[] = {(char)('a' + k), '.', 'r', 'a', 'w', 0};
		struct rg_process *p = rg_process(50 + (int32_t)k, 1, 1000 + k, false);
		struct rg_thread *t;

		rg_region(p, 5 + k, 0, "m", "f", "/m.py", 3);
		rg_region(p, 9, 0, "m", k ? "f" : "first", "/m.py", 3);
		rg_region(p, 4, SP_RAW_REGION_PARAMETER, "int", "n", "7", 0);
		rg_thread(p, "idle", 1, SP_RAW_NONE, 1000);
		t = rg_thread(p, "worker", 2, SP_RAW_NONE, 1000);
		rg_enter(t, 1100, 5 + k);
		add(t, rg_top(t), (struct sp_raw_tally){.count = 1, .ticks = 10, .objects = 100});
		rg_parameter(t, 4);
		add(t, rg_top(t), (struct sp_raw_tally){.count = 2, .ticks = 20, .objects = 200});
		rg_leave(t, 1200);
		rg_enter(t, 1300, 9);
		rg_parameter(t, 4);
		add(t, rg_top(t), (struct sp_raw_tally){.count = 4, .ticks = 40, .objects = 400});
		rg_leave(t, 1400);
		scratch_add(dir, p, name, SP_RAW_ENDED_NORMAL, END);
	}
	m = scratch_load(dir, 0);
	MUST(m->n_tallies == 4 && m->n_problems == 0);
	expect(&m->tallies[0], PATH(m, "m:f"), 0, 3, 30);
	expect(&m->tallies[1], PATH(m, "m:first"), 0, 4, 40);
	expect(&m->tallies[2], PATH(m, "m:f"), 0, 7, 70);
	CHECK(m->tallies[0].location == 1 && m->tallies[2].location == 3 && m->tallies[3].location == 5);
	sp_model_free(m);
	for (ranks = 1; ranks <= 3; ranks++) {
		MUST(merging_ranks(dir, ranks, -1, &e) == 0);
		merging_compare(dir);
	}
}

/* Invalid rows are counted and reported, and the others are read. */
static void test_damaged(void)
{
	const char *dir = scratch_experiment();
	struct rg_process *p = rg_process(7, 1, 900, false);
	struct rg_thread *t = rg_thread(p, "MainThread", 7, SP_RAW_NONE, 900);
	struct sp_model *m;

	rg_region(p, 2, 0, "m", "f", "/m.py", 3);
	rg_enter(t, 1000, 2);
	add(t, rg_top(t), (struct sp_raw_tally){.kind = SP_RAW_TALLY_KINDS, .count = 1});
	add(t, rg_top(t), (struct sp_raw_tally){.generation = SP_TALLY_OLDEST + 1, .count = 1});
	add(t, rg_top(t), (struct sp_raw_tally){.count = 1, .ticks = END});
	add(t, 1000, (struct sp_raw_tally){.count = 1});
	add(t, rg_top(t), (struct sp_raw_tally){.ticks = 5}); /* not written completely yet: no damage */
	add(t, rg_top(t), (struct sp_raw_tally){.generation = 1, .count = 1, .objects = 100});
	rg_leave(t, 2000);
	scratch_add(dir, p, "a.raw", SP_RAW_ENDED_NORMAL, END);
	m = scratch_load(dir, 0);
	MUST(m->n_tallies == 1);
	expect(&m->tallies[0], PATH(m, "m:f"), 1, 1, 0);
	CHECK(m->n_problems == 1 && strstr(m->problems[0].text.p, "4 tallies of location 0"));
	sp_model_free(m);
}

int main(void)
{
	test_rows();
	test_merged();
	test_damaged();
	return check_failures != 0;
}
