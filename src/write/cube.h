/* SPDX-License-Identifier: BSD-3-Clause */
/* What the two files of the Cube writer share. */
#ifndef SP_WRITE_CUBE_H
#define SP_WRITE_CUBE_H

#include "write/out.h"

enum { SP_CUBE_PROGRAM, SP_CUBE_THREADS, SP_CUBE_SIDES, SP_CUBE_METRICS = 4 };

struct sp_cube_metric {
	const char *name, *shown;
	const char *kind; /* EXCLUSIVE or INCLUSIVE: what the numbers of a row are */
	const char *type, *unit, *what;
	double none; /* where a location never came through a path */
	double (*of)(const struct sp_value *v);
};

extern const struct sp_cube_metric sp_cube_metrics[]; /* SP_CUBE_METRICS of them */

/* Some rows of a metric's matrix. */
struct sp_cube_block {
	const struct sp_cube_metric *metric;
	const uint32_t *row; /* of each cnode; NULL: its number */
	uint32_t first, end;
	double *cells; /* (end - first) x columns */
};

struct sp_cube {
	const struct sp_model *m;
	const struct sp_write_options *o;
	struct sp_pick k;
	struct sp_out out;
	uint32_t *cnode[SP_CUBE_SIDES]; /* of each path; SP_NONE: it is not used on that side */
	uint32_t n_cnodes;
	uint32_t *wide;   /* of each cnode: its row in an inclusive metric */
	uint32_t *host;   /* of each process */
	uint32_t *column; /* of each location; SP_NONE: it is not written */
	uint32_t n_hosts, n_columns;
	uint64_t done; /* rows written */
};

/* path or its next sibling that is used on that side, or SP_NONE. */
uint32_t sp_cube_below(const struct sp_cube *c, int side, uint32_t path);

/* The path that comes after path on that side, depth first from path 0, or SP_NONE; calls leave (may be NULL) for each
 * path that is finished on the way, innermost first. */
typedef void sp_cube_leave_fn(void *arg, int side, uint32_t path);
uint32_t sp_cube_next(const struct sp_cube *c, int side, uint32_t path, sp_cube_leave_fn *leave, void *arg);

/* anchor.xml: metrics, regions, call tree, system tree. */
void sp_cube_anchor(const struct sp_cube *c, struct sp_out *out);

#endif
