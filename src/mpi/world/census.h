/* SPDX-License-Identifier: BSD-3-Clause */
/* The rank census: is every process of this MPI_COMM_WORLD measured? Only then may the measurement send messages,
 * because a process that is not measured would never answer. The census does not use MPI. Before MPI_Init each process
 * writes the number of its host at its rank's position in a file of the experiment; afterwards it checks whether all
 * numbers are there.
 *
 * Nothing here calls MPI, allocates or changes errno. */
#ifndef SP_MPI_WORLD_CENSUS_H
#define SP_MPI_WORLD_CENSUS_H

#include <stdbool.h>
#include <stdint.h>

/* The launcher whose environment variables give the rank; variables of another launcher may be left in the
 * environment. */
enum sp_census_launcher { SP_CENSUS_OPENMPI, SP_CENSUS_HYDRA };

/* Result of the census: whether all processes are measured. */
enum sp_census_answer { SP_CENSUS_SOME, SP_CENSUS_ALL, SP_CENSUS_ONE_HOST /* all, and they share one clock */ };

struct sp_census {
	uint64_t world; /* a number that the processes of one MPI_COMM_WORLD share; 0: unknown */
	int rank, size; /* from the environment; -1: not set */
	bool called;    /* this process's number was written */
	char path[3840];
};

/* Call before PMPI_Init. raw: path of this process's raw file, or NULL. host: equal in processes with the same
 * clock. */
void sp_census_take(struct sp_census *r, const char *raw, enum sp_census_launcher launcher, uint64_t host);

/* Call after PMPI_Init, with the true rank and size. The answer is the same in all measured processes. Sets r->world,
 * r->rank and r->size. */
enum sp_census_answer sp_census_answer(struct sp_census *r, int rank, int size);

/* Removes the files of the census. One process calls it after every process of the world has the answer that all
 * are measured. */
void sp_census_remove(const struct sp_census *r);

#endif
