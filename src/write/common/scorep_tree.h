/* SPDX-License-Identifier: BSD-3-Clause */
/* The call tree in Score-P's layout: call paths of a process's first thread are below the program, those of all other
 * threads below THREADS, the program's last child. A cnode is a path of the model on one of these two sides. */
#ifndef SP_WRITE_COMMON_SCOREP_TREE_H
#define SP_WRITE_COMMON_SCOREP_TREE_H

#include "base/arena.h"
#include "model/model.h"
#include "write/common/out.h"

enum { SP_CUBE_PROGRAM, SP_CUBE_THREADS, SP_CUBE_SIDES };

/* The time of calls of `path` before they got the parameter value that calls of `follower` have. */
struct sp_cube_share {
	uint32_t path, follower;
};

struct sp_cube_tree {
	const struct sp_model *m;
	uint32_t first, end;            /* indices of locations */
	uint32_t *cnode[SP_CUBE_SIDES]; /* for each path; SP_NONE: it is not used on that side */
	uint32_t n_cnodes;
	/* Score-P has no call path for the time before a parameter is set, unless there were calls without the
	 * parameter: this time belongs to the calls with a value. Sorted by path; a path in this array has no cnode. */
	struct sp_cube_share *shares; /* owned */
	size_t n_shares;
};

/* Makes the tree of the selected locations in the arena, except for its shares; parents have smaller numbers. Returns
 * 0, or -1 with e set; call sp_cube_tree_free() in both cases. */
int sp_cube_tree(struct sp_cube_tree *t, const struct sp_model *m, const struct sp_pick *k, struct sp_arena *arena,
                 struct sp_err *e);

void sp_cube_tree_free(struct sp_cube_tree *t);

/* The shares of a path without a cnode: the first one, and in n their number. */
const struct sp_cube_share *sp_cube_shares(const struct sp_cube_tree *t, uint32_t path, size_t *n);

/* Renumbers the cnodes in the order of sp_cube_next(). */
void sp_cube_depth_first(struct sp_cube_tree *t);

/* The side of a location: SP_CUBE_PROGRAM or SP_CUBE_THREADS. */
int sp_cube_side(const struct sp_model *m, uint32_t location);

/* The first of path and its next siblings that is used on that side, or SP_NONE. */
uint32_t sp_cube_below(const struct sp_cube_tree *t, int side, uint32_t path);

/* The path that follows `path` on that side, depth first from path 0, or SP_NONE. Calls leave (may be NULL) for each
 * path that is completed in between, innermost first. */
typedef void sp_cube_leave_fn(void *arg, int side, uint32_t path);
uint32_t sp_cube_next(const struct sp_cube_tree *t, int side, uint32_t path, sp_cube_leave_fn *leave, void *arg);

#endif
