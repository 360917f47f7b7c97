/* SPDX-License-Identifier: BSD-3-Clause */
/* The MPI data of several processes, unified. */
#include "check.h"
#include "model/comm.h"
#include "model/event.h"
#include "model/model.h"
#include "model/str.h"
#include "scratch.h"
#include "model/file.h"

enum { WORLD_COMM = 1, SELF_COMM, HALF_COMM, RING, SELF_DUP };

static void add_rank(const char *dir, uint64_t world, uint32_t rank, uint32_t size)
{
	char name[32];

	snprintf(name, sizeof(name), "w%x-%u.raw", (unsigned)world, rank);
	scratch_add(dir, rg_mpi_rank(world, rank, size, true, NULL), name, SP_RAW_ENDED_NORMAL, 2000);
}

static uint32_t find_comm(const struct sp_model *m, const char *name, uint32_t member)
{
	uint32_t i;

	for (i = 0; i < m->n_comms; i++)
		if (strcmp(m->comms[i].name.p, name) == 0 && m->comms[i].group.processes[0] == member)
			return i;
	return SP_NONE;
}

static bool is_group(const struct sp_group *g, const uint32_t *processes, uint32_t n)
{
	return g->n == n && memcmp(g->processes, processes, n * sizeof(*processes)) == 0;
}
#define IS(g, ...)                                                                                                     \
	is_group(&(g), (const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

/* Four ranks whose files were begun in the opposite order. */
static void test_communicators(void)
{
	const char *dir = scratch_experiment();
	struct sp_model *m;
	uint32_t i, world, even, odd, ring;

	for (i = 0; i < 4; i++)
		add_rank(dir, 0xabc, i, 4);
	m = scratch_load(dir, 0);
	CHECK(m->n_problems == 0);
	CHECK(m->n_worlds == 1 && m->worlds[0].id == 0xabc && IS(m->worlds[0].ranks, 0, 1, 2, 3));
	for (i = 0; i < 4; i++) {
		CHECK(m->processes[i].rank == i && m->processes[i].ranks == 4 && m->processes[i].world == 0xabc);
		CHECK(m->processes[i].begin == 3 - i);
	}
	CHECK(m->n_comms == 1 + 4 + 2 + 1 + 4);
	world = find_comm(m, "MPI_COMM_WORLD", 0);
	even = find_comm(m, "half", 0);
	odd = find_comm(m, "half", 1);
	MUST(world != SP_NONE && even != SP_NONE && odd != SP_NONE);
	CHECK(m->comms[world].world && !m->comms[world].self && m->comms[world].parent == SP_NONE);
	CHECK(IS(m->comms[world].group, 0, 1, 2, 3) && !m->comms[world].incomplete);
	CHECK(IS(m->comms[even].group, 0, 2) && m->comms[even].parent == world);
	CHECK(IS(m->comms[odd].group, 1, 3) && m->comms[odd].parent == world);
	for (ring = 0; ring < m->n_comms && !m->comms[ring].cart_dims; ring++)
		;
	MUST(ring < m->n_comms);
	CHECK(m->comms[ring].group.processes == m->comms[world].group.processes); /* stored once */
	CHECK(m->comms[ring].cart_dims == 1 && m->comms[ring].cart[0] == 4 && m->comms[ring].cart[1] == 1);
	CHECK(strcmp(m->comms[ring].cart_name.p, "ring") == 0);
	for (i = 0; i < 4; i++) {
		uint32_t self = find_comm(m, "MPI_COMM_SELF", i), dups = 0, k;

		MUST(self != SP_NONE);
		CHECK(m->comms[self].self && IS(m->comms[self].group, i));
		CHECK(m->comms[ring].coordinates[i] == i);
		for (k = 0; k < m->n_comms; k++)
			dups += m->comms[k].parent == self && IS(m->comms[k].group, i);
		CHECK(dups == 1);
	}
	CHECK(m->n_wins == 3 && m->wins[0].comm == world && strcmp(m->wins[0].name.p, "window") == 0);
	CHECK(m->wins[1].comm == even && m->wins[2].comm == odd);
	CHECK(m->n_groups == 1 && IS(m->groups[0], 0, 1, 2, 3));
	CHECK(m->n_io_handles == 4 && m->io_handles[3].mpi && m->io_handles[3].comm == world &&
	      m->io_handles[3].process == 3);
	sp_model_free(m);
}

static size_t read_all(const struct sp_model *m, uint32_t location, struct sp_event *ev, struct sp_mpi *mpi,
                       struct sp_io *io, size_t capacity)
{
	struct sp_events *s;
	struct sp_err e;
	size_t n = 0;

	MUST(sp_events_open(&s, m, location, &e) == 0);
	while (n < capacity && sp_events_read(s, ev + n, 1, &e) > 0) {
		if (ev[n].kind >= SP_EVENT_MPI_SEND && ev[n].kind <= SP_EVENT_RMA_LOCK)
			mpi[n] = *ev[n].u.mpi;
		if (ev[n].kind >= SP_EVENT_IO_CREATE && ev[n].kind <= SP_EVENT_IO_DELETE)
			io[n] = *ev[n].u.io;
		n++;
	}
	sp_events_close(s);
	return n;
}

enum { MAX = 128 };
static struct sp_event ev[MAX];
static struct sp_mpi mpi[MAX];
static struct sp_io io[MAX];

/* The index of the n-th event of a kind; 0: not found. */
static size_t nth(size_t events, uint32_t kind, unsigned n)
{
	size_t i;

	for (i = 1; i < events; i++)
		if (ev[i].kind == kind && n-- == 0)
			return i;
	return 0;
}

static void check_messages(const struct sp_model *m, size_t n)
{
	const struct sp_group *all = &m->comms[find_comm(m, "MPI_COMM_WORLD", 0)].group;
	size_t i = nth(n, SP_EVENT_MPI_SEND, 0);

	CHECK(i && ev[i - 1].kind == SP_EVENT_ENTER && ev[i].time == ev[i - 1].time);
	CHECK(mpi[i].peers->processes == all->processes && mpi[i].peer == 2 && mpi[i].tag == 7 && mpi[i].bytes == 800);
	i = nth(n, SP_EVENT_MPI_RECV, 0);
	CHECK(i && mpi[i].peer == 0 && ev[i + 1].kind == SP_EVENT_LEAVE);
	i = nth(n, SP_EVENT_MPI_ISEND, 0);
	CHECK(i && mpi[i].request == 1 && mpi[i].bytes == 16 && m->comms[ev[i].id].cart_dims == 1);
	CHECK(mpi[nth(n, SP_EVENT_MPI_ISEND_COMPLETE, 0)].request == 1);
	CHECK(mpi[nth(n, SP_EVENT_MPI_IRECV_REQUEST, 0)].request == 2);
	CHECK(mpi[nth(n, SP_EVENT_MPI_REQUEST_TEST, 0)].request == 2);
	CHECK(mpi[nth(n, SP_EVENT_MPI_IRECV, 0)].request == 2 && mpi[nth(n, SP_EVENT_MPI_IRECV, 0)].peer == 0);
	CHECK(mpi[nth(n, SP_EVENT_MPI_REQUEST_CANCELLED, 0)].request == 3);
	i = nth(n, SP_EVENT_COLLECTIVE_END, 0);
	CHECK(i && mpi[i].what == 0 && mpi[i].root == SP_RAW_ROOT_NONE && mpi[i].sent == 0);
	i = nth(n, SP_EVENT_COLLECTIVE_END, 1);
	CHECK(i && mpi[i].what == 1 && mpi[i].root == 3 && mpi[i].sent == 32 && mpi[i].received == 8);
	i = nth(n, SP_EVENT_NBC_COMPLETE, 0);
	CHECK(i && ev[i].id == find_comm(m, "half", 1) && mpi[i].request == 4 && mpi[i].what == 11);
}

static void check_one_sided(const struct sp_model *m, size_t n)
{
	size_t i = nth(n, SP_EVENT_RMA_PUT, 0);

	CHECK(i && ev[i].id == 0 && mpi[i].peer == 2 && mpi[i].bytes == 64 && mpi[i].matching == 9);
	i = nth(n, SP_EVENT_RMA_ATOMIC, 0);
	CHECK(i && mpi[i].what == 4 && mpi[i].sent == 8 && mpi[i].received == 8 && mpi[i].matching == 11);
	i = nth(n, SP_EVENT_RMA_COMPLETE, 1);
	CHECK(i && mpi[i].what == SP_RAW_RMA_NON_BLOCKING && mpi[i].matching == 10);
	i = nth(n, SP_EVENT_RMA_LOCK, 0);
	CHECK(i && mpi[i].what == SP_RAW_LOCK_REQUEST && mpi[i].type == 1 && mpi[i].peer == 2 && mpi[i].matching == 5);
	i = nth(n, SP_EVENT_RMA_LOCK, 2);
	CHECK(i && mpi[i].peer == SP_NONE && mpi[i].matching == 6);
	i = nth(n, SP_EVENT_RMA_GROUP_SYNC, 0);
	CHECK(i && mpi[i].level == 2 && IS(m->groups[mpi[i].group], 0, 1, 2, 3));
	i = nth(n, SP_EVENT_RMA_COLLECTIVE_END, 0);
	CHECK(i && mpi[i].what == 0 && mpi[i].level == 1 && mpi[i].root == SP_RAW_ROOT_NONE);
	i = nth(n, SP_EVENT_IO_BEGIN, 0);
	CHECK(i && io[i].mode == SP_RAW_IO_WRITE && io[i].flags == (SP_IO_COLLECTIVE | SP_IO_NON_BLOCKING));
	CHECK(io[nth(n, SP_EVENT_IO_ISSUED, 0)].matching == 21 && io[nth(n, SP_EVENT_IO_COMPLETE, 0)].matching == 21);
	i = nth(n, SP_EVENT_IO_DELETE, 0);
	CHECK(i && io[i].mode == SP_RAW_IO_MPI && strcmp(m->strings[ev[i].id].p, "/data/ring.bin") == 0);
}

static void test_events(void)
{
	const char *dir = scratch_experiment();
	struct sp_model *m;
	uint32_t i;
	size_t n;

	for (i = 0; i < 4; i++)
		add_rank(dir, 0xabc, i, 4);
	m = scratch_load(dir, 0);
	n = read_all(m, 1, ev, mpi, io, MAX);
	check_messages(m, n);
	check_one_sided(m, n);
	CHECK(m->n_problems == 0);
	sp_model_free(m);
}

/* Only ranks 1 and 3: the processes with rank 0 of all and of the even ranks left no file. */
static void test_missing(void)
{
	const char *dir = scratch_experiment();
	struct sp_model *m;
	uint32_t world;

	add_rank(dir, 0xabc, 1, 4);
	add_rank(dir, 0xabc, 3, 4);
	m = scratch_load(dir, 0);
	CHECK(m->n_problems == 0 && IS(m->worlds[0].ranks, SP_NONE, 0, SP_NONE, 1));
	world = find_comm(m, "MPI_COMM_WORLD", SP_NONE);
	MUST(world != SP_NONE);
	CHECK(IS(m->comms[world].group, SP_NONE, 0, SP_NONE, 1) && m->comms[world].incomplete);
	CHECK(m->comms[world].group.unmeasured && m->comms[world].group.unmeasured[2] == sp_unmeasured(0, 2));
	CHECK(!m->comms[find_comm(m, "half", 0)].incomplete && IS(m->comms[find_comm(m, "half", 0)].group, 0, 1));
	CHECK(read_all(m, 1, ev, mpi, io, MAX) > 50 && mpi[nth(MAX, SP_EVENT_MPI_SEND, 0)].peer == 0);
	CHECK(m->n_problems == 0);
	sp_model_free(m);
}

/* Two worlds with the same ids. */
static void test_worlds(void)
{
	const char *dir = scratch_experiment();
	struct sp_model *m;

	add_rank(dir, 0xdef, 0, 2);
	add_rank(dir, 0xabc, 0, 2);
	add_rank(dir, 0xdef, 1, 2);
	add_rank(dir, 0xabc, 1, 2);
	m = scratch_load(dir, 0);
	CHECK(m->n_problems == 0 && m->n_worlds == 2 && m->n_comms == 2 * (1 + 2 + 2 + 1 + 2));
	CHECK(m->processes[0].world == m->processes[1].world && m->processes[1].rank == 1);
	CHECK(m->processes[2].world_index == 1 && m->processes[3].world_index == 1);
	CHECK(m->n_wins == 6 && IS(m->comms[m->wins[5].comm].group, 3));
	sp_model_free(m);
}

/* An intercommunicator; `recorded`: bits of the processes that recorded it. */
static void test_inter(uint64_t other_world, unsigned recorded)
{
	const uint64_t worlds[3] = {0xabc, 0xabc, other_world};
	const uint32_t ranks[3] = {0, 1, other_world == 0xabc ? 2 : 0}, size = other_world == 0xabc ? 3 : 2;
	const struct sp_raw_ranks left = {0xabc, 0, 2}, right = {other_world, ranks[2], 1};
	const char *dir = scratch_experiment();
	struct rg_process *p;
	struct rg_thread *t;
	struct sp_model *m;
	char name[8];
	uint32_t i, c;

	for (i = 0; i < 3; i++) {
		const struct sp_raw_comm comm = {0x77, 0, i < 2 ? 2 : 1, i < 2 ? i : 0, i < 2 ? 1 : 2, 0};
		struct rg_bytes text[4] = {{"inter", 5}, {&comm, sizeof(comm)}};

		if (recorded >> i & 1) {
			text[2] = (struct rg_bytes){i < 2 ? &left : &right, sizeof(left)};
			text[3] = (struct rg_bytes){i < 2 ? &right : &left, sizeof(left)};
		}
		p = rg_mpi_rank(worlds[i], ranks[i], worlds[i] == 0xabc ? size : 1, true, &t);
		rg_record(p, SP_RAW_DEF_COMM, SP_RAW_COMM_INTER, 9, 0, text);
		rg_extra(t, 1940, SP_RAW_X_MPI_SEND, (uint64_t[]){(uint64_t)(i == 2) << 32 | 9, 99, 5}, 3);
		rg_leave(t, 1950);
		snprintf(name, sizeof(name), "%u.raw", i);
		scratch_add(dir, p, name, SP_RAW_ENDED_NORMAL, 2000);
	}
	m = scratch_load(dir, 0);
	CHECK(m->n_problems == 0);
	c = find_comm(m, "inter", 0);
	MUST(c != SP_NONE);
	CHECK(m->comms[c].inter && !m->comms[c].incomplete);
	CHECK(IS(m->comms[c].group, 0, 1) && IS(m->comms[c].remote, 2));
	for (i = 0; i < 3; i++) {
		size_t n = read_all(m, i, ev, mpi, io, MAX), k = nth(n, SP_EVENT_MPI_SEND, 1);

		CHECK(k && ev[k].id == c && mpi[k].peers->processes[mpi[k].peer] == (i < 2 ? 2u : 1u));
	}
	sp_model_free(m);
}

/* Inconsistent data are reported, and nothing beyond an end is read. */
static void expect_problem(const char *text, uint32_t flags, const struct sp_raw_comm *c, const void *members, size_t n,
                           uint64_t send)
{
	const char *dir = scratch_experiment();
	struct rg_thread *t;
	struct rg_process *p = rg_mpi_rank(0xabc, 0, 2, true, &t);
	struct sp_model *m;
	bool found = false;
	size_t i;

	rg_record(p, SP_RAW_DEF_COMM, flags, 9, 0,
	          (struct rg_bytes[4]){{"x", 1}, {c, c ? sizeof(*c) : 0}, {members, n}});
	rg_extra(t, 1940, SP_RAW_X_MPI_SEND, (uint64_t[]){send, 1, 5}, 3);
	rg_leave(t, 1950);
	scratch_add(dir, p, "a.raw", SP_RAW_ENDED_NORMAL, 2000);
	m = scratch_load(dir, 0);
	scratch_events(m);
	for (i = 0; i < m->n_problems; i++)
		found |= strstr(m->problems[i].text.p, text) != NULL;
	CHECK(found);
	if (!found)
		for (i = 0; i < m->n_problems; i++)
			fprintf(stderr, "    not \"%s\", but %s\n", text, m->problems[i].text.p);
	sp_model_free(m);
}

static void test_damage(void)
{
	const struct sp_raw_ranks all = {0xabc, 0, 2}, many = {0xabc, 0, UINT32_MAX}, one = {0xabc, 1, 1};
	const struct sp_raw_comm good = {5, 0, 2, 0, 0, 0}, past = {5, 0, 2, 2, 0, 0}, huge = {5, 0, 1u << 31, 0, 0, 0};
	const struct sp_raw_comm inter = {5, 0, 1, 0, 1u << 31, 0};

	expect_problem("not complete or names what is not defined", 0, &good, &all, sizeof(all), UINT64_C(2) << 32 | 9);
	expect_problem("not complete or names what is not defined", 0, &good, &all, sizeof(all), 10);
	expect_problem("members of communicator 9 are damaged", 0, &good, &all, 15, 9);
	expect_problem("members of communicator 9 are damaged", 0, &good, &many, sizeof(many), 9);
	expect_problem("members of communicator 9 are damaged", 0, &good, &one, sizeof(one), 9);
	expect_problem("its rank in communicator 9 does not fit", 0, &past, &all, sizeof(all), 9);
	expect_problem("its rank in communicator 9 does not fit", 0, &huge, NULL, 0, 9);
	expect_problem("its rank in communicator 9 does not fit", SP_RAW_COMM_INTER, &inter, NULL, 0, 9);
	expect_problem("has a name or a topology, but no ranks", 0, NULL, NULL, 0, 9);
}

/* Impossible ranks, and two processes with the same rank. */
static void test_ranks(void)
{
	const char *dir = scratch_experiment();
	struct rg_process *p = rg_mpi_rank(0xabc, 0, 2, true, NULL);
	struct sp_model *m;

	rg_meta(p, "mpi_rank", "2");
	scratch_add(dir, p, "a.raw", SP_RAW_ENDED_NORMAL, 2000);
	p = rg_mpi_rank(0xabc, 0, 2, true, NULL);
	rg_meta(p, "mpi_size", "99999999999");
	scratch_add(dir, p, "b.raw", SP_RAW_ENDED_NORMAL, 2000);
	add_rank(dir, 0xabc, 1, 2);
	scratch_add(dir, rg_mpi_rank(0xabc, 1, 2, true, NULL), "c.raw", SP_RAW_ENDED_NORMAL, 2000);
	m = scratch_load(dir, 0);
	CHECK(m->n_worlds == 1 && m->worlds[0].ranks.n == 2 && m->worlds[0].ranks.processes[0] == SP_NONE);
	CHECK(m->n_problems >= 3 && strstr(m->problems[0].text.p, "its rank in MPI_COMM_WORLD is not known"));
	CHECK(strstr(m->problems[2].text.p, "it is rank 1 of its MPI_COMM_WORLD, as raw/"));
	scratch_events(m);
	sp_model_free(m);
}

/* The time for thousands of ranks is proportional to their number: a quadratic step would take minutes. */
static void test_many(void)
{
	enum { MANY = 4096 };
	const char *dir = scratch_experiment();
	struct sp_model *m;
	uint32_t i;

	for (i = 0; i < MANY; i++)
		add_rank(dir, 0xabc, i, MANY);
	m = scratch_load(dir, 0);
	CHECK(m->n_processes == MANY && m->n_comms == 1 + MANY + 2 + 1 + MANY && m->n_problems == 0);
	CHECK(m->comms[find_comm(m, "half", 1)].group.n == MANY / 2);
	for (i = 0; i < MANY; i += 100)
		CHECK(m->processes[i].rank == i && m->comms[find_comm(m, "MPI_COMM_WORLD", 0)].group.processes[i] == i);
	sp_model_free(m);
}

int main(void)
{
	test_communicators();
	test_events();
	test_missing();
	test_worlds();
	test_inter(0xabc, 5);
	test_inter(0xabc, 1);
	test_inter(0xabc, 4);
	test_inter(0xdef, 5);
	test_damage();
	test_ranks();
	test_many();
	return check_failures ? 1 : 0;
}
