/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages and collective operations: collected from the traces of all locations in one pass, then matched. Memory
 * grows with their number, not with the number of events.
 *
 * A message's send and receive match if communicator, sender, receiver and tag are equal. Several messages with the
 * same values match in order, which MPI guarantees: sends in the order of their begins, receives in the order in which
 * they were posted. If one side has more of them because something was not recorded, sizes and times decide. Parts of a
 * collective operation match by communicator, operation, whether it blocks, and their number among these in each
 * process. */
#ifndef SP_MODEL_MPI_MESSAGES_H
#define SP_MODEL_MPI_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* A call of an MPI function that transferred data or waited. Calls of a location are contiguous and in order. */
struct sp_mpi_call {
	uint64_t enter, leave; /* ns */
	uint32_t location, path;
	bool polls; /* never waits: MPI_Test… */
};

struct sp_message {
	uint64_t bytes;    /* as the sender recorded it */
	uint32_t from, to; /* processes */
	uint32_t comm;
	int32_t tag;
	/* calls that began and completed the send; sent SP_NONE: never completed, or not recorded */
	uint32_t send, sent;
	uint32_t posted, received; /* calls of the receiver; SP_NONE: no receive was found */
	/* the MPI_Probe or MPI_Mprobe that matched it before it was received; SP_NONE: no probe */
	uint32_t probe;
	uint64_t arrived; /* ns; time at which its receive completed */
};

/* One process's part in a collective operation. */
struct sp_participation {
	uint64_t sent, received; /* bytes */
	uint32_t comm;           /* or window */
	uint32_t process;
	uint32_t root;        /* process; SP_NONE: no root, or unknown */
	uint32_t begin, done; /* calls that begin and complete it; equal for a blocking operation */
	uint32_t number;
	uint8_t operation;
	bool window, nonblocking;
};

struct sp_messages {
	const struct sp_model *m;
	struct sp_mpi_call *calls; /* owned */
	size_t n_calls;
	/* owned; index of each location's first call, and the number of calls at the end */
	uint32_t *first_call;
	struct sp_message *messages; /* owned; sorted by from, to, comm, tag and order */
	size_t n_messages;
	struct sp_participation *parts; /* owned; parts of one operation are contiguous */
	size_t n_parts;
	uint64_t unmatched_sends, unmatched_receives;
	uint64_t unmeasured; /* of the messages: the other side was not measured */
	uint64_t cancelled;
	/* Messages that were received before they were sent: a sign of wrong clocks. */
	uint64_t early;
	double early_worst;        /* ns; the maximum */
	uint64_t operations;       /* number of collective operations */
	uint64_t incomplete;       /* of these: a participant is not recorded */
	uint64_t early_operations; /* of the complete ones: a process left before those it depends on arrived */
	double early_operations_worst;
};

/* Reads all traces and matches. Returns 0, or -1 with e set; call sp_messages_free() in both cases. */
int sp_messages_read(struct sp_messages *x, const struct sp_model *m, struct sp_err *e);
void sp_messages_free(struct sp_messages *x);

/* The number of parts of the operation whose first part is `first`. */
size_t sp_operation_parts(const struct sp_messages *x, size_t first);

/* Whether the experiment's definitions contain anything of MPI. */
bool sp_messages_any(const struct sp_model *m);

/* A row of the communication matrix: all messages with equal keys. */
struct sp_message_row {
	uint32_t from, to;   /* processes; SP_NONE: not a key */
	uint32_t comm, path; /* path: of the send; SP_NONE: not a key */
	uint64_t messages, bytes;
	uint64_t received; /* of these: number with a receive */
	double time;       /* ns; of the received messages, from the begin of the send to the end of the receive */
};
enum { SP_BY_PAIR = 1, SP_BY_COMM = 2, SP_BY_PATH = 4, SP_BY_SENDER = 8, SP_BY_RECEIVER = 16 };

/* Sums up messages by the keys in `by`, sorted by these keys. The caller frees *rows with free(). Returns 0, or -1 with
 * e set. */
int sp_messages_rows(const struct sp_messages *x, unsigned by, struct sp_message_row **rows, size_t *n,
                     struct sp_err *e);

#endif
