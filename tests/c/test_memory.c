/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows that refer to nodes: memory and tallies. The results of a process's records, damaged ones, several nodes that
 * are one call path, merged and compressed files. */
#include "check.h"
#include "merging.h"
#include "model/memory.h"
#include "model/model.h"
#include "model/path.h"
#include "model/report/memory.h"
#include "model/str.h"
#include "model/tally.h"
#include "reader/compress.h"
#include "scratch.h"
#include "model/region.h"

enum { END = 4000 };

static struct sp_model *load(struct rg_process *p)
{
	const char *dir = scratch_experiment();

	scratch_add(dir, p, "a.raw", SP_RAW_ENDED_NORMAL, END);
	return scratch_load(dir, 0);
}

static struct sp_model *load_old(void)
{
	const char *dir = scratch_experiment();

	scratch_old(dir, "v5-memory.raw");
	return scratch_load(dir, 0);
}

/* A site that grows from `first` to `last`, in percent of the run. */
static enum sp_site_kept kept(const struct sp_model *m, struct sp_site s, uint64_t first, uint64_t last)
{
	const struct sp_heap *h = m->heaps;
	const uint64_t span = h->ended - h->begin;

	s.first = h->begin + span * first / 100;
	s.last = h->begin + span * last / 100;
	return sp_site_kept(m, &s);
}

/* Imports take most of a short run, and the rest of it leaks. */
static void test_kept(const struct sp_model *m, struct sp_site s)
{
	MUST(m->heaps[0].ended != UINT64_MAX && m->heaps[0].ended > m->heaps[0].begin + 100);
	CHECK(kept(m, s, 0, 70) == SP_KEPT_CACHE && kept(m, s, 70, 100) == SP_KEPT_GROWING);
	CHECK(kept(m, s, 0, 80) == SP_KEPT_GROWING && kept(m, s, 90, 100) == SP_KEPT_CACHE);
}

/* Checks m, the model of rg_memory(), and frees it. */
static void test_sites(struct sp_model *m)
{
	const uint32_t work = PATH(m, "__main__:main", "__main__:work"), main_path = PATH(m, "__main__:main");
	const struct sp_site *s = m->sites;

	MUST(m->n_sites == 2);
	CHECK(s[0].path == work && s[1].path == main_path && s[0].line == 11 && s[0].location == 0);
	CHECK(strcmp(m->regions[s[0].region].qualname.p, "work") == 0);
	CHECK(s[0].count == 100 && s[0].bytes == 6400 && s[0].left == 60 && s[0].left_bytes == 3840);
	CHECK(s[0].peak == 80 && s[0].peak_bytes == 5120);
	/* its epoch is not the heap's: its peak is what is live */
	CHECK(s[1].peak == 60 && s[1].peak_bytes == 3840);
	CHECK(s[0].first == 1000 - 900 && s[0].last == 3900 - 900);
	CHECK(sp_site_kept(m, &s[0]) == SP_KEPT_GROWING);
	test_kept(m, s[0]);
	sp_model_free(m);
}

static void test_heap(struct sp_model *m)
{
	const struct sp_heap *h = m->heaps;

	MUST(h && h->there);
	CHECK(h->peak_bytes == 5120 && h->peak_time == 2000 - 900 && h->resident_peak_time == 2100 - 900);
	CHECK(h->passed == 2050 - 900 && h->passes == 1 && h->over == 100);
	CHECK(h->passed_path == PATH(m, "__main__:main", "__main__:work") && h->passed_line == 12);
	MUST(h->n_points == 4); /* one was being moved */
	CHECK(h->points[3].time == 1400 - 900 && h->points[3].bytes == 640 * 4);
	sp_model_free(m);
}

/* Invalid references are counted and reported, and everything else is read. */
static void test_damaged(void)
{
	struct rg_process *p = rg_process(7, 1, 900, false);
	struct rg_thread *t = rg_thread(p, "MainThread", 7, SP_RAW_NONE, 900);
	struct sp_raw_heap heap = {.passed_node = 99, .passed_region = 77, .ended = UINT64_MAX, .since = 1};
	struct sp_model *m;
	uint32_t node;

	rg_region(p, 2, 0, "m", "f", "/m.py", 3);
	node = rg_node(t, 0, 2);
	rg_node_at(t, node)->visits = 1;
	rg_row(t, SP_RAW_SITES, &(struct sp_raw_site){.node = node, .kind = 99, .count = 1});
	rg_row(t, SP_RAW_SITES, &(struct sp_raw_site){.node = node, .region = 88, .count = 1});
	rg_row(t, SP_RAW_SITES, &(struct sp_raw_site){.node = 1000, .count = 1});
	rg_row(t, SP_RAW_SITES, &(struct sp_raw_site){.node = RG_ROOT, .count = 1});
	rg_row(t, SP_RAW_SITES, &(struct sp_raw_site){.node = node}); /* not written completely yet: no damage */
	rg_row(t, SP_RAW_SITES,
	       &(struct sp_raw_site){.node = node, .count = 3, .freed = 5, .bytes = 1, .freed_bytes = 9});
	rg_heap(p, &heap, NULL, 0);
	m = load(p);
	MUST(m->n_sites == 1);
	CHECK(m->sites[0].count == 3 && m->sites[0].left == 0 && m->sites[0].peak == 0);
	CHECK(m->heaps[0].passed_path == SP_NONE && m->heaps[0].passed_region == SP_NONE);
	CHECK(sp_site_kept(m, &m->sites[0]) == SP_KEPT_NOTHING);
	CHECK(m->n_problems == 1 && strstr(m->problems[0].text.p, "4 places of location 0"));
	sp_model_free(m);
}

/* ---- tallies ---- */

static void expect_tally(const struct sp_tally *t, uint32_t path, uint32_t generation, uint64_t count, uint64_t ns)
{
	CHECK(t->kind == SP_TALLY_COLLECTION && t->path == path && t->generation == generation && t->count == count &&
	      t->ns == ns && t->objects == 100 * count);
}

static void check_tallies(const char *dir)
{
	struct sp_model *m = scratch_load(dir, 0);
	const uint32_t work = PATH(m, "__main__:main", "__main__:work");

	MUST(m->n_tallies == 4 && m->n_problems == 0);
	expect_tally(&m->tallies[0], 0, 2, 1, 10);
	expect_tally(&m->tallies[1], work, 0, 5, 50);
	expect_tally(&m->tallies[2], work, 2, 1, 200);
	CHECK(m->tallies[3].kind == SP_TALLY_EXCEPTION && m->tallies[3].path == work && m->tallies[3].count == 1);
	sp_model_free(m);
}

static void test_tallies(void)
{
	const char *dir = scratch_experiment();
	struct sp_model *m;

	scratch_add(dir, rg_rare(), "a.raw", SP_RAW_ENDED_NORMAL, END);
	check_tallies(dir);
#ifdef SP_HAVE_ZSTD
	struct sp_raw_compression c = {.progress = NULL};
	struct sp_err e;
	char path[256];

	snprintf(path, sizeof(path), "%s/raw/a.raw", dir);
	CHECK(sp_raw_compress(path, "raw/a.raw", &c, &e) == 0);
	check_tallies(dir);
#endif
	dir = scratch_experiment();
	scratch_old(dir, "v7-rare.raw"); /* the same process, in the version before tallies */
	m = scratch_load(dir, 0);
	CHECK(m->n_tallies == 0 && m->n_problems == 0 && PATH(m, "__main__:main", "__main__:work") != SP_NONE);
	sp_model_free(m);
}

static void add_tally(struct rg_thread *t, uint64_t node, struct sp_raw_tally row)
{
	row.node = node;
	rg_row(t, SP_RAW_TALLIES, &row);
}

/* Processes with different numbers for regions, a function that is defined twice, and a parameter that always has the
 * same value, so that several nodes become one call path. */
static void test_merged_tallies(void)
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
		add_tally(t, rg_top(t), (struct sp_raw_tally){.count = 1, .ticks = 10, .objects = 100});
		rg_parameter(t, 4);
		add_tally(t, rg_top(t), (struct sp_raw_tally){.count = 2, .ticks = 20, .objects = 200});
		rg_leave(t, 1200);
		rg_enter(t, 1300, 9);
		rg_parameter(t, 4);
		add_tally(t, rg_top(t), (struct sp_raw_tally){.count = 4, .ticks = 40, .objects = 400});
		rg_leave(t, 1400);
		scratch_add(dir, p, name, SP_RAW_ENDED_NORMAL, END);
	}
	m = scratch_load(dir, 0);
	MUST(m->n_tallies == 4 && m->n_problems == 0);
	expect_tally(&m->tallies[0], PATH(m, "m:f"), 0, 3, 30);
	expect_tally(&m->tallies[1], PATH(m, "m:first"), 0, 4, 40);
	expect_tally(&m->tallies[2], PATH(m, "m:f"), 0, 7, 70);
	CHECK(m->tallies[0].location == 1 && m->tallies[2].location == 3 && m->tallies[3].location == 5);
	sp_model_free(m);
	for (ranks = 1; ranks <= 3; ranks++) {
		MUST(merging_ranks(dir, ranks, -1, &e) == 0);
		merging_compare(dir);
	}
}

/* Invalid rows are counted and reported, and the others are read. */
static void test_damaged_tallies(void)
{
	const char *dir = scratch_experiment();
	struct rg_process *p = rg_process(7, 1, 900, false);
	struct rg_thread *t = rg_thread(p, "MainThread", 7, SP_RAW_NONE, 900);
	struct sp_model *m;

	rg_region(p, 2, 0, "m", "f", "/m.py", 3);
	rg_enter(t, 1000, 2);
	add_tally(t, rg_top(t), (struct sp_raw_tally){.kind = SP_RAW_TALLY_KINDS, .count = 1});
	add_tally(t, rg_top(t), (struct sp_raw_tally){.generation = SP_TALLY_OLDEST + 1, .count = 1});
	add_tally(t, rg_top(t), (struct sp_raw_tally){.count = 1, .ticks = END});
	add_tally(t, 1000, (struct sp_raw_tally){.count = 1});
	add_tally(t, rg_top(t), (struct sp_raw_tally){.ticks = 5}); /* not written completely yet: no damage */
	add_tally(t, rg_top(t), (struct sp_raw_tally){.generation = 1, .count = 1, .objects = 100});
	rg_leave(t, 2000);
	scratch_add(dir, p, "a.raw", SP_RAW_ENDED_NORMAL, END);
	m = scratch_load(dir, 0);
	MUST(m->n_tallies == 1);
	expect_tally(&m->tallies[0], PATH(m, "m:f"), 1, 1, 0);
	CHECK(m->n_problems == 1 && strstr(m->problems[0].text.p, "4 tallies of location 0"));
	sp_model_free(m);
}

int main(void)
{
	test_tallies();
	test_merged_tallies();
	test_damaged_tallies();
	test_sites(load(rg_memory()));
	test_sites(load_old());
	test_heap(load(rg_memory()));
	test_heap(load_old());
	test_damaged();
	return check_failures != 0;
}
