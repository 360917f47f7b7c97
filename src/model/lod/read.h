/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the events of a location from a bucket on, with the calls that are open there. */
#ifndef SP_MODEL_LOD_READ_H
#define SP_MODEL_LOD_READ_H

#include "model/event.h"
#include "model/lod/file.h"
#include "model/lod/opened.h"

/* An open call. */
struct sp_lod_call {
	uint64_t begin;
	uint32_t path, region, parameter, kind;
};

struct sp_lod_reader {
	struct sp_lod *p;
	uint32_t location;
	struct sp_lod_location l;
	struct sp_raw_file *raw;
	bool taken;               /* raw was taken with sp_lod_raw_take() */
	struct sp_events *events; /* owned; NULL: not opened yet */
	/* the bucket at whose begin the reader is; SIZE_MAX: not at the begin of a bucket */
	size_t next;
	struct sp_lod_call *calls; /* owned; the open calls */
	size_t depth, capacity;
};

/* Opens a reader of a location. Returns 0, or -1 with e set; call sp_lod_reader_close() in both cases. */
int sp_lod_reader_open(struct sp_lod_reader *r, struct sp_lod *p, uint32_t location, struct sp_err *e);
void sp_lod_reader_close(struct sp_lod_reader *r);

/* Makes room for a call at this depth. Returns 0, or -1: no memory. */
int sp_lod_reader_reserve(struct sp_lod_reader *r, size_t depth, struct sp_err *e);
/* Sets the reader's calls to those that are open at the begin of the bucket. */
int sp_lod_reader_calls(struct sp_lod_reader *r, size_t bucket, struct sp_err *e);
/* Moves to the begin of a bucket and sets the reader's calls. */
int sp_lod_reader_go(struct sp_lod_reader *r, size_t bucket, struct sp_err *e);
/* Does both, to read up to the begin of the bucket `until`, or to the end; *events: number of events up to there. */
int sp_lod_reader_span(struct sp_lod_reader *r, size_t bucket, size_t until, uint64_t *events, struct sp_err *e);
/* Opens or closes a call, and updates the path of the innermost one. A closed call stays readable at calls[depth].
 * Returns 0, or -1: no memory. */
int sp_lod_reader_follow(struct sp_lod_reader *r, const struct sp_event *ev, struct sp_err *e);

/* The highest level with a sum that begins with the i-th sum of the lowest level and ends at `end` (ns) or before. */
static inline unsigned sp_lod_sum_level(const struct sp_lod_location *l, size_t i, uint64_t end)
{
	unsigned level = 0;

	for (; level + 1 < l->n_sums; level++) {
		const size_t up = i >> (level + 1) * SP_LOD_SUM_FAN_BITS;

		if (up << (level + 1) * SP_LOD_SUM_FAN_BITS != i || l->sums[level + 1].p[up + 1].time > end)
			break;
	}
	return level;
}

/* The last bucket that begins before a time, or the first bucket. */
size_t sp_lod_bucket_at(const struct sp_lod_location *l, uint64_t time);
/* The bucket that contains an event. */
size_t sp_lod_bucket_of(const struct sp_lod_location *l, uint64_t event);
static inline uint64_t sp_lod_bucket_events(const struct sp_lod_location *l, size_t bucket)
{
	return (bucket + 1 < l->place->points.n ? l->points[bucket + 1].event : l->place->events) -
	       l->points[bucket].event;
}

#endif
