/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes of one host share one clock. The lowest rank of each host measures by ping-pong against its parent host in
 * a binomial tree, whose root is rank 0's host; the parent answers in rank 0's ticks. So no results have to be
 * combined, and the number of steps is the depth of the tree. Then it sends the result to the other ranks of its
 * host.
 *
 * The state needs no lock: MPI_Init and MPI_Finalize are each called by one thread, once. */
#include "mpi/world/clock.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "mpi/world/wait.h"

enum { ROUNDS = 16, TAG = 1 };

/* A set of ranks of comm; self: position of this process in it; -1: not a member. */
struct ranks {
	int *rank; /* owned */
	int n, self;
};

static struct {
	bool known, one_host;
	struct ranks leaders, host;
	uint64_t look_ticks, look_ns;
	double tick; /* ns of this process */
	bool compared;
	struct sp_raw_clock_sync first; /* the first comparison, if there was one */
} state;

/* Maximum drift between the clocks of two machines, if nothing better is known. */
#define MAX_DRIFT 1e-4

static uint64_t nanoseconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void sp_mpi_clock_read(const struct sp_adapter *a)
{
	state.look_ticks = a->now();
	state.look_ns = nanoseconds();
}

static void find_tick(const struct sp_adapter *a)
{
	uint64_t ticks = a->now() - state.look_ticks, ns = nanoseconds() - state.look_ns;
	state.tick = ticks && ns ? (double)ns / (double)ticks : 1;
}

/* A hash that is equal in all processes with the same clock. */
uint64_t sp_mpi_clock_host(void)
{
	char text[512] = "";
	uint64_t h = UINT64_C(0xcbf29ce484222325);
	gethostname(text, 256);
	text[255] = 0;
	size_t n = strlen(text);
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		ssize_t k = read(fd, text + n, sizeof text - n);
		n += k > 0 ? (size_t)k : 0;
		close(fd);
	}
	/* processes that use another clock, by a setting, count as being on another host */
	const char *clock = getenv("SPARTITO_CLOCK");
	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
	for (; clock && *clock; clock++)
		h = (h ^ (unsigned char)*clock) * UINT64_C(0x100000001b3);
	return h;
}

/* A table of the hosts found, and the numbers of all ranks. */
struct scratch {
	struct place {
		uint64_t hash;
		bool taken;
	} * seen; /* owned */
	size_t slots;
	uint64_t *all; /* owned */
};

static bool reserve(struct scratch *w, int size)
{
	for (w->slots = 16; w->slots < (size_t)size * 2; w->slots *= 2)
		;
	w->seen = calloc(w->slots, sizeof *w->seen);
	w->all = malloc((size_t)size * sizeof *w->all);
	state.leaders = (struct ranks){malloc((size_t)size * sizeof(int)), 0, -1};
	state.host = (struct ranks){malloc((size_t)size * sizeof(int)), 0, -1};
	return w->seen && w->all && state.leaders.rank && state.host.rank;
}

static void add_rank(struct ranks *r, int rank, int self)
{
	if (rank == self)
		r->self = r->n;
	r->rank[r->n++] = rank;
}

/* Finds the first rank of each number, and the ranks with the number of this process. */
static void sort_hosts(struct scratch *w, int self, int size)
{
	for (int i = 0; i < size; i++) {
		size_t at = w->all[i] & (w->slots - 1);
		while (w->seen[at].taken && w->seen[at].hash != w->all[i])
			at = (at + 1) & (w->slots - 1);
		if (!w->seen[at].taken) {
			w->seen[at] = (struct place){w->all[i], true};
			add_rank(&state.leaders, i, self);
		}
		if (w->all[i] == w->all[self])
			add_rank(&state.host, i, self);
	}
}

static int find_hosts(MPI_Comm comm)
{
	struct scratch w;
	int rank, size, rc = -1;
	PMPI_Comm_rank(comm, &rank);
	PMPI_Comm_size(comm, &size);
	const uint64_t own = sp_mpi_clock_host();
	/* all processes give up if one has no memory */
	uint64_t least[3] = {own, ~own, reserve(&w, size)};
	if (sp_mpi_wait_least(least, 3, comm) == MPI_SUCCESS && least[2]) {
		state.known = true;
		state.one_host = least[0] == ~least[1];
		rc = 0;
		if (!state.one_host)
			rc = PMPI_Allgather(&own, 1, MPI_UINT64_T, w.all, 1, MPI_UINT64_T, comm) ? -1 : 0;
		if (rc == 0 && !state.one_host)
			sort_hosts(&w, rank, size);
	}
	free(w.seen);
	free(w.all);
	if (rc || state.one_host) {
		free(state.leaders.rank);
		free(state.host.rank);
		state.leaders.rank = state.host.rank = NULL;
	}
	return rc;
}

/* In a binomial tree: the position of the parent, and the first step down to the children. The root's parent is -1. */
static int above(const struct ranks *r, int *step)
{
	int mask = 1;
	while (mask < r->n && !(r->self & mask))
		mask *= 2;
	*step = mask / 2;
	return mask < r->n ? r->self - mask : -1;
}

struct message {
	double tick; /* ns of rank 0 */
	uint64_t reference, error_ns;
};

static int send(const struct message *t, int to, MPI_Comm comm)
{
	return PMPI_Send(t, sizeof *t, MPI_BYTE, to, TAG, comm);
}

static int receive(struct message *t, int from, MPI_Comm comm)
{
	return sp_mpi_wait_receive(t, sizeof *t, from, TAG, comm);
}

/* Ticks of rank 0 per tick of this process, and the uncertainty of that. */
struct rate {
	double ticks, doubt;
};

static struct rate find_rate(const struct sp_raw_clock_sync *s, double tick)
{
	const double width = (double)(int64_t)(s->ticks - state.first.ticks);
	const double doubt = (double)(state.first.error + s->error);
	if (state.leaders.self == 0)
		return (struct rate){1, 0};
	if (!state.compared || doubt > MAX_DRIFT * width)
		return (struct rate){state.tick / tick, MAX_DRIFT};
	return (struct rate){(double)(int64_t)(s->reference - state.first.reference) / width, doubt / width};
}

static int ask(const struct sp_adapter *a, struct sp_raw_clock_sync *s, double *tick, int from, MPI_Comm comm)
{
	struct message t;
	uint64_t best = UINT64_MAX;
	/* the parent begins when it knows its own clock */
	if (receive(&t, from, comm))
		return -1;
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t before = a->now();
		if (send(&t, from, comm) || receive(&t, from, comm))
			return -1;
		uint64_t took = a->now() - before;
		if (took >= best)
			continue;
		best = took;
		s->ticks = before + took / 2;
		s->reference = t.reference;
		s->error = (took + 1) / 2 + (uint64_t)((double)t.error_ns / state.tick);
	}
	*tick = t.tick;
	return 0;
}

static int answer(const struct sp_adapter *a, const struct sp_raw_clock_sync *s, double tick, int to, MPI_Comm comm)
{
	const struct rate rate = find_rate(s, tick);
	struct message t = {.tick = tick}, asked;
	if (send(&t, to, comm))
		return -1;
	for (int i = 0; i < ROUNDS; i++) {
		if (receive(&asked, to, comm))
			return -1;
		const double since = (double)(int64_t)(a->now() - s->ticks);
		t.reference = s->reference + (uint64_t)(int64_t)(since * rate.ticks);
		t.error_ns = (uint64_t)(((double)s->error + since * rate.doubt) * state.tick);
		if (send(&t, to, comm))
			return -1;
	}
	return 0;
}

static int measure_hosts(const struct sp_adapter *a, struct sp_raw_clock_sync *s, MPI_Comm comm)
{
	const struct ranks *r = &state.leaders;
	double tick = state.tick;
	int step, parent = above(r, &step);
	if (parent >= 0 && ask(a, s, &tick, r->rank[parent], comm))
		return -1;
	for (; step; step /= 2)
		if (r->self + step < r->n && answer(a, s, tick, r->rank[r->self + step], comm))
			return -1;
	return 0;
}

static int tell_host(struct sp_raw_clock_sync *s, MPI_Comm comm)
{
	const struct ranks *r = &state.host;
	int step, parent = above(r, &step);
	if (parent >= 0 && sp_mpi_wait_receive(s, sizeof *s, r->rank[parent], TAG, comm))
		return -1;
	for (; step; step /= 2)
		if (r->self + step < r->n && PMPI_Send(s, sizeof *s, MPI_BYTE, r->rank[r->self + step], TAG, comm))
			return -1;
	return 0;
}

int sp_mpi_clock_measure(const struct sp_adapter *a, MPI_Comm comm)
{
	if (!state.known && find_hosts(comm))
		return -1;
	uint64_t now = a->now();
	struct sp_raw_clock_sync s = {now, now, 0};
	if (!state.one_host) {
		find_tick(a);
		if ((state.leaders.self >= 0 && measure_hosts(a, &s, comm)) || tell_host(&s, comm))
			return -1;
	}
	if (!state.compared)
		state.first = s;
	state.compared = true;
	const struct sp_adapter_text text = {&s, sizeof s};
	a->define(SP_RAW_DEF_CLOCK, 0, 0, 0, &text, 1);
	return 0;
}

void sp_mpi_clock_is_one_host(void)
{
	state.known = state.one_host = true;
}

bool sp_mpi_clock_one_host(void)
{
	return state.known && state.one_host;
}

void sp_mpi_clock_free(void)
{
	free(state.leaders.rank);
	free(state.host.rank);
	memset(&state, 0, sizeof state);
}
