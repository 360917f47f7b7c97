/* SPDX-License-Identifier: BSD-3-Clause */
/* An open level-of-detail index, and the arrays of a location in it. */
#ifndef SP_MODEL_LOD_OPENED_H
#define SP_MODEL_LOD_OPENED_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/events/follow.h"
#include "model/lod/file.h"
#include "model/model.h"

/* The arrays of a location in the mapped file. */
struct sp_lod_level {
	const struct sp_lod_node *nodes; /* n + 1 */
	size_t n;
};
struct sp_lod_strips {
	const struct sp_lod_strip *p;
	size_t n;
};
struct sp_lod_sums {
	const struct sp_lod_sum *p; /* n + 1 */
	size_t n;
};
struct sp_lod_location {
	const struct sp_lod_file_location *place;
	const struct sp_lod_point *points;
	const struct sp_lod_frame *frames;
	const uint64_t *cells; /* read with sp_lod_cell_at() */
	const struct sp_lod_entry *entries;
	const struct sp_lod_mark *markers;
	const struct sp_lod_series *series;
	const struct sp_lod_sample *samples;
	const struct sp_lod_group *groups;
	const struct sp_lod_step *steps;
	const struct sp_lod_gap *gaps;
	const uint64_t *counts, *grown; /* NULL: the location has no inclusive metrics */
	struct sp_lod_level levels[SP_LOD_LEVELS];
	struct sp_lod_strips strips[SP_LOD_LEVELS];
	struct sp_lod_sums sums[SP_LOD_LEVELS];
	unsigned n_levels, n_strips, n_sums;
};

struct sp_lod {
	const struct sp_model *m;
	struct sp_path_index index; /* owned */
	void *map;                  /* owned */
	size_t bytes;
	const struct sp_lod_header *header;
	const struct sp_lod_file_location *places;
	bool made;
	pthread_mutex_t lock; /* protects the fields below */
	struct sp_lod_raw {
		struct sp_raw_file *raw; /* owned */
		unsigned users;
	} * raws; /* owned; one for each source */
	unsigned open_raws;
};

/* location.c. Finds a location's arrays in the file; false: they do not fit into the file. */
bool sp_lod_of(const struct sp_lod *p, uint32_t location, struct sp_lod_location *l);
/* Whether the location's contents are valid. */
bool sp_lod_sound(const struct sp_model *m, const struct sp_lod_location *l);
/* steps.c, off_cpu.c; the same for its steps and gaps. */
bool sp_lod_steps_sound(const struct sp_model *m, const struct sp_lod_location *l);
bool sp_lod_gaps_sound(const struct sp_model *m, const struct sp_lod_location *l);

/* raw.c: takes the raw file of a location, which all readers share, until sp_lod_raw_give(); *raw is NULL if the
 * location has no events. Returns 0, or -1 with e set. */
int sp_lod_raw_take(struct sp_lod *p, uint32_t location, struct sp_raw_file **raw, struct sp_err *e);
void sp_lod_raw_give(struct sp_lod *p, uint32_t location);

/* Words of 8 bytes in each cell of the node. */
static inline size_t sp_lod_cell_words(const struct sp_lod_node *n)
{
	return n->cells & SP_LOD_WIDE ? SP_LOD_WIDE_WORDS : SP_LOD_NARROW_WORDS;
}

/* The number of cells of a node. n[1] exists: it is the next node, or the end of the level. */
static inline size_t sp_lod_cells(const struct sp_lod_node *n)
{
	return ((n[1].cells & ~SP_LOD_WIDE) - (n[0].cells & ~SP_LOD_WIDE)) / sp_lod_cell_words(n);
}

/* The i-th cell of a node. */
static inline struct sp_lod_cell sp_lod_cell_at(const struct sp_lod_location *l, const struct sp_lod_node *n, size_t i)
{
	const uint64_t *at = l->cells + (n->cells & ~SP_LOD_WIDE) + i * sp_lod_cell_words(n);
	const struct sp_lod_narrow *c = (const void *)at;

	if (n->cells & SP_LOD_WIDE)
		return *(const struct sp_lod_cell *)at;
	return (struct sp_lod_cell){.depth = c->depth,
	                            .region = c->region,
	                            .head = c->head == SP_LOD_NO_OFFSET ? SP_LOD_NO_TIME : n->time + c->head,
	                            .tail = c->tail == SP_LOD_NO_OFFSET ? SP_LOD_NO_TIME : n->time + c->tail,
	                            .first = n->time + c->first,
	                            .last = n->time + c->last,
	                            .busy = c->busy,
	                            .longest = c->longest,
	                            .calls = c->calls,
	                            .tail_region = c->tail_region};
}

#endif
