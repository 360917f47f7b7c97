/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files that find waits share. */
#ifndef SP_MODEL_MPI_WAITS_PRIVATE_H
#define SP_MODEL_MPI_WAITS_PRIVATE_H

#include "model/mpi/collect.h"
#include "model/mpi/waits.h"

struct sp_waiting {
	const struct sp_messages *x;
	struct sp_dependency *dependencies; /* one for each call */
	struct sp_list rows;                /* struct sp_wait_row, not yet added together */
	uint32_t *rank;                     /* owned; rank of each process in the communicator `ranked` */
	uint32_t ranked;
};

/* Adds a wait of the call from its begin until `until`; nothing if that is earlier. Returns 0, or -1: no memory. */
int sp_wait_add(struct sp_waiting *b, enum sp_wait_kind kind, uint32_t call, uint32_t on, uint64_t until);
/* Records a dependency: the call cannot end before `last`, when the location `on` arrived; without that location, not
 * before `before`. */
void sp_wait_depend(struct sp_waiting *b, uint32_t call, uint64_t last, uint64_t before, uint32_t on,
                    enum sp_wait_kind kind, uint32_t message);
/* Finds the waits in all collective operations. Returns 0, or -1: no memory. */
int sp_wait_collectives(struct sp_waiting *b);

#endif
