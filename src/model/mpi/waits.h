/* SPDX-License-Identifier: BSD-3-Clause */
/* Time lost by waiting in MPI. Names and definitions are those of Scalasca ("Performance properties", its Cube metrics
 * mpi_latesender …):
 *
 *   Late Sender           a blocking receive, or the completion of one, began before the send did: until that. In a
 *                         call that waits for several messages the last one counts. MPI_Probe and MPI_Mprobe that
 *                         found the message wait as a receive.
 *   Messages in Wrong Order  a Late Sender at a time when a message had been sent that is received only later, from
 *                         another process (different) or by the same (same)
 *   Late Receiver         a blocking send, or the completion of one, that ended after the receive was posted: from its
 *                         begin until that
 *   Wait at Barrier, at N x N  from the enter until the last process has entered. N x N: MPI_Allreduce, Allgather,
 *                         Alltoall, Reduce_scatter and their kin; who sends nothing there is not waited for
 *   Barrier, N x N Completion  in the call after the first process has left it
 *   Late Broadcast        from the enter until the root's: MPI_Bcast, Scatter, Scatterv
 *   Early Reduce          in the root, from its enter until that of the first one that sends: MPI_Reduce, Gather,
 * Gatherv Early Scan            from the enter until the last one of lower rank has entered: MPI_Scan, Exscan Wait at
 * Fence         as at a barrier, in collective operations on windows
 *
 * and one of ours, Wait at Init, Finalize, Communicators: the same in calls that make or free something together, if no
 * process left before the last one came. Non-blocking collectives count in the call that waits for their completion.
 * No time counts twice; no waiting is longer than its call. */
#ifndef SP_MODEL_MPI_WAITS_H
#define SP_MODEL_MPI_WAITS_H

#include "base/err.h"
#include "model/mpi/messages.h"

/* Apart from each other: a Late Sender that is in wrong order is not LATE_SENDER. */
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

/* What waiting in a collective operation is called. */
enum sp_wait_kind sp_wait_kind_of(const struct sp_participation *p);

/* As they are shown: a metric is the sum of some kinds. */
struct sp_wait_metric {
	const char *name, *shown, *what;
	uint32_t kinds; /* bits of enum sp_wait_kind */
	int parent;     /* the metric that this is a part of; -1: of the time */
};
enum { SP_WAIT_METRICS = SP_WAIT_KINDS + 1 };
extern const struct sp_wait_metric sp_wait_metrics[SP_WAIT_METRICS]; /* parents first */

/* Waits of one kind in one call path and location for one other. */
struct sp_wait_row {
	uint32_t kind;
	uint32_t path, location;
	uint32_t on; /* location that was waited for; SP_NONE: nobody alone */
	uint64_t count;
	double time, longest; /* ns */
};

/* What a call could not end before: the times at which others came, if it depends on any. */
struct sp_dependency {
	uint64_t last, before; /* ns; the last of the others, and the one before it (0: there is none) */
	uint32_t on;           /* location of the last one; SP_NONE: it depends on nobody */
	uint32_t message;      /* the last one's; SP_NONE: it is a collective operation */
	uint8_t kind;          /* enum sp_wait_kind */
	bool counted;          /* its waiting is told of already */
};

struct sp_waits {
	struct sp_wait_row *rows; /* owned; by kind, path, location, on */
	size_t n_rows;
	struct sp_dependency *dependencies; /* owned; one for each call */
};

/* 0, or -1 with e set; sp_waits_free() either way. */
int sp_waits_find(struct sp_waits *w, const struct sp_messages *x, struct sp_err *e);
void sp_waits_free(struct sp_waits *w);

#endif
