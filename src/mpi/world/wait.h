/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of the measurement itself. */
#ifndef SP_MPI_WORLD_WAIT_H
#define SP_MPI_WORLD_WAIT_H

#include <stdint.h>

#include "real.h"

/* What MPI returns. Waits for a request so that others may run. */
int sp_mpi_wait(MPI_Request *request);
int sp_mpi_wait_send(const void *p, int n, int to, int tag, MPI_Comm comm);
int sp_mpi_wait_receive(void *p, int n, int from, int tag, MPI_Comm comm);
/* The smallest of each of the numbers that all processes have. */
int sp_mpi_wait_least(uint64_t *numbers, int n, MPI_Comm comm);
int sp_mpi_wait_barrier(MPI_Comm comm);

#endif
