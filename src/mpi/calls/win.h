/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows of one-sided communication, and what is still going on in them. */
#ifndef SP_MPI_CALLS_WIN_H
#define SP_MPI_CALLS_WIN_H

#include "mpi/wrap.h"

struct sp_mpi_win_op {
	uint64_t matching;
	uint32_t target;
	bool remote; /* it changes the target: its end there is another record */
	bool local;  /* its end here was recorded */
	bool over;   /* all its ends were */
};

/* Entries live as long as the process; those of freed windows are not found again. */
struct sp_mpi_win {
	uint64_t handle;
	uint32_t id;              /* of this process, from 1 */
	uint32_t process;         /* the raw file in which it is defined (*adapter->process) */
	uint32_t comm;            /* id */
	uint32_t started, posted; /* the groups of the epochs that are open; 0: none */
	bool allocated;           /* with its memory */
	char name[MPI_MAX_OBJECT_NAME];
	struct sp_mpi_win_op *ops; /* owned; going on, in the order of their begin; with sp_mpi_win_lock() */
	size_t n_ops, room;
	struct sp_mpi_win *next;
};

/* NULL: it is not known. Defines it in the raw file if it is not there yet. */
struct sp_mpi_win *sp_mpi_win(MPI_Win win);
/* NULL: it was freed. */
struct sp_mpi_win *sp_mpi_win_by_id(uint32_t id);
/* A new one; NULL: no memory. */
struct sp_mpi_win *sp_mpi_win_new(MPI_Win win, MPI_Comm comm, bool allocated);
/* Forgets it. */
void sp_mpi_win_remove(MPI_Win win);
void sp_mpi_win_rename(struct sp_mpi_win *w, const char *name);
/* The id of a group's definition, the same for the same members; 0: no memory. */
uint32_t sp_mpi_group_id(MPI_Group group);

void sp_mpi_win_lock(void);
void sp_mpi_win_unlock(void);

#endif
