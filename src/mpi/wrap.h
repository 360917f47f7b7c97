/* SPDX-License-Identifier: BSD-3-Clause */
/* The wrappers of one MPI's functions, compiled once for each MPI that is found when Spartito is built.
 *
 * How to add a family of functions: functions.list has the calls before and after each function, with its names of the
 * parameters; generate.py makes the wrappers. The called functions are declared here, and defined in one file for each
 * family. Most of them record an event after it happened: `c->now`, the time of the enter, is still the time of the
 * previous event, so a record with this time is directly behind the enter. They find the function's result in
 * c->result, and record nothing if c->t is NULL (nothing is recorded now) or c->region is 0 (the function's group is
 * not recorded). A function that needs an explicit wrapper is marked `by hand` in the table; its wrapper is
 * sp_mpi_wrap_NAME.
 *
 * MPI functions are called as PMPI_NAME, which real.h makes a pointer that is found at run time. It may be NULL for
 * functions that the table marks with a plus or a star; use sp_mpi_symbol() for functions that are not in the table. No
 * wrapper allocates, holds a lock for long or calls MPI for each message, except for the size of a type. */
#ifndef SP_MPI_WRAP_H
#define SP_MPI_WRAP_H

#include "mpi/call.h"
#include "real.h"

/* Finds the functions of an MPI library by its handle. */
void sp_mpi_attach_real(void *mpi);

/* ---- type.c: sizes of messages ---- */

/* Bytes of count elements; 0 for an undefined type. */
uint64_t sp_mpi_bytes(MPI_Count count, MPI_Datatype type);
/* Bytes of a received message. */
uint64_t sp_mpi_received_bytes(const MPI_Status *status);
bool sp_mpi_was_cancelled(const MPI_Status *status);

/* ---- comm.c, comm_new.c: communicators ---- */

/* A communicator. Entries live as long as the process; those of freed communicators are not found any more. */
struct sp_mpi_comm {
	uint64_t handle;
	uint64_t global;     /* number, equal in all members */
	uint64_t parent;     /* number of the parent, or 0 */
	uint32_t id;         /* number in this process, from 1 */
	uint32_t process;    /* the raw file in which it is defined (*adapter->process) */
	uint32_t flags;      /* SP_RAW_COMM_… */
	uint32_t size, rank; /* of the local group */
	uint32_t remote;     /* size of the remote group */
	uint32_t children;   /* number of communicators that all its members together created from it */
	bool cart;           /* has a cartesian topology */
	char name[MPI_MAX_OBJECT_NAME];
	struct sp_mpi_comm *next; /* next entry in its bucket */
};

/* Finds a communicator and defines it in the raw file if needed; NULL: MPI_COMM_NULL, or no memory. */
struct sp_mpi_comm *sp_mpi_comm(MPI_Comm comm);
/* Its id; 0 for NULL. */
static inline uint32_t sp_mpi_comm_id(MPI_Comm comm)
{
	struct sp_mpi_comm *m = sp_mpi_comm(comm);
	return m ? m->id : 0;
}

/* ---- init.c, together.c: begin and end ---- */

void sp_mpi_init_begin(struct sp_mpi_call *c);
void sp_mpi_init_end(struct sp_mpi_call *c);
void sp_mpi_finalize_begin(struct sp_mpi_call *c);
void sp_mpi_finalize_end(struct sp_mpi_call *c);
int sp_mpi_wrap_Abort(MPI_Comm comm, int code);

/* ---- p2p.c: point-to-point communication ---- */

void sp_mpi_sent(struct sp_mpi_call *c, MPI_Comm comm, int dest, int tag, MPI_Count count, MPI_Datatype type);
void sp_mpi_received(struct sp_mpi_call *c, MPI_Comm comm, const MPI_Status *status);
void sp_mpi_isent(struct sp_mpi_call *c, const MPI_Request *request, MPI_Comm comm, int dest, int tag, MPI_Count count,
                  MPI_Datatype type);
void sp_mpi_ireceives(struct sp_mpi_call *c, const MPI_Request *request, MPI_Comm comm, int source);
void sp_mpi_send_init(struct sp_mpi_call *c, const MPI_Request *request, MPI_Comm comm, int dest, int tag,
                      MPI_Count count, MPI_Datatype type);
void sp_mpi_receive_init(struct sp_mpi_call *c, const MPI_Request *request, MPI_Comm comm, int source);
void sp_mpi_matched(struct sp_mpi_call *c, const int *flag, MPI_Comm comm, const MPI_Message *message);
void sp_mpi_matches(struct sp_mpi_call *c, const MPI_Message *message);
void sp_mpi_received_match(struct sp_mpi_call *c, const MPI_Status *status);
void sp_mpi_ireceives_match(struct sp_mpi_call *c, const MPI_Request *request);

/* ---- request.c: completion of requests of all families; request.h has the functions that add them ---- */

void sp_mpi_keep(struct sp_mpi_call *c, const MPI_Request *request);
void sp_mpi_keep_all(struct sp_mpi_call *c, int n, const MPI_Request *requests);
MPI_Status *sp_mpi_statuses(int n);
void sp_mpi_started(struct sp_mpi_call *c, int n, const MPI_Request *requests);
void sp_mpi_completed(struct sp_mpi_call *c, const MPI_Status *status);
void sp_mpi_tested(struct sp_mpi_call *c, const int *flag, const MPI_Status *status);
void sp_mpi_asked(struct sp_mpi_call *c, const int *flag);
void sp_mpi_asked_all(struct sp_mpi_call *c, const int *flag);
void sp_mpi_asked_some(struct sp_mpi_call *c, const int *n, const int *indices);
void sp_mpi_completed_all(struct sp_mpi_call *c, const MPI_Status *statuses);
void sp_mpi_tested_all(struct sp_mpi_call *c, const int *flag, const MPI_Status *statuses);
void sp_mpi_completed_any(struct sp_mpi_call *c, const int *index, const MPI_Status *status);
void sp_mpi_tested_any(struct sp_mpi_call *c, const int *index, const int *flag, const MPI_Status *status);
void sp_mpi_completed_some(struct sp_mpi_call *c, const int *n, const int *indices, const MPI_Status *statuses);
void sp_mpi_tested_some(struct sp_mpi_call *c, const int *n, const int *indices, const MPI_Status *statuses);
void sp_mpi_released(struct sp_mpi_call *c);

/* ---- coll.c: collectives ---- */

/* Operations, numbered as in OTF2's CollectiveOp. */
enum sp_mpi_operation {
	SP_MPI_BARRIER,
	SP_MPI_BCAST,
	SP_MPI_GATHER,
	SP_MPI_GATHERV,
	SP_MPI_SCATTER,
	SP_MPI_SCATTERV,
	SP_MPI_ALLGATHER,
	SP_MPI_ALLGATHERV,
	SP_MPI_ALLTOALL,
	SP_MPI_ALLTOALLV,
	SP_MPI_ALLTOALLW,
	SP_MPI_ALLREDUCE,
	SP_MPI_REDUCE,
	SP_MPI_REDUCE_SCATTER,
	SP_MPI_SCAN,
	SP_MPI_EXSCAN,
	SP_MPI_REDUCE_SCATTER_BLOCK,
	SP_MPI_CREATE_HANDLE,
	SP_MPI_DESTROY_HANDLE
};

void sp_mpi_collective(struct sp_mpi_call *c);
/* Ends of operations, after a call of a function of coll_bytes.c: a blocking operation; the call of a non-blocking one;
 * the creation of a persistent one. */
void sp_mpi_ended(struct sp_mpi_call *c);
void sp_mpi_issued(struct sp_mpi_call *c, const MPI_Request *request);
void sp_mpi_prepared(struct sp_mpi_call *c, const MPI_Request *request);
/* The end of an operation that creates or frees handles. comm: id in this process; 0: unknown. */
void sp_mpi_handles_end(struct sp_mpi_call *c, uint32_t comm, enum sp_mpi_operation operation);

/* ---- coll_bytes.c: which collective it is, and its bytes ---- */

/* An array of int, or of MPI_Count in the variants for large counts. */
struct sp_mpi_counts {
	const void *p;
	size_t width;
};
#define SP_MPI_COUNTS(array) ((struct sp_mpi_counts){(array), sizeof *(array)})

void sp_mpi_barrier(struct sp_mpi_call *c, MPI_Comm comm);
void sp_mpi_bcast(struct sp_mpi_call *c, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm);
void sp_mpi_scatter(struct sp_mpi_call *c, MPI_Count scount, MPI_Datatype stype, const void *rbuf, MPI_Count rcount,
                    MPI_Datatype rtype, int root, MPI_Comm comm);
void sp_mpi_scatterv(struct sp_mpi_call *c, struct sp_mpi_counts scounts, MPI_Datatype stype, const void *rbuf,
                     MPI_Count rcount, MPI_Datatype rtype, int root, MPI_Comm comm);
void sp_mpi_gather(struct sp_mpi_call *c, const void *sbuf, MPI_Count scount, MPI_Datatype stype, MPI_Count rcount,
                   MPI_Datatype rtype, int root, MPI_Comm comm);
void sp_mpi_gatherv(struct sp_mpi_call *c, const void *sbuf, MPI_Count scount, MPI_Datatype stype,
                    struct sp_mpi_counts rcounts, MPI_Datatype rtype, int root, MPI_Comm comm);
void sp_mpi_reduce(struct sp_mpi_call *c, const void *sbuf, MPI_Count count, MPI_Datatype type, int root,
                   MPI_Comm comm);
void sp_mpi_allgather(struct sp_mpi_call *c, const void *sbuf, MPI_Count scount, MPI_Datatype stype, MPI_Count rcount,
                      MPI_Datatype rtype, MPI_Comm comm);
void sp_mpi_allgatherv(struct sp_mpi_call *c, const void *sbuf, MPI_Count scount, MPI_Datatype stype,
                       struct sp_mpi_counts rcounts, MPI_Datatype rtype, MPI_Comm comm);
void sp_mpi_alltoall(struct sp_mpi_call *c, const void *sbuf, MPI_Count scount, MPI_Datatype stype, MPI_Count rcount,
                     MPI_Datatype rtype, MPI_Comm comm);
void sp_mpi_alltoallv(struct sp_mpi_call *c, const void *sbuf, struct sp_mpi_counts scounts, MPI_Datatype stype,
                      struct sp_mpi_counts rcounts, MPI_Datatype rtype, MPI_Comm comm);
void sp_mpi_alltoallw(struct sp_mpi_call *c, const void *sbuf, struct sp_mpi_counts scounts, const MPI_Datatype *stypes,
                      struct sp_mpi_counts rcounts, const MPI_Datatype *rtypes, MPI_Comm comm);
void sp_mpi_allreduce(struct sp_mpi_call *c, const void *sbuf, MPI_Count count, MPI_Datatype type, MPI_Comm comm);
void sp_mpi_reduce_scatter(struct sp_mpi_call *c, const void *sbuf, struct sp_mpi_counts counts, MPI_Datatype type,
                           MPI_Comm comm);
void sp_mpi_reduce_scatter_block(struct sp_mpi_call *c, const void *sbuf, MPI_Count count, MPI_Datatype type,
                                 MPI_Comm comm);
void sp_mpi_scan(struct sp_mpi_call *c, const void *sbuf, MPI_Count count, MPI_Datatype type, MPI_Comm comm);
void sp_mpi_exscan(struct sp_mpi_call *c, MPI_Count count, MPI_Datatype type, MPI_Comm comm);

/* ---- comm_life.c: creation, names and end of communicators ---- */

/* How a communicator was created, for its number. */
enum sp_mpi_comm_origin {
	SP_COMM_WORLD = 1,
	SP_COMM_SELF,
	SP_COMM_FOUND, /* by a function that is not wrapped */
	SP_COMM_DUP,
	SP_COMM_CREATE,
	SP_COMM_GROUP, /* only by its members */
	SP_COMM_SPLIT,
	SP_COMM_TOPOLOGY,
	SP_COMM_INTER,
	SP_COMM_MERGE,
	SP_COMM_SPAWN
};

/* Created by all members of comm; *made is MPI_COMM_NULL if this process is not a member of a new one. */
void sp_mpi_created(struct sp_mpi_call *c, MPI_Comm comm, enum sp_mpi_comm_origin origin, const MPI_Comm *made);
void sp_mpi_created_by_members(struct sp_mpi_call *c, MPI_Comm comm, int tag, const MPI_Comm *made);
/* An intercommunicator between comm's members and others. */
void sp_mpi_connected(struct sp_mpi_call *c, MPI_Comm comm, enum sp_mpi_comm_origin origin, int tag,
                      const MPI_Comm *made);
/* A communicator that exists without a collective of this process; adds it if it is new. */
void sp_mpi_met(struct sp_mpi_call *c, const MPI_Comm *made);
void sp_mpi_duplicates(struct sp_mpi_call *c, MPI_Comm comm, MPI_Comm *made, const MPI_Request *request);
void sp_mpi_frees(struct sp_mpi_call *c, const MPI_Comm *comm);
void sp_mpi_freed(struct sp_mpi_call *c);
void sp_mpi_named(struct sp_mpi_call *c, MPI_Comm comm, const char *name);

#endif
