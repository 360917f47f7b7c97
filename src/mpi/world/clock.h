/* SPDX-License-Identifier: BSD-3-Clause */
/* How the clocks of an MPI_COMM_WORLD's processes are to each other: measured at its begin and its end, for the reader
 * to correct the times by. */
#ifndef SP_MPI_WORLD_CLOCK_H
#define SP_MPI_WORLD_CLOCK_H

#include "real.h"

#include "record/adapter.h"

/* Before PMPI_Init: a first look at the clock, to know how long a tick is. */
void sp_mpi_clock_look(const struct sp_adapter *a);

/* A number that processes have the same if they share a clock. */
uint64_t sp_mpi_clock_host(void);
/* All processes have the same: what follows needs no messages. */
void sp_mpi_clock_is_one_host(void);

/* By all processes of comm, which is nobody else's: measures and writes a CLOCK record. The hosts are found at the
 * first call and kept. Collective; -1: MPI failed, or there is no memory. */
int sp_mpi_clock_measure(const struct sp_adapter *a, MPI_Comm comm);

/* Forgets the hosts. */
void sp_mpi_clock_free(void);
/* Whether all processes are known to have one clock, and so are on one host. */
bool sp_mpi_clock_one_host(void);

#endif
