/* SPDX-License-Identifier: BSD-3-Clause */
/* Open files, sockets and the like of a process. */
#ifndef SP_MODEL_FILE_H
#define SP_MODEL_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/str.h"

/* A file, socket, … from its opening to its closing in a process. */
struct sp_io_handle {
	uint32_t process;
	struct sp_str path; /* empty: unknown */
	uint32_t flags;     /* of open(2) */
	bool mpi;           /* a file of MPI */
	uint32_t comm;      /* the communicator that opened it; SP_NONE: unknown */
};

#endif
