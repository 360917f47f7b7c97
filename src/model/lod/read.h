/* SPDX-License-Identifier: BSD-3-Clause */
/* The events of a location from some bucket on, with the calls that are open there. */
#ifndef SP_MODEL_LOD_READ_H
#define SP_MODEL_LOD_READ_H

#include "model/event.h"
#include "model/lod/file.h"
#include "model/lod/opened.h"

/* A call that is open. */
struct sp_lod_call {
	uint64_t begin;
	uint32_t path, region, parameter, kind;
};

struct sp_lod_reader {
	struct sp_lod *p;
	uint32_t location;
	struct sp_lod_location l;
	struct sp_raw_file *raw;
	bool taken;                /* raw is */
	struct sp_events *events;  /* owned; NULL: not needed so far */
	size_t next;               /* the bucket at which it stands; SIZE_MAX: at none */
	struct sp_lod_call *calls; /* owned; open where the reader's user is */
	size_t depth, room;
};

/* 0, or -1 with e set; sp_lod_reader_close() either way. */
int sp_lod_reader_open(struct sp_lod_reader *r, struct sp_lod *p, uint32_t location, struct sp_err *e);
void sp_lod_reader_close(struct sp_lod_reader *r);

/* Room for a call at that depth; -1: no memory. */
int sp_lod_reader_room(struct sp_lod_reader *r, size_t depth, struct sp_err *e);
/* The calls open where the bucket begins become those of the reader. */
int sp_lod_reader_calls(struct sp_lod_reader *r, size_t bucket, struct sp_err *e);
/* Goes to the begin of a bucket; the reader's calls are those open there. */
int sp_lod_reader_go(struct sp_lod_reader *r, size_t bucket, struct sp_err *e);
/* Both of these, to read on to where the bucket `until` begins, or to the end; *events: how many are between. */
int sp_lod_reader_span(struct sp_lod_reader *r, size_t bucket, size_t until, uint64_t *events, struct sp_err *e);
/* Opens or closes a call, and follows the path of the innermost one; -1: no memory. Closing leaves the call where it
 * was, behind the depth. */
int sp_lod_reader_follow(struct sp_lod_reader *r, const struct sp_event *ev, struct sp_err *e);

/* The highest level of sums that has one which begins with the i-th of the lowest and ends at `end`, ns, or before. */
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

/* The last bucket that begins before a moment, or the first one. */
size_t sp_lod_bucket_at(const struct sp_lod_location *l, uint64_t time);
/* The bucket with an event. */
size_t sp_lod_bucket_of(const struct sp_lod_location *l, uint64_t event);
static inline uint64_t sp_lod_bucket_events(const struct sp_lod_location *l, size_t bucket)
{
	return (bucket + 1 < l->place->points.n ? l->points[bucket + 1].event : l->place->events) -
	       l->points[bucket].event;
}

#endif
