/* SPDX-License-Identifier: BSD-3-Clause */
/* What the measurement does with all processes of MPI_COMM_WORLD together, where all of them are measured: clocks, and
 * merging at the end. Its messages go through a communicator of its own. */
#ifndef SP_MPI_WORLD_TOGETHER_H
#define SP_MPI_WORLD_TOGETHER_H

#include "record/adapter.h"

/* Around PMPI_Init and PMPI_Init_thread; the second half only if that succeeded. It also says in META which world this
 * is. */
void sp_mpi_before_init(const struct sp_adapter *a);
void sp_mpi_after_init(const struct sp_adapter *a);

/* Right before PMPI_Finalize, in every process: whether anything is still recorded does not matter, because the others
 * wait. Where MPI ends because Python has ended in all of them (mpi4py does that) they merge what they have recorded.
 * For that the measurement has to end here; `last` records before what MPI_Finalize still has to say. */
void sp_mpi_before_finalize(const struct sp_adapter *a, void (*last)(void *), void *arg);

/* A number that the processes of this MPI_COMM_WORLD share; known after sp_mpi_after_init(), 0 before. */
uint64_t sp_mpi_together_world(void);

#endif
