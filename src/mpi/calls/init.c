/* SPDX-License-Identifier: BSD-3-Clause */
/* Begin and end of MPI in a process. */
#include "mpi/calls/comm.h"

#include <stdio.h>
#include <string.h>

#include "mpi/world/together.h"

/* ---- begin ---- */

void sp_mpi_init_begin(struct sp_mpi_call *c)
{
	if (c->region)
		sp_mpi_event_at(c, SP_RAW_X_COLLECTIVE_BEGIN, NULL, 0, c->now);
	sp_mpi_before_init(sp_mpi_adapter);
}

static void say_what(void)
{
	static const char *const levels[] = {"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED",
	                                     "MPI_THREAD_MULTIPLE"};
	static const int numbers[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED,
	                              MPI_THREAD_MULTIPLE};
	char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
	int (*version)(char *, int *) = (int (*)(char *, int *))sp_mpi_symbol("PMPI_Get_library_version");
	int n = 0, level = -1;
	if (version && version(text, &n) == MPI_SUCCESS && *text) {
		text[strcspn(text, "\n")] = '\0';
		sp_mpi_adapter->meta("mpi_library", text);
	}
	PMPI_Query_thread(&level);
	for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
		if (numbers[i] == level)
			sp_mpi_adapter->meta("mpi_thread_level", levels[i]);
}

void sp_mpi_init_end(struct sp_mpi_call *c)
{
	if (c->result != MPI_SUCCESS)
		return;
	sp_mpi_after_init(sp_mpi_adapter);
	say_what();
	const MPI_Comm predefined[] = {MPI_COMM_WORLD, MPI_COMM_SELF};
	for (int i = 0; i < 2; i++) {
		const uint64_t id = sp_mpi_comm_id(predefined[i]);
		if (id && c->region)
			sp_mpi_event(c, SP_RAW_X_COMM_CREATE, &id, 1);
	}
	sp_mpi_handles_end(c, sp_mpi_comm_known_id(MPI_COMM_WORLD), SP_MPI_CREATE_HANDLE);
}

/* ---- end ---- */

/* Communicators that the program did not free have no end event, as in Score-P. */
static void destroy(struct sp_mpi_comm *m, void *arg)
{
	const struct sp_mpi_call *c = arg;
	const uint64_t id = m->id;
	if (c->region && m->flags & (SP_RAW_COMM_WORLD | SP_RAW_COMM_SELF))
		sp_mpi_event(c, SP_RAW_X_COMM_DESTROY, &id, 1);
}

static void record_end(struct sp_mpi_call *c)
{
	sp_mpi_comm_each(destroy, c);
	sp_mpi_handles_end(c, sp_mpi_comm_known_id(MPI_COMM_WORLD), SP_MPI_DESTROY_HANDLE);
}

/* The measurement ends before PMPI_Finalize: records now what would be recorded after it. */
static void last(void *arg)
{
	struct sp_mpi_call *c = arg;
	c->result = MPI_SUCCESS;
	record_end(c);
	if (c->region)
		sp_mpi_adapter->leave(c->t, c->region);
	c->t = NULL;
	c->region = 0;
	c->traced = false;
}

/* Adds MPI_COMM_WORLD while it exists. */
void sp_mpi_finalize_begin(struct sp_mpi_call *c)
{
	(void)sp_mpi_comm(MPI_COMM_WORLD);
	if (c->region)
		sp_mpi_event_at(c, SP_RAW_X_COLLECTIVE_BEGIN, NULL, 0, c->now);
	sp_mpi_before_finalize(sp_mpi_adapter, last, c);
}

void sp_mpi_finalize_end(struct sp_mpi_call *c)
{
	if (c->result == MPI_SUCCESS)
		record_end(c);
}

/* It does not return, so its region ends before the call. */
int sp_mpi_wrap_Abort(MPI_Comm comm, int code)
{
	struct sp_mpi_call call, *const c = &call;
	if (sp_mpi_begin(c, SP_MPI_F_Abort)) {
		char text[16];
		snprintf(text, sizeof text, "%d", code);
		sp_mpi_adapter->meta("mpi_aborted", text);
		c->result = MPI_SUCCESS;
		sp_mpi_end(c);
	}
	return PMPI_Abort(comm, code);
}
