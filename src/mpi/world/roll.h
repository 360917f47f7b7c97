/* SPDX-License-Identifier: BSD-3-Clause */
/* The roll call: is every process of this MPI_COMM_WORLD measured? Only then may the measurement talk to other
 * processes, which would wait for ever for an answer of one that is not. So it is found out without MPI: before
 * MPI_Init each process puts the number of its host at its rank into a file of the experiment, and afterwards looks
 * whether all are there.
 *
 * Nothing here calls MPI, allocates or changes errno. */
#ifndef SP_MPI_WORLD_ROLL_H
#define SP_MPI_WORLD_ROLL_H

#include <stdbool.h>
#include <stdint.h>

/* Whose variables tell the rank: those of another launcher may be left in the environment. */
enum sp_roll_launcher { SP_ROLL_OPENMPI, SP_ROLL_HYDRA };

/* Whether all are measured. */
enum sp_roll_answer { SP_ROLL_SOME, SP_ROLL_ALL, SP_ROLL_ONE_HOST /* all, and they share a clock */ };

struct sp_roll {
	uint64_t world; /* a number that the processes of one MPI_COMM_WORLD share; 0: not known */
	int rank, size; /* as the environment says; -1: it does not say */
	bool called;    /* our number was written */
	char path[3840];
};

/* Before PMPI_Init. raw: the path of this process's raw file, or NULL. host: the same where the clock is the same. */
void sp_roll_call(struct sp_roll *r, const char *raw, enum sp_roll_launcher launcher, uint64_t host);

/* After PMPI_Init; the answer is the same in all that are. Makes r->world, r->rank and
 * r->size what they are in truth. */
enum sp_roll_answer sp_roll_answer(struct sp_roll *r, int rank, int size);

/* By one process, when every process of the world has its answer and it was yes: the files are not needed any more. */
void sp_roll_done(const struct sp_roll *r);

#endif
