/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Wait states of MPI. Names and definitions are those of Scalasca ("Performance properties", its Cube metrics
 * mpi_latesender …):
 *
 *   Late Sender           a blocking receive, or the completion of one, began before the send: the time until the send
 *                         began. In a call that waits for several messages the last one counts. MPI_Probe and
 *                         MPI_Mprobe that matched the message wait like a receive.
 *   Messages in Wrong Order  a Late Sender at a time when a message that is received only later had already been sent,
 *                         by another process (different) or by the same one (same)
 *   Late Receiver         a blocking send, or the completion of one, that ended after the receive was posted: the time
 *                         from its begin until the receive was posted
 *   Wait at Barrier, at N x N  from the enter until the last process has entered. N x N: MPI_Allreduce, Allgather,
 *                         Alltoall, Reduce_scatter and their variants; a process that sends nothing is not waited for
 *   Barrier, N x N Completion  the time in the call after the first process has left it
 *   Late Broadcast        from the enter until the root's enter: MPI_Bcast, Scatter, Scatterv
 *   Early Reduce          in the root, from its enter until that of the first sender: MPI_Reduce, Gather, Gatherv
 *   Early Scan            from the enter until the last one of lower rank has entered: MPI_Scan, Exscan
 *   Wait at Fence         as at a barrier, in collective operations on windows
 *
 * Spartito adds Wait at Init, Finalize, Communicators: the same in calls that create or free something together, if no
 * process left before the last one arrived. Non-blocking collectives count in the call that waits for their completion.
 * No time counts twice; no wait is longer than its call.
 */
#ifndef SP_MODEL_MPI_WAITS_H
#define SP_MODEL_MPI_WAITS_H

#include "base/err.h"
#include "model/mpi/messages.h"

/* Kinds exclude each other: a Late Sender in wrong order is not LATE_SENDER. */
enum sp_wait_kind {
	SP_WAIT_LATE_SENDER,
	SP_WAIT_WRONG_ORDER_DIFFERENT,
	SP_WAIT_WRONG_ORDER_SAME,
	SP_WAIT_LATE_RECEIVER,
	SP_WAIT_BARRIER,
	SP_WAIT_BARRIER_COMPLETION,
	SP_WAIT_NXN,
	SP_WAIT_NXN_COMPLETION,
	SP_WAIT_LATE_BROADCAST,
	SP_WAIT_EARLY_REDUCE,
	SP_WAIT_EARLY_SCAN,
	SP_WAIT_FENCE,
	SP_WAIT_MANAGEMENT,
	SP_WAIT_KINDS
};

/* The kind of a wait in a collective operation. */
enum sp_wait_kind sp_wait_kind_of(const struct sp_participation *p);

/* A metric of the reports: the sum of some kinds. */
struct sp_wait_metric {
	const char *name, *shown, *what;
	uint32_t kinds; /* bits of enum sp_wait_kind */
	int parent;     /* index of the parent metric; -1: the time itself */
};
enum { SP_WAIT_METRICS = SP_WAIT_KINDS + 1 };
extern const struct sp_wait_metric sp_wait_metrics[SP_WAIT_METRICS]; /* parents first */

/* Waits of one kind in one call path and location, for one other location. */
struct sp_wait_row {
	uint32_t kind;
	uint32_t path, location;
	uint32_t on; /* location that was waited for; SP_NONE: not a single one */
	uint64_t count;
	double time, longest; /* ns */
};

/* The earliest possible end of a call: the arrival times of others, if the call depends on any. */
struct sp_dependency {
	uint64_t last, before; /* ns; the last arrival of the others, and the previous one (0: no other) */
	uint32_t on;           /* location of the last arrival; SP_NONE: the call depends on no other */
	uint32_t message;      /* index of the message of the last arrival; SP_NONE: a collective operation */
	uint8_t kind;          /* enum sp_wait_kind */
	bool counted;          /* its wait is already reported */
};

struct sp_waits {
	struct sp_wait_row *rows; /* owned; sorted by kind, path, location, on */
	size_t n_rows;
	struct sp_dependency *dependencies; /* owned; one for each call */
};

/* Finds the wait states. Returns 0, or -1 with e set; call sp_waits_free() in both cases. */
int sp_waits_find(struct sp_waits *w, const struct sp_messages *x, struct sp_err *e);
void sp_waits_free(struct sp_waits *w);

#endif
