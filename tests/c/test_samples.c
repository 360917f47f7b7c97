/* SPDX-License-Identifier: BSD-3-Clause */
/* The reader's results for samples: call paths, lines and counters; files of older versions; and damage. */
#include "check.h"
#include "model/event.h"
#include "model/model.h"
#include "model/parts/samples.h"
#include "scratch.h"
#include "model/line.h"
#include "model/path.h"
#include "model/metric.h"
#include "model/region.h"

enum { MAIN = 1, WORK, FAR };
enum { N_SAMPLES, CPU, STATES, COUNTER = STATES + SP_SAMPLE_OBJECT }; /* of a Python with the GIL */

static void define(struct rg_process *p)
{
	static const char *const names[] = {"samples",     "sampled_cpu",     "sampled_running",
	                                    "sampled_gil", "sampled_syscall", "sampled_idle"};

	rg_region(p, MAIN, 0, "__main__", "main", "/a.py", 3);
	rg_region(p, WORK, 0, "__main__", "work", "/a.py", 9);
	for (uint32_t i = 0; i < COUNTER; i++)
		rg_metric(p, i, SP_RAW_METRIC_SAMPLE | SP_RAW_METRIC_EXCLUSIVE, names[i], i ? "s" : "#", i ? -9 : 0);
	rg_metric(p, COUNTER, SP_RAW_METRIC_PERF | SP_RAW_METRIC_EXCLUSIVE, "page-faults", "#", 0);
}

/* The index of a node in the file: its values, of seven columns, take the position of one node after it. */
static uint64_t index_of(uint32_t node)
{
	return 1 + 2 * ((uint64_t)node - 1);
}

static void fill(struct rg_thread *t)
{
	const uint32_t main = rg_node(t, 0, MAIN), work = rg_node(t, main, WORK);
	const uint64_t samples[][5] = {{index_of(main), SP_SAMPLE_RUNNING, 70, 4, 11},
	                               {index_of(work), SP_SAMPLE_GIL, 0, 10 | 3ull << 32, 0},
	                               {index_of(work), 9, 5, 12, 2},
	                               {FAR * 1000, SP_SAMPLE_IDLE, 0, 0, 0}};

	rg_node_at(t, main)->incl = 300;
	rg_node_at(t, work)->incl = 200;
	for (size_t i = 0; i < sizeof(samples) / sizeof(*samples); i++) {
		if (i == 1) /* one of the caller, and one more */
			rg_extra(t, 2100, SP_RAW_X_SAMPLE_LINES, (uint64_t[]){0 | 2ull << 32, 7 | 8ull << 32}, 2);
		if (i == 2)
			rg_extra(t, 2200, SP_RAW_X_SAMPLE_LINES, (uint64_t[]){1 | 1ull << 32, 9}, 2);
		if (i == 3) /* there are no such frames */
			rg_extra(t, 2300, SP_RAW_X_SAMPLE_LINES, (uint64_t[]){5 | 1ull << 32, 9}, 2);
		rg_extra(t, 2000 + 100 * i, SP_RAW_X_SAMPLE, samples[i], 5);
	}
	rg_extra(t, 2400, SP_RAW_X_SAMPLE, (uint64_t[]){index_of(main), SP_SAMPLE_IDLE, 6}, 3);
	rg_extra(t, 2450, SP_RAW_X_TIME, (uint64_t[]){10}, 1);
	rg_extra(t, 2500, SP_RAW_X_SAMPLES_END, (uint64_t[]){40}, 1);
}

static struct sp_model *make(void)
{
	struct rg_process *p = rg_process(77, 1, 1000, true);
	const char *dir = scratch_experiment();

	rg_header(p)->start = SP_RAW_STARTED_SAMPLER;
	define(p);
	fill(rg_thread(p, "MainThread", 77, SP_RAW_NONE, 1500));
	rg_header(p)->flags = 0; /* its events are not a trace of calls */
	scratch_add(dir, p, "h-77-0.raw", SP_RAW_ENDED_NORMAL, 3000);
	return scratch_load(dir, 0);
}

static const char *leaf(const struct sp_model *m, const struct sp_sample *s)
{
	return m->regions[m->paths[s->path].region].qualname.p;
}

static void check_samples(const struct sp_model *m, const struct sp_sample *s)
{
	CHECK(s[0].time == 1000 && s[0].line == 4 && s[0].again == 0 && s[0].cpu == 70 && s[0].counted[0] == 11);
	CHECK(strcmp(leaf(m, &s[0]), "main") == 0 && s[0].state == SP_SAMPLE_RUNNING && !s[0].end);
	CHECK(s[1].time == 1100 && s[1].line == 10 && s[1].again == 3 && s[1].cpu == 0 && s[1].counted[0] == 0);
	CHECK(strcmp(leaf(m, &s[1]), "work") == 0 && s[1].state == SP_SAMPLE_GIL);
	CHECK(m->paths[s[1].path].parent == s[0].path);
	CHECK(s[2].path == s[1].path && s[2].line == 12 && s[2].state == SP_SAMPLE_RUNNING && s[2].counted[0] == 2);
	CHECK(s[3].path == 0 && s[3].state == SP_SAMPLE_IDLE); /* a node that does not exist */
	CHECK(s[4].path == s[0].path && s[4].line == 0 && s[4].again == 0 && s[4].cpu == 6);
	CHECK(s[5].end && s[5].again == 40 && s[5].time == 1510);
}

static void test_samples(void)
{
	struct sp_model *m = make();
	struct sp_events *events;
	struct sp_sample all[16];
	struct sp_err e = {.code = 0};
	uint32_t metrics[2 + SP_SAMPLE_COUNTERS];
	size_t n = 0;

	MUST(m->n_locations == 1 && m->processes[0].sampled && !m->processes[0].traced);
	MUST(sp_events_open(&events, m, 0, &e) == 0);
	MUST(sp_events_sampled(events, metrics, &n));
	CHECK(n == 3 && strcmp(m->metrics[metrics[0]].name.p, "samples") == 0);
	CHECK(strcmp(m->metrics[metrics[1]].name.p, "sampled_cpu") == 0);
	CHECK(strcmp(m->metrics[metrics[2]].name.p, "page-faults") == 0);
	/* reading in pieces gives the same result */
	long got = sp_events_read_samples(events, all, 2, &e);
	CHECK(got == 2);
	MUST(sp_events_read_samples(events, all + 2, 14, &e) == 4);
	CHECK(sp_events_read_samples(events, all, 1, &e) == 0);
	sp_events_close(events);
	MUST(sp_events_open(&events, m, 0, &e) == 0);
	MUST(sp_events_read_samples(events, all, 16, &e) == 6);
	check_samples(m, all);
	sp_events_close(events);
	sp_model_free(m);
}

static void test_call_lines(void)
{
	static const uint32_t want[4][2] = {{0}, {7, 8}, {7, 9}, {0}};
	static const size_t known[4] = {0, 2, 2, 0};
	struct sp_model *m = make();
	struct sp_events *events;
	struct sp_sample sample;
	struct sp_err e = {.code = 0};
	size_t n;

	MUST(sp_events_open(&events, m, 0, &e) == 0);
	for (int i = 0; i < 4; i++) {
		MUST(sp_events_read_samples(events, &sample, 1, &e) == 1);
		const uint32_t *lines = sp_events_call_lines(events, &n);
		CHECK(n == known[i]);
		CHECK(n == 0 || memcmp(lines, want[i], n * sizeof(*lines)) == 0);
	}
	sp_events_close(events);
	sp_model_free(m);
}

/* The samples as calls: balanced, whatever they contain. */
static void test_calls(void)
{
	struct sp_model *m = make();
	struct sp_events *events;
	struct sp_event all[32];
	struct sp_err e = {.code = 0};
	int open = 0;

	MUST(sp_events_open(&events, m, 0, &e) == 0);
	const long n = sp_events_read(events, all, 32, &e);
	CHECK(n == 6); /* main; work; leave both; main again; leave */
	for (long i = 0; i < n; i++) {
		open += all[i].kind == SP_EVENT_ENTER ? 1 : -1;
		CHECK(open >= 0);
	}
	CHECK(open == 0);
	sp_events_close(events);
	sp_model_free(m);
}

/* Records that only a process itself may write are ignored in its file of samples. */
static void test_definitions_of_others(void)
{
	static const struct sp_raw_deadlock cycle[2] = {{0, 1, 1650, 0}, {1, 2, 1640, 0}};
	const char *dir = scratch_experiment();
	struct rg_process *p = rg_process(77, 1, 1000, true), *samples = rg_process(77, 1, 1000, true);

	rg_region(p, MAIN, 0, "__main__", "main", "/a.py", 3);
	rg_thread(p, "MainThread", 77, SP_RAW_NONE, 1500);
	scratch_add(dir, p, "h-77-0.raw", SP_RAW_ENDED_NORMAL, 3000);
	rg_header(samples)->start = SP_RAW_STARTED_SAMPLER;
	define(samples);
	fill(rg_thread(samples, "MainThread", 77, SP_RAW_NONE, 1500));
	rg_record(samples, SP_RAW_DEF_DEADLOCK, 0, 0, 0, (const struct rg_bytes[4]){{cycle, sizeof(cycle)}});
	scratch_add(dir, samples, "h-77-0.samples.raw", SP_RAW_ENDED_NORMAL, 3000);
	struct sp_model *m = scratch_load(dir, 0);
	CHECK(m->n_processes == 1 && m->processes[0].sampled && m->n_lock_cycles == 0);
	sp_model_free(m);
}

/* Successive threads with the same id: each has its own samples, and so does one that is only in the samples. */
static void test_numbers_given_again(void)
{
	const char *dir = scratch_experiment();
	struct rg_process *p = rg_process(77, 1, 1000, false), *samples = rg_process(77, 1, 1000, false);

	for (uint64_t i = 0; i < 2; i++)
		rg_thread(p, "f", 77, SP_RAW_NONE, 1500 + i);
	scratch_add(dir, p, "h-77-0.raw", SP_RAW_ENDED_NORMAL, 3000);
	rg_header(samples)->start = SP_RAW_STARTED_SAMPLER;
	define(samples);
	for (uint64_t i = 0; i < 3; i++) {
		struct rg_thread *t = rg_thread(samples, "f", 77, SP_RAW_NONE, 1500 + i);

		rg_node_at(t, rg_node(t, 0, MAIN))->incl = 100 * (i + 1);
		rg_line(t, rg_lines(t, MAIN, 3, 3))->own = 100 * (i + 1);
	}
	scratch_add(dir, samples, "h-77-0.samples.raw", SP_RAW_ENDED_NORMAL, 3000);
	struct sp_model *m = scratch_load(dir, 0);
	MUST(m->n_locations == 3 && m->n_lines == 3);
	for (uint32_t i = 0; i < 3; i++) {
		CHECK(m->locations[i].tid == 77 && m->locations[i].values == 1);
		CHECK(m->lines[i].location == i && m->lines[i].own == 100 * (i + 1));
	}
	sp_model_free(m);
}

int main(void)
{
	test_definitions_of_others();
	test_numbers_given_again();
	test_samples();
	test_call_lines();
	test_calls();
	return check_failures != 0;
}
