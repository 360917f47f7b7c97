/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that functions.list calls for one-sided communication, after the function has returned. */
#ifndef SP_MPI_CALLS_RMA_H
#define SP_MPI_CALLS_RMA_H

#include "mpi/wrap.h"

void sp_mpi_win_created(struct sp_mpi_call *c, MPI_Comm comm, const MPI_Win *win);
void sp_mpi_win_allocated(struct sp_mpi_call *c, MPI_Comm comm, const MPI_Win *win);
void sp_mpi_win_named(struct sp_mpi_call *c, MPI_Win win, const char *name);
int sp_mpi_wrap_Win_free(MPI_Win *win);

/* These return the number of the operation; 0: it is not recorded. */
uint64_t sp_mpi_put(struct sp_mpi_call *c, MPI_Count count, MPI_Datatype type, int target, MPI_Win win);
uint64_t sp_mpi_get(struct sp_mpi_call *c, MPI_Count count, MPI_Datatype type, int target, MPI_Win win);
uint64_t sp_mpi_accumulate(struct sp_mpi_call *c, MPI_Count count, MPI_Datatype type, int target, MPI_Win win);
uint64_t sp_mpi_fetch(struct sp_mpi_call *c, MPI_Count count, MPI_Datatype type, MPI_Count got, MPI_Datatype got_type,
                      MPI_Op op, int target, MPI_Win win);
uint64_t sp_mpi_swap(struct sp_mpi_call *c, MPI_Datatype type, int target, MPI_Win win);

/* The same for operations whose local end is reported by a request. */
void sp_mpi_rput(struct sp_mpi_call *c, MPI_Count count, MPI_Datatype type, int target, MPI_Win win,
                 const MPI_Request *request);
void sp_mpi_rget(struct sp_mpi_call *c, MPI_Count count, MPI_Datatype type, int target, MPI_Win win,
                 const MPI_Request *request);
void sp_mpi_raccumulate(struct sp_mpi_call *c, MPI_Count count, MPI_Datatype type, int target, MPI_Win win,
                        const MPI_Request *request);
void sp_mpi_rfetch(struct sp_mpi_call *c, MPI_Count count, MPI_Datatype type, MPI_Count got, MPI_Datatype got_type,
                   MPI_Op op, int target, MPI_Win win, const MPI_Request *request);

void sp_mpi_win_fence(struct sp_mpi_call *c, MPI_Win win);
void sp_mpi_win_flush(struct sp_mpi_call *c, int target, MPI_Win win);
void sp_mpi_win_flush_local(struct sp_mpi_call *c, int target, MPI_Win win);
void sp_mpi_win_flush_all(struct sp_mpi_call *c, MPI_Win win);
void sp_mpi_win_flush_local_all(struct sp_mpi_call *c, MPI_Win win);
void sp_mpi_win_locked(struct sp_mpi_call *c, int type, int target, MPI_Win win);
void sp_mpi_win_unlocked(struct sp_mpi_call *c, int target, MPI_Win win);
void sp_mpi_win_locked_all(struct sp_mpi_call *c, MPI_Win win);
void sp_mpi_win_unlocked_all(struct sp_mpi_call *c, MPI_Win win);
void sp_mpi_win_started(struct sp_mpi_call *c, MPI_Group group, MPI_Win win);
void sp_mpi_win_completed(struct sp_mpi_call *c, MPI_Win win);
void sp_mpi_win_posted(struct sp_mpi_call *c, MPI_Group group, MPI_Win win);
void sp_mpi_win_waited(struct sp_mpi_call *c, MPI_Win win, int done);

#endif
