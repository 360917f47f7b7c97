/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators, for those who make and name them. */
#ifndef SP_MPI_CALLS_COMM_H
#define SP_MPI_CALLS_COMM_H

#include "mpi/wrap.h"

/* Handles are pointers in Open MPI and numbers in MPICH; none that is valid is 0. */
static inline uint64_t sp_mpi_comm_handle(MPI_Comm comm)
{
#ifdef OPEN_MPI
	return (uintptr_t)comm;
#else
	return (uint32_t)comm;
#endif
}

/* ---- comm.c: the table ---- */

/* Puts it in, with a new id; the one that is there, if there is one. NULL: no memory. */
struct sp_mpi_comm *sp_mpi_comm_insert(const struct sp_mpi_comm *as);
/* What is in it; NULL: nothing of that handle. */
struct sp_mpi_comm *sp_mpi_comm_find(MPI_Comm comm);
/* Its id, if it is in it and defined in the raw file, otherwise 0; does not call MPI. */
uint32_t sp_mpi_comm_known_id(MPI_Comm comm);
/* Forgets it. */
void sp_mpi_comm_remove(MPI_Comm comm);
/* Defines in this raw file what an earlier one knows by that handle and id; false: it was freed since then. */
bool sp_mpi_comm_again(uint64_t handle, uint32_t id);
void sp_mpi_comm_each(void (*visit)(struct sp_mpi_comm *m, void *arg), void *arg);

/* ---- comm_new.c: what they are ---- */

/* Enters a new communicator. parent: the number of that, 0: none. Its own number is made of what all its members know:
 * where all members of the parent made it together, how many they made before (which), otherwise its members and the
 * tag (which). NULL: no memory. */
struct sp_mpi_comm *sp_mpi_comm_new(MPI_Comm comm, uint64_t parent, enum sp_mpi_comm_origin origin, uint32_t which);
/* One that is not in the table, though it is in use. */
struct sp_mpi_comm *sp_mpi_comm_found(MPI_Comm comm);
/* Writes the definition into the raw file of this process. */
void sp_mpi_comm_define(struct sp_mpi_comm *m);
/* The same for its new name alone. */
void sp_mpi_comm_define_name(struct sp_mpi_comm *m);

/* The ranks in MPI_COMM_WORLD of the first n of a group, as runs. Owned by the caller; NULL: no memory, or n is 0. */
struct sp_raw_ranks *sp_mpi_world_ranks(MPI_Group group, int n, int *runs);

#endif
