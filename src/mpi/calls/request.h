/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests, for the families that create them. */
#ifndef SP_MPI_CALLS_REQUEST_H
#define SP_MPI_CALLS_REQUEST_H

#include "mpi/wrap.h"

/* An outstanding operation. The family that adds it also sets the function that records its completion, and for a
 * persistent request each start. Only that family uses `a` to `d`. */
struct sp_mpi_request {
	uint64_t handle;
	uint64_t number; /* from sp_mpi_request_number(); each start of a persistent request gets a new number */
	/* Called when it is complete; c->t is not NULL. status: NULL if there was no memory for one. */
	void (*done)(struct sp_mpi_call *c, const struct sp_mpi_request *r, const MPI_Status *status);
	void (*begun)(struct sp_mpi_call *c, const struct sp_mpi_request *r);
	uint32_t generation; /* c->generation */
	bool persistent, active;
	uint32_t comm;
	/* For a persistent request, which may be started in a later measurement: the handle of its communicator, so
	 * that it can be defined again (0: it is not recorded there), and the current raw file (*adapter->process). */
	uint64_t persistent_comm;
	uint32_t process;
	int32_t partner, tag;
	uint64_t a, b, c, d;
};

static inline uint64_t sp_mpi_request_handle(MPI_Request request)
{
	return SP_MPI_HANDLE(request);
}

/* The next request number of this process, from 1. Call after MPI has returned the handle. */
uint64_t sp_mpi_request_number(void);
void sp_mpi_request_add(const struct sp_mpi_request *r);
/* The last number that was assigned. */
uint64_t sp_mpi_request_newest(void);
/* Removes a request, or makes a persistent one inactive. Returns false if it is not in the table. newest: result of
 * sp_mpi_request_newest() before the call that completed it. */
bool sp_mpi_request_take(uint64_t handle, uint64_t newest, struct sp_mpi_request *out);

#endif
