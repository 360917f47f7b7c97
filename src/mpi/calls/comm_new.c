/* SPDX-License-Identifier: BSD-3-Clause */
/* The number of a communicator, which is equal in all its members without a message, and its definition. */
#include "mpi/calls/comm.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/world/together.h"

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * UINT64_C(0xff51afd7ed558ccd);
	return (h ^ h >> 32) * UINT64_C(0xc4ceb9fe1a85ec53);
}

/* ---- ranks in MPI_COMM_WORLD ---- */

static void extend(struct sp_raw_ranks *run, int *n, int rank, uint64_t world)
{
	struct sp_raw_ranks *last = *n ? &run[*n - 1] : NULL;
	const uint64_t where = rank == MPI_UNDEFINED ? 0 : world; /* in another world, whose number is unknown */
	const uint32_t first = rank == MPI_UNDEFINED ? 0 : (uint32_t)rank;
	if (last && last->world == where && (where == 0 || first == last->first + last->count))
		last->count++;
	else
		run[(*n)++] = (struct sp_raw_ranks){where, first, 1};
}

struct sp_raw_ranks *sp_mpi_world_ranks(MPI_Group group, int n, int *runs)
{
	const uint64_t world = sp_mpi_together_world(); /* 0: there is no MPI_COMM_WORLD, only sessions */
	struct sp_raw_ranks *run = n > 0 ? malloc((size_t)n * sizeof *run) : NULL;
	int *from = run ? malloc(2 * (size_t)n * sizeof *from) : NULL, *to = from ? from + n : NULL;
	MPI_Group all = MPI_GROUP_NULL;
	*runs = 0;
	for (int i = 0; from && i < n; i++)
		from[i] = i;
	if (!from || (world && (PMPI_Comm_group(MPI_COMM_WORLD, &all) != MPI_SUCCESS ||
	                        PMPI_Group_translate_ranks(group, n, from, all, to) != MPI_SUCCESS))) {
		free(run);
		run = NULL;
	}
	for (int i = 0; run && i < n; i++)
		extend(run, runs, world ? to[i] : MPI_UNDEFINED, world);
	if (all != MPI_GROUP_NULL)
		PMPI_Group_free(&all);
	free(from);
	return run;
}

/* The ranks of the members of a communicator, or of its remote group. */
static struct sp_raw_ranks *members(MPI_Comm comm, bool remote, int n, int *runs)
{
	MPI_Group group;
	*runs = 0;
	if ((remote ? PMPI_Comm_remote_group(comm, &group) : PMPI_Comm_group(comm, &group)) != MPI_SUCCESS)
		return NULL;
	struct sp_raw_ranks *run = sp_mpi_world_ranks(group, n, runs);
	PMPI_Group_free(&group);
	return run;
}

/* ---- numbers ---- */

/* How often this number was computed before for the same members; only for communicators that were not created by all
 * members of a parent. */
static uint64_t occurrence(uint64_t number)
{
	static struct seen {
		uint64_t number, times;
	} * seen;
	static size_t n, capacity;
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	uint64_t before = 0;
	size_t i = 0;
	pthread_mutex_lock(&lock);
	while (i < n && seen[i].number != number)
		i++;
	if (i == n && n == capacity) {
		struct seen *more = realloc(seen, (2 * capacity + 16) * sizeof *seen);
		if (more) {
			seen = more;
			capacity = 2 * capacity + 16;
		}
	}
	if (i == n && n < capacity)
		seen[n++] = (struct seen){number, 0};
	if (i < n)
		before = seen[i].times++;
	pthread_mutex_unlock(&lock);
	return before;
}

static uint64_t hash_runs(uint64_t h, const struct sp_raw_ranks *run, int n)
{
	for (int i = 0; i < n; i++)
		h = mix(mix(mix(h, run[i].world), run[i].first), run[i].count);
	return h;
}

/* A hash of the members. Both sides of an intercommunicator must get the same value, so the order of its groups must
 * not matter. */
static uint64_t hash_members(MPI_Comm comm, const struct sp_mpi_comm *m)
{
	int n, k = 0;
	struct sp_raw_ranks *local = members(comm, false, (int)m->size, &n), *remote = NULL;
	uint64_t h = hash_runs(1, local, n);
	if (m->flags & SP_RAW_COMM_INTER) {
		remote = members(comm, true, (int)m->remote, &k);
		h += hash_runs(1, remote, k);
	}
	free(local);
	free(remote);
	return h;
}

/* The smaller of both groups' rank 0, as a rank in the world. */
static uint64_t first_member(MPI_Comm comm, const struct sp_mpi_comm *m)
{
	int n;
	struct sp_raw_ranks *run = members(comm, false, 1, &n);
	uint64_t first = n ? mix(run->world, run->first) : 0;
	free(run);
	if (m->flags & SP_RAW_COMM_INTER) {
		run = members(comm, true, 1, &n);
		uint64_t other = n ? mix(run->world, run->first) : 0;
		first = other < first ? other : first;
		free(run);
	}
	return first;
}

static uint64_t number(MPI_Comm comm, const struct sp_mpi_comm *m, enum sp_mpi_comm_origin origin, uint32_t which)
{
	const uint64_t world = sp_mpi_together_world(), h = mix(m->parent ? m->parent : world, (uint64_t)origin);
	switch (origin) {
	case SP_COMM_WORLD:
		return h;
	case SP_COMM_SELF:
	case SP_COMM_FOUND:
	case SP_COMM_GROUP:
	case SP_COMM_INTER:
	case SP_COMM_SPAWN: {
		/* the two groups of an intercommunicator may come from different communicators */
		const bool two = origin == SP_COMM_INTER || origin == SP_COMM_SPAWN;
		uint64_t own = mix(mix(two ? mix(world, (uint64_t)origin) : h, hash_members(comm, m)), which);
		return mix(own, occurrence(own));
	}
	default:
		return mix(mix(h, which), first_member(comm, m));
	}
}

struct sp_mpi_comm *sp_mpi_comm_new(MPI_Comm comm, uint64_t parent, enum sp_mpi_comm_origin origin, uint32_t which)
{
	struct sp_mpi_comm m = {.handle = sp_mpi_comm_handle(comm)};
	int size = 0, rank = 0, remote = 0, inter = 0, topology = MPI_UNDEFINED;
	PMPI_Comm_size(comm, &size);
	PMPI_Comm_rank(comm, &rank);
	PMPI_Comm_test_inter(comm, &inter);
	if (inter)
		PMPI_Comm_remote_size(comm, &remote);
	m.size = (uint32_t)size;
	m.rank = (uint32_t)rank;
	m.remote = (uint32_t)remote;
	m.flags = (inter ? SP_RAW_COMM_INTER : 0u) | (origin == SP_COMM_SELF ? SP_RAW_COMM_SELF : 0u) |
	          (origin == SP_COMM_WORLD ? SP_RAW_COMM_WORLD : 0u);
	m.parent = parent;
	m.global = number(comm, &m, origin, which);
	if (origin == SP_COMM_TOPOLOGY)
		PMPI_Topo_test(comm, &topology);
	m.cart = topology == MPI_CART;
	m.process = sp_adapter_read(sp_mpi_adapter->process) - 1;
	if (origin <= SP_COMM_SELF)
		strcpy(m.name, origin == SP_COMM_WORLD ? "MPI_COMM_WORLD" : "MPI_COMM_SELF");
	struct sp_mpi_comm *entry = sp_mpi_comm_insert(&m);
	if (entry)
		sp_mpi_comm_define(entry);
	return entry;
}

struct sp_mpi_comm *sp_mpi_comm_found(MPI_Comm comm)
{
	if (comm == MPI_COMM_WORLD)
		return sp_mpi_comm_new(comm, 0, SP_COMM_WORLD, 0);
	if (comm == MPI_COMM_SELF)
		return sp_mpi_comm_new(comm, 0, SP_COMM_SELF, 0);
	return sp_mpi_comm_new(comm, 0, SP_COMM_FOUND, 0);
}

/* ---- definitions ---- */

static MPI_Comm comm_of(const struct sp_mpi_comm *m)
{
#if defined(OPEN_MPI) || SP_MPI_ABI
	return (MPI_Comm)(uintptr_t)m->handle; /* NOLINT(performance-no-int-to-ptr) */
#else
	return (MPI_Comm)m->handle;
#endif
}

static void define_cart(const struct sp_mpi_comm *m)
{
	enum { MAX = 64 };
	int n = 0, size[MAX], periodic[MAX], coordinate[MAX];
	uint32_t dimensions[2 * MAX], coordinates[MAX];
	if (PMPI_Cartdim_get(comm_of(m), &n) != MPI_SUCCESS || n < 1 || n > MAX ||
	    PMPI_Cart_get(comm_of(m), n, size, periodic, coordinate) != MPI_SUCCESS)
		return;
	for (int i = 0; i < n; i++) {
		dimensions[2 * i] = (uint32_t)size[i];
		dimensions[2 * i + 1] = periodic[i] != 0;
		coordinates[i] = (uint32_t)coordinate[i];
	}
	const struct sp_adapter_text text[3] = {
	    {"", 0}, {dimensions, 2 * (size_t)n * sizeof *dimensions}, {coordinates, (size_t)n * sizeof *coordinates}};
	sp_mpi_adapter->define(SP_RAW_DEF_CART, 0, m->id, 0, text, 3);
}

void sp_mpi_comm_define(struct sp_mpi_comm *m)
{
	const struct sp_raw_comm what = {m->global, m->parent, m->size, m->rank, m->remote, 0};
	struct sp_raw_ranks *local = NULL, *remote = NULL;
	int n = 0, k = 0;
	if (m->rank == 0) {
		local = members(comm_of(m), false, (int)m->size, &n);
		if (m->flags & SP_RAW_COMM_INTER)
			remote = members(comm_of(m), true, (int)m->remote, &k);
	}
	const struct sp_adapter_text text[4] = {{m->name, strlen(m->name)},
	                                        {&what, sizeof what},
	                                        {local, (size_t)n * sizeof *local},
	                                        {remote, (size_t)k * sizeof *remote}};
	if (sp_mpi_adapter->define(SP_RAW_DEF_COMM, m->flags, m->id, 0, text, 4) == 0) {
		m->process = sp_adapter_read(sp_mpi_adapter->process);
		if (m->cart)
			define_cart(m);
	}
	free(local);
	free(remote);
}

void sp_mpi_comm_define_name(struct sp_mpi_comm *m)
{
	const struct sp_adapter_text text[4] = {{m->name, strlen(m->name)}, {"", 0}, {"", 0}, {"", 0}};
	if (sp_mpi_adapter->define(SP_RAW_DEF_COMM, m->flags, m->id, 0, text, 4))
		m->process = sp_adapter_read(sp_mpi_adapter->process) - 1; /* at its next use */
}
