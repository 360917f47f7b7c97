/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the Cube writer share. */
#ifndef SP_WRITE_CUBE_CUBE_H
#define SP_WRITE_CUBE_CUBE_H

#include "model/model.h"
#include "model/mpi/waits.h"
#include "model/path.h"
#include "model/str.h"
#include "write/common/scorep_tree.h"

struct sp_cube_metric {
	struct sp_str name, shown, what, unit;
	int exponent;     /* power of 10 before the unit */
	bool inclusive;   /* a row includes the numbers of the rows below it */
	const char *type; /* UINT64, DOUBLE, … */
	uint64_t none;    /* the value of a location that never reached a path */
	/* the number as stored in the file; NULL: a column of the model's metrics, or no values */
	uint64_t (*of)(const struct sp_value *v);
	uint32_t column; /* SP_NONE: no column */
	/* another column, which is included here and has a separate metric below this one; SP_NONE */
	uint32_t part;
	uint32_t kinds; /* bits of the wait kinds whose time it is; 0: not a wait metric */
	int parent;     /* index of the parent metric; -1: no parent */
};

struct sp_cube {
	const struct sp_model *m;
	const struct sp_write_options *o;
	struct sp_pick k;
	struct sp_out out;
	struct sp_cube_tree tree;
	struct sp_cube_metric *metrics;
	uint32_t n_metrics;
	uint32_t *wide;   /* for each cnode: its row in an inclusive metric */
	uint32_t *host;   /* for each process */
	uint32_t *column; /* for each location; SP_NONE: not written */
	uint32_t *chain;  /* buffer for all parameters of a path */
	uint32_t n_hosts, n_columns;
	uint64_t *values;      /* one for each row of the current column and location */
	uint64_t *below;       /* for each path, while a column is read: the sum of the paths below */
	uint64_t done;         /* number of rows written */
	struct sp_waits waits; /* sorted by location and path */
	size_t
	    /* owned; index of each location's first wait, and the number of waits at the end; NULL: no waits are
	     * known */
	    *first_wait;
};

/* Makes all metrics of the file, in its order. Returns 0, or -1: no memory. */
int sp_cube_metrics(struct sp_cube *c, struct sp_arena *arena);

/* The rows of a metric that are stored in the file. */
struct sp_cube_rows {
	uint32_t *place;  /* owned; for each cnode: index of its stored row; SP_NONE: not stored */
	uint32_t *stored; /* owned; for each stored row: its number in the metric's enumeration */
	uint32_t n;
};
/* Returns 0, or -1: no memory; call sp_cube_rows_free() in both cases. */
int sp_cube_rows(struct sp_cube_rows *r, const struct sp_cube *c, const struct sp_cube_metric *metric);
void sp_cube_rows_free(struct sp_cube_rows *r);

/* Fills cells with the stored rows [first, end) of a metric: (end - first) × columns. */
void sp_cube_fill(const struct sp_cube *c, const struct sp_cube_metric *metric, const struct sp_cube_rows *r,
                  uint32_t first, uint32_t end, uint64_t *cells);

/* Finds the waits. Returns 0, or -1 with e set; call sp_cube_waits_free() in both cases. */
int sp_cube_waits(struct sp_cube *c, struct sp_err *e);
void sp_cube_waits_free(struct sp_cube *c);
/* ns of waits of these kinds in a path, without callees. */
uint64_t sp_cube_waited(const struct sp_cube *c, uint32_t location, uint32_t path, uint32_t kinds);

/* Writes anchor.xml: metrics, regions, call tree, system tree. */
void sp_cube_anchor(const struct sp_cube *c, struct sp_out *out);

#endif
