/* SPDX-License-Identifier: BSD-3-Clause */
/* The critical path: the chain of activities that determines the run's length.
 *
 * It is found backwards (Boehme et al., "Scalable Critical-Path Based Performance Analysis", IPDPS 2012). It begins at
 * the end of the location that ends last, and goes back in that location to the end of the last wait (waits.h). There
 * it continues in the location that was waited for, at the time of that location's arrival, and so on, until a
 * location's begin. From a thread's begin it continues in the thread that started it. Its pieces follow each other
 * without a gap in time, each in one location. Time on the path counts for the innermost region.
 *
 * The savings estimate assumes that a region takes a certain share less time wherever it is on the path, and that
 * nothing else changes. At most that share of its time on the path is saved. But another path may then become critical:
 * where the path goes through a call that depends on others, the savings before that call are limited to the time by
 * which they arrive earlier. The savings after the last such call are the least that is saved. */
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
	double time;              /* ns on the critical path */
	double waiting;           /* ns of it in which the location waited; needs traces with off-CPU time */
	double at_least, at_most; /* ns; estimated savings */
};

struct sp_critical {
	struct sp_critical_piece *pieces; /* owned; in the order of time */
	size_t n_pieces;
	double *paths;                      /* owned; ns for each path */
	double *waiting;                    /* owned; for each path: ns of it in which the location waited */
	double *locations;                  /* owned; ns for each location */
	struct sp_critical_region *regions; /* owned; one for each region */
	double length;                      /* ns */
	size_t jumps;                       /* number of changes of the location */
};

/* Finds the critical path and estimates savings; share: by which a region's time is reduced (0 to 1). Reads the traces
 * of the locations on the path once more. Returns 0, or -1 with e set; call sp_critical_free() in both cases. */
int sp_critical_find(struct sp_critical *c, const struct sp_messages *x, const struct sp_waits *w, double share,
                     struct sp_err *e);
void sp_critical_free(struct sp_critical *c);

#endif
