/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives. */
#include "mpi/wrap.h"

void sp_mpi_collective(struct sp_mpi_call *c)
{
	if (c->region)
		sp_mpi_event_at(c, SP_RAW_X_COLLECTIVE_BEGIN, NULL, 0, c->now);
}

void sp_mpi_handles_end(struct sp_mpi_call *c, MPI_Comm comm, enum sp_mpi_operation operation)
{
	const uint64_t payload[4] = {sp_mpi_pair(sp_mpi_comm_id(comm), operation), (uint64_t)(int64_t)SP_RAW_ROOT_NONE,
	                             0, 0};
	if (c->region)
		sp_mpi_event(c, SP_RAW_X_COLLECTIVE_END, payload, 4);
}
