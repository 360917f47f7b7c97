/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files that make a location's summaries share. */
#ifndef SP_MODEL_LOD_MAKE_H
#define SP_MODEL_LOD_MAKE_H

#include "model/event.h"
#include "model/lod/file.h"
#include "model/lod/made.h"
#include "model/lod/opened.h"
#include "model/model.h"

/* Cells by depth, of a node that is not complete. */
struct sp_lod_cells {
	struct sp_lod_cell *p; /* owned; room of them and one for nothing; [low, high) are something */
	uint32_t low, high, room;
	unsigned nodes; /* of the level below that are in it */
	uint64_t begin;
};

/* Time by region, of a strip that is not complete. */
struct sp_lod_times {
	uint64_t *ns;      /* owned; for each region */
	uint32_t *touched; /* owned; those that have some, and room for one */
	uint32_t n, strips;
	uint64_t begin;
};

struct sp_lod_stat {
	_Alignas(64) uint64_t excl; /* the whole in one line of the cache */
	uint64_t each, max;
	uint64_t not_min; /* all bits of the minimum inverted, so that it begins as 0 */
	double sumsq;
	uint64_t calls[2]; /* visits, and calls resumed */
	bool touched;
};
_Static_assert(sizeof(struct sp_lod_stat) == 64, "a line");

struct sp_lod_open {
	uint64_t begin;
	uint32_t kind, region; /* up to here as in struct sp_event */
	uint32_t path;
	uint32_t frame; /* + 1; 0: it was entered in this bucket */
	uint32_t parameter;
};

enum { SP_LOD_KNOWN_BITS = 14 };

struct sp_lod_maker {
	const struct sp_model *m;
	const struct sp_path_index *index;
	struct sp_lod_known {
		uint64_t key;
		uint32_t path;
	} * known;                 /* owned; paths found last, by the hash of their key */
	struct sp_lod_stat *stats; /* owned; for each path */
	uint32_t *touched;         /* owned; paths with something in stats, and room for one */
	size_t n_touched;
	struct sp_lod_open *stack; /* owned; stack_room of them, which are more than cells[0].high, and one */
	uint32_t depth, stack_room;
	uint32_t shallow, deep; /* depths [shallow, deep) in which some call began or ended in this bucket */
	struct sp_lod_times times[SP_LOD_LEVELS];
	struct sp_lod_cells cells[SP_LOD_LEVELS];
	struct sp_lod_made *out;
	struct sp_events *reading;  /* owned; here, as what reads may be left where it stands (base/guard.h) */
	struct sp_lod_list *values; /* owned; of each counter its samples */
	size_t n_metrics;           /* read at each enter and leave; 0: none, or none in the location */
	uint32_t *which;            /* owned; their numbers, by those in the model */
	uint64_t *now, *grown;      /* owned; of each its value, and for each path its growth */
	uint32_t task;              /* that runs; SP_NONE: none */
	uint64_t task_begin;        /* of its step */
	uint64_t read;              /* when they were read last */
	uint64_t last;              /* time */
	uint64_t events;            /* read */
	uint64_t bucket_event;      /* where the bucket began */
	uint64_t sum_event;         /* where the sum began */
	uint64_t sum_begin;         /* time */
	uint64_t sum_bucket;
	bool in_bucket, failed; /* failed: no memory */
};

/* What a path below another is known by. Region 0 is the root, which nobody calls: an empty place. */
static inline uint64_t sp_lod_key(uint32_t parent, uint32_t region)
{
	return (uint64_t)parent << 32 | region;
}

static inline size_t sp_lod_known_at(uint64_t key)
{
	return key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - SP_LOD_KNOWN_BITS);
}

/* Finds it. */
void sp_lod_know(struct sp_lod_maker *x, struct sp_lod_known *k, uint64_t key);

static inline uint32_t sp_lod_path_below(struct sp_lod_maker *x, uint32_t parent, uint32_t region)
{
	const uint64_t key = sp_lod_key(parent, region);
	struct sp_lod_known *k = &x->known[sp_lod_known_at(key)];

	if (k->key != key)
		sp_lod_know(x, k, key);
	return k->path;
}

/* Does what is to be done with events one by one, for as many of n as are plain, SP_LOD_STRIP at most. Returns how
 * many these are. */
uint32_t sp_lod_plain(struct sp_lod_maker *x, const struct sp_event *events, uint32_t n);
/* The call ends that has this frame. */
void sp_lod_end_frames(struct sp_lod_maker *x, uint32_t frame, uint64_t time);

/* Makes [low, high) reach depth; false: no memory. */
bool sp_lod_cells_reach(struct sp_lod_cells *c, uint32_t depth);
/* Calls within a cell. */
void sp_lod_cell_add(struct sp_lod_cell *c, uint64_t first, uint64_t last, uint32_t calls, uint64_t busy,
                     uint32_t region, uint64_t most);

/* From `time` on the location runs another task; finish: after all events. false: no memory. */
bool sp_lod_step(struct sp_lod_maker *x, uint64_t time, uint32_t task);
bool sp_lod_steps_finish(struct sp_lod_maker *x, uint64_t end);

/* The cells of level 0 are a whole node that ends at `end`; all: the last one. */
void sp_lod_node_done(struct sp_lod_maker *x, uint64_t end, bool all);
/* The same for the times of level 0, with a strip. */
void sp_lod_strip_done(struct sp_lod_maker *x, uint64_t end, bool all);
/* Markers and values of counters; false: no memory. */
bool sp_lod_note(struct sp_lod_maker *x, const struct sp_event *ev);
/* The values of all counters of the location; false: no memory. */
bool sp_lod_series_finish(struct sp_lod_maker *x);
/* Metrics: before all locations, before one, a value, and recording that was off. false: no memory. */
bool sp_lod_metrics_init(struct sp_lod_maker *x);
void sp_lod_metrics_begin(struct sp_lod_maker *x, uint32_t location);
void sp_lod_metrics_read(struct sp_lod_maker *x, const struct sp_event *ev);
void sp_lod_metrics_off(struct sp_lod_maker *x);
/* A bucket begins, or the location ends; false: no memory. */
bool sp_lod_counts_put(struct sp_lod_maker *x);
/* The growth of what is touched becomes that of entries of a level, and is none then; false: no memory. */
bool sp_lod_grown_put(struct sp_lod_maker *x, unsigned level);
/* That of an entry is added to its path's. */
void sp_lod_grown_add(struct sp_lod_maker *x, unsigned level, uint64_t entry, uint32_t path);
/* What stats have is a sum. */
void sp_lod_sum_done(struct sp_lod_maker *x, uint64_t end, uint64_t next_bucket);
/* The sums of all levels above, and what ends the lists of all. */
void sp_lod_sums_finish(struct sp_lod_maker *x, uint64_t end);

#endif
