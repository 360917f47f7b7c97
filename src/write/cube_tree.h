/* SPDX-License-Identifier: BSD-3-Clause */
/* The call tree as Score-P has it: the call paths of a process's first thread hang below the program, those of all
 * others below THREADS, the program's last child. A cnode is a path of the model on one of these two sides; cnodes are
 * numbered depth first. */
#ifndef SP_WRITE_CUBE_TREE_H
#define SP_WRITE_CUBE_TREE_H

#include "base/arena.h"
#include "write/out.h"

enum { SP_CUBE_PROGRAM, SP_CUBE_THREADS, SP_CUBE_SIDES };

struct sp_cube_tree {
	const struct sp_model *m;
	uint32_t first, end;            /* locations */
	uint32_t *cnode[SP_CUBE_SIDES]; /* of each path; SP_NONE: it is not used on that side */
	uint32_t n_cnodes;
};

/* The tree of the locations picked, in the arena. 0, or -1 with e set. */
int sp_cube_tree(struct sp_cube_tree *t, const struct sp_model *m, const struct sp_pick *k, struct sp_arena *arena,
                 struct sp_err *e);

/* SP_CUBE_PROGRAM or SP_CUBE_THREADS. */
int sp_cube_side(const struct sp_model *m, uint32_t location);

/* path or its next sibling that is used on that side, or SP_NONE. */
uint32_t sp_cube_below(const struct sp_cube_tree *t, int side, uint32_t path);

/* The path that comes after path on that side, depth first from path 0, or SP_NONE; calls leave (may be NULL) for each
 * path that is finished on the way, innermost first. */
typedef void sp_cube_leave_fn(void *arg, int side, uint32_t path);
uint32_t sp_cube_next(const struct sp_cube_tree *t, int side, uint32_t path, sp_cube_leave_fn *leave, void *arg);

#endif
