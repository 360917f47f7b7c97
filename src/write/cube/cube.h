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
	int exponent;     /* of 10, before the unit */
	bool inclusive;   /* the numbers of a row hold those of the rows below it */
	const char *type; /* UINT64, DOUBLE, … */
	uint64_t none;    /* where a location never came through a path */
	/* a number as it stands in the file; NULL: column of the model's metrics, or nothing at all */
	uint64_t (*of)(const struct sp_value *v);
	uint32_t column; /* SP_NONE: none */
	uint32_t part;   /* another column, which counts as well and has a metric of its own below this one; SP_NONE */
	uint32_t kinds;  /* of waits that it is the time of; 0: it is none of those */
	int parent;      /* the metric it is a part of; -1: none */
};

struct sp_cube {
	const struct sp_model *m;
	const struct sp_write_options *o;
	struct sp_pick k;
	struct sp_out out;
	struct sp_cube_tree tree;
	struct sp_cube_metric *metrics;
	uint32_t n_metrics;
	uint32_t *wide;   /* of each cnode: its row in an inclusive metric */
	uint32_t *host;   /* of each process */
	uint32_t *column; /* of each location; SP_NONE: it is not written */
	uint32_t *chain;  /* room for all parameters of a path */
	uint32_t n_hosts, n_columns;
	uint64_t *values;      /* of the column and location being read, one for each row */
	uint64_t *below;       /* of each path, while a column is read: the sum of what is below */
	uint64_t done;         /* rows written */
	struct sp_waits waits; /* by location and path */
	size_t
	    *first_wait; /* owned; of each location, and behind the last one the end; NULL: nothing is known of waits */
};

/* All metrics of the file, in its order. 0, or -1: out of memory. */
int sp_cube_metrics(struct sp_cube *c, struct sp_arena *arena);

/* The rows of a metric that are in the file, and where. */
struct sp_cube_rows {
	uint32_t *place;  /* owned; of each cnode: which of the stored rows is its own, SP_NONE: none */
	uint32_t *stored; /* owned; the number in the metric's enumeration of each stored row */
	uint32_t n;
};
/* 0, or -1: out of memory; sp_cube_rows_free() either way. */
int sp_cube_rows(struct sp_cube_rows *r, const struct sp_cube *c, const struct sp_cube_metric *metric);
void sp_cube_rows_free(struct sp_cube_rows *r);

/* Fills the stored rows [first, end) of a metric: (end - first) x columns. */
void sp_cube_fill(const struct sp_cube *c, const struct sp_cube_metric *metric, const struct sp_cube_rows *r,
                  uint32_t first, uint32_t end, uint64_t *cells);

/* Finds the waits. 0, or -1 with e set; sp_cube_waits_free() either way. */
int sp_cube_waits(struct sp_cube *c, struct sp_err *e);
void sp_cube_waits_free(struct sp_cube *c);
/* ns in a path, without what it calls. */
uint64_t sp_cube_waited(const struct sp_cube *c, uint32_t location, uint32_t path, uint32_t kinds);

/* anchor.xml: metrics, regions, call tree, system tree. */
void sp_cube_anchor(const struct sp_cube *c, struct sp_out *out);

#endif
