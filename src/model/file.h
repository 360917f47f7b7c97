/* SPDX-License-Identifier: BSD-3-Clause */
/* Files, sockets and the like while they are open in a process. */
#ifndef SP_MODEL_FILE_H
#define SP_MODEL_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/str.h"

/* A file, socket, … while it is open in a process. */
struct sp_io_handle {
	uint32_t process;
	struct sp_str path; /* empty: not known */
	uint32_t flags;     /* of open(2) */
	bool mpi;           /* a file of MPI, opened by */
	uint32_t comm;      /* this communicator; SP_NONE: not known */
};

#endif
