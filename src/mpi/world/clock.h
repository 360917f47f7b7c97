/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures the offsets between the clocks of an MPI_COMM_WORLD's processes, at its begin and at its end. The reader
 * corrects the times with them. */
#ifndef SP_MPI_WORLD_CLOCK_H
#define SP_MPI_WORLD_CLOCK_H

#include "real.h"

#include "record/adapter.h"

/* Call before PMPI_Init: reads the clock for the first time, to determine the length of a tick. */
void sp_mpi_clock_read(const struct sp_adapter *a);

/* A number that is equal in processes with the same clock. */
uint64_t sp_mpi_clock_host(void);
/* Call if all processes have the same clock: then no messages are needed later. */
void sp_mpi_clock_is_one_host(void);

/* Measures, and writes a CLOCK record. Collective over comm, which only the measurement uses. The hosts are determined
 * in the first call. Returns 0, or -1: MPI failed, or no memory. */
int sp_mpi_clock_measure(const struct sp_adapter *a, MPI_Comm comm);

/* Frees the list of hosts. */
void sp_mpi_clock_free(void);
/* Whether all processes are known to have one clock, and therefore to be on one host. */
bool sp_mpi_clock_one_host(void);

#endif
