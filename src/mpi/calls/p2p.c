/* SPDX-License-Identifier: BSD-3-Clause */
/* Point-to-point communication. A send is recorded after the call has returned, with the time of its begin, because a
 * failed call sends nothing. */
#include "mpi/calls/comm.h"
#include "mpi/calls/request.h"

static void sent(const struct sp_mpi_call *c, uint32_t comm, int dest, int tag, uint64_t bytes)
{
	const uint64_t payload[3] = {sp_mpi_pair(comm, (uint32_t)dest), (uint64_t)(int64_t)tag, bytes};
	sp_mpi_event_at(c, SP_RAW_X_MPI_SEND, payload, 3, c->now);
	sp_mpi_add(c, SP_COUNT_MPI_SENT, bytes);
}

static void received(const struct sp_mpi_call *c, uint32_t comm, const MPI_Status *status, uint64_t request)
{
	const uint64_t bytes = sp_mpi_received_bytes(status);
	const uint64_t payload[4] = {sp_mpi_pair(comm, (uint32_t)status->MPI_SOURCE),
	                             (uint64_t)(int64_t)status->MPI_TAG, bytes, request};
	if (request)
		sp_mpi_event(c, SP_RAW_X_MPI_IRECV, payload, 4);
	else
		sp_mpi_event(c, SP_RAW_X_MPI_RECV, payload, 3);
	sp_mpi_add(c, SP_COUNT_MPI_RECEIVED, bytes);
}

void sp_mpi_sent(struct sp_mpi_call *c, MPI_Comm comm, int dest, int tag, MPI_Count count, MPI_Datatype type)
{
	if (sp_mpi_counts(c) && dest != MPI_PROC_NULL)
		sent(c, sp_mpi_comm_id(comm), dest, tag, sp_mpi_bytes(count, type));
}

void sp_mpi_received(struct sp_mpi_call *c, MPI_Comm comm, const MPI_Status *status)
{
	if (sp_mpi_counts(c) && status->MPI_SOURCE != MPI_PROC_NULL)
		received(c, sp_mpi_comm_id(comm), status, 0);
}

/* ---- requests ---- */

/* Whether requests have numbers. Without the group xnonblock a request is recorded only as a sent or received
 * message. */
static bool has_number(void)
{
	return sp_mpi_group_on(SP_MPI_GROUP_XNB);
}

static void send_done(struct sp_mpi_call *c, const struct sp_mpi_request *r, const MPI_Status *status)
{
	const bool cancelled = status && sp_mpi_was_cancelled(status);
	if (has_number())
		sp_mpi_event(c, cancelled ? SP_RAW_X_MPI_REQUEST_CANCELLED : SP_RAW_X_MPI_ISEND_COMPLETE, &r->number,
		             1);
}

static void send_begun(struct sp_mpi_call *c, const struct sp_mpi_request *r)
{
	if (!has_number()) {
		sent(c, r->comm, r->partner, r->tag, r->a);
		return;
	}
	const uint64_t payload[4] = {sp_mpi_pair(r->comm, (uint32_t)r->partner), (uint64_t)(int64_t)r->tag, r->a,
	                             r->number};
	sp_mpi_event_at(c, SP_RAW_X_MPI_ISEND, payload, 4, c->now);
	sp_mpi_add(c, SP_COUNT_MPI_SENT, r->a);
}

static void receive_done(struct sp_mpi_call *c, const struct sp_mpi_request *r, const MPI_Status *status)
{
	if (!status || status->MPI_SOURCE == MPI_PROC_NULL)
		return;
	const bool numbered = has_number();
	if (!sp_mpi_was_cancelled(status))
		received(c, r->comm, status, numbered ? r->number : 0);
	else if (numbered)
		sp_mpi_event(c, SP_RAW_X_MPI_REQUEST_CANCELLED, &r->number, 1);
}

static void receive_begun(struct sp_mpi_call *c, const struct sp_mpi_request *r)
{
	if (has_number())
		sp_mpi_event_at(c, SP_RAW_X_MPI_IRECV_REQUEST, &r->number, 1, c->now);
}

static void nothing_done(struct sp_mpi_call *c, const struct sp_mpi_request *r, const MPI_Status *status)
{
	(void)c, (void)r, (void)status;
}

void sp_mpi_isent(struct sp_mpi_call *c, const MPI_Request *request, MPI_Comm comm, int dest, int tag, MPI_Count count,
                  MPI_Datatype type)
{
	if (!sp_mpi_counts(c) || dest == MPI_PROC_NULL)
		return;
	const struct sp_mpi_request r = {.handle = sp_mpi_request_handle(*request),
	                                 .number = sp_mpi_request_number(),
	                                 .done = send_done,
	                                 .generation = c->generation,
	                                 .comm = sp_mpi_comm_id(comm),
	                                 .partner = dest,
	                                 .tag = tag,
	                                 .a = sp_mpi_bytes(count, type)};
	send_begun(c, &r);
	sp_mpi_request_add(&r);
}

void sp_mpi_ireceives(struct sp_mpi_call *c, const MPI_Request *request, MPI_Comm comm, int source)
{
	if (!sp_mpi_counts(c) || source == MPI_PROC_NULL)
		return;
	const struct sp_mpi_request r = {.handle = sp_mpi_request_handle(*request),
	                                 .number = sp_mpi_request_number(),
	                                 .done = receive_done,
	                                 .generation = c->generation,
	                                 .comm = sp_mpi_comm_id(comm)};
	receive_begun(c, &r);
	sp_mpi_request_add(&r);
}

/* A persistent request may be created during a pause and started after it. */
static void make_persistent(const struct sp_mpi_call *c, struct sp_mpi_request *r, MPI_Request request, MPI_Comm comm)
{
	r->handle = sp_mpi_request_handle(request);
	r->number = sp_mpi_request_number();
	r->persistent = true;
	r->comm = sp_mpi_comm_id(comm);
	r->persistent_comm = sp_mpi_comm_handle(comm);
	r->process = c->t ? sp_adapter_read(sp_mpi_adapter->process) : 0;
	sp_mpi_request_add(r);
}

void sp_mpi_send_init(struct sp_mpi_call *c, const MPI_Request *request, MPI_Comm comm, int dest, int tag,
                      MPI_Count count, MPI_Datatype type)
{
	struct sp_mpi_request r = {.done = send_done, .begun = send_begun, .partner = dest, .tag = tag};
	if (c->result != MPI_SUCCESS || dest == MPI_PROC_NULL)
		return;
	r.a = sp_mpi_bytes(count, type);
	make_persistent(c, &r, *request, comm);
}

void sp_mpi_receive_init(struct sp_mpi_call *c, const MPI_Request *request, MPI_Comm comm, int source)
{
	struct sp_mpi_request r = {.done = receive_done, .begun = receive_begun};
	if (c->result == MPI_SUCCESS && source != MPI_PROC_NULL)
		make_persistent(c, &r, *request, comm);
}

/* ---- messages that a probe matched: the communicator is known at the probe, not at the receive ---- */

static bool is_message(MPI_Message message)
{
	return message != MPI_MESSAGE_NULL && message != MPI_MESSAGE_NO_PROC;
}

/* flag NULL: a message was found. */
void sp_mpi_matched(struct sp_mpi_call *c, const int *flag, MPI_Comm comm, const MPI_Message *message)
{
	if (!sp_mpi_counts(c) || (flag && !*flag) || !is_message(*message))
		return;
	const struct sp_mpi_request r = {.handle = SP_MPI_HANDLE(*message),
	                                 .number = sp_mpi_request_number(),
	                                 .done = nothing_done,
	                                 .generation = c->generation,
	                                 .comm = sp_mpi_comm_id(comm)};
	sp_mpi_request_add(&r);
}

/* Call before the function, which resets the handle. */
void sp_mpi_matches(struct sp_mpi_call *c, const MPI_Message *message)
{
	struct sp_mpi_request r;
	const bool known =
	    is_message(*message) && sp_mpi_request_take(SP_MPI_HANDLE(*message), sp_mpi_request_newest(), &r);
	c->kept = known && r.generation == c->generation ? r.comm : 0;
}

void sp_mpi_received_match(struct sp_mpi_call *c, const MPI_Status *status)
{
	if (sp_mpi_counts(c) && c->kept && status->MPI_SOURCE != MPI_PROC_NULL)
		received(c, (uint32_t)c->kept, status, 0);
}

void sp_mpi_ireceives_match(struct sp_mpi_call *c, const MPI_Request *request)
{
	if (!sp_mpi_counts(c) || !c->kept)
		return;
	const struct sp_mpi_request r = {.handle = sp_mpi_request_handle(*request),
	                                 .number = sp_mpi_request_number(),
	                                 .done = receive_done,
	                                 .generation = c->generation,
	                                 .comm = (uint32_t)c->kept};
	receive_begun(c, &r);
	sp_mpi_request_add(&r);
}
