/* SPDX-License-Identifier: BSD-3-Clause */
/* The index of one location while it is made, and how it comes into the file. */
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
	size_t n, room, size;
};
/* Room for n more of l->size bytes each behind those that there are; NULL: no memory. */
void *sp_lod_more(struct sp_lod_list *l, size_t n);

/* What is made of one location. */
struct sp_lod_made {
	struct sp_lod_place place; /* without at and hash, until it is written */
	struct sp_lod_list points, frames, markers, series, samples, groups, sum_entries[SP_LOD_LEVELS],
	    sums[SP_LOD_LEVELS];
	struct sp_lod_list counts, steps, grown[SP_LOD_LEVELS];
	struct sp_lod_list nodes[SP_LOD_LEVELS], cells[SP_LOD_LEVELS], strips[SP_LOD_LEVELS];
};

/* One thread's means to make locations. */
struct sp_lod_maker;
int sp_lod_maker_new(struct sp_lod_maker **out, const struct sp_model *m, const struct sp_path_index *index,
                     struct sp_err *e);
void sp_lod_maker_free(struct sp_lod_maker *x);
/* Reads a location; told: called now and then with the events read. */
int sp_lod_make(struct sp_lod_maker *x, uint32_t location, struct sp_raw_file *raw,
                int (*told)(void *arg, uint64_t events), void *arg, struct sp_lod_made *out, struct sp_err *e);
void sp_lod_made_free(struct sp_lod_made *x);

/* put.c. Bytes that what was made takes in the file. */
uint64_t sp_lod_size(const struct sp_lod_made *made);
/* What the hash of a place is made of: goes on from h, which is 0 at its begin, with n bytes, a multiple of
 * SP_LOD_SPAN but at its end. */
uint64_t sp_lod_hash(uint64_t h, const void *bytes, size_t n);
/* Their pages need not be in memory any longer. */
void sp_lod_forget(const void *bytes, size_t n);
/* Writes it at a place in the file, by so many threads, and completes its place. */
int sp_lod_put(int fd, struct sp_lod_made *made, uint64_t at, unsigned threads, struct sp_err *e);
int sp_lod_write(int fd, const void *p, size_t n, uint64_t at, struct sp_err *e);
/* Says that the file is damaged; returns -1. */
int sp_lod_damaged(struct sp_err *e);

#endif
