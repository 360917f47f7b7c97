/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages and collective operations: collected from the traces of all locations in one pass, and matched. What is in
 * memory grows with them, not with the events.
 *
 * A message's send and its receive are found by communicator, sender, receiver and tag; those for which all these are
 * equal by their order, which MPI keeps: of sends that of their begin, of receives that in which they were posted. If
 * one side has more of them than the other, because something was not recorded, sizes and times help.
 * Collective operations are found by communicator, operation, whether it blocks, and their number among these in
 * each process. */
#ifndef SP_MODEL_MPI_MESSAGES_H
#define SP_MODEL_MPI_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* A call of a function of MPI that moved or waited for something. Those of a location are together, in its order. */
struct sp_mpi_call {
	uint64_t enter, leave; /* ns */
	uint32_t location, path;
	bool polls; /* it never waits: MPI_Test… */
};

struct sp_message {
	uint64_t bytes;    /* as the sender says */
	uint32_t from, to; /* processes */
	uint32_t comm;
	int32_t tag;
	uint32_t send, sent;       /* calls that began and completed it; sent SP_NONE: never, or not told */
	uint32_t posted, received; /* calls of the receiver; SP_NONE: no receive was found */
	uint32_t probe;            /* the MPI_Probe or MPI_Mprobe that found it before it was received; SP_NONE: none */
	uint64_t arrived;          /* ns; when its receive was complete */
};

/* One process's part in a collective operation. */
struct sp_participation {
	uint64_t sent, received; /* bytes */
	uint32_t comm;           /* or window */
	uint32_t process;
	uint32_t root;        /* process; SP_NONE: none, or not known */
	uint32_t begin, done; /* calls; the same unless it is non-blocking */
	uint32_t number;
	uint8_t operation;
	bool window, nonblocking;
};

struct sp_messages {
	const struct sp_model *m;
	struct sp_mpi_call *calls; /* owned */
	size_t n_calls;
	uint32_t *first_call;        /* owned; of each location, and behind the last one the end */
	struct sp_message *messages; /* owned; by from, to, comm, tag and order */
	size_t n_messages;
	struct sp_participation *parts; /* owned; those of one operation together */
	size_t n_parts;
	uint64_t unmatched_sends, unmatched_receives;
	uint64_t unmeasured; /* of these: the other side was not measured */
	uint64_t cancelled;
	/* Messages that came before they were sent, which clocks that go wrong make. */
	uint64_t early;
	double early_worst;        /* ns */
	uint64_t operations;       /* collective ones, */
	uint64_t incomplete;       /* of these: some who must have taken part are not recorded */
	uint64_t early_operations; /* of the others: someone left before those it depends on came */
	double early_operations_worst;
};

/* Reads all traces. 0, or -1 with e set; sp_messages_free() either way. */
int sp_messages_read(struct sp_messages *x, const struct sp_model *m, struct sp_err *e);
void sp_messages_free(struct sp_messages *x);

/* How many parts the operation has whose parts begin there. */
size_t sp_operation_parts(const struct sp_messages *x, size_t first);

/* Whether there is anything of MPI in the experiment's definitions. */
bool sp_messages_any(const struct sp_model *m);

/* The communication matrix and its parts: messages with equal keys in one row. */
struct sp_message_row {
	uint32_t from, to;   /* processes; SP_NONE: not told apart */
	uint32_t comm, path; /* path: of the send; SP_NONE: not told apart */
	uint64_t messages, bytes;
	uint64_t received; /* of these: how many receives were found */
	double time;       /* ns; of the received, from the begin of the send to the end of the receive */
};
enum { SP_BY_PAIR = 1, SP_BY_COMM = 2, SP_BY_PATH = 4, SP_BY_SENDER = 8, SP_BY_RECEIVER = 16 };

/* In the order of their keys. For free(). */
int sp_messages_rows(const struct sp_messages *x, unsigned by, struct sp_message_row **rows, size_t *n,
                     struct sp_err *e);

#endif
