/* SPDX-License-Identifier: BSD-3-Clause */
/* The index of one location while it is made, and the functions that write it into the file. */
#ifndef SP_MODEL_LOD_MADE_H
#define SP_MODEL_LOD_MADE_H

#include <stddef.h>
#include <stdint.h>

#include "model/events/follow.h"
#include "model/lod/file.h"
#include "model/model.h"

struct sp_raw_file;

/* A growing array. */
struct sp_lod_list {
	void *p; /* owned */
	size_t n, capacity, size;
};
/* Adds room for n elements of l->size bytes each at the end. Returns the first one; NULL: no memory. */
void *sp_lod_more(struct sp_lod_list *l, size_t n);

/* The index of one location in memory. */
struct sp_lod_made {
	struct sp_lod_file_location place; /* `at` and `hash` are set when it is written */
	struct sp_lod_list points, frames, markers, series, samples, groups, sum_entries[SP_LOD_LEVELS],
	    sums[SP_LOD_LEVELS];
	struct sp_lod_list counts, steps, gaps, grown[SP_LOD_LEVELS];
	struct sp_lod_list nodes[SP_LOD_LEVELS], cells[SP_LOD_LEVELS], strips[SP_LOD_LEVELS];
};

/* The working memory of one thread that makes locations. */
struct sp_lod_maker;
int sp_lod_maker_new(struct sp_lod_maker **out, const struct sp_model *m, const struct sp_path_index *index,
                     struct sp_err *e);
void sp_lod_maker_free(struct sp_lod_maker *x);
/* Makes the index of a location. report: called regularly with the number of events read; a result other than 0
 * cancels. Returns 0, or -1 with e set. */
int sp_lod_make(struct sp_lod_maker *x, uint32_t location, struct sp_raw_file *raw,
                int (*report)(void *arg, uint64_t events), void *arg, struct sp_lod_made *out, struct sp_err *e);
void sp_lod_made_free(struct sp_lod_made *x);

/* put.c. The size in the file, bytes. */
uint64_t sp_lod_size(const struct sp_lod_made *made);
/* The hash of a place: continues from h, which is 0 at its begin, with n bytes. n is a multiple of SP_LOD_SPAN except
 * at the end. */
uint64_t sp_lod_hash(uint64_t h, const void *bytes, size_t n);
/* Writes made to the file at offset `at` with this number of threads, and completes its place. Returns 0, or -1 with e
 * set. */
int sp_lod_put(int fd, struct sp_lod_made *made, uint64_t at, unsigned threads, struct sp_err *e);
int sp_lod_write(int fd, const void *p, size_t n, uint64_t at, struct sp_err *e);
/* Sets e: the file is damaged. Returns -1. */
int sp_lod_damaged(struct sp_err *e);

#endif
