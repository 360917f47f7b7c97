/* SPDX-License-Identifier: BSD-3-Clause */
/* Merging, open calls, compensation, clocks, processes, with results that were calculated independently. */
#include "check.h"
#include "model/event.h"
#include "model/model.h"
#include "model/path.h"
#include "model/process.h"
#include "model/str.h"
#include "scratch.h"
#include "model/region.h"

static struct rg_process *process(int32_t pid, uint64_t begin, bool trace)
{
	struct rg_process *p = rg_process(pid, 1, begin, trace);

	rg_region(p, 1, 0, "m", "f", "/m.py", 3);
	rg_region(p, 2, 0, "m", "g", "/m.py", 9);
	rg_region(p, 3, SP_RAW_REGION_GENERATOR, "m", "gen", "/m.py", 20);
	return p;
}

static void test_merge(void)
{
	const char *dir = scratch_experiment();
	struct rg_process *p = process(10, 1000, false), *q = rg_process(11, 10, 1500, false);
	struct rg_thread *t;
	struct sp_model *m;
	const struct sp_value *v;

	t = rg_thread(p, "MainThread", 10, SP_RAW_NONE, 1000);
	rg_enter(t, 1000, 1);
	rg_enter(t, 1100, 2);
	rg_leave(t, 1200);
	rg_enter(t, 1300, 2);
	rg_leave(t, 1600);
	rg_leave(t, 2000);
	scratch_add(dir, p, "b.raw", SP_RAW_ENDED_NORMAL, 2100);
	/* the same functions with different ids, one of them twice */
	rg_region(q, 7, 0, "m", "g", "/m.py", 9);
	rg_region(q, 5, 0, "m", "f", "/m.py", 3);
	rg_region(q, 6, 0, "m", "f", "/m.py", 3);
	rg_region(q, 8, 0, "m", "f", "/m.py", 4);
	t = rg_thread(q, "MainThread", 11, SP_RAW_NONE, 1500);
	rg_enter(t, 1500, 5);
	rg_leave(t, 1510);
	rg_enter(t, 1520, 6);
	rg_enter(t, 1530, 7);
	rg_leave(t, 1560);
	rg_leave(t, 1570);
	rg_enter(t, 1600, 8);
	rg_leave(t, 1700);
	rg_header(q)->cost_in_ps = 1500;
	scratch_add(dir, q, "a.raw", SP_RAW_ENDED_STOPPED, 2500);

	m = scratch_load(dir, 0);
	CHECK(m->n_problems == 0 && m->n_processes == 2 && m->n_locations == 2 && m->n_paths == 4);
	CHECK(m->processes[0].pid == 10 && m->processes[1].pid == 11 && m->processes[1].parent == 0 &&
	      m->processes[0].parent == SP_NONE);
	CHECK(m->processes[1].begin == 500 && m->processes[1].stop == 1500 && m->processes[1].end == SP_END_STOPPED);
	CHECK_NUMBER(m->processes[1].cost_in, 1.5);
	CHECK(m->end_ns - m->begin_ns == 1500 && m->locations[1].values == 3);
	v = &m->totals[PATH(m, "m:f")];
	CHECK(v->visits == 3);
	CHECK_NUMBER(v->incl, 1000 + 10 + 50);
	CHECK_NUMBER(v->excl, 600 + 10 + 20);
	CHECK_NUMBER(v->min, 10);
	CHECK_NUMBER(v->max, 1000);
	CHECK_NUMBER(v->sumsq, 1000.0 * 1000 + 100 + 2500);
	v = &m->totals[PATH(m, "m:f", "m:g")];
	CHECK(v->visits == 3);
	CHECK_NUMBER(v->incl, 430);
	CHECK_NUMBER(m->totals[0].incl, 1160);
	sp_model_free(m);
}

/* Calls that were open when the process died end at that time. */
static void test_open(void)
{
	const char *dir = scratch_experiment();
	struct rg_process *p = process(10, 1000, true);
	struct rg_thread *t = rg_thread(p, "MainThread", 10, SP_RAW_NONE, 1000), *u = rg_thread(p, "W", 12, 0, 1100);
	struct sp_model *m;
	const struct sp_value *v;

	rg_inherit(t, 1000, 1);
	rg_enter(t, 1200, 2);
	rg_leave(t, 1300);
	rg_enter(t, 1400, 2);
	rg_enter(u, 1500, 1);
	rg_leave(u, 1600);
	rg_location(u)->end = 1700;
	rg_header(p)->lost_reason = SP_RAW_REASON_MEMORY;
	rg_location(u)->lost_events = 3;
	scratch_add(dir, p, "a.raw", SP_RAW_RUNNING, 3000);

	m = scratch_load(dir, 0);
	CHECK(m->n_problems == 0 && m->processes[0].end == SP_END_ABRUPT && m->traced);
	v = &m->totals[PATH(m, "m:f")];
	CHECK(v->visits == 1);
	CHECK_NUMBER(v->incl, 2000 + 100);
	CHECK_NUMBER(v->max, 100);
	v = &m->totals[PATH(m, "m:f", "m:g")];
	CHECK(v->visits == 2);
	CHECK_NUMBER(v->incl, 100 + 1600);
	CHECK_NUMBER(v->min, 100);
	CHECK_NUMBER(v->max, 1600);
	CHECK(m->locations[1].creator == 0 && m->locations[1].end == 700 && strcmp(m->locations[1].name.p, "W") == 0);
	CHECK(m->processes[0].lost.events == 3 && strstr(m->processes[0].lost_reason, "memory limit"));
	CHECK(scratch_events(m) == 8);
	CHECK(m->n_problems == 0);
	sp_model_free(m);
}

static void test_compensation(void)
{
	const char *dir = scratch_experiment();
	struct rg_process *p = process(10, 0, false);
	struct rg_thread *t = rg_thread(p, "MainThread", 10, SP_RAW_NONE, 0);
	struct sp_model *m;
	const struct sp_value *v;

	rg_enter(t, 1000, 1);
	rg_enter(t, 1100, 2);
	rg_leave(t, 1130);
	rg_enter(t, 1200, 2);
	rg_leave(t, 1205);
	rg_leave(t, 2000);
	rg_header(p)->cost_in_ps = 20000;
	rg_header(p)->cost_out_ps = 100000;
	scratch_add(dir, p, "a.raw", SP_RAW_ENDED_NORMAL, 3000);
	m = scratch_load(dir, SP_MODEL_COMPENSATE);
	/* g: 35 - 2 * 20 is below 0; f: 965 - 20 - 2 * 100 */
	v = &m->totals[PATH(m, "m:f", "m:g")];
	CHECK(v->visits == 2 && v->incl == 0 && v->excl == 0 && v->min == 0 && v->max >= 0);
	v = &m->totals[PATH(m, "m:f")];
	CHECK_NUMBER(v->excl, 745);
	CHECK_NUMBER(v->incl, 745);
	CHECK_NUMBER(v->min, 745);
	CHECK_NUMBER(v->max, 745);
	CHECK_NUMBER(m->totals[0].incl, 745);
	sp_model_free(m);
}

/* Ticks of different length, and the clocks of two processes. */
static void test_clock(void)
{
	const char *dir = scratch_experiment();
	struct rg_process *p = process(10, 1000, true);
	struct rg_thread *t = rg_thread(p, "MainThread", 10, SP_RAW_NONE, 1000);
	struct sp_model *m;
	struct sp_events *s;
	struct sp_event ev[4];
	struct sp_err e;

	rg_header(p)->clock = SP_RAW_CLOCK_TSC;
	rg_header(p)->last = (struct sp_raw_sync){5000, 1000 + 1000, UINT64_C(1700000000000000000) + 2000};
	rg_enter(t, 2000, 1);
	rg_leave(t, 4000);
	scratch_add(dir, p, "a.raw", SP_RAW_ENDED_NORMAL, 5000);
	m = scratch_load(dir, 0);
	CHECK_NUMBER(m->totals[1].incl, 500);
	CHECK(m->processes[0].stop == 1000);
	MUST(sp_events_open(&s, m, 0, &e) == 0);
	CHECK(sp_events_read(s, ev, 4, &e) == 2 && ev[0].time == 250 && ev[1].time == 750);
	sp_events_close(s);
	sp_model_free(m);
}

/* The profile computed from the events equals the recorded one. */
static void test_profile_of_trace(void)
{
	const char *dir = scratch_experiment();
	char sub[128];
	struct rg_options o = {.processes = 3,
	                       .threads = 2,
	                       .events = 30000,
	                       .trace = true,
	                       .extras = true,
	                       .open = true,
	                       .abrupt = true,
	                       .seed = 5};
	struct sp_event ev[100];
	struct sp_events *s;
	struct sp_err e;
	struct sp_model *m;
	double *incl, total = 0;
	uint32_t l, p;
	long n, i;

	snprintf(sub, sizeof(sub), "%s/x", dir);
	rg_experiment(sub, &o);
	m = scratch_load(sub, 0);
	CHECK(m->n_processes == 3 && m->n_problems == 0);
	incl = calloc(m->n_paths, sizeof(*incl));
	MUST(incl);
	for (l = 0; l < m->n_locations; l++) {
		MUST(sp_events_open(&s, m, l, &e) == 0);
		for (p = 0; (n = sp_events_read(s, ev, 100, &e)) > 0;)
			for (i = 0; i < n; i++) {
				if (ev[i].kind == SP_EVENT_LEAVE || ev[i].kind == SP_EVENT_SUSPEND) {
					incl[p] += (double)ev[i].time;
					p = m->paths[p].parent;
				} else if (ev[i].kind <= SP_EVENT_INHERIT) {
					for (p = m->paths[p].first_child;
					     p != SP_NONE && m->paths[p].region != ev[i].id;
					     p = m->paths[p].next_sibling)
						;
					MUST(p != SP_NONE);
					incl[p] -= (double)ev[i].time;
				}
			}
		sp_events_close(s);
	}
	for (p = 1; p < m->n_paths; p++) {
		CHECK(fabs(incl[p] - m->totals[p].incl) < 1);
		total += m->totals[p].excl;
	}
	CHECK_NUMBER(total, m->totals[0].incl);
	CHECK(m->n_problems == 0);
	free(incl);
	sp_model_free(m);
}

/* Regions that start-up defined and nothing refers to are dropped; a thread without a name and a process without a file
 * are kept. */
static void test_left_out(void)
{
	static const char line[] = "/run/raw: no space\nmore";
	const char *dir = scratch_experiment();
	struct rg_process *p = rg_process(8, 1, 1000, true);
	struct rg_thread *t = rg_thread(p, "", 4711, SP_RAW_NONE, 1000);
	struct sp_model *m;
	size_t i;

	rg_region(p, 1, 0, "m", "calibration", "/m.py", 1);
	rg_region(p, 2, 0, "m", "f", "/m.py", 3);
	rg_region(p, 3, 0, "m", "start", "/m.py", 5);
	rg_region(p, 4, 0, "m", "g", "/m.py", 7);
	rg_enter(t, 1010, 4);
	rg_enter(t, 1020, 2);
	rg_leave(t, 1030);
	rg_leave(t, 1040);
	scratch_add(dir, p, "a.raw", SP_RAW_ENDED_NORMAL, 1100);
	scratch_bytes(dir, "h-9.error", line, sizeof(line) - 1);
	m = scratch_load(dir, 0);
	CHECK(m->n_regions == 3 && PATH(m, "m:g", "m:f") != SP_NONE && scratch_events(m) == 4);
	for (i = 1; i < m->n_regions; i++)
		CHECK(m->regions[i].line == 3 || m->regions[i].line == 7);
	CHECK(strcmp(m->locations[0].name.p, "thread 4711") == 0);
	CHECK(m->n_problems == 1 && strcmp(m->problems[0].text.p, "raw/h-9.error: a process was not recorded: "
	                                                          "/run/raw: no space") == 0);
	sp_model_free(m);
}

/* A function that is defined twice is one function with one call path, whatever else its location contains. */
static void test_defined_twice(void)
{
	const char *dir = scratch_experiment();
	struct rg_process *p = rg_process(8, 1, 1000, false);
	struct rg_thread *t = rg_thread(p, "MainThread", 8, SP_RAW_NONE, 1000);
	struct sp_model *m;
	uint32_t i;

	for (i = 1; i <= 4; i++)
		rg_region(p, i, 0, "m", i % 2 ? "f" : "g", "/m.py", i % 2);
	for (i = 1; i <= 4; i++)
		rg_node_at(t, rg_node(t, rg_node(t, 0, i), 1))->visits = 1;
	scratch_add(dir, p, "a.raw", SP_RAW_ENDED_NORMAL, 1100);
	m = scratch_load(dir, 0);
	CHECK(m->n_regions == 3 && m->n_paths == 5 && m->n_values == 4);
	CHECK(m->totals[PATH(m, "m:f", "m:f")].visits == 2 && m->totals[PATH(m, "m:g", "m:f")].visits == 2);
	sp_model_free(m);
}

int main(void)
{
	test_left_out();
	test_defined_twice();
	test_merge();
	test_open();
	test_compensation();
	test_clock();
	test_profile_of_trace();
	return check_failures != 0;
}
