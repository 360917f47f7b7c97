/* SPDX-License-Identifier: BSD-3-Clause */
/* What stands between spartito_mpi.so, which is in every measured process and knows no MPI, and the library of one
 * MPI's binary interface (spartito_mpi_openmpi.so, spartito_mpi_mpich.so), which is loaded at the first call of MPI. */
#ifndef SP_MPI_LIBRARY_H
#define SP_MPI_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "functions.h"
#include "record/adapter.h"

#define SP_MPI_ATTACH  "sp_mpi_attach"     /* in spartito_mpi.so */
#define SP_MPI_LIBRARY "sp_mpi_library_v1" /* in the others */

/* Called by _measure where a measurement begins that wants MPI. 0; 1: an MPI was loaded before, so its functions are
 * bound already and cannot be wrapped; -1: the two are not of one version. */
typedef int (*sp_mpi_attach_function)(const struct sp_adapter *a);

struct sp_mpi_library {
	uint32_t functions, check; /* SP_MPI_FUNCTIONS, SP_MPI_CHECK */
	/* Puts wrappers into targets, where there is one. mpi: the handle of the MPI library. */
	void (*attach)(const struct sp_adapter *a, void *mpi, void **targets);
};

/* ---- find.c: the MPI in this process ---- */

/* Whether an MPI is loaded, that is, an object that defines PMPI_Init. path: the object's; "" is the program. */
bool sp_mpi_find(char *path, size_t n);
/* 1: it is loaded and has that function, 0: it has not, -1: none is loaded. Called by the dynamic linker in the middle
 * of loading, so it uses nothing of it but the list of objects. */
int sp_mpi_has(const char *function);

#endif
