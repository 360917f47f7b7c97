/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows of one-sided communication, and their outstanding operations. */
#ifndef SP_MPI_CALLS_WIN_H
#define SP_MPI_CALLS_WIN_H

#include "mpi/wrap.h"

struct sp_mpi_win_op {
	uint64_t matching;
	uint32_t target;
	bool remote; /* it changes the target's memory, so its end there is a separate record */
	bool local;  /* its local end was recorded */
	bool over;   /* all its ends were recorded */
};

/* A window. Entries live as long as the process; those of freed windows are not found any more. */
struct sp_mpi_win {
	uint64_t handle;
	uint32_t id;              /* number in this process, from 1 */
	uint32_t process;         /* the raw file in which it is defined (*adapter->process) */
	uint32_t comm;            /* id of the communicator */
	uint32_t started, posted; /* ids of the groups of the open epochs; 0: no open epoch */
	bool allocated;           /* MPI allocated its memory */
	char name[MPI_MAX_OBJECT_NAME];
	/* owned; outstanding operations, in the order of their begin; protected by sp_mpi_win_lock() */
	struct sp_mpi_win_op *ops;
	size_t n_ops, capacity;
	struct sp_mpi_win *next;
};

/* Finds a window and defines it in the raw file if needed; NULL: unknown. */
struct sp_mpi_win *sp_mpi_win(MPI_Win win);
/* Finds a window by its id; NULL: it was freed. */
struct sp_mpi_win *sp_mpi_win_by_id(uint32_t id);
/* Adds a window; NULL: no memory. */
struct sp_mpi_win *sp_mpi_win_new(MPI_Win win, MPI_Comm comm, bool allocated);
/* Removes the entry. */
void sp_mpi_win_remove(MPI_Win win);
void sp_mpi_win_rename(struct sp_mpi_win *w, const char *name);
/* The id of a group's definition, equal for groups with the same members; 0: no memory. */
uint32_t sp_mpi_group_id(MPI_Group group);

void sp_mpi_win_lock(void);
void sp_mpi_win_unlock(void);

#endif
