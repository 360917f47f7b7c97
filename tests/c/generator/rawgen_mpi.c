/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks of an MPI program with everything that can be recorded of MPI. */
#include "rawgen.h"

#include <stdio.h>
#include <string.h>

enum { COLLAPSED = 1, MAIN, SEND, RECV, WAIT, BARRIER, WIN_PUT, FILE_WRITE };
enum { WORLD_COMM = 1, SELF_COMM, HALF_COMM, CART_COMM, SELF_DUP };

static void regions(struct rg_process *p)
{
	static const struct {
		uint32_t id, role;
		const char *name;
	} mpi[] = {{SEND, SP_RAW_MPI_POINT2POINT, "MPI_Send"}, {RECV, SP_RAW_MPI_POINT2POINT, "MPI_Recv"},
	           {WAIT, SP_RAW_MPI_OTHER, "MPI_Wait"},       {BARRIER, SP_RAW_MPI_BARRIER, "MPI_Barrier"},
	           {WIN_PUT, SP_RAW_MPI_RMA, "MPI_Put"},       {FILE_WRITE, SP_RAW_MPI_FILE_IO, "MPI_File_write_all"}};
	size_t i;

	rg_meta(p, "command", "python ring.py");
	rg_meta(p, "mpi_library", "Open MPI 4.1.4");
	rg_region(p, COLLAPSED, SP_RAW_REGION_COLLAPSED, "", "<collapsed>", "", 0);
	rg_region(p, MAIN, 0, "__main__", "main", "/ring.py", 3);
	for (i = 0; i < sizeof(mpi) / sizeof(*mpi); i++)
		rg_region(p, mpi[i].id, SP_RAW_REGION_MPI, "", mpi[i].name, "", mpi[i].role);
	rg_define(p, SP_RAW_DEF_STRING, 1, "/data/ring.bin");
	rg_metric(p, 0, SP_RAW_METRIC_BYTES | SP_RAW_METRIC_EXCLUSIVE, "bytes_sent", "byte", 0);
	rg_metric(p, 1, SP_RAW_METRIC_BYTES | SP_RAW_METRIC_EXCLUSIVE, "bytes_received", "byte", 0);
	rg_metric(p, 2, SP_RAW_METRIC_BYTES | SP_RAW_METRIC_EXCLUSIVE, "mpi_io_bytes_written", "byte", 0);
}

/* Even and odd ranks each have a communicator with half of the ranks. */
static void communicators(struct rg_process *p, uint64_t world, uint32_t rank, uint32_t size)
{
	enum { MAX = 32768 };
	static struct sp_raw_ranks half[MAX];
	const struct sp_raw_ranks all = {world, 0, size}, me = {world, rank, 1};
	const uint32_t n = (size + 1 - rank % 2) / 2;
	const uint32_t cart[2] = {size, 1}, coordinates[1] = {rank};
	uint32_t i;

	for (i = 0; i < n && i < MAX; i++)
		half[i] = (struct sp_raw_ranks){world, 2 * i + rank % 2, 1};
	rg_comm(p, WORLD_COMM, SP_RAW_COMM_WORLD, "MPI_COMM_WORLD", &(struct sp_raw_comm){0x11, 0, size, rank, 0, 0},
	        &all, rank == 0);
	rg_comm(p, SELF_COMM, SP_RAW_COMM_SELF, "MPI_COMM_SELF", &(struct sp_raw_comm){0x22, 0, 1, 0, 0, 0}, &me, 1);
	rg_comm(p, HALF_COMM, 0, "", &(struct sp_raw_comm){0x30 + rank % 2, 0x11, n, rank / 2, 0, 0}, half,
	        rank / 2 == 0 ? n : 0);
	rg_comm(p, CART_COMM, 0, "", &(struct sp_raw_comm){0x40, 0x11, size, rank, 0, 0}, &all, rank == 0);
	rg_comm(p, SELF_DUP, 0, "", &(struct sp_raw_comm){0x100 + rank, 0x22, 1, 0, 0, 0}, &me, 1);
	rg_comm(p, HALF_COMM, 0, "half", &(struct sp_raw_comm){0x30 + rank % 2, 0x11, n, rank / 2, 0, 0}, NULL, 0);
	rg_record(p, SP_RAW_DEF_CART, 0, CART_COMM, 0,
	          (struct rg_bytes[4]){{"ring", 4}, {cart, sizeof(cart)}, {coordinates, sizeof(coordinates)}});
	rg_record(p, SP_RAW_DEF_WIN, 0, 1, WORLD_COMM, (struct rg_bytes[4]){{"window", 6}});
	rg_record(p, SP_RAW_DEF_WIN, 0, 2, HALF_COMM, (struct rg_bytes[4]){{NULL, 0}});
	rg_record(p, SP_RAW_DEF_GROUP, 0, 1, 0, (struct rg_bytes[4]){{&all, sizeof(all)}});
}

static uint64_t pair(uint32_t low, uint32_t high)
{
	return (uint64_t)high << 32 | low;
}

static void messages(struct rg_thread *t, uint32_t rank, uint32_t size)
{
	const uint32_t next = (rank + 1) % size, before = (rank + size - 1) % size;

	rg_enter(t, 1100, SEND);
	rg_extra(t, 1100, SP_RAW_X_MPI_SEND, (uint64_t[]){pair(WORLD_COMM, next), 7, 800}, 3);
	*rg_value(t, rg_top(t), 0) += 800;
	rg_leave(t, 1150);
	rg_enter(t, 1160, RECV);
	rg_extra(t, 1200, SP_RAW_X_MPI_RECV, (uint64_t[]){pair(WORLD_COMM, before), 7, 800}, 3);
	*rg_value(t, rg_top(t), 1) += 800;
	rg_leave(t, 1200);
	rg_enter(t, 1300, WAIT);
	rg_extra(t, 1300, SP_RAW_X_MPI_ISEND, (uint64_t[]){pair(CART_COMM, next), 8, 16, 1}, 4);
	rg_extra(t, 1310, SP_RAW_X_MPI_IRECV_REQUEST, (uint64_t[]){2}, 1);
	rg_extra(t, 1315, SP_RAW_X_MPI_IRECV_REQUEST, (uint64_t[]){3}, 1);
	rg_extra(t, 1320, SP_RAW_X_MPI_REQUEST_TEST, (uint64_t[]){2}, 1);
	rg_extra(t, 1330, SP_RAW_X_MPI_ISEND_COMPLETE, (uint64_t[]){1}, 1);
	rg_extra(t, 1340, SP_RAW_X_MPI_IRECV, (uint64_t[]){pair(CART_COMM, before), 8, 16, 2}, 4);
	rg_extra(t, 1345, SP_RAW_X_MPI_REQUEST_CANCELLED, (uint64_t[]){3}, 1);
	rg_leave(t, 1350);
}

static void collectives(struct rg_thread *t, uint32_t size)
{
	rg_enter(t, 1400, BARRIER);
	rg_extra(t, 1400, SP_RAW_X_COLLECTIVE_BEGIN, NULL, 0);
	rg_extra(t, 1450, SP_RAW_X_COLLECTIVE_END, (uint64_t[]){pair(WORLD_COMM, 0), (uint32_t)-1, 0, 0}, 4);
	rg_extra(t, 1450, SP_RAW_X_COLLECTIVE_BEGIN, NULL, 0);
	rg_extra(t, 1460, SP_RAW_X_COLLECTIVE_END, (uint64_t[]){pair(WORLD_COMM, 1), size - 1, (uint64_t)size * 8, 8},
	         4);
	rg_extra(t, 1470, SP_RAW_X_NBC_REQUEST, (uint64_t[]){4}, 1);
	rg_extra(t, 1480, SP_RAW_X_NBC_COMPLETE, (uint64_t[]){pair(HALF_COMM, 11), (uint32_t)-1, 8, 8, 4}, 5);
	rg_leave(t, 1500);
}

static void one_sided(struct rg_thread *t, uint32_t rank, uint32_t size)
{
	const uint32_t next = (rank + 1) % size;

	rg_enter(t, 1600, WIN_PUT);
	rg_extra(t, 1600, SP_RAW_X_WIN_CREATE, (uint64_t[]){1}, 1);
	rg_extra(t, 1600, SP_RAW_X_RMA_COLLECTIVE_BEGIN, NULL, 0);
	rg_extra(t, 1610, SP_RAW_X_RMA_COLLECTIVE_END, (uint64_t[]){pair(1, 0), 1, (uint32_t)-1, 0, 0}, 5);
	rg_extra(t, 1620, SP_RAW_X_RMA_LOCK, (uint64_t[]){pair(1, next), pair(SP_RAW_LOCK_REQUEST, 1), 5}, 3);
	rg_extra(t, 1630, SP_RAW_X_RMA_PUT, (uint64_t[]){pair(1, next), 64, 9}, 3);
	rg_extra(t, 1640, SP_RAW_X_RMA_GET, (uint64_t[]){pair(1, next), 32, 10}, 3);
	rg_extra(t, 1650, SP_RAW_X_RMA_ATOMIC, (uint64_t[]){pair(1, next), 4, 8, 8, 11}, 5);
	rg_extra(t, 1660, SP_RAW_X_RMA_COMPLETE, (uint64_t[]){pair(1, SP_RAW_RMA_BLOCKING), 9}, 2);
	rg_extra(t, 1665, SP_RAW_X_RMA_COMPLETE, (uint64_t[]){pair(1, SP_RAW_RMA_NON_BLOCKING), 10}, 2);
	rg_extra(t, 1670, SP_RAW_X_RMA_LOCK, (uint64_t[]){pair(1, next), pair(SP_RAW_LOCK_RELEASE, 1), 5}, 3);
	rg_extra(t, 1675, SP_RAW_X_RMA_LOCK, (uint64_t[]){pair(1, SP_RAW_NONE), pair(SP_RAW_LOCK_REQUEST, 1), 6}, 3);
	rg_extra(t, 1680, SP_RAW_X_RMA_LOCK, (uint64_t[]){pair(1, SP_RAW_NONE), pair(SP_RAW_LOCK_RELEASE, 1), 6}, 3);
	rg_extra(t, 1690, SP_RAW_X_RMA_GROUP_SYNC, (uint64_t[]){pair(1, 2), 1}, 2);
	rg_extra(t, 1695, SP_RAW_X_WIN_DESTROY, (uint64_t[]){1}, 1);
	rg_leave(t, 1700);
}

static void files(struct rg_thread *t)
{
	rg_enter(t, 1800, FILE_WRITE);
	rg_extra(t, 1800, SP_RAW_X_IO_CREATE, (uint64_t[]){1, 1, 0x41, pair(SP_RAW_IO_MPI, WORLD_COMM)}, 4);
	rg_extra(t, 1810, SP_RAW_X_IO_BEGIN,
	         (uint64_t[]){1, SP_RAW_IO_WRITE | SP_RAW_IO_COLLECTIVE | SP_RAW_IO_NON_BLOCKING, 80, 0, 21}, 5);
	rg_extra(t, 1820, SP_RAW_X_IO_ISSUED, (uint64_t[]){1, 21}, 2);
	rg_extra(t, 1830, SP_RAW_X_IO_COMPLETE, (uint64_t[]){1, 80, 21}, 3);
	*rg_value(t, rg_top(t), 2) += 80;
	rg_extra(t, 1840, SP_RAW_X_IO_DESTROY, (uint64_t[]){1}, 1);
	rg_extra(t, 1850, SP_RAW_X_IO_DELETE, (uint64_t[]){1, SP_RAW_IO_MPI}, 2);
	rg_leave(t, 1860);
}

struct rg_process *rg_mpi_rank(uint64_t world, uint32_t rank, uint32_t size, bool trace, struct rg_thread **thread)
{
	struct rg_process *p = rg_process((int32_t)(100 + rank), 1, 900 + (size - rank), trace);
	struct rg_thread *t;
	uint32_t i;

	regions(p);
	rg_rank(p, world, rank, size);
	communicators(p, world, rank, size);
	t = rg_thread(p, "MainThread", 100 + rank, SP_RAW_NONE, 1000);
	rg_enter(t, 1000, MAIN);
	for (i = WORLD_COMM; i <= SELF_DUP; i++)
		rg_extra(t, 1010, SP_RAW_X_COMM_CREATE, (uint64_t[]){i}, 1);
	messages(t, rank, size);
	collectives(t, size);
	one_sided(t, rank, size);
	files(t);
	rg_extra(t, 1900, SP_RAW_X_COMM_DESTROY, (uint64_t[]){SELF_DUP}, 1);
	if (thread)
		*thread = t;
	else
		rg_leave(t, 1950);
	return p;
}

void rg_mpi_experiment(const char *dir, uint32_t ranks)
{
	char path[4096];
	uint32_t i;

	rg_experiment(dir, &(struct rg_options){.processes = 0});
	for (i = 0; i < ranks; i++) {
		snprintf(path, sizeof(path), "%s/raw/node%u-%u-0.raw", dir, i / 64, 100 + i);
		rg_write(rg_mpi_rank(UINT64_C(0xabc), i, ranks, true, NULL), path, SP_RAW_ENDED_NORMAL, 2000);
	}
}
