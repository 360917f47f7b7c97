/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies of another process's memory, in blocks of one size, by address. The blocks that the last walk through a stack
 * needed are copied before the next walk with as few system calls as possible. Another block is copied when it is
 * needed. */
#ifndef SP_SAMPLE_PYTHON_SNAPSHOT_H
#define SP_SAMPLE_PYTHON_SNAPSHOT_H

#include "sample/target.h"

enum { SP_SNAPSHOT_PIECES = 4 /* maximum number of pieces that are copied with the blocks, before and after them */ };

struct sp_snapshot {
	const struct sp_target *target;
	size_t block;     /* bytes, a power of two */
	uint64_t *at;     /* owned; addresses of the blocks */
	char *bytes;      /* owned; contents of the blocks */
	uint32_t *slots;  /* owned; hash table from addresses to index + 1, open addressing */
	uint32_t *needed; /* owned; indices of the blocks that were read, in the order of the first read */
	bool *marked;     /* owned; for each block: it is in `needed` */
	size_t n, capacity, n_slots, n_needed;
	/* number of blocks, from the first on, that one system call copied together with the pieces */
	size_t together;
	size_t recent; /* index of the last block that was read; SIZE_MAX: none since the copy */
};

struct sp_piece {
	uint64_t at;
	void *to;
	size_t bytes;
};

/* Drops all blocks and copies these, outermost last, together with pieces[n_pieces]: the first `before` pieces before
 * the blocks, the others after the blocks of the first system call. Returns the number of pieces that were copied:
 * those before the first unreadable one; if a block is unreadable, none of those after the blocks. -1: no memory. */
int sp_snapshot_copy(struct sp_snapshot *s, const uint64_t *blocks, size_t n, const struct sp_piece *pieces,
                     size_t n_pieces, size_t before);
/* A pointer to n bytes, at most a block: in the copy, or assembled in room. NULL: unreadable. *together becomes false
 * unless the first system call copied all of them. */
const char *sp_snapshot_at(struct sp_snapshot *s, uint64_t at, size_t n, char *buffer, bool *together);
/* Addresses of the blocks that were read since the copy, in that order. Fills at most n and returns their number. */
size_t sp_snapshot_needed(const struct sp_snapshot *s, uint64_t *out, size_t n);
void sp_snapshot_free(struct sp_snapshot *s);

#endif
