/* SPDX-License-Identifier: BSD-3-Clause */
/* Data other than calls: memory with all of its fields, and samples. */
#include "rawgen.h"

enum { COLLAPSED = 1, MAIN, WORK, NATIVE };
enum { POINTS = 5 };

static void define(struct rg_process *p)
{
	rg_meta(p, "object /lib/kernel.so", "0123456789abcdef");
	rg_region(p, COLLAPSED, SP_RAW_REGION_COLLAPSED, "", "<collapsed>", "", 0);
	rg_region(p, MAIN, 0, "__main__", "main", "/collected.py", 3);
	rg_region(p, WORK, 0, "__main__", "work", "/collected.py", 9);
	rg_region(p, NATIVE, SP_RAW_REGION_NATIVE, "kernel.so", "solve", "/lib/kernel.so", 0x1120);
}

static void memory_columns(struct rg_process *p)
{
	static const char *const names[] = {"allocations", "allocated",  "temporary",
	                                    "left",        "left_bytes", "peak_bytes"};
	uint32_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		rg_metric(p, i, SP_RAW_METRIC_MEMORY | SP_RAW_METRIC_EXCLUSIVE, names[i], i & 1 ? "byte" : "#", 0);
}

struct rg_process *rg_memory(void)
{
	struct rg_process *p = rg_process(7, 1, 900, true);
	struct rg_thread *t;
	struct sp_raw_site site = {.region = WORK,
	                           .line = 11,
	                           .own_region = WORK,
	                           .own_line = 3,
	                           .kind = SP_RAW_HEAP_KINDS - 1,
	                           .grown = 5,
	                           .count = 100,
	                           .bytes = 6400,
	                           .freed = 40,
	                           .freed_bytes = 2560,
	                           .elsewhere = 3,
	                           .temporary = 7,
	                           .temporary_bytes = 448,
	                           .epoch = 2,
	                           .peak = 80,
	                           .peak_bytes = 5120,
	                           .high = 5120,
	                           .first = 1000,
	                           .last = 3900,
	                           .left = 60,
	                           .left_bytes = 3840};
	struct sp_raw_heap heap = {.bytes = 3840,
	                           .blocks = 60,
	                           .peak_bytes = 5120,
	                           .peak_blocks = 80,
	                           .peak_ticks = 2000,
	                           .epoch = 2,
	                           .count = 200,
	                           .allocated = 12800,
	                           .freed = 140,
	                           .freed_bytes = 8960,
	                           .begin = 950,
	                           .ended = 3950,
	                           .slice = 100,
	                           .resident = 1 << 20,
	                           .resident_peak = 2 << 20,
	                           .resident_ticks = 2100,
	                           .limit = 1 << 20,
	                           .passed = 2050,
	                           .over = 100,
	                           .passes = 1,
	                           .passed_region = WORK,
	                           .passed_line = 12};
	struct sp_raw_point points[POINTS];
	uint32_t i;

	define(p);
	memory_columns(p);
	t = rg_thread(p, "MainThread", 7, SP_RAW_NONE, 900);
	rg_enter(t, 1000, MAIN);
	rg_enter(t, 1100, WORK);
	for (i = 0; i < 2; i++) {
		site.node = rg_top(t) - i; /* one site in each of the two calls */
		rg_row(t, SP_RAW_SITES, &site);
		site.epoch = 1; /* its epoch differs from the heap's */
	}
	heap.passed_node = rg_top(t);
	rg_leave(t, 3000);
	rg_leave(t, 4000);
	for (i = 0; i < POINTS; i++) /* one of them is being moved */
		points[i] = (struct sp_raw_point){i == 3 ? 5 : 1000 + 100 * i, 640 * i, 10 * i, 4096 * i};
	rg_heap(p, &heap, points, POINTS);
	return p;
}

static void tally(struct rg_thread *t, uint64_t node, uint32_t kind, uint32_t generation, uint64_t count,
                  uint64_t ticks)
{
	rg_row(t, SP_RAW_TALLIES, &(struct sp_raw_tally){node, kind, generation, count, ticks, count * 100});
}

struct rg_process *rg_rare(void)
{
	struct rg_process *p = rg_process(7, 1, 900, false);
	struct rg_thread *t;
	const struct sp_raw_thread_cpu cpu = {.ticks = 3000, .cpu = 2000, .begin = 0, .end = 2500};

	rg_region(p, MAIN, 0, "__main__", "main", "/collected.py", 3);
	rg_region(p, WORK, 0, "__main__", "work", "/collected.py", 9);
	rg_meta(p, SP_META_OFF_CPU, "50");
	t = rg_thread(p, "MainThread", 7, SP_RAW_NONE, 900);
	rg_row(t, SP_RAW_OFF_CPU, &cpu);
	rg_enter(t, 1000, MAIN);
	rg_enter(t, 1100, WORK);
	rg_row(t, SP_RAW_OFF_CPU,
	       &(struct sp_raw_off_cpu){.node = rg_top(t), .waiting = 300, .preempted = 100, .count = 3});
	tally(t, rg_top(t), SP_RAW_TALLY_COLLECTION, 0, 5, 50);
	tally(t, rg_top(t), SP_RAW_TALLY_COLLECTION, 2, 1, 200);
	tally(t, rg_top(t), SP_RAW_TALLY_EXCEPTION, 0, 1, 0);
	tally(t, RG_ROOT, SP_RAW_TALLY_COLLECTION, 2, 1, 10);
	rg_leave(t, 3000);
	rg_leave(t, 4000);
	return p;
}

/* Samples of two threads; the second one is not in the process's own file. */
struct rg_process *rg_samples(void)
{
	struct rg_process *p = rg_process(7, 1, 900, true);
	struct rg_thread *t;
	uint32_t i, k, main_node, node;

	rg_header(p)->start = SP_RAW_STARTED_SAMPLER;
	rg_meta(p, "sampler", "100");
	define(p);
	for (k = 0; k < 2; k++) {
		t = rg_thread(p, k ? "worker" : "MainThread", 7 + 5 * k, SP_RAW_NONE, 900);
		main_node = rg_node(t, 0, MAIN);
		node = rg_node(t, rg_node(t, main_node, WORK), NATIVE);
		rg_node_at(t, main_node)->incl = 3000;
		rg_node_at(t, node)->incl = 1000;
		for (i = 0; i < 6; i++)
			rg_extra(t, 1000 + 100 * i, SP_RAW_X_SAMPLE, (uint64_t[]){i % 3 ? node - i % 2 : 0, i % 4, 50},
			         3);
	}
	return p;
}
