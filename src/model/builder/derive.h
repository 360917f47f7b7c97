/* SPDX-License-Identifier: BSD-3-Clause */
/* Exclusive times and totals (load/derive.c). */
#ifndef SP_MODEL_BUILDER_DERIVE_H
#define SP_MODEL_BUILDER_DERIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/metric.h"
#include "model/path.h"
#include "model/process.h"

/* Sums of one path as fixed-point integers (units of 2^-32 ns; sumsq: 2^-16 ns^2): the order of additions does not
 * change the result. */
struct sp_exact {
	unsigned __int128 incl, each, excl, sumsq;
};
struct sp_deriving {
	struct sp_model *m;
	struct sp_exact *exact; /* owned; for each path; NULL: there is only one location */
	uint32_t *at;           /* owned; path to row + 1 */
	double *children;       /* owned; inclusive time of each row's children; NULL: nothing to compensate */
	uint8_t *mpi;           /* owned; for each path: whether its region is a function of MPI */
	struct sp_off_cpu_columns off_cpu; /* sp_off_cpu_columns(m), which must know the metrics' definitions */
};
/* Allocates the totals of m as zeros. limit: maximum number of rows of a location, to compensate for the measurement
 * overhead; 0: no compensation. exact: sum in integers. Returns 0, or -1 with e set. */
int sp_derive_open(struct sp_deriving *d, struct sp_model *m, size_t limit, bool exact, struct sp_err *e);
/* Sets mpi[path] for all paths of m, whose regions must be known. */
void sp_derive_find_mpi(const struct sp_model *m, uint8_t *mpi);
/* Derives exclusive times of one location and adds its values to the totals. rows: l->values rows in the order of
 * paths; metrics: those of the rows. */
void sp_derive_location(struct sp_deriving *d, struct sp_location *l, struct sp_row *rows, uint64_t *metrics,
                        const struct sp_process *p);
/* Adds totals that were derived elsewhere from other locations. */
void sp_derive_add(struct sp_deriving *d, const struct sp_value *totals, const double *each,
                   const struct sp_exact *exact, const uint64_t *metrics);
void sp_derive_totals(struct sp_deriving *d); /* writes the totals and the lists of children into the model */
void sp_derive_close(struct sp_deriving *d);

#endif
