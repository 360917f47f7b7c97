/* SPDX-License-Identifier: BSD-3-Clause */
/* Exclusive times and totals (load/derive.c). */
#ifndef SP_MODEL_BUILDER_DERIVE_H
#define SP_MODEL_BUILDER_DERIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/path.h"
#include "model/process.h"

/* Exclusive times and totals, location by location. */
struct sp_exact {
	unsigned __int128 incl, each, excl, sumsq;
};
struct sp_deriving {
	struct sp_model *m;
	struct sp_exact *exact; /* owned; for each path; NULL: there is only one location */
	uint32_t *at;           /* owned; path to row + 1 */
	double *children;       /* owned; inclusive time of each row's children; NULL: nothing to compensate */
	uint8_t *mpi;           /* owned; of each path: whether its region is a function of MPI */
};
/* Makes the totals of m, all zero. most: rows of a location, to compensate for the cost of measuring; 0: not wanted. */
int sp_derive_open(struct sp_deriving *d, struct sp_model *m, size_t most, bool exact, struct sp_err *e);
/* Fills in deriving.mpi, where m has the regions of its paths. */
void sp_derive_find_mpi(const struct sp_model *m, uint8_t *mpi);
/* The l->values rows of a location, and their metrics, in the order of paths. */
void sp_derive_location(struct sp_deriving *d, struct sp_location *l, struct sp_row *rows, const uint64_t *metrics,
                        const struct sp_process *p);
/* The totals of other locations. */
void sp_derive_add(struct sp_deriving *d, const struct sp_value *totals, const double *each,
                   const struct sp_exact *exact, const uint64_t *metrics);
void sp_derive_totals(struct sp_deriving *d); /* and the lists of children */
void sp_derive_close(struct sp_deriving *d);

#endif
