/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory: the results of a process's records, and damaged ones. */
#include "check.h"
#include "model/memory.h"
#include "model/model.h"
#include "model/report/memory.h"
#include "model/str.h"
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

int main(void)
{
	test_sites(load(rg_memory()));
	test_sites(load_old());
	test_heap(load(rg_memory()));
	test_heap(load_old());
	test_damaged();
	return check_failures != 0;
}
