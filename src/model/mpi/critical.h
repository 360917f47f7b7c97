/* SPDX-License-Identifier: BSD-3-Clause */
/* The critical path: what the run's length consists of.
 *
 * It is found backwards. From the end of the location that ends last it goes back in that location to the end of the
 * last wait (waits.h), from there on to the moment when the one that was waited for came, in the location of that one,
 * and so on, until a location's begin; from a thread's begin it goes on in the thread that started it. Its pieces
 * follow each other without a gap in time, each in one location (Boehme et al., "Scalable Critical-Path Based
 * Performance Analysis", IPDPS 2012). Time on it counts for the innermost region.
 *
 * What a region that takes a certain share less time would save, if it does so wherever it is on the path and all else
 * stays: at most that share of its time there. But the path then gives way to another one: where it goes through a call
 * that depends on others, no more is saved before that than the time by which they come earlier. What is left after
 * the last such call is the least that is saved. */
#ifndef SP_MODEL_MPI_CRITICAL_H
#define SP_MODEL_MPI_CRITICAL_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/mpi/waits.h"

struct sp_critical_piece {
	uint64_t from, to; /* ns */
	uint32_t location;
};

struct sp_critical_region {
	double time;              /* ns on the path */
	double at_least, at_most; /* ns that are saved */
};

struct sp_critical {
	struct sp_critical_piece *pieces; /* owned; in the order of time */
	size_t n_pieces;
	double *paths;                      /* owned; ns for each path */
	double *locations;                  /* owned; ns for each location */
	struct sp_critical_region *regions; /* owned; one for each region */
	double length;                      /* ns */
	size_t jumps;                       /* from one location to another */
};

/* share: of a region's time, that is saved. 0, or -1 with e set; sp_critical_free() either way. Reads the traces of the
 * locations on the path once more. */
int sp_critical_find(struct sp_critical *c, const struct sp_messages *x, const struct sp_waits *w, double share,
                     struct sp_err *e);
void sp_critical_free(struct sp_critical *c);

#endif
