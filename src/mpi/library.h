/* SPDX-License-Identifier: BSD-3-Clause */
/* The interface between spartito_mpi.so, which every measured process loads and which is independent of the MPI, and
 * the library for one MPI's binary interface (spartito_mpi_openmpi.so, spartito_mpi_mpich.so, spartito_mpi_abi.so),
 * which is loaded at the first MPI call. */
#ifndef SP_MPI_LIBRARY_H
#define SP_MPI_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "functions.h"
#include "record/adapter.h"

#define SP_MPI_ATTACH  "sp_mpi_attach"     /* symbol in spartito_mpi.so */
#define SP_MPI_LIBRARY "sp_mpi_library_v1" /* symbol in the other libraries */

/* _measure calls it when a measurement with MPI begins. Returns 0; 1: an MPI was loaded before, so its functions are
 * already bound and cannot be wrapped; -1: both are of different versions. */
typedef int (*sp_mpi_attach_function)(const struct sp_adapter *a);

struct sp_mpi_library {
	uint32_t functions, check; /* SP_MPI_FUNCTIONS, SP_MPI_CHECK */
	/* Writes the wrappers into targets. mpi: handle of the MPI library. */
	void (*attach)(const struct sp_adapter *a, void *mpi, void **targets);
};

/* ---- find.c: the MPI in this process ---- */

/* Whether an MPI is loaded, that is, an object that defines PMPI_Init. path: receives the object's path; "" is the
 * program. */
bool sp_mpi_find(char *path, size_t n);
/* Returns 1: an MPI is loaded and has this function, 0: it does not have it, -1: no MPI is loaded. The dynamic linker
 * calls it while it is loading objects, so it uses only the linker's list of objects. */
int sp_mpi_has(const char *function);

#endif
