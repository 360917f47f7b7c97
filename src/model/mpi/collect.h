/* SPDX-License-Identifier: BSD-3-Clause */
/* The input of message matching. */
#ifndef SP_MODEL_MPI_COLLECT_H
#define SP_MODEL_MPI_COLLECT_H

#include "model/events/follow.h"
#include "model/model.h"
#include "model/mpi/messages.h"

/* For a comparison function of qsort(): returns if a and b differ. */
#define SP_COMPARE(a, b)                                                                                               \
	do {                                                                                                           \
		if ((a) != (b))                                                                                        \
			return (a) < (b) ? -1 : 1;                                                                     \
	} while (0)

/* A growing array; the caller passes the size of an element. */
struct sp_list {
	void *p; /* owned */
	size_t n, capacity;
};
/* Adds one zeroed element; NULL: no memory. */
void *sp_list_add(struct sp_list *l, size_t size);

struct sp_sending {
	uint64_t bytes;
	uint32_t from, to, comm;
	int32_t tag;
	uint32_t call, done;
	uint32_t order; /* order in which they were found */
	bool cancelled;
};

struct sp_receiving {
	uint64_t bytes, arrived;
	uint32_t from, to, comm;
	int32_t tag;
	uint32_t posted, done, probe;
	uint32_t order; /* order in which they were posted; within one call, in which they were found */
};

/* A request: the event that began it, and the event that ended it. */
struct sp_posted {
	uint64_t request;
	uint32_t call;
	uint32_t sending; /* SP_NONE: not a send */
	uint32_t probe;   /* the probe that matched the receive; SP_NONE: no probe */
};
struct sp_ended {
	uint64_t request;
	uint32_t call;
	uint32_t index; /* of a receive or a part */
	uint8_t what;   /* enum sp_event_kind */
};

struct sp_collected {
	const struct sp_model *m;
	struct sp_path_index index;
	uint8_t *waits; /* owned; for each region: enum in collect.c */
	struct sp_list calls, sends, receives, parts;
	struct sp_list posted, ended; /* requests of the process that is read */
	uint32_t *first_call;         /* owned */
};

/* Reads all locations. Returns 0, or -1 with e set; call sp_collected_free() in both cases. */
int sp_collect(struct sp_collected *c, const struct sp_model *m, struct sp_err *e);
void sp_collected_free(struct sp_collected *c);

/* Compares two calls by time, also across threads, for sorting. */
int sp_calls_compare(const struct sp_mpi_call *calls, uint32_t a, uint32_t b);
/* Numbers the collective operations, groups their parts, and checks them. */
void sp_operations_find(struct sp_messages *x);

#endif
