/* SPDX-License-Identifier: BSD-3-Clause */
/* The wrappers of one MPI's functions. This is compiled once for each MPI that is there when Spartito is built.
 *
 * How a family of functions is added: functions.list says what is called before and after the function itself, with the
 * names it gives to the parameters; generate.py makes the wrapper of it. The functions called there are declared here
 * and written in one file for each family. Most say what happened after it happened: `c->now`, the time of the enter,
 * is still that of the event before, so a record with it stands right behind the enter. They find in c->result what the
 * function returned, and record nothing where c->t is NULL (nothing is recorded now) or c->region is 0 (the function's
 * group is off). What no generated wrapper can do is marked `by hand` in the table, and its wrapper is called
 * sp_mpi_wrap_NAME.
 *
 * MPI is called as PMPI_NAME, which real.h makes a pointer found at run time; NULL is possible for what the table marks
 * with a plus or a star, and for what is not in the table there is sp_mpi_symbol().
 * Nothing allocates, locks for long or calls MPI for a message, but for the size of a type. */
#ifndef SP_MPI_WRAP_H
#define SP_MPI_WRAP_H

#include "mpi/call.h"
#include "real.h"

/* Finds the functions of an MPI library, by its handle. */
void sp_mpi_attach_real(void *mpi);

/* ---- type.c: what messages hold ---- */

/* Bytes of count elements; 0 for an undefined type. */
uint64_t sp_mpi_bytes(MPI_Count count, MPI_Datatype type);
/* Bytes that came with a message. */
uint64_t sp_mpi_received_bytes(const MPI_Status *status);
bool sp_mpi_was_cancelled(const MPI_Status *status);

/* ---- comm.c, comm_new.c: communicators ---- */

/* What is known of a communicator. Entries live as long as the process; those of freed ones are not found again. */
struct sp_mpi_comm {
	uint64_t handle;
	uint64_t global;     /* the same in all members */
	uint64_t parent;     /* global of that, or 0 */
	uint32_t id;         /* of this process, from 1 */
	uint32_t process;    /* the raw file in which it is defined (*adapter->process) */
	uint32_t flags;      /* SP_RAW_COMM_… */
	uint32_t size, rank; /* of the local group */
	uint32_t remote;     /* size of the remote group */
	uint32_t children;   /* communicators that were made of it by all its members */
	bool cart;           /* has a cartesian topology */
	char name[MPI_MAX_OBJECT_NAME];
	struct sp_mpi_comm *next; /* in its bucket */
};

/* NULL: MPI_COMM_NULL, or no room. Defines it in the raw file if it is not there yet. */
struct sp_mpi_comm *sp_mpi_comm(MPI_Comm comm);
/* The same, for its id alone; 0 for NULL. */
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

/* ---- p2p.c: point to point ---- */

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

/* ---- request.c: what completes requests of all families; how one is added is in request.h ---- */

void sp_mpi_keep(struct sp_mpi_call *c, const MPI_Request *request);
void sp_mpi_keep_all(struct sp_mpi_call *c, int n, const MPI_Request *requests);
MPI_Status *sp_mpi_statuses(int n);
void sp_mpi_started(struct sp_mpi_call *c, int n, const MPI_Request *requests);
void sp_mpi_completed(struct sp_mpi_call *c, const MPI_Status *status);
void sp_mpi_tested(struct sp_mpi_call *c, const int *flag, const MPI_Status *status);
void sp_mpi_asked(struct sp_mpi_call *c, const int *flag);
void sp_mpi_completed_all(struct sp_mpi_call *c, const MPI_Status *statuses);
void sp_mpi_tested_all(struct sp_mpi_call *c, const int *flag, const MPI_Status *statuses);
void sp_mpi_completed_any(struct sp_mpi_call *c, const int *index, const MPI_Status *status);
void sp_mpi_tested_any(struct sp_mpi_call *c, const int *index, const int *flag, const MPI_Status *status);
void sp_mpi_completed_some(struct sp_mpi_call *c, const int *n, const int *indices, const MPI_Status *statuses);
void sp_mpi_tested_some(struct sp_mpi_call *c, const int *n, const int *indices, const MPI_Status *statuses);
void sp_mpi_released(struct sp_mpi_call *c);

/* ---- coll.c: collectives ---- */

/* Operations, as in OTF2's CollectiveOp. */
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
/* The end of a blocking one, the call of another, the making of a persistent one: after one of coll_bytes.c. */
void sp_mpi_ended(struct sp_mpi_call *c);
void sp_mpi_issued(struct sp_mpi_call *c, const MPI_Request *request);
void sp_mpi_prepared(struct sp_mpi_call *c, const MPI_Request *request);
/* The end of one that makes or frees handles. comm: of this process; 0: not known. */
void sp_mpi_handles_end(struct sp_mpi_call *c, uint32_t comm, enum sp_mpi_operation operation);

/* ---- coll_bytes.c: which collective it is, and its bytes ---- */

/* An array of int or, in the variants for large counts, of MPI_Count. */
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

/* ---- comm_life.c: communicators come, get names and go ---- */

/* How one came to be, for its number. */
enum sp_mpi_comm_origin {
	SP_COMM_WORLD = 1,
	SP_COMM_SELF,
	SP_COMM_FOUND, /* by a way that is not wrapped */
	SP_COMM_DUP,
	SP_COMM_CREATE,
	SP_COMM_GROUP, /* by its own members alone */
	SP_COMM_SPLIT,
	SP_COMM_TOPOLOGY,
	SP_COMM_INTER,
	SP_COMM_MERGE,
	SP_COMM_SPAWN
};

/* By all members of comm; made holds MPI_COMM_NULL where this process is in none of the new ones. */
void sp_mpi_created(struct sp_mpi_call *c, MPI_Comm comm, enum sp_mpi_comm_origin origin, const MPI_Comm *made);
void sp_mpi_created_by_members(struct sp_mpi_call *c, MPI_Comm comm, int tag, const MPI_Comm *made);
/* An intercommunicator between comm's members and others. */
void sp_mpi_connected(struct sp_mpi_call *c, MPI_Comm comm, enum sp_mpi_comm_origin origin, int tag,
                      const MPI_Comm *made);
/* One that is there without a collective of this process, if it is new. */
void sp_mpi_met(struct sp_mpi_call *c, const MPI_Comm *made);
void sp_mpi_duplicates(struct sp_mpi_call *c, MPI_Comm comm, MPI_Comm *made, const MPI_Request *request);
void sp_mpi_frees(struct sp_mpi_call *c, const MPI_Comm *comm);
void sp_mpi_freed(struct sp_mpi_call *c);
void sp_mpi_named(struct sp_mpi_call *c, MPI_Comm comm, const char *name);

#endif
