/* SPDX-License-Identifier: BSD-3-Clause */
/* The structs of the level-of-detail index's file (INDEX.md). */
#ifndef SP_MODEL_LOD_FILE_H
#define SP_MODEL_LOD_FILE_H

#include <stddef.h>
#include <stdint.h>

#define SP_LOD_MAGIC   "SPPYRAMD"
#define SP_LOD_VERSION 8u

enum {
	SP_LOD_PAGE = 4096,
	SP_LOD_STRIP = 64,   /* events in a strip */
	SP_LOD_BUCKET = 512, /* minimum number of events in a bucket */
	SP_LOD_SUMS = 32768, /* minimum number of events in a sum */
	SP_LOD_FAN_BITS = 2, /* of strips and nodes: four of one level make one of the next level */
	SP_LOD_FAN = 1 << SP_LOD_FAN_BITS,
	SP_LOD_SUM_FAN_BITS = 3,
	SP_LOD_SUM_FAN = 1 << SP_LOD_SUM_FAN_BITS,
	SP_LOD_LEVELS = 20,
	SP_LOD_SPAN = 64 << 20, /* bytes of a file that are read before their pages are released */
	SP_LOD_GROUP = 256      /* samples of a counter in a group */
};
#define SP_LOD_NO_TIME UINT64_MAX

struct sp_lod_header {
	char magic[8];
	uint32_t byte_order;
	uint32_t version;
	uint64_t bytes;  /* of the whole file */
	uint64_t files;  /* hash of the list of raw files */
	uint64_t model;  /* hash of the model's tables that the indices refer to */
	uint64_t places; /* number of locations */
	uint64_t at;     /* offset of the places */
	uint64_t hash;   /* hash of the places */
};
_Static_assert(sizeof(struct sp_lod_header) == 64, "lod header");

/* An array in the file; at: bytes from the begin of the data of its place. */
struct sp_lod_array {
	uint64_t at, n;
};

/* One location. An array with several levels stores them one after the other, the finest first. */
struct sp_lod_file_location {
	uint64_t at, bytes, hash; /* position, size and hash of all its arrays in the file */
	uint64_t events;
	uint64_t begin, end; /* ns */
	uint64_t n_sums;     /* number of sums of the finest level */
	struct sp_lod_array points, frames, nodes, cells, strips, sums, entries, markers, series, samples, groups;
	struct sp_lod_array counts, grown, steps, gaps;
};
_Static_assert(sizeof(struct sp_lod_file_location) == 296, "lod location");

/* The begin of a bucket. */
struct sp_lod_point {
	uint64_t time;        /* ns; time of the previous event */
	uint64_t ticks, part; /* struct sp_events_position */
	uint32_t at;
	uint32_t frame; /* index + 1 of the innermost open call; 0: no call */
	uint64_t event; /* number of events before it */
	uint32_t depth; /* number of open calls */
	uint32_t reserved;
};
_Static_assert(sizeof(struct sp_lod_point) == 48, "lod point");

/* A call that is open at the begin of a bucket. */
struct sp_lod_frame {
	uint64_t begin, end; /* ns */
	uint32_t path, region;
	uint32_t caller; /* index + 1 of the caller's frame; 0: no caller */
	/* index + 1 of the frame of the same call before it had a value of a parameter; 0: no such frame */
	uint32_t same;
	uint32_t kind; /* enum sp_event_kind of the event that began it */
	uint32_t parameter;
};
_Static_assert(sizeof(struct sp_lod_frame) == 40, "lod frame");

/* The interval from its time to the time of the next node. The last node of each level has only the end time. */
struct sp_lod_node {
	uint64_t time;
	uint64_t cells; /* index of its first cell, in words of 8 bytes; SP_LOD_WIDE is added if its cells are wide */
};
#define SP_LOD_WIDE (UINT64_C(1) << 63)

/* The calls of one depth within a node, if any begins or ends there: first a call that began before the node and ends
 * in it, then calls that begin and end in it, then a call that begins in it and is still open at its end. */
struct sp_lod_cell {
	uint32_t depth;
	uint32_t region;        /* of the calls within: the region with the most time */
	uint64_t head, tail;    /* end of the first call, begin of the last one; SP_LOD_NO_TIME: no such call */
	uint64_t first, last;   /* begin of the first and end of the last call within */
	uint64_t busy, longest; /* ns; time of the calls within, and that of `region` */
	uint32_t calls;         /* number of calls within */
	uint32_t tail_region;
};
_Static_assert(sizeof(struct sp_lod_cell) == 64, "lod cell");

/* The compact form of a cell, which most cells in the file have: times count from the begin of the node, and
 * SP_LOD_NO_OFFSET means SP_LOD_NO_TIME. Cells of a node that is too long for these times are stored as above: they are
 * wide. */
struct sp_lod_narrow {
	uint32_t depth, region, head, tail, first, last, busy, longest, calls, tail_region;
};
#define SP_LOD_NO_OFFSET UINT32_MAX
enum { SP_LOD_NARROW_WORDS = 5, SP_LOD_WIDE_WORDS = 8 };
_Static_assert(sizeof(struct sp_lod_narrow) == SP_LOD_NARROW_WORDS * sizeof(uint64_t), "lod narrow cell");
_Static_assert(sizeof(struct sp_lod_cell) == SP_LOD_WIDE_WORDS * sizeof(uint64_t), "lod wide cell");

/* The region that ran longest in 64 events; in the next levels, in four times as many. */
struct sp_lod_strip {
	uint64_t time; /* its begin, ns */
	uint32_t region;
	float ns;
};
_Static_assert(sizeof(struct sp_lod_strip) == 16, "lod strip");

/* The interval from its time to the time of the next sum: sums of call paths, like a node of cells. */
struct sp_lod_sum {
	uint64_t time;
	uint64_t entries; /* index of its first entry */
	uint64_t bucket;  /* index of its first bucket */
};

/* The numbers of one path in a sum. */
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

/* The samples of one counter in a location, in groups of SP_LOD_GROUP. */
struct sp_lod_series {
	uint32_t counter, reserved;
	uint64_t first, n;
	uint64_t group; /* index of the first group */
};
struct sp_lod_sample {
	uint64_t time;
	double value;
};
struct sp_lod_group {
	double min, max, sum;
};

/* An interval in which the location ran a task without a stop. Steps of one task are together, sorted by begin. */
struct sp_lod_step {
	uint64_t begin, end;
	uint64_t ran;  /* ns; time of the earlier steps of the task in this location */
	uint32_t task; /* index in sp_model.tasks */
	uint32_t reserved;
};
_Static_assert(sizeof(struct sp_lod_step) == 32, "lod step");

/* An interval between two events of which the location did not run for `off` ns, at most all of it. In the order of
 * time. */
struct sp_lod_gap {
	uint64_t begin, end; /* ns */
	uint64_t off;        /* ns */
	uint32_t path;
	uint32_t kind; /* enum sp_off_cpu_kind */
};
_Static_assert(sizeof(struct sp_lod_gap) == 32, "lod gap");

/* Metrics that are read at each enter and leave have separate numbers, from 0 to sp_lod_metrics() - 1. If a process has
 * such metrics, `counts` of each of its locations has a row for each bucket and one for the end: the time of the last
 * reading before it, and the values. The first row has the first reading. `grown` has a row for each entry: the growth
 * in the path itself. */
enum { SP_LOD_NOT_READ = -1 }; /* a value, as uint64_t: not read yet, or not read since recording was off */

static inline uint64_t sp_lod_mix(uint64_t h, uint64_t x)
{
	return (h ^ x ^ h >> 29) * UINT64_C(0x9e3779b97f4a7c15);
}

/* The number of elements of the next level, if a level has n. */
static inline size_t sp_lod_up(size_t n, unsigned bits)
{
	return (n + ((size_t)1 << bits) - 1) >> bits;
}

#endif
