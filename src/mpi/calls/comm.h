/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators, for the files that create and name them. */
#ifndef SP_MPI_CALLS_COMM_H
#define SP_MPI_CALLS_COMM_H

#include "mpi/wrap.h"

static inline uint64_t sp_mpi_comm_handle(MPI_Comm comm)
{
	return SP_MPI_HANDLE(comm);
}

/* ---- comm.c: the table ---- */

/* Adds a communicator with a new id; returns the existing entry if there is one. NULL: no memory. */
struct sp_mpi_comm *sp_mpi_comm_insert(const struct sp_mpi_comm *as);
/* Finds an entry; NULL: no entry for this handle. */
struct sp_mpi_comm *sp_mpi_comm_find(MPI_Comm comm);
/* The id of an entry that is already defined in the raw file, otherwise 0; does not call MPI. */
uint32_t sp_mpi_comm_known_id(MPI_Comm comm);
/* Removes the entry. */
void sp_mpi_comm_remove(MPI_Comm comm);
/* Defines a communicator of an earlier raw file, with this handle and id, in the current one. Returns false if it was
 * freed since then. */
bool sp_mpi_comm_again(uint64_t handle, uint32_t id);
void sp_mpi_comm_each(void (*visit)(struct sp_mpi_comm *m, void *arg), void *arg);

/* ---- comm_new.c: numbers and definitions ---- */

/* Adds a new communicator. parent: the parent's number, 0: no parent. The new number is a hash of what all members
 * know: if all members of the parent created it together, the count of earlier children (which); otherwise its members
 * and the tag (which). NULL: no memory. */
struct sp_mpi_comm *sp_mpi_comm_new(MPI_Comm comm, uint64_t parent, enum sp_mpi_comm_origin origin, uint32_t which);
/* Adds a communicator that is in use but not in the table. */
struct sp_mpi_comm *sp_mpi_comm_found(MPI_Comm comm);
/* Writes the definition into the raw file of this process. */
void sp_mpi_comm_define(struct sp_mpi_comm *m);
/* Writes only its new name. */
void sp_mpi_comm_define_name(struct sp_mpi_comm *m);

/* The ranks in MPI_COMM_WORLD of the first n members of a group, as runs. The caller owns the array; NULL: no memory,
 * or n is 0. */
struct sp_raw_ranks *sp_mpi_world_ranks(MPI_Group group, int n, int *runs);

#endif
