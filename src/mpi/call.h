/* SPDX-License-Identifier: BSD-3-Clause */
/* One call of an MPI function, for its wrapper. */
#ifndef SP_MPI_CALL_H
#define SP_MPI_CALL_H

#include "mpi/library.h"
#include "real.h"

/* The binary interface that MPI 5 standardises, which several MPIs have beside their own. */
#if defined(MPI_ABI_VERSION)
#define SP_MPI_ABI (MPI_ABI_VERSION > 0)
#else
#define SP_MPI_ABI 0
#endif
/* Handles are pointers in Open MPI and in the standard interface, and numbers in MPICH; no valid handle is 0. */
#if defined(OPEN_MPI) || SP_MPI_ABI
#define SP_MPI_HANDLE(handle) ((uint64_t)(uintptr_t)(handle))
#else
#define SP_MPI_HANDLE(handle) ((uint64_t)(uint32_t)(handle))
#endif

extern const struct sp_adapter *sp_mpi_adapter;
extern void *const sp_mpi_wrappers[SP_MPI_FUNCTIONS];
/* Finds a symbol of the MPI library by name; NULL: not defined there. */
void *sp_mpi_symbol(const char *name);

/* The data of a collective operation, for its end event. */
struct sp_mpi_moved {
	uint32_t comm, operation; /* 0: unknown; enum sp_mpi_operation */
	int32_t root;             /* rank, or SP_RAW_ROOT_… */
	uint64_t sent, received;
};

struct sp_mpi_call {
	struct sp_thread *t; /* NULL: nothing is recorded */
	uint64_t now;        /* time of the enter, ticks */
	uint32_t region;     /* 0: the function's group is not recorded */
	uint32_t generation;
	int result;
	bool traced;
	uint64_t kept; /* a value that the function's family stores before the call, for use after it */
	/* sp_mpi_request_newest() before a function that completes requests: newer requests are not meant */
	uint64_t newest;
	struct sp_mpi_moved moved;
};

/* Enters the region. Returns false if MPI itself called the function within another MPI call; then do not use c with
 * other functions. */
bool sp_mpi_begin(struct sp_mpi_call *c, unsigned function);
/* Call after the MPI function has returned: stores its result, and checks whether the measurement still runs. */
void sp_mpi_returned(struct sp_mpi_call *c, int result);
/* Leaves the region; returns the MPI function's result. */
int sp_mpi_end(struct sp_mpi_call *c);

/* Whether to record the call's data: its group is recorded, and it succeeded. */
static inline bool sp_mpi_counts(const struct sp_mpi_call *c)
{
	return c->region && c->result == MPI_SUCCESS;
}

/* Records an event at time `now`; sp_mpi_event(): at the current time. */
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

/* Combines two halves of a word: c|x in FORMAT.md. */
static inline uint64_t sp_mpi_pair(uint32_t low, uint32_t high)
{
	return (uint64_t)high << 32 | low;
}

/* Whether all groups in the bit mask are recorded. */
bool sp_mpi_group_on(uint32_t groups);

#endif
