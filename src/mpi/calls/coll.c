/* SPDX-License-Identifier: BSD-3-Clause */
/* Begin and end of collectives; coll_bytes.c has their bytes. */
#include "mpi/calls/request.h"

void sp_mpi_collective(struct sp_mpi_call *c)
{
	if (c->region)
		sp_mpi_event_at(c, SP_RAW_X_COLLECTIVE_BEGIN, NULL, 0, c->now);
}

void sp_mpi_ended(struct sp_mpi_call *c)
{
	const struct sp_mpi_moved *x = &c->moved;
	if (!c->region || !x->comm)
		return;
	const uint64_t payload[4] = {sp_mpi_pair(x->comm, x->operation), (uint64_t)(int64_t)x->root, x->sent,
	                             x->received};
	sp_mpi_event(c, SP_RAW_X_COLLECTIVE_END, payload, 4);
	sp_mpi_add(c, SP_COUNT_MPI_SENT, x->sent);
	sp_mpi_add(c, SP_COUNT_MPI_RECEIVED, x->received);
}

void sp_mpi_handles_end(struct sp_mpi_call *c, uint32_t comm, enum sp_mpi_operation operation)
{
	c->moved = (struct sp_mpi_moved){.comm = comm, .operation = operation, .root = SP_RAW_ROOT_NONE};
	sp_mpi_ended(c);
}

/* ---- requests: tag is the operation, partner the root, a and b the bytes ---- */

static void done(struct sp_mpi_call *c, const struct sp_mpi_request *r, const MPI_Status *status)
{
	(void)status; /* the status has no data of a collective */
	const uint64_t payload[5] = {sp_mpi_pair(r->comm, (uint32_t)r->tag), (uint64_t)(int64_t)r->partner, r->a, r->b,
	                             r->number};
	sp_mpi_event(c, SP_RAW_X_NBC_COMPLETE, payload, 5);
	sp_mpi_add(c, SP_COUNT_MPI_SENT, r->a);
	sp_mpi_add(c, SP_COUNT_MPI_RECEIVED, r->b);
}

static void begun(struct sp_mpi_call *c, const struct sp_mpi_request *r)
{
	sp_mpi_event_at(c, SP_RAW_X_NBC_REQUEST, &r->number, 1, c->now);
}

static struct sp_mpi_request request_of(const struct sp_mpi_call *c, MPI_Request request)
{
	return (struct sp_mpi_request){.handle = sp_mpi_request_handle(request),
	                               .number = sp_mpi_request_number(),
	                               .done = done,
	                               .begun = begun,
	                               .generation = c->generation,
	                               .comm = c->moved.comm,
	                               .partner = c->moved.root,
	                               .tag = (int32_t)c->moved.operation,
	                               .a = c->moved.sent,
	                               .b = c->moved.received};
}

void sp_mpi_issued(struct sp_mpi_call *c, const MPI_Request *request)
{
	if (!sp_mpi_counts(c) || !c->moved.comm)
		return;
	const struct sp_mpi_request r = request_of(c, *request);
	begun(c, &r);
	sp_mpi_request_add(&r);
}

void sp_mpi_prepared(struct sp_mpi_call *c, const MPI_Request *request)
{
	if (!sp_mpi_counts(c) || !c->moved.comm)
		return;
	struct sp_mpi_request r = request_of(c, *request);
	r.persistent = true;
	r.process = sp_adapter_read(sp_mpi_adapter->process);
	sp_mpi_request_add(&r);
}
