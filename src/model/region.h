/* SPDX-License-Identifier: BSD-3-Clause */
/* Regions: functions and named parts of programs. */
#ifndef SP_MODEL_REGION_H
#define SP_MODEL_REGION_H

#include <stdbool.h>
#include <stdint.h>

#include "model/str.h"

enum sp_region_kind {
	SP_REGION_PYTHON,
	SP_REGION_C,
	SP_REGION_USER,
	SP_REGION_COLLAPSED,
	SP_REGION_PARAMETER, /* not in a model: paths contain the values of parameters */
	SP_REGION_NATIVE,    /* a compiled function */
	SP_REGION_IO,        /* a function of the C library that works on files */
	SP_REGION_OFF,       /* the time in which recording was off */
	SP_REGION_MPI,       /* a function of MPI */
	SP_REGION_ROOT,
	SP_REGION_KINDS
};
extern const char *const sp_region_kind_names[SP_REGION_KINDS]; /* "python", "c", … */

/* What a function of MPI does. */
enum sp_mpi_role {
	SP_MPI_OTHER,
	SP_MPI_POINT2POINT,
	SP_MPI_BARRIER,
	SP_MPI_ONE2ALL,
	SP_MPI_ALL2ONE,
	SP_MPI_ALL2ALL,
	SP_MPI_COLL_OTHER,
	SP_MPI_RMA,
	SP_MPI_FILE_IO,
	SP_MPI_ATOMIC, /* one-sided, and reads or writes data that others access at the same time */
	SP_MPI_ALLOCATE,
	SP_MPI_ROLES
};
extern const char *const sp_mpi_role_names[SP_MPI_ROLES]; /* "other", "point2point", … */

/* Data of Python about a function's code, if it was recorded. */
struct sp_code {
	uint32_t argcount, nlocals, stacksize;
	int32_t lasti; /* offset of the instruction at which a call begins; -1: before the first */
	bool recorded; /* false: not recorded, all fields are 0 */
};

/* One region, merged over all processes. Region 0 is the root ("<root>", kind ROOT). Regions of different processes
 * with the same module, name, file, line and kind are one region; USER regions, with the same module and name: their
 * source location is the first one that is known. */
struct sp_region {
	struct sp_str module;
	struct sp_str qualname;
	/* "module:qualname"; without a module only the name; NATIVE without a name: "object+0x…" */
	struct sp_str name;
	struct sp_str file; /* absolute path, or "<string>" and the like, or empty; NATIVE: source or object file */
	uint32_t line;      /* 0: unknown */
	uint32_t address;   /* NATIVE: address in the object file */
	uint8_t kind;       /* enum sp_region_kind */
	uint8_t role;       /* MPI: enum sp_mpi_role */
	uint8_t owner;      /* enum sp_owner of base/owner/owner.h; see sp_model_own() */
	bool generator;     /* a generator, coroutine or async generator: may be suspended */
	struct sp_code code;
};

/* Whether all time off the processor in a region is waiting, also what the recorder took for preemption: in functions
 * of MPI. Open MPI and MPICH wait for messages in a loop around sched_yield(2), which Linux counts among the
 * involuntary context switches (__schedule() of kernel/sched/core.c: the thread stays ready to run). */
static inline bool sp_region_yields(const struct sp_region *r)
{
	return r->kind == SP_REGION_MPI;
}

/* Whether a region is a Python function of the program itself. */
bool sp_region_is_own(const struct sp_region *r);

#endif
