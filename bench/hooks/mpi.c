/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI calls in tight loops, loaded by a Python process: each function returns the nanoseconds per call in the fastest
 * round, or for a ping-pong those of one direction. Messages have 8 bytes. */
#include <mpi.h>
#include <time.h>

enum { ROUND = 500, BYTES = 8 };

static char from[BYTES], to[BYTES];

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

#define FASTEST(rounds, each, statement)                       \
	do {                                                   \
		double best = 1e18;                            \
		for (long r = 0; r < (rounds); r++) {          \
			double begin = now();                  \
			for (int i = 0; i < ROUND; i++)        \
				statement;                     \
			double took = (now() - begin) / ROUND; \
			best = took < best ? took : best;      \
		}                                              \
		return best / (each);                          \
	} while (0)

double barrier(long rounds)
{
	FASTEST(rounds, 1, MPI_Barrier(MPI_COMM_SELF));
}

double allreduce(long rounds)
{
	FASTEST(rounds, 1, MPI_Allreduce(from, to, BYTES, MPI_CHAR, MPI_BOR, MPI_COMM_SELF));
}

double sendrecv(long rounds)
{
	FASTEST(rounds, 1,
	        MPI_Sendrecv(from, BYTES, MPI_CHAR, 0, 1, to, BYTES, MPI_CHAR, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE));
}

static void exchange(void)
{
	MPI_Request r[2];

	MPI_Irecv(to, BYTES, MPI_CHAR, 0, 1, MPI_COMM_SELF, &r[0]);
	MPI_Isend(from, BYTES, MPI_CHAR, 0, 1, MPI_COMM_SELF, &r[1]);
	MPI_Wait(&r[0], MPI_STATUS_IGNORE);
	MPI_Wait(&r[1], MPI_STATUS_IGNORE);
}

/* A request from its start to its completion: an Irecv, an Isend and a Wait for each, divided by two. */
double request(long rounds)
{
	FASTEST(rounds, 2, exchange());
}

static void ping(int rank)
{
	if (rank == 0)
		MPI_Send(from, BYTES, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
	MPI_Recv(to, BYTES, MPI_CHAR, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if (rank == 1)
		MPI_Send(from, BYTES, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
}

double pingpong(long rounds)
{
	int rank;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	FASTEST(rounds, 2, ping(rank));
}
