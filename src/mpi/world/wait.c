/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI may wait in a busy loop. With more processes than processors, this keeps the awaited process from running, and
 * each message takes a whole time slice. */
#include "mpi/world/wait.h"

#include <sched.h>
#include <time.h>

/* Number of tests for a message: first without a pause, which takes some microseconds and suffices between processors;
 * then yielding the processor. */
enum { AT_ONCE = 100, YIELDING = 1000 };

int sp_mpi_wait(MPI_Request *request)
{
	static const struct timespec pause = {0, 50000};
	int done = 0, rc = PMPI_Test(request, &done, MPI_STATUS_IGNORE);
	for (int polls = 0; !rc && !done; polls++) {
		if (polls > AT_ONCE + YIELDING)
			nanosleep(&pause, NULL);
		else if (polls > AT_ONCE)
			sched_yield();
		rc = PMPI_Test(request, &done, MPI_STATUS_IGNORE);
	}
	return rc;
}

int sp_mpi_wait_send(const void *p, int n, int to, int tag, MPI_Comm comm)
{
	MPI_Request request;
	const int rc = PMPI_Isend((void *)p, n, MPI_BYTE, to, tag, comm, &request);
	return rc ? rc : sp_mpi_wait(&request);
}

int sp_mpi_wait_receive(void *p, int n, int from, int tag, MPI_Comm comm)
{
	MPI_Request request;
	const int rc = PMPI_Irecv(p, n, MPI_BYTE, from, tag, comm, &request);
	return rc ? rc : sp_mpi_wait(&request);
}

int sp_mpi_wait_least(uint64_t *numbers, int n, MPI_Comm comm)
{
	MPI_Request request;
	const int rc = PMPI_Iallreduce(MPI_IN_PLACE, numbers, n, MPI_UINT64_T, MPI_MIN, comm, &request);
	return rc ? rc : sp_mpi_wait(&request);
}

int sp_mpi_wait_barrier(MPI_Comm comm)
{
	MPI_Request request;
	const int rc = PMPI_Ibarrier(comm, &request);
	return rc ? rc : sp_mpi_wait(&request);
}
