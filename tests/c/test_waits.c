/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages, waits and the critical path of traces with exactly known times. */
#include "model/mpi/critical.h"

#include "check.h"
#include "model/model.h"
#include "model/str.h"
#include "scratch.h"
#include "model/region.h"
#include "model/process.h"

enum {
	MAIN = 1,
	SEND,
	RECV,
	ISEND,
	IRECV,
	WAITALL,
	TEST,
	BARRIER,
	ALLREDUCE,
	BCAST,
	REDUCE,
	SCAN,
	MPROBE,
	MRECV,
	WAIT,
	FENCE,
	WORK
};
enum { RANKS = 4, WORLD = 77 };
enum { OP_BARRIER = 0, OP_BCAST = 1, OP_ALLREDUCE = 11, OP_REDUCE = 12, OP_SCAN = 14 };

static struct rg_process *ranks[RANKS];
static struct rg_thread *threads[RANKS];
static const char *dir;

static uint64_t pair(uint32_t low, uint32_t high)
{
	return (uint64_t)high << 32 | low;
}

/* n ranks that are in main from time 0 on. */
static void begin(uint32_t n)
{
	static const char *const names[] = {"MPI_Send", "MPI_Recv",    "MPI_Isend",     "MPI_Irecv", "MPI_Waitall",
	                                    "MPI_Test", "MPI_Barrier", "MPI_Allreduce", "MPI_Bcast", "MPI_Reduce",
	                                    "MPI_Scan", "MPI_Mprobe",  "MPI_Mrecv",     "MPI_Wait",  "MPI_Win_fence"};
	const struct sp_raw_ranks all = {WORLD, 0, n};
	uint32_t i, k;

	dir = scratch_experiment();
	for (i = 0; i < n; i++) {
		struct rg_process *p = ranks[i] = rg_process((int32_t)(100 + i), 1, 0, true);

		rg_region(p, MAIN, 0, "__main__", "main", "/p.py", 3);
		for (k = 0; k < sizeof(names) / sizeof(*names); k++)
			rg_region(p, SEND + k, SP_RAW_REGION_MPI, "", names[k], "", SP_RAW_MPI_OTHER);
		rg_region(p, WORK, 0, "__main__", "work", "/p.py", 9);
		rg_rank(p, WORLD, i, n);
		rg_comm(p, 1, SP_RAW_COMM_WORLD, "MPI_COMM_WORLD", &(struct sp_raw_comm){0x11, 0, n, i, 0, 0}, &all,
		        i == 0);
		rg_record(p, SP_RAW_DEF_WIN, 0, 1, 1, (struct rg_bytes[4]){{"window", 6}});
		threads[i] = rg_thread(p, "MainThread", 100 + i, SP_RAW_NONE, 0);
		rg_enter(threads[i], 0, MAIN);
	}
}

static struct sp_model *end(uint32_t n, uint64_t at)
{
	char name[16];
	uint32_t i;

	for (i = 0; i < n; i++) {
		rg_leave(threads[i], at);
		snprintf(name, sizeof(name), "%u.raw", i);
		scratch_add(dir, ranks[i], name, SP_RAW_ENDED_NORMAL, at);
	}
	return scratch_load(dir, 0);
}

static void send(uint32_t rank, uint64_t from, uint64_t to, uint32_t peer, uint32_t tag, uint64_t bytes)
{
	rg_enter(threads[rank], from, SEND);
	rg_extra(threads[rank], from, SP_RAW_X_MPI_SEND, (uint64_t[]){pair(1, peer), tag, bytes}, 3);
	rg_leave(threads[rank], to);
}

static void receive(uint32_t rank, uint64_t from, uint64_t to, uint32_t peer, uint32_t tag, uint64_t bytes)
{
	rg_enter(threads[rank], from, RECV);
	rg_extra(threads[rank], to, SP_RAW_X_MPI_RECV, (uint64_t[]){pair(1, peer), tag, bytes}, 3);
	rg_leave(threads[rank], to);
}

static void collective(uint32_t rank, uint32_t region, uint64_t from, uint64_t to, uint32_t operation, uint32_t root,
                       uint64_t sent, uint64_t received)
{
	rg_enter(threads[rank], from, region);
	rg_extra(threads[rank], from, SP_RAW_X_COLLECTIVE_BEGIN, NULL, 0);
	rg_extra(threads[rank], to, SP_RAW_X_COLLECTIVE_END, (uint64_t[]){pair(1, operation), root, sent, received}, 4);
	rg_leave(threads[rank], to);
}

struct found {
	struct sp_model *m;
	struct sp_messages x;
	struct sp_waits w;
};

static struct found find(struct sp_model *m)
{
	struct found f = {.m = m};
	struct sp_err e;

	CHECK(m->n_problems == 0);
	MUST(sp_messages_read(&f.x, m, &e) == 0 && sp_waits_find(&f.w, &f.x, &e) == 0);
	return f;
}

static void drop(struct found *f)
{
	sp_waits_free(&f->w);
	sp_messages_free(&f->x);
	sp_model_free(f->m);
}

static uint32_t rank_of(const struct sp_model *m, uint32_t location)
{
	return location == SP_NONE ? SP_NONE : m->processes[m->locations[location].process].rank;
}

/* The time for which a rank waited in this way for another one, in main > region. */
static double waited(const struct found *f, enum sp_wait_kind kind, const char *region, uint32_t rank, uint32_t on)
{
	uint32_t path = PATH(f->m, "__main__:main", region);
	double time = 0;
	size_t i;

	for (i = 0; i < f->w.n_rows; i++) {
		const struct sp_wait_row *r = &f->w.rows[i];

		if (r->kind == (uint32_t)kind && r->path == path && rank_of(f->m, r->location) == rank &&
		    rank_of(f->m, r->on) == on)
			time += r->time;
	}
	return time;
}

static double all_waits(const struct found *f)
{
	double time = 0;
	size_t i;

	for (i = 0; i < f->w.n_rows; i++)
		time += f->w.rows[i].time;
	return time;
}

static void test_late_sender_and_receiver(void)
{
	struct found f;
	struct sp_message_row *rows;
	struct sp_err e;
	size_t n;

	begin(2);
	send(0, 500, 510, 1, 3, 80); /* 400 late */
	receive(1, 100, 520, 0, 3, 80);
	receive(1, 600, 620, 0, 3, 16); /* arrived in time */
	send(0, 520, 525, 1, 3, 16);
	send(0, 700, 960, 1, 4, 1 << 20); /* blocks until the receive is posted */
	receive(1, 900, 960, 0, 4, 1 << 20);
	send(1, 1000, 1010, 0, 5, 8); /* does not block */
	receive(0, 1200, 1210, 1, 5, 8);
	f = find(end(2, 2000));
	CHECK_NUMBER(waited(&f, SP_WAIT_LATE_SENDER, "MPI_Recv", 1, 0), 400);
	CHECK_NUMBER(waited(&f, SP_WAIT_LATE_RECEIVER, "MPI_Send", 0, 1), 200);
	CHECK_NUMBER(all_waits(&f), 600);
	CHECK(f.x.n_messages == 4 && f.x.unmatched_sends + f.x.unmatched_receives + f.x.early == 0);
	MUST(sp_messages_rows(&f.x, SP_BY_PAIR, &rows, &n, &e) == 0 && n == 2);
	CHECK(rows[0].messages == 3 && rows[0].bytes == 96 + (1 << 20) && rows[0].received == 3);
	CHECK_NUMBER(rows[0].time, 20 + 100 + 260);
	free(rows);
	drop(&f);
}

/* Rank 0 first receives from rank 1, which sends last; and receives tag 8 before tag 7 of the same sender. */
static void test_wrong_order(void)
{
	struct found f;

	begin(3);
	send(2, 100, 105, 0, 1, 8);
	send(1, 300, 305, 0, 1, 8);
	receive(0, 50, 310, 1, 1, 8);
	receive(0, 320, 325, 2, 1, 8);
	send(1, 500, 505, 0, 7, 8);
	send(1, 600, 605, 0, 8, 8);
	receive(0, 400, 610, 1, 8, 8);
	receive(0, 620, 625, 1, 7, 8);
	f = find(end(3, 2000));
	CHECK_NUMBER(waited(&f, SP_WAIT_WRONG_ORDER_DIFFERENT, "MPI_Recv", 0, 1), 250);
	CHECK_NUMBER(waited(&f, SP_WAIT_WRONG_ORDER_SAME, "MPI_Recv", 0, 1), 200);
	CHECK_NUMBER(all_waits(&f), 450);
	drop(&f);
}

static void irecv(uint32_t rank, uint64_t at, uint64_t request)
{
	rg_enter(threads[rank], at, IRECV);
	rg_extra(threads[rank], at + 1, SP_RAW_X_MPI_IRECV_REQUEST, &request, 1);
	rg_leave(threads[rank], at + 2);
}

static void isend(uint32_t rank, uint64_t at, uint32_t peer, uint32_t tag, uint64_t request)
{
	rg_enter(threads[rank], at, ISEND);
	rg_extra(threads[rank], at, SP_RAW_X_MPI_ISEND, (uint64_t[]){pair(1, peer), tag, 8, request}, 4);
	rg_leave(threads[rank], at + 2);
}

/* Rank 0 waits in one call for two messages and for its own send; the receive that was posted first gets the message
 * that was sent first. */
static void test_requests(void)
{
	struct found f;
	const struct sp_message *m;

	begin(3);
	irecv(0, 10, 1);
	irecv(0, 20, 2);
	isend(0, 30, 1, 6, 3);
	isend(0, 40, 1, 6, 4);
	rg_enter(threads[0], 100, WAITALL);
	rg_extra(threads[0], 900, SP_RAW_X_MPI_ISEND_COMPLETE, (uint64_t[]){3}, 1);
	rg_extra(threads[0], 900, SP_RAW_X_MPI_IRECV, (uint64_t[]){pair(1, 2), 5, 8, 2}, 4);
	rg_extra(threads[0], 900, SP_RAW_X_MPI_IRECV, (uint64_t[]){pair(1, 1), 5, 8, 1}, 4);
	rg_extra(threads[0], 900, SP_RAW_X_MPI_REQUEST_CANCELLED, (uint64_t[]){4}, 1);
	rg_leave(threads[0], 900);
	send(1, 400, 405, 0, 5, 8);
	receive(1, 700, 710, 0, 6, 8);
	send(2, 800, 805, 0, 5, 8);
	/* a request that is only tested */
	irecv(1, 720, 1);
	rg_enter(threads[1], 730, TEST);
	rg_extra(threads[1], 880, SP_RAW_X_MPI_IRECV, (uint64_t[]){pair(1, 2), 9, 8, 1}, 4);
	rg_leave(threads[1], 880);
	send(2, 810, 815, 1, 9, 8);
	f = find(end(3, 2000));
	CHECK_NUMBER(waited(&f, SP_WAIT_LATE_SENDER, "MPI_Waitall", 0, 2), 700);
	CHECK_NUMBER(all_waits(&f), 700);
	CHECK(f.x.cancelled == 1 && f.x.n_messages == 4 && f.x.unmatched_sends == 0);
	m = &f.x.messages[0]; /* from 0 to 1 */
	CHECK(f.x.calls[m->send].enter == 30 && f.x.calls[m->sent].enter == 100 && f.x.calls[m->posted].enter == 700);
	drop(&f);
}

static void test_probe_and_unmatched(void)
{
	struct found f;

	begin(2);
	rg_enter(threads[0], 100, MPROBE);
	rg_leave(threads[0], 405);
	rg_enter(threads[0], 410, MRECV);
	rg_extra(threads[0], 420, SP_RAW_X_MPI_RECV, (uint64_t[]){pair(1, 1), 2, 8}, 3);
	rg_leave(threads[0], 420);
	send(1, 400, 402, 0, 2, 8);
	send(1, 500, 502, 0, 2, 8);    /* no process receives it */
	receive(0, 600, 610, 1, 3, 8); /* no process sent it */
	receive(0, 700, 710, 1, 4, 8); /* received 90 before it was sent */
	send(1, 800, 802, 0, 4, 8);
	f = find(end(2, 2000));
	CHECK_NUMBER(waited(&f, SP_WAIT_LATE_SENDER, "MPI_Mprobe", 0, 1), 300);
	CHECK(f.x.unmatched_sends == 1 && f.x.unmatched_receives == 1 && f.x.unmeasured == 0);
	CHECK(f.x.early == 1 && f.x.operations == 0);
	CHECK_NUMBER(f.x.early_worst, 90);
	CHECK_NUMBER(waited(&f, SP_WAIT_LATE_SENDER, "MPI_Recv", 0, 1), 10); /* not longer than the call */
	drop(&f);
}

/* The first and the fourth of five receives are not recorded, and the first two of four sends with another tag. */
static void test_missing(void)
{
	static const uint64_t bytes[] = {8, 16, 8, 24, 16};
	struct found f;
	uint64_t i;

	begin(2);
	for (i = 0; i < 5; i++)
		send(0, 100 + 100 * i, 110 + 100 * i, 1, 1, bytes[i]);
	for (i = 0; i < 5; i++)
		if (i != 0 && i != 3)
			receive(1, 120 + 100 * i, 130 + 100 * i, 0, 1, bytes[i]);
	for (i = 2; i < 4; i++)
		send(1, 1000 + 100 * i, 1010 + 100 * i, 0, 2, 8);
	for (i = 0; i < 4; i++)
		receive(0, 1020 + 100 * i, 1030 + 100 * i, 1, 2, 8);
	f = find(end(2, 2000));
	CHECK(f.x.n_messages == 7 && f.x.unmatched_sends == 2 && f.x.unmatched_receives == 2 && f.x.early == 0);
	for (i = 0; i < 5; i++)
		CHECK(f.x.messages[i].arrived == (i == 0 || i == 3 ? 0 : 130 + 100 * i));
	CHECK(f.x.messages[5].arrived == 1230 && f.x.messages[6].arrived == 1330);
	CHECK_NUMBER(all_waits(&f), 0);
	drop(&f);
}

/* Rank 1 is killed in a receive, rank 0 after a barrier that only its own file contains. */
static void test_killed(void)
{
	struct found f;

	begin(2);
	send(0, 50, 60, 1, 3, 8);
	collective(0, BARRIER, 100, 200, OP_BARRIER, (uint32_t)-1, 0, 0);
	rg_enter(threads[1], 150, RECV);
	scratch_add(dir, ranks[0], "0.raw", SP_RAW_RUNNING, 200);
	scratch_add(dir, ranks[1], "1.raw", SP_RAW_RUNNING, 400);
	f = find(scratch_load(dir, 0));
	CHECK(f.x.n_messages == 1 && f.x.unmatched_sends == 1 && f.x.unmatched_receives == 0);
	CHECK(f.x.operations == 1 && f.x.incomplete == 1 && f.w.n_rows == 0);
	drop(&f);
}

/* Rank i enters at base + 100 i, all leave at base + 350 + i. */
static void everywhere(uint32_t region, uint64_t base, uint32_t operation, uint32_t root, uint64_t bytes)
{
	uint32_t i;

	for (i = 0; i < RANKS; i++)
		collective(i, region, base + 100 * i, base + 350 + i, operation, root, bytes, bytes);
}

static void test_collectives(void)
{
	struct found f;
	uint32_t i;

	begin(RANKS);
	everywhere(BARRIER, 1000, OP_BARRIER, (uint32_t)-1, 0);
	everywhere(ALLREDUCE, 2000, OP_ALLREDUCE, (uint32_t)-1, 32);
	everywhere(BCAST, 3000, OP_BCAST, 2, 8);
	everywhere(REDUCE, 4000, OP_REDUCE, 0, 8);
	everywhere(SCAN, 5000, OP_SCAN, (uint32_t)-1, 8);
	for (i = 0; i < RANKS; i++) { /* in the opposite order, so that low ranks are late */
		collective(i, SCAN, 6300 - 100 * i, 6350, OP_SCAN, (uint32_t)-1, 8, 8);
		rg_enter(threads[i], 7000 + 100 * i, FENCE);
		rg_extra(threads[i], 7000 + 100 * i, SP_RAW_X_RMA_COLLECTIVE_BEGIN, NULL, 0);
		rg_extra(threads[i], 7350, SP_RAW_X_RMA_COLLECTIVE_END, (uint64_t[]){pair(1, 0), 1, (uint32_t)-1, 0, 0},
		         5);
		rg_leave(threads[i], 7350);
	}
	f = find(end(RANKS, 9000));
	for (i = 0; i < RANKS; i++) {
		const double late = 100.0 * (3 - i);

		CHECK_NUMBER(waited(&f, SP_WAIT_BARRIER, "MPI_Barrier", i, 3), late);
		CHECK_NUMBER(waited(&f, SP_WAIT_BARRIER_COMPLETION, "MPI_Barrier", i, SP_NONE), i);
		CHECK_NUMBER(waited(&f, SP_WAIT_NXN, "MPI_Allreduce", i, 3), late);
		CHECK_NUMBER(waited(&f, SP_WAIT_NXN_COMPLETION, "MPI_Allreduce", i, SP_NONE), i);
		CHECK_NUMBER(waited(&f, SP_WAIT_LATE_BROADCAST, "MPI_Bcast", i, 2), i < 2 ? 100.0 * (2 - i) : 0);
		CHECK_NUMBER(waited(&f, SP_WAIT_EARLY_SCAN, "MPI_Scan", i, 0), 100.0 * i);
		CHECK_NUMBER(waited(&f, SP_WAIT_FENCE, "MPI_Win_fence", i, 3), late);
	}
	CHECK_NUMBER(waited(&f, SP_WAIT_EARLY_REDUCE, "MPI_Reduce", 0, 1), 100);
	CHECK_NUMBER(all_waits(&f), 3 * 600 + 2 * 6 + 300 + 100 + 600);
	drop(&f);
}

/* Three barriers: the last rank misses one, and leaves one before the others arrive; a broadcast's root is late. */
static void test_contradictions(void)
{
	struct found f;
	uint32_t i;

	begin(RANKS);
	everywhere(BARRIER, 1000, OP_BARRIER, (uint32_t)-1, 0);
	for (i = 0; i < RANKS; i++) {
		if (i < 3)
			collective(i, BARRIER, 2000, 2100, OP_BARRIER, (uint32_t)-1, 0, 0);
		collective(i, BCAST, i ? 3000 : 3200, i == 2 ? 3170 : 3300, OP_BCAST, 0, i ? 0 : 8, 8);
		collective(i, REDUCE, 4000, i == 2 ? 4001 : 4100, OP_REDUCE, 0, 8, i ? 0 : 32);
	}
	f = find(end(RANKS, 9000));
	CHECK(f.x.operations == 4 && f.x.incomplete == 1 && f.x.early_operations == 1);
	CHECK_NUMBER(f.x.early_operations_worst, 30);
	drop(&f);
}

static void work(uint32_t rank, uint64_t from, uint64_t to)
{
	rg_enter(threads[rank], from, WORK);
	rg_leave(threads[rank], to);
}

static double of_region(const struct sp_model *m, const struct sp_critical *c, const char *name, int which)
{
	uint32_t i;

	for (i = 0; i < m->n_regions; i++)
		if (strcmp(m->regions[i].name.p, name) == 0)
			return which == 0   ? c->regions[i].time
			       : which == 1 ? c->regions[i].at_least
			                    : c->regions[i].at_most;
	return -1;
}

/* Rank 1 continues when rank 0 has sent at 500, and receives at `asked`; at a later barrier rank 1 is the last. */
static void test_critical_path(uint64_t asked, uint64_t barrier, double at_least)
{
	struct found f;
	struct sp_critical c;
	struct sp_err e;

	begin(2);
	work(0, 100, 490);
	send(0, 500, 510, 1, 3, 8);
	collective(0, BARRIER, barrier, 960, OP_BARRIER, (uint32_t)-1, 0, 0);
	work(1, 0, 80);
	receive(1, asked, 520, 0, 3, 8);
	work(1, 600, 900);
	collective(1, BARRIER, 950, 960, OP_BARRIER, (uint32_t)-1, 0, 0);
	f = find(end(2, 1000));
	MUST(sp_critical_find(&c, &f.x, &f.w, 0.1, &e) == 0);
	MUST(c.n_pieces == 3 && c.jumps == 2);
	CHECK(c.pieces[0].location == 0 && c.pieces[0].from == 0 && c.pieces[0].to == 500);
	CHECK(c.pieces[1].location == 1 && c.pieces[1].to == 950);
	CHECK_NUMBER(c.length, 1000);
	CHECK_NUMBER(c.locations[0], 550);
	CHECK_NUMBER(of_region(f.m, &c, "__main__:work", 0), 390 + 300);
	CHECK_NUMBER(of_region(f.m, &c, "__main__:main", 0), 110 + 80 + 50 + 40);
	CHECK_NUMBER(of_region(f.m, &c, "MPI_Recv", 0), 20);
	CHECK_NUMBER(of_region(f.m, &c, "MPI_Barrier", 0), 10);
	CHECK_NUMBER(c.paths[PATH(f.m, "__main__:main", "__main__:work")], 690);
	CHECK_NUMBER(of_region(f.m, &c, "__main__:work", 1), at_least);
	CHECK_NUMBER(of_region(f.m, &c, "__main__:work", 2), 69);
	sp_critical_free(&c);
	drop(&f);
}

int main(void)
{
	test_late_sender_and_receiver();
	test_wrong_order();
	test_requests();
	test_probe_and_unmatched();
	test_missing();
	test_killed();
	test_collectives();
	test_contradictions();
	test_critical_path(100, 945, 5);
	test_critical_path(480, 700, 50);
	test_critical_path(100, 700, 69);
	return check_failures != 0;
}
