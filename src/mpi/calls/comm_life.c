/* SPDX-License-Identifier: BSD-3-Clause */
/* Creation, names and end of communicators. They are followed even while nothing is recorded, because their numbers
 * count earlier ones. */
#include "mpi/calls/comm.h"

#include <stdio.h>

#include "mpi/calls/request.h"

/* Adds a communicator. Returns its id; 0: MPI_COMM_NULL, or no memory. */
static uint32_t enter(struct sp_mpi_call *c, bool record, MPI_Comm made, uint64_t parent,
                      enum sp_mpi_comm_origin origin, uint32_t which)
{
	if (made == MPI_COMM_NULL)
		return 0;
	/* a communicator with the same handle may have been freed inside another MPI call, which is not seen */
	sp_mpi_comm_remove(made);
	const struct sp_mpi_comm *m = sp_mpi_comm_new(made, parent, origin, which);
	if (!m)
		return 0;
	const uint64_t id = m->id;
	if (record)
		sp_mpi_event(c, SP_RAW_X_COMM_CREATE, &id, 1);
	return m->id;
}

static uint64_t global(MPI_Comm comm)
{
	const struct sp_mpi_comm *m = sp_mpi_comm(comm);
	return m ? m->global : 0;
}

/* Counts a child, even if this process is not a member of it, so that the count is equal in all members. */
static uint32_t next_child(MPI_Comm comm)
{
	struct sp_mpi_comm *m = sp_mpi_comm(comm);
	return m ? __atomic_fetch_add(&m->children, 1, __ATOMIC_RELAXED) : 0;
}

void sp_mpi_created(struct sp_mpi_call *c, MPI_Comm comm, enum sp_mpi_comm_origin origin, const MPI_Comm *made)
{
	if (c->result == MPI_SUCCESS) {
		const uint32_t which = next_child(comm);
		enter(c, c->region, *made, global(comm), origin, which);
	}
	sp_mpi_handles_end(c, sp_mpi_comm_known_id(comm), SP_MPI_CREATE_HANDLE);
}

/* Only the members of the new communicator take part in this collective. */
void sp_mpi_created_by_members(struct sp_mpi_call *c, MPI_Comm comm, int tag, const MPI_Comm *made)
{
	uint32_t id = 0;
	if (c->result == MPI_SUCCESS)
		id = enter(c, c->region, *made, global(comm), SP_COMM_GROUP, (uint32_t)tag);
	sp_mpi_handles_end(c, id ? id : sp_mpi_comm_known_id(comm), SP_MPI_CREATE_HANDLE);
}

void sp_mpi_connected(struct sp_mpi_call *c, MPI_Comm comm, enum sp_mpi_comm_origin origin, int tag,
                      const MPI_Comm *made)
{
	uint32_t id = 0;
	if (c->result == MPI_SUCCESS)
		id = enter(c, c->region, *made, global(comm), origin, (uint32_t)tag);
	/* both groups wait for each other in MPI_Intercomm_create; a spawned group does not exist yet */
	const uint32_t own = sp_mpi_comm_known_id(comm);
	const bool both = origin == SP_COMM_INTER && id;
	sp_mpi_handles_end(c, own && !both ? own : id, SP_MPI_CREATE_HANDLE);
}

void sp_mpi_met(struct sp_mpi_call *c, const MPI_Comm *made)
{
	if (c->result == MPI_SUCCESS && !sp_mpi_comm_find(*made))
		enter(c, c->region, *made, 0, SP_COMM_SPAWN, 0);
}

/* ---- non-blocking duplication ---- */

/* a: address of the new handle; b, c: the parent and its number. */
static void duplicated(struct sp_mpi_call *c, const struct sp_mpi_request *r, const MPI_Status *status)
{
	(void)status;
	const MPI_Comm *made = (const MPI_Comm *)(uintptr_t)r->a; /* NOLINT(performance-no-int-to-ptr) */
	enter(c, true, *made, r->b, SP_COMM_DUP, (uint32_t)r->c);
	const uint64_t payload[5] = {sp_mpi_pair(r->comm, SP_MPI_CREATE_HANDLE), (uint64_t)(int64_t)SP_RAW_ROOT_NONE, 0,
	                             0, r->number};
	sp_mpi_event(c, SP_RAW_X_NBC_COMPLETE, payload, 5);
}

void sp_mpi_duplicates(struct sp_mpi_call *c, MPI_Comm comm, MPI_Comm *made, const MPI_Request *request)
{
	if (c->result != MPI_SUCCESS)
		return;
	const uint32_t which = next_child(comm), id = sp_mpi_comm_known_id(comm);
	if (!c->region || !id)
		return;
	const struct sp_mpi_request r = {.handle = sp_mpi_request_handle(*request),
	                                 .number = sp_mpi_request_number(),
	                                 .done = duplicated,
	                                 .generation = c->generation,
	                                 .comm = id,
	                                 .a = (uintptr_t)made,
	                                 .b = global(comm),
	                                 .c = which};
	sp_mpi_event_at(c, SP_RAW_X_NBC_REQUEST, &r.number, 1, c->now);
	sp_mpi_request_add(&r);
}

/* ---- end ---- */

/* Call before the function: afterwards another thread's new communicator may have the handle. */
void sp_mpi_frees(struct sp_mpi_call *c, const MPI_Comm *comm)
{
	c->kept = 0;
	if (comm && *comm != MPI_COMM_NULL) {
		if (c->region)
			c->kept = sp_mpi_comm_id(*comm);
		sp_mpi_comm_remove(*comm);
	}
	sp_mpi_collective(c);
}

void sp_mpi_freed(struct sp_mpi_call *c)
{
	if (c->kept && sp_mpi_counts(c))
		sp_mpi_event(c, SP_RAW_X_COMM_DESTROY, &c->kept, 1);
	sp_mpi_handles_end(c, (uint32_t)c->kept, SP_MPI_DESTROY_HANDLE);
}

/* ---- names ---- */

void sp_mpi_named(struct sp_mpi_call *c, MPI_Comm comm, const char *name)
{
	struct sp_mpi_comm *m = c->result == MPI_SUCCESS ? sp_mpi_comm(comm) : NULL;
	if (!m)
		return;
	snprintf(m->name, sizeof m->name, "%s", name);
	sp_mpi_comm_define_name(m);
}
