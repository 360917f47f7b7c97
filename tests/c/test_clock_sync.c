/* SPDX-License-Identifier: BSD-3-Clause */
/* Clocks of hosts that were compared through MPI: all times on rank 0's clock, with results that were calculated
 * independently. */
#include "check.h"
#include "model/event.h"
#include "model/model.h"
#include "model/process.h"
#include "scratch.h"

#define REAL UINT64_C(1700000000000000000)
#define MS   UINT64_C(1000000)

static void clock_record(struct rg_process *p, uint64_t ticks, uint64_t reference, uint64_t error)
{
	const struct sp_raw_clock_sync s = {ticks, reference, error};

	rg_record(p, SP_RAW_DEF_CLOCK, 0, 0, 0, (const struct rg_bytes[4]){{&s, sizeof(s)}});
}

/* A process that lives from tick `begin` on and is in f() from tick `from` to tick `to`. Its own clock has tick 0 at
 * REAL + ahead. */
static struct rg_process *rank(int32_t pid, const char *host, const char *place, uint64_t begin, int64_t ahead,
                               uint64_t from, uint64_t to)
{
	struct rg_process *p = rg_process(pid, 1, begin, true);
	struct rg_thread *t;

	strcpy(rg_header(p)->host, host);
	rg_header(p)->first.real_ns = REAL + begin + (uint64_t)ahead;
	rg_region(p, 1, 0, "m", "f", "/m.py", 3);
	if (place) {
		rg_meta(p, "mpi_world", "00000000000000ab");
		rg_meta(p, "mpi_rank", place);
		rg_meta(p, "mpi_size", "4");
	}
	t = rg_thread(p, "MainThread", (uint64_t)pid, SP_RAW_NONE, begin);
	rg_enter(t, from, 1);
	rg_leave(t, to);
	return p;
}

static const struct sp_process *process(const struct sp_model *m, int32_t pid)
{
	size_t i;

	for (i = 0; i < m->n_processes; i++)
		if (m->processes[i].pid == pid)
			return &m->processes[i];
	MUST(!"a process of that id");
	return NULL;
}

/* The times at which a process entered and left f(), in ns since the begin of rank 0. */
static void times(const struct sp_model *m, int32_t pid, int64_t out[2])
{
	const struct sp_process *p = process(m, pid);
	const int64_t zero = (int64_t)process(m, 10)->begin;
	struct sp_err e = {.code = 0};
	struct sp_event events[8];
	struct sp_events *s;
	int n = 0;

	MUST(sp_events_open(&s, m, p->first_location, &e) == 0);
	long k = sp_events_read(s, events, 8, &e);
	for (long i = 0; i < k; i++)
		if (n < 2 && (events[i].kind == SP_EVENT_ENTER || events[i].kind == SP_EVENT_LEAVE))
			out[n++] = (int64_t)events[i].time - zero;
	sp_events_close(s);
	MUST(n == 2);
}

#define CHECK_TIMES(m, pid, enter, leave)                                                                              \
	do {                                                                                                           \
		int64_t t[2];                                                                                          \
		times(m, pid, t);                                                                                      \
		CHECK(llabs(t[0] - (int64_t)(enter)) <= 2);                                                            \
		CHECK(llabs(t[1] - (int64_t)(leave)) <= 2);                                                            \
		if (check_failures)                                                                                    \
			fprintf(stderr, "process %d: %lld to %lld\n", pid, (long long)t[0], (long long)t[1]);          \
	} while (0)

static void test_two_records(void)
{
	const char *dir = scratch_experiment();
	struct rg_process *p = rank(10, "node0", "0", 1000 * MS, 0, 1500 * MS, 2500 * MS);
	struct sp_model *m;

	clock_record(p, 1100 * MS, 1100 * MS, 0);
	clock_record(p, 3100 * MS, 3100 * MS, 0);
	scratch_add(dir, p, "a.raw", SP_RAW_ENDED_NORMAL, 4000 * MS);
	/* its clock is 7 s behind and 50 ppm slow, and its real time is 50 ms late */
	p = rank(11, "node1", "1", 8000 * MS, -7050 * (int64_t)MS, 8500 * MS, 9500 * MS);
	clock_record(p, 8000 * MS, 1000 * MS, 1000);
	clock_record(p, 10000 * MS, 3000 * MS + 100000, 2000);
	scratch_add(dir, p, "b.raw", SP_RAW_ENDED_NORMAL, 11000 * MS);
	/* another clock on rank 0's host: the same ticks, compared without error */
	p = rank(12, "node0", "2", 1200 * MS, 3, 1500 * MS, 2500 * MS);
	clock_record(p, 1300 * MS, 1300 * MS, 0);
	clock_record(p, 1300 * MS + 10, 1300 * MS + 10, 0);
	scratch_add(dir, p, "c.raw", SP_RAW_ENDED_NORMAL, 4000 * MS);
	/* on the second host, but without MPI */
	p = rank(13, "node1", NULL, 8200 * MS, -7050 * (int64_t)MS, 9000 * MS, 10000 * MS);
	scratch_add(dir, p, "d.raw", SP_RAW_ENDED_NORMAL, 11000 * MS);
	/* compared for a short time and inexactly, but it drifts by more than that error */
	p = rank(14, "node2", "3", 8000 * MS, -6000 * (int64_t)MS, 8100 * MS, 8110 * MS);
	clock_record(p, 8100 * MS, 1100 * MS, 9000);
	clock_record(p, 8110 * MS, 1110 * MS + 30000, 9000);
	scratch_add(dir, p, "e.raw", SP_RAW_ENDED_NORMAL, 11000 * MS);

	m = scratch_load(dir, 0);
	CHECK(m->n_problems == 0 && m->n_processes == 5);
	CHECK_TIMES(m, 10, 500 * MS, 1500 * MS);
	CHECK_TIMES(m, 11, 500 * MS + 25000, 1500 * MS + 75000);
	CHECK_TIMES(m, 12, 500 * MS, 1500 * MS);
	CHECK_TIMES(m, 13, 1000 * MS + 50000, 2000 * MS + 100000);
	CHECK_TIMES(m, 14, 100 * MS, 110 * MS + 30000);
	sp_model_free(m);
}

static void test_one_record(void)
{
	const char *dir = scratch_experiment();
	struct rg_process *p = rank(10, "node0", "0", 1000 * MS, 0, 1500 * MS, 2500 * MS);
	struct sp_model *m;

	clock_record(p, 1100 * MS, 1100 * MS, 0);
	scratch_add(dir, p, "a.raw", SP_RAW_ENDED_NORMAL, 4000 * MS);
	p = rank(11, "node1", "1", 8000 * MS, -6000 * (int64_t)MS, 8500 * MS, 9500 * MS);
	clock_record(p, 8100 * MS, 1100 * MS, 1000);
	scratch_add(dir, p, "b.raw", SP_RAW_RUNNING, 11000 * MS);
	/* two records, so close together that their rate is meaningless: their middle counts */
	p = rank(12, "node2", "2", 8000 * MS, -6000 * (int64_t)MS, 8500 * MS, 9500 * MS);
	clock_record(p, 8100 * MS, 1100 * MS - 5000, 9000);
	clock_record(p, 8110 * MS, 1110 * MS + 5000, 9000);
	scratch_add(dir, p, "c.raw", SP_RAW_ENDED_NORMAL, 11000 * MS);
	/* begins before rank 0 */
	p = rank(13, "node3", "3", 100 * MS, 0, 200 * MS, 300 * MS);
	clock_record(p, 400 * MS, 1200 * MS, 0);
	scratch_add(dir, p, "d.raw", SP_RAW_ENDED_NORMAL, 4000 * MS);

	m = scratch_load(dir, 0);
	CHECK(m->n_problems == 0);
	CHECK_TIMES(m, 11, 500 * MS, 1500 * MS);
	CHECK_TIMES(m, 12, 500 * MS, 1500 * MS);
	CHECK(process(m, 13)->begin == 0 && process(m, 10)->begin == 100 * MS);
	CHECK_TIMES(m, 13, 0, 100 * MS);
	sp_model_free(m);
}

/* A second world with its rank 0 on a host that was compared in the first world. */
static void test_second_world(void)
{
	const char *dir = scratch_experiment();
	struct rg_process *p = rank(10, "node0", "0", 1000 * MS, 0, 1500 * MS, 2500 * MS);
	struct sp_model *m;
	int i;

	clock_record(p, 1100 * MS, 1100 * MS, 0);
	scratch_add(dir, p, "a.raw", SP_RAW_ENDED_NORMAL, 4000 * MS);
	p = rank(11, "node1", "1", 8000 * MS, -6000 * (int64_t)MS, 8500 * MS, 9500 * MS);
	clock_record(p, 8100 * MS, 1100 * MS, 1000);
	scratch_add(dir, p, "b.raw", SP_RAW_ENDED_NORMAL, 11000 * MS);
	for (i = 0; i < 2; i++) {
		p = rank(12 + i, i ? "node2" : "node1", NULL, 8300 * MS, -6000 * (int64_t)MS, 8500 * MS, 9500 * MS);
		rg_meta(p, "mpi_world", "00000000000000cd");
		rg_meta(p, "mpi_rank", i ? "1" : "0");
		rg_meta(p, "mpi_size", "2");
		clock_record(p, 8400 * MS, (i ? 8500 : 8400) * MS, 0);
		scratch_add(dir, p, i ? "d.raw" : "c.raw", SP_RAW_ENDED_NORMAL, 11000 * MS);
	}
	m = scratch_load(dir, 0);
	CHECK(m->n_problems == 0);
	CHECK_TIMES(m, 12, 500 * MS, 1500 * MS);
	CHECK_TIMES(m, 13, 600 * MS, 1600 * MS);
	sp_model_free(m);
}

static void test_damage(void)
{
	const char *dir = scratch_experiment();
	struct rg_process *p = rank(10, "node0", "0", 1000 * MS, 0, 1500 * MS, 2500 * MS);
	struct sp_model *m;

	clock_record(p, 1100 * MS, 1100 * MS, 0);
	scratch_add(dir, p, "a.raw", SP_RAW_ENDED_NORMAL, 4000 * MS);
	p = rank(11, "node1", "1", 8000 * MS, -7000 * (int64_t)MS, 8500 * MS, 9500 * MS);
	clock_record(p, 8000 * MS, 1100 * MS, 1000);
	clock_record(p, 9000 * MS, 9100 * MS, 1000); /* nine times as fast */
	scratch_add(dir, p, "b.raw", SP_RAW_ENDED_NORMAL, 11000 * MS);
	p = rank(12, "node2", "2", 8000 * MS, -7000 * (int64_t)MS, 8500 * MS, 9500 * MS);
	clock_record(p, UINT64_MAX / 4, 1100 * MS, 1000);
	scratch_add(dir, p, "c.raw", SP_RAW_ENDED_NORMAL, 11000 * MS);
	p = rank(13, "node3", "3", 8000 * MS, -7000 * (int64_t)MS, 8500 * MS, 9500 * MS);
	rg_define(p, SP_RAW_DEF_CLOCK, 0, "ticks");
	scratch_add(dir, p, "d.raw", SP_RAW_ENDED_NORMAL, 11000 * MS);

	m = scratch_load(dir, 0);
	CHECK(m->n_problems == 3);
	CHECK_TIMES(m, 11, 500 * MS, 1500 * MS);
	CHECK_TIMES(m, 12, 500 * MS, 1500 * MS);
	CHECK_TIMES(m, 13, 500 * MS, 1500 * MS);
	sp_model_free(m);
}

int main(void)
{
	test_two_records();
	test_one_record();
	test_second_world();
	test_damage();
	return check_failures != 0;
}
