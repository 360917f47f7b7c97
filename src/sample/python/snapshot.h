/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies of another process's memory in blocks of one size, by address. The blocks that the last walk through a stack
 * needed are copied before the next one by as few calls of the kernel as it takes; a block that turns out to be needed
 * as well is fetched when it is. */
#ifndef SP_SAMPLE_PYTHON_SNAPSHOT_H
#define SP_SAMPLE_PYTHON_SNAPSHOT_H

#include "sample/target.h"

enum { SP_SNAPSHOT_PIECES = 4 /* beside the blocks, before them and behind them */ };

struct sp_snapshot {
	const struct sp_target *target;
	size_t block;     /* bytes, a power of two */
	uint64_t *at;     /* owned; addresses of the blocks */
	char *bytes;      /* owned; what they hold */
	uint32_t *slots;  /* owned; index + 1 by address, open addressing */
	uint32_t *needed; /* owned; indices of the blocks that were asked for, in the order of the first time */
	bool *marked;     /* owned; for each block: it is among them */
	size_t n, room, n_slots, n_needed;
	size_t together; /* the first of them were copied by one call, between the pieces before and behind */
	size_t recent;   /* index of the block that was asked for last; SIZE_MAX: none was since the copy */
};

struct sp_piece {
	uint64_t at;
	void *to;
	size_t bytes;
};

/* Forgets all blocks and copies these, outermost last, with pieces[n_pieces] around them: the first `before` of the
 * pieces are copied before the blocks, the others behind those that one call takes. How many pieces are there: none
 * from the first on that cannot be read, and none behind the blocks where one of these cannot; -1: no memory. */
int sp_snapshot_copy(struct sp_snapshot *s, const uint64_t *blocks, size_t n, const struct sp_piece *pieces,
                     size_t n_pieces, size_t before);
/* n bytes, not more than a block: in the copy, or put together in room. NULL: they cannot be read. *together: whether
 * all of it was copied by the first call; it stays as it is otherwise. */
const char *sp_snapshot_at(struct sp_snapshot *s, uint64_t at, size_t n, char *room, bool *together);
/* Addresses of the blocks that were asked for since the copy, in that order; at most n. */
size_t sp_snapshot_needed(const struct sp_snapshot *s, uint64_t *out, size_t n);
void sp_snapshot_free(struct sp_snapshot *s);

#endif
