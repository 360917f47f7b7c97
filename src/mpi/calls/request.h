/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests, for the families that make them. */
#ifndef SP_MPI_CALLS_REQUEST_H
#define SP_MPI_CALLS_REQUEST_H

#include "mpi/wrap.h"

/* What is under way. The family that adds it says what is recorded when it is complete, and, of a persistent one, each
 * time it is started; what `a` to `d` hold is its own affair. */
struct sp_mpi_request {
	uint64_t handle;
	uint64_t number; /* from sp_mpi_request_number(); each start of a persistent one has a new one */
	/* It is complete, and c->t is not NULL. status: NULL where there was no memory for one. */
	void (*done)(struct sp_mpi_call *c, const struct sp_mpi_request *r, const MPI_Status *status);
	void (*begun)(struct sp_mpi_call *c, const struct sp_mpi_request *r);
	uint32_t generation; /* c->generation */
	bool persistent, active;
	uint32_t comm;
	/* Of a persistent one, which may be started under a later measurement: the handle of its communicator, so that
	 * it can be defined anew (0: it is not recorded there), and the raw file of now (*adapter->process). */
	uint64_t persistent_comm;
	uint32_t process;
	int32_t partner, tag;
	uint64_t a, b, c, d;
};

/* Handles are pointers in Open MPI and numbers in MPICH; none that is valid is 0. */
static inline uint64_t sp_mpi_request_handle(MPI_Request request)
{
#ifdef OPEN_MPI
	return (uintptr_t)request;
#else
	return (uint32_t)request;
#endif
}

/* The next of this process, from 1; to be asked for when MPI has given the handle. */
uint64_t sp_mpi_request_number(void);
void sp_mpi_request_add(const struct sp_mpi_request *r);
/* The number that was given last. */
uint64_t sp_mpi_request_newest(void);
/* Takes it out, or, if it is persistent, makes it inactive; false: nothing is known of it. newest: what the function of
 * that name said before the call that completed it. */
bool sp_mpi_request_take(uint64_t handle, uint64_t newest, struct sp_mpi_request *out);

#endif
