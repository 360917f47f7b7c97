/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting for messages of the measurement. */
#ifndef SP_MPI_WORLD_WAIT_H
#define SP_MPI_WORLD_WAIT_H

#include <stdint.h>

#include "real.h"

/* Waits for a request and lets other processes run meanwhile. Returns MPI's result. */
int sp_mpi_wait(MPI_Request *request);
int sp_mpi_wait_send(const void *p, int n, int to, int tag, MPI_Comm comm);
int sp_mpi_wait_receive(void *p, int n, int from, int tag, MPI_Comm comm);
/* Replaces each of n numbers by the minimum over all processes. Returns MPI's result. */
int sp_mpi_wait_least(uint64_t *numbers, int n, MPI_Comm comm);
int sp_mpi_wait_barrier(MPI_Comm comm);

#endif
