/* SPDX-License-Identifier: BSD-3-Clause */
/* Communication between the ranks of a merge through MPI: in MPI_Finalize of a program, and in `mpiexec … spartito
 * finalize`. */
#ifndef SP_MPI_WORLD_MERGE_H
#define SP_MPI_WORLD_MERGE_H

#include <stdbool.h>

#include "mpi/wrap.h"

/* Whether this process can take part. Loads the required library. */
bool sp_mpi_merge_ready(void);
/* Merges the experiment that contains the raw file `raw`. Collective over comm, which must return errors, after all
 * processes' raw files are complete. A failure leaves the experiment unchanged. */
void sp_mpi_merge(const char *raw, MPI_Comm comm);

#endif
