/* SPDX-License-Identifier: BSD-3-Clause */
/* What the index's file consists of (INDEX.md). */
#ifndef SP_MODEL_LOD_FILE_H
#define SP_MODEL_LOD_FILE_H

#include <stddef.h>
#include <stdint.h>

#define SP_LOD_MAGIC   "SPPYRAMD"
#define SP_LOD_VERSION 6u

enum {
	SP_LOD_PAGE = 4096,
	SP_LOD_STRIP = 64,   /* events of a strip */
	SP_LOD_BUCKET = 512, /* of a bucket, or more */
	SP_LOD_SUMS = 32768, /* of a sum, or more */
	SP_LOD_FAN_BITS = 2, /* of strips and nodes: four are one of the next level */
	SP_LOD_FAN = 1 << SP_LOD_FAN_BITS,
	SP_LOD_SUM_FAN_BITS = 3,
	SP_LOD_SUM_FAN = 1 << SP_LOD_SUM_FAN_BITS,
	SP_LOD_LEVELS = 20,
	SP_LOD_SPAN = 64 << 20, /* bytes of a file that are looked at before their pages are given back */
	SP_LOD_GROUP = 256      /* samples of a counter that are put together */
};
#define SP_LOD_NO_TIME UINT64_MAX

struct sp_lod_header {
	char magic[8];
	uint32_t byte_order;
	uint32_t version;
	uint64_t bytes;  /* of the whole file */
	uint64_t files;  /* hash of the list of raw files */
	uint64_t model;  /* hash of what its indices speak of */
	uint64_t places; /* locations */
	uint64_t at;     /* of the places */
	uint64_t hash;   /* of the places */
};
_Static_assert(sizeof(struct sp_lod_header) == 64, "lod header");

/* An array in the file: at counts bytes from the begin of its place's. */
struct sp_lod_array {
	uint64_t at, n;
};

/* A location. Arrays of several levels have them one after the other, the finest first. */
struct sp_lod_place {
	uint64_t at, bytes, hash; /* in the file, of all its arrays */
	uint64_t events;
	uint64_t begin, end; /* ns */
	uint64_t n_sums;     /* of the finest level */
	struct sp_lod_array points, frames, nodes, cells, strips, sums, entries, markers, series, samples, groups;
	struct sp_lod_array counts, grown, steps;
};
_Static_assert(sizeof(struct sp_lod_place) == 280, "lod place");

/* Where a bucket begins. */
struct sp_lod_point {
	uint64_t time;        /* ns; of the event before it */
	uint64_t ticks, part; /* struct sp_events_place */
	uint32_t at;
	uint32_t frame; /* the innermost call open here, + 1; 0: none */
	uint64_t event; /* events before it */
	uint32_t depth; /* calls open here */
	uint32_t reserved;
};
_Static_assert(sizeof(struct sp_lod_point) == 48, "lod point");

/* A call that is open where a bucket begins. */
struct sp_lod_frame {
	uint64_t begin, end; /* ns */
	uint32_t path, region;
	uint32_t caller; /* frame + 1; 0: none */
	uint32_t same;   /* the frame of the same call before it had a value of a parameter, + 1; 0: none */
	uint32_t kind;   /* enum sp_event_kind: how it began */
	uint32_t parameter;
};
_Static_assert(sizeof(struct sp_lod_frame) == 40, "lod frame");

/* What lies from one moment to the next node's: of the last node of each level the time is the end. */
struct sp_lod_node {
	uint64_t time;
	uint64_t cells; /* where its own begin, in words of 8 bytes; SP_LOD_WIDE is added where they are wide */
};
#define SP_LOD_WIDE (UINT64_C(1) << 63)

/* The calls of one depth in a node in which some begin or end there. First one that was open before and ends, then
 * those within, then one that begins and is still open. */
struct sp_lod_cell {
	uint32_t depth;
	uint32_t region;      /* of those within: the one with most time */
	uint64_t head, tail;  /* when the first one ends and the last one begins; SP_LOD_NO_TIME: there is none */
	uint64_t first, last; /* from when to when there are some within */
	uint64_t busy, most;  /* ns of these, and of that region's */
	uint32_t calls;       /* within */
	uint32_t tail_region;
};
_Static_assert(sizeof(struct sp_lod_cell) == 64, "lod cell");

/* A cell as most lie in the file: times count from where the node begins, SP_LOD_NO_OFFSET stands for NO_TIME. Of a
 * node that is too long for that they lie there as above: they are wide. */
struct sp_lod_narrow {
	uint32_t depth, region, head, tail, first, last, busy, most, calls, tail_region;
};
#define SP_LOD_NO_OFFSET UINT32_MAX
enum { SP_LOD_NARROW_WORDS = 5, SP_LOD_WIDE_WORDS = 8 };
_Static_assert(sizeof(struct sp_lod_narrow) == SP_LOD_NARROW_WORDS * sizeof(uint64_t), "lod narrow cell");
_Static_assert(sizeof(struct sp_lod_cell) == SP_LOD_WIDE_WORDS * sizeof(uint64_t), "lod wide cell");

/* The region that ran longest in 64 events, or in four of these, and so on. */
struct sp_lod_strip {
	uint64_t time; /* where it begins */
	uint32_t region;
	float ns;
};
_Static_assert(sizeof(struct sp_lod_strip) == 16, "lod strip");

/* As a node, of entries. */
struct sp_lod_sum {
	uint64_t time;
	uint64_t entries; /* the first one of it */
	uint64_t bucket;  /* the first one of it */
};

/* What a path did in a sum. */
struct sp_lod_entry {
	uint32_t path;
	uint32_t resumed;
	uint64_t visits;
	uint64_t excl, each, min, max; /* ns */
	double sumsq;
};
_Static_assert(sizeof(struct sp_lod_entry) == 56, "lod entry");

struct sp_lod_mark {
	uint64_t time;
	uint32_t string, reserved;
};

/* The values of a counter in a location: n samples, in groups of SP_LOD_GROUP. */
struct sp_lod_series {
	uint32_t counter, reserved;
	uint64_t first, n;
	uint64_t group; /* the first one */
};
struct sp_lod_sample {
	uint64_t time;
	double value;
};
struct sp_lod_group {
	double min, max, sum;
};

/* From when to when the location ran a task without a stop; those of a task together, by begin. */
struct sp_lod_step {
	uint64_t begin, end;
	uint64_t ran;  /* ns, of the task in this location before it */
	uint32_t task; /* index in sp_model.tasks */
	uint32_t reserved;
};
_Static_assert(sizeof(struct sp_lod_step) == 32, "lod step");

/* Metrics that are read at each enter and leave have numbers of their own, sp_lod_metrics() of them. Where a
 * process has any, each of its locations has in `counts` a row for each bucket, and one for its end: when they were
 * read last before it, and their values; the first row has those that were read first. In `grown` it has a row for each
 * entry: by how much they grew in the path itself. */
enum { SP_LOD_NOT_READ = -1 }; /* a value, as uint64_t: not read yet, or not since recording was off */

static inline uint64_t sp_lod_mix(uint64_t h, uint64_t x)
{
	return (h ^ x ^ h >> 29) * UINT64_C(0x9e3779b97f4a7c15);
}

/* How many things the level above n has. */
static inline size_t sp_lod_up(size_t n, unsigned bits)
{
	return (n + ((size_t)1 << bits) - 1) >> bits;
}

#endif
