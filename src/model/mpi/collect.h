/* SPDX-License-Identifier: BSD-3-Clause */
/* What messages are matched from. */
#ifndef SP_MODEL_MPI_COLLECT_H
#define SP_MODEL_MPI_COLLECT_H

#include "model/events/follow.h"
#include "model/model.h"
#include "model/mpi/messages.h"

/* In a comparison for qsort(): returns where the two differ. */
#define SP_COMPARE(a, b)                                                                                               \
	do {                                                                                                           \
		if ((a) != (b))                                                                                        \
			return (a) < (b) ? -1 : 1;                                                                     \
	} while (0)

/* A growing array; the numbers of bytes of an element are the caller's to know. */
struct sp_list {
	void *p; /* owned */
	size_t n, room;
};
/* Room for one more, zeroed; NULL: no memory. */
void *sp_list_add(struct sp_list *l, size_t size);

struct sp_sending {
	uint64_t bytes;
	uint32_t from, to, comm;
	int32_t tag;
	uint32_t call, done;
	uint32_t order; /* as they were found */
	bool cancelled;
};

struct sp_receiving {
	uint64_t bytes, arrived;
	uint32_t from, to, comm;
	int32_t tag;
	uint32_t posted, done, probe;
	uint32_t order; /* as they were posted; in one call as they were found */
};

/* What began with a request, and what ended one. */
struct sp_posted {
	uint64_t request;
	uint32_t call;
	uint32_t sending; /* SP_NONE: no send */
	uint32_t probe;   /* of a receive; SP_NONE: none */
};
struct sp_ended {
	uint64_t request;
	uint32_t call;
	uint32_t index; /* of a receive or of a part */
	uint8_t what;   /* enum sp_event_kind */
};

struct sp_collected {
	const struct sp_model *m;
	struct sp_path_index index;
	uint8_t *waits; /* owned; of each region: enum in collect.c */
	struct sp_list calls, sends, receives, parts;
	struct sp_list posted, ended; /* of the process that is read */
	uint32_t *first_call;         /* owned */
};

/* Reads all locations. 0, or -1 with e set; sp_collected_free() either way. */
int sp_collect(struct sp_collected *c, const struct sp_model *m, struct sp_err *e);
void sp_collected_free(struct sp_collected *c);

/* In the order of time, those of several threads, too. */
int sp_calls_compare(const struct sp_mpi_call *calls, uint32_t a, uint32_t b);
/* Numbers the collective operations, puts their parts together and checks them. */
void sp_operations_find(struct sp_messages *x);

#endif
