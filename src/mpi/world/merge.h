/* SPDX-License-Identifier: BSD-3-Clause */
/* The ranks of a merge reach each other through MPI: where MPI_Finalize ends a program, and in
 * `mpiexec … spartito finalize`. */
#ifndef SP_MPI_WORLD_MERGE_H
#define SP_MPI_WORLD_MERGE_H

#include <stdbool.h>

#include "mpi/wrap.h"

/* Whether this process can take part. Loads what that needs. */
bool sp_mpi_merge_ready(void);
/* By all processes of comm, whose errors return, when the raw files of all are whole: merges the experiment in which
 * `raw` is a raw file. What fails leaves the experiment as it was. */
void sp_mpi_merge(const char *raw, MPI_Comm comm);

#endif
