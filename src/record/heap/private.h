/* SPDX-License-Identifier: BSD-3-Clause */
/* Declarations that the files of the heap recorder share. */
#ifndef SP_RECORD_HEAP_PRIVATE_H
#define SP_RECORD_HEAP_PRIVATE_H

#include "record/heap/recorder.h"
#include "record/thread.h"

/* An allocation site, by its number. */
struct sp_heap_site {
	struct sp_raw_site *raw;
	const struct sp_thread *owner; /* only compared, never dereferenced: the thread may be gone */
};

/* The state of the heap recorder. Everything needs the lock unless a comment states otherwise. */
struct sp_heap {
	int lock;
	bool on;
	uint32_t epoch; /* sp_epoch at the begin of the measurement: threads of an earlier one have a lower epoch */
	struct sp_raw_heap *raw; /* in the file; `nowhere` in a child of fork that has no file yet */
	struct sp_raw_heap nowhere;
	struct sp_raw_chunk *series;
	uint64_t series_every; /* ns between two points */
	uint64_t point_ns, slice_ns;
	uint64_t slice_ticks;
	uint64_t interrupted; /* ticks: an event that takes longer was interrupted */
	uint32_t slice;
	uint32_t calls;
	uint32_t untimed;           /* events between two timed ones: a power of two minus 1, or 0 with sampling */
	_Atomic bool mark;          /* the limit was passed and the trace has no marker for it yet; needs no lock */
	struct sp_heap_site *sites; /* valid from index 1 on; at most SP_HEAP_MAX_SITES */
	uint32_t n_sites;
	uint64_t *bits;   /* the library's filter */
	uint64_t *filter; /* the same; NULL: sampling is disabled */
	uint64_t limit;
	uint32_t outside; /* region for allocations outside of all functions */
};
extern struct sp_heap sp_heap;
extern struct sp_heap_recorder sp_heap_recorder; /* the struct that the library gets */

enum { SP_HEAP_MAX_SITES = 2 << 20, SP_HEAP_TIMED = 128 };

void sp_heap_lock(void); /* does nothing while the calling thread forks */
void sp_heap_unlock(void);
void sp_heap_take_lock(void); /* even while the calling thread forks */
/* Clears the filter: no block is known. */
void sp_heap_filter_clear(void);
/* Whether recording is over for the calling thread's location t (NULL: no location): the thread was on its way here
 * while a measurement ended, even if another one has begun since. */
static inline bool sp_heap_is_over(const struct sp_thread *t)
{
	return !sp_heap.on || (t && (int32_t)(t->epoch - sp_heap.epoch) < 0);
}

/* ---- blocks.c: live blocks, and pages ---- */

/* Stores a block. If the address is already known, its earlier block was released unseen and is returned in *before.
 * Returns false without memory. */
bool sp_heap_blocks_put(const void *p, const struct sp_heap_block *block, struct sp_heap_block *before);
/* Removes a block and returns it; site 0: unknown. */
struct sp_heap_block sp_heap_blocks_take(const void *p);
/* Removes all blocks and pages. */
void sp_heap_blocks_clear(void);
/* Stores a range of pages with its site. Returns false without memory. */
bool sp_heap_pages_put(uintptr_t begin, uintptr_t end, uint32_t site);
/* Removes the range, in parts of mappings if necessary. Calls gone() for each removed piece; whole: it was the last
 * piece of its mapping. */
void sp_heap_pages_take(uintptr_t begin, uintptr_t end, void (*gone)(uint32_t site, uint64_t bytes, bool whole));

/* ---- sites.c ---- */

/* Returns the site of the calling thread's current allocation; needs no lock. NULL: no space. */
struct sp_raw_site *sp_heap_site_of(struct sp_thread *t, struct sp_raw_node *node, unsigned kind);

/* sp_heap_latest_put() makes a block of n bytes the latest one of its size class in the thread. sp_heap_latest_take(),
 * at the block's release by the thread, returns whether the thread has made at most N other allocations of the class
 * since (setting temporary). Both need the lock and are called by the thread itself. */
enum { SP_HEAP_MAX_BETWEEN = 64 };
void sp_heap_latest_put(struct sp_thread *t, const void *p, uint64_t n);
bool sp_heap_latest_take(const struct sp_thread *t, const void *p, uint64_t n);
/* The same for samples: whether `since` bytes are too few for more than N other blocks of the size class of n bytes. */
bool sp_heap_is_recent(uint64_t n, uint64_t since);

/* ---- series.c ---- */

/* Called after an allocation or release: advances the time slice and adds a point if one is due. */
void sp_heap_snapshot(struct sp_thread *t, const struct sp_raw_site *site);
/* Stores where the limit of resident bytes was passed. */
void sp_heap_passed_at(const struct sp_thread *t, const struct sp_raw_site *s);
/* Reads the resident size and adds a point to the series; ns: CLOCK_MONOTONIC_COARSE. */
void sp_heap_point(uint64_t ns, const struct sp_thread *t, const struct sp_raw_site *site);

#endif
