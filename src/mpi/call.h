/* SPDX-License-Identifier: BSD-3-Clause */
/* One call of a function of MPI, for its wrapper. */
#ifndef SP_MPI_CALL_H
#define SP_MPI_CALL_H

#include "mpi/library.h"
#include "real.h"

extern const struct sp_adapter *sp_mpi_adapter;
extern void *const sp_mpi_wrappers[SP_MPI_FUNCTIONS];
/* A symbol of the MPI library; NULL: it has none of that name. */
void *sp_mpi_symbol(const char *name);

/* What a collective did, for its end. */
struct sp_mpi_moved {
	uint32_t comm, operation; /* 0: not known; enum sp_mpi_operation */
	int32_t root;             /* rank, or SP_RAW_ROOT_… */
	uint64_t sent, received;
};

struct sp_mpi_call {
	struct sp_thread *t; /* NULL: nothing is recorded */
	uint64_t now;        /* of the enter, in ticks */
	uint32_t region;     /* 0: the function's group is off */
	uint32_t generation;
	int result;
	bool traced;
	uint64_t kept;   /* of before the function, for after it: what is its family's affair */
	uint64_t newest; /* of before a function that completes requests: the last of those that it may mean */
	struct sp_mpi_moved moved;
};

/* Enters the region. false: MPI called this itself, in another call of MPI; nothing else may be called with c. */
bool sp_mpi_begin(struct sp_mpi_call *c, unsigned function);
/* The function returned: looks whether the measurement still goes on. */
void sp_mpi_returned(struct sp_mpi_call *c, int result);
/* Leaves the region; returns the result. */
int sp_mpi_end(struct sp_mpi_call *c);

/* Whether records of this call are wanted: its group is on, and it did what it should. */
static inline bool sp_mpi_counts(const struct sp_mpi_call *c)
{
	return c->region && c->result == MPI_SUCCESS;
}

/* An event at the enter of the call, or now. */
static inline void sp_mpi_event_at(const struct sp_mpi_call *c, enum sp_raw_extra what, const uint64_t *payload,
                                   unsigned n, uint64_t now)
{
	if (c->traced)
		sp_mpi_adapter->extra(c->t, what, payload, n, now);
}
static inline void sp_mpi_event(const struct sp_mpi_call *c, enum sp_raw_extra what, const uint64_t *payload,
                                unsigned n)
{
	if (c->traced)
		sp_mpi_adapter->extra(c->t, what, payload, n, sp_mpi_adapter->now());
}
static inline void sp_mpi_add(const struct sp_mpi_call *c, enum sp_adapter_count which, uint64_t amount)
{
	if (amount)
		sp_mpi_adapter->add(c->t, which, amount);
}

/* Two halves of a word: FORMAT.md's c|x. */
static inline uint64_t sp_mpi_pair(uint32_t low, uint32_t high)
{
	return (uint64_t)high << 32 | low;
}

/* Whether all the groups are recorded. */
bool sp_mpi_group_on(uint32_t groups);

#endif
