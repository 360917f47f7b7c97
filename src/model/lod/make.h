/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files that make a location's summaries share. */
#ifndef SP_MODEL_LOD_MAKE_H
#define SP_MODEL_LOD_MAKE_H

#include "model/event.h"
#include "model/lod/file.h"
#include "model/lod/made.h"
#include "model/lod/opened.h"
#include "model/model.h"

/* Cells by depth, of an incomplete node. */
struct sp_lod_cells {
	struct sp_lod_cell *p; /* owned; room + 1 elements; [low, high) are in use */
	uint32_t low, high, capacity;
	unsigned nodes; /* number of nodes of the level below */
	uint64_t begin;
};

/* Time by region, of an incomplete strip. */
struct sp_lod_times {
	uint64_t *ns;      /* owned; for each region */
	uint32_t *touched; /* owned; regions with time in this strip; has room for one more */
	uint32_t n, strips;
	uint64_t begin;
};

struct sp_lod_stat {
	_Alignas(64) uint64_t excl; /* the struct fills one cache line */
	uint64_t each, max;
	uint64_t not_min; /* the minimum with all bits inverted, so that its initial value is 0 */
	double sumsq;
	uint64_t calls[2]; /* visits, resumptions */
	bool touched;
};
_Static_assert(sizeof(struct sp_lod_stat) == 64, "a line");

struct sp_lod_open {
	uint64_t begin;
	uint32_t kind, region; /* same fields as in struct sp_event up to here */
	uint32_t path;
	uint32_t frame; /* index + 1; 0: the call was entered in this bucket */
	uint32_t parameter;
};

enum { SP_LOD_KNOWN_BITS = 14 };

struct sp_lod_maker {
	const struct sp_model *m;
	const struct sp_path_index *index;
	struct sp_lod_known {
		uint64_t key;
		uint32_t path;
	} * known;                 /* owned; cache of paths, by the hash of their key */
	struct sp_lod_stat *stats; /* owned; for each path */
	uint32_t *touched;         /* owned; paths with numbers in stats; has room for one more */
	size_t n_touched;
	struct sp_lod_open *stack; /* owned; stack_capacity elements, at least cells[0].high + 1 */
	uint32_t depth, stack_capacity;
	uint32_t shallow, deep; /* depths [shallow, deep) at which a call began or ended in this bucket */
	struct sp_lod_times times[SP_LOD_LEVELS];
	struct sp_lod_cells cells[SP_LOD_LEVELS];
	struct sp_lod_made *out;
	/* owned; a field, so that it can be freed if a guarded read is abandoned (base/guard.h) */
	struct sp_events *reading;
	struct sp_lod_list *values; /* owned; for each counter its samples */
	size_t n_metrics;           /* number of inclusive metrics; 0: none in the model or in the location */
	uint32_t *which;            /* owned; table from indices in the model to these metrics */
	uint64_t *now, *grown;      /* owned; value of each metric; growth of each metric for each path */
	uint32_t task;              /* the current task; SP_NONE: no task */
	uint64_t task_begin;        /* begin of the current step */
	uint64_t read;              /* time of the last reading of metrics */
	uint64_t last;              /* time of the last event */
	uint64_t events;            /* number of events read */
	uint64_t bucket_event;      /* index of the bucket's first event */
	uint64_t sum_event;         /* index of the sum's first event */
	uint64_t sum_begin;         /* begin of the sum */
	uint64_t sum_bucket;
	bool in_bucket, failed; /* failed: no memory */
};

/* The key of a path in the cache. Region 0 is the root, which nothing calls: its key marks an empty slot. */
static inline uint64_t sp_lod_key(uint32_t parent, uint32_t region)
{
	return (uint64_t)parent << 32 | region;
}

static inline size_t sp_lod_known_at(uint64_t key)
{
	return key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - SP_LOD_KNOWN_BITS);
}

/* Finds the path of a key and stores it in *k. */
void sp_lod_know(struct sp_lod_maker *x, struct sp_lod_known *k, uint64_t key);

static inline uint32_t sp_lod_path_below(struct sp_lod_maker *x, uint32_t parent, uint32_t region)
{
	const uint64_t key = sp_lod_key(parent, region);
	struct sp_lod_known *k = &x->known[sp_lod_known_at(key)];

	if (k->key != key)
		sp_lod_know(x, k, key);
	return k->path;
}

/* Processes plain events up to the first other one, at most min(n, SP_LOD_STRIP). Returns their number. */
uint32_t sp_lod_plain(struct sp_lod_maker *x, const struct sp_event *events, uint32_t n);
/* Ends the call with this frame, and its frames with other parameter values. */
void sp_lod_end_frames(struct sp_lod_maker *x, uint32_t frame, uint64_t time);

/* Extends [low, high) to include depth; false: no memory. */
bool sp_lod_cells_reach(struct sp_lod_cells *c, uint32_t depth);
/* Adds calls to those within a cell. */
void sp_lod_cell_add(struct sp_lod_cell *c, uint64_t first, uint64_t last, uint32_t calls, uint64_t busy,
                     uint32_t region, uint64_t longest);

/* sp_lod_step(): the location runs another task from `time` on. sp_lod_steps_finish(): call after all events. false: no
 * memory. */
bool sp_lod_step(struct sp_lod_maker *x, uint64_t time, uint32_t task);
bool sp_lod_steps_finish(struct sp_lod_maker *x, uint64_t end);

/* The location did not run for a part of the last `length` ns, in the innermost call; false: no memory. */
bool sp_lod_gap(struct sp_lod_maker *x, const struct sp_event *ev, uint64_t length);

/* Completes the node of level 0, which ends at `end`; all: it is the last one, so complete the nodes of all levels. */
void sp_lod_node_done(struct sp_lod_maker *x, uint64_t end, bool all);
/* The same for the strip of level 0. */
void sp_lod_strip_done(struct sp_lod_maker *x, uint64_t end, bool all);
/* Adds a marker or a value of a counter; false: no memory. */
bool sp_lod_note(struct sp_lod_maker *x, const struct sp_event *ev);
/* Completes the values of all counters of the location; false: no memory. */
bool sp_lod_series_finish(struct sp_lod_maker *x);
/* Metrics. _init(): before all locations; _begin(): before each location; _read(): a value; _off(): recording was off.
 * false: no memory. */
bool sp_lod_metrics_init(struct sp_lod_maker *x);
void sp_lod_metrics_begin(struct sp_lod_maker *x, uint32_t location);
void sp_lod_metrics_read(struct sp_lod_maker *x, const struct sp_event *ev);
void sp_lod_metrics_off(struct sp_lod_maker *x);
/* Adds a row of `counts` at the begin of a bucket or at the location's end; false: no memory. */
bool sp_lod_counts_put(struct sp_lod_maker *x);
/* Moves the growth of the touched paths to the entries of a level; false: no memory. */
bool sp_lod_grown_put(struct sp_lod_maker *x, unsigned level);
/* Adds the growth of an entry to its path. */
void sp_lod_grown_add(struct sp_lod_maker *x, unsigned level, uint64_t entry, uint32_t path);
/* Makes a sum of the numbers in stats. */
void sp_lod_sum_done(struct sp_lod_maker *x, uint64_t end, uint64_t next_bucket);
/* Makes the sums of all higher levels, and the ends of all lists. */
void sp_lod_sums_finish(struct sp_lod_maker *x, uint64_t end);

#endif
