/* SPDX-License-Identifier: BSD-3-Clause */
/* What the measurement does with all processes of MPI_COMM_WORLD together, if all of them are measured: comparing
 * clocks, and merging at the end. Its messages use a dedicated communicator. */
#ifndef SP_MPI_WORLD_TOGETHER_H
#define SP_MPI_WORLD_TOGETHER_H

#include "record/adapter.h"

/* Call before and after PMPI_Init and PMPI_Init_thread; the second one only if that succeeded. It also records the
 * number of the world in META. */
void sp_mpi_before_init(const struct sp_adapter *a);
void sp_mpi_after_init(const struct sp_adapter *a);

/* Call immediately before PMPI_Finalize, in every process, even if nothing is recorded any more, because the others
 * wait. If MPI ends after Python has ended in all processes (mpi4py does that), they merge the experiment. The
 * measurement has to end before that; `last` records what MPI_Finalize would still record. */
void sp_mpi_before_finalize(const struct sp_adapter *a, void (*last)(void *), void *arg);

/* A number that the processes of this MPI_COMM_WORLD share; 0 before sp_mpi_after_init(). */
uint64_t sp_mpi_together_world(void);

#endif
