/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the heap's recorder share. */
#ifndef SP_RECORD_HEAP_PRIVATE_H
#define SP_RECORD_HEAP_PRIVATE_H

#include "record/heap/recorder.h"
#include "record/thread.h"

struct sp_heap_site {
	struct sp_raw_site *raw;
	const struct sp_thread *owner; /* never looked into: it may be gone */
};

/* All of it with the lock held, but for what says otherwise. */
struct sp_heap {
	int lock;
	bool on;
	uint32_t epoch;          /* where the measurement began: threads of one before have a lower one */
	struct sp_raw_heap *raw; /* in the file; of a child of fork that has none yet, `nowhere` */
	struct sp_raw_heap nowhere;
	struct sp_raw_chunk *series;
	uint64_t series_every; /* ns between two points */
	uint64_t point_ns, slice_ns;
	uint64_t slice_ticks;
	uint32_t slice;
	uint32_t calls;
	uint32_t untimed; /* events between two that are timed: one less than a power of two, or, of samples, 0 */
	bool mark;        /* the limit was passed, and the trace does not say so yet */
	struct sp_heap_site *sites; /* from 1 on; of MOST_SITES */
	uint32_t n_sites;
	uint64_t *bits;   /* the library's filter */
	uint64_t *filter; /* the same; NULL: not sampling */
	uint64_t limit;
	uint32_t outside; /* region of what no function asked for */
};
extern struct sp_heap sp_heap;
extern struct sp_heap_recorder sp_heap_recorder; /* what the library is given */

enum { SP_HEAP_MOST_SITES = 2 << 20, SP_HEAP_TIMED = 128 };

void sp_heap_lock(void); /* nothing, where the calling thread forks */
void sp_heap_unlock(void);
void sp_heap_take_lock(void); /* in any case */
/* No block is known. */
void sp_heap_filter_clear(void);
/* Whether nothing is recorded any more for the calling thread's location (NULL: it has none): it was on its way here
 * while a measurement ended, whatever has begun since. */
static inline bool sp_heap_is_over(const struct sp_thread *t)
{
	return !sp_heap.on || (t && (int32_t)(t->epoch - sp_heap.epoch) < 0);
}

/* ---- blocks.c: blocks that are live, and pages ---- */

/* An address that is known already was released unseen: its block comes back in *before. false: no memory. */
bool sp_heap_blocks_put(const void *p, const struct sp_heap_block *block, struct sp_heap_block *before);
/* site 0: not known. */
struct sp_heap_block sp_heap_blocks_take(const void *p);
void sp_heap_blocks_clear(void);
bool sp_heap_pages_put(uintptr_t begin, uintptr_t end, uint32_t site);
/* Cuts the range out; calls gone for each piece of it: whole, the last of its mapping. false: some are not known. */
void sp_heap_pages_take(uintptr_t begin, uintptr_t end, void (*gone)(uint32_t site, uint64_t bytes, bool whole));

/* ---- sites.c ---- */

/* The site of what the calling thread allocates; without the lock. NULL: no room. */
struct sp_raw_site *sp_heap_site_of(struct sp_thread *t, struct sp_raw_node *node, unsigned kind);

/* A block of n bytes is the thread's latest of its size class; and, at its release by the thread, whether that
 * allocated at most N others (setting temporary) of the class since. With the lock held, by the thread itself. */
enum { SP_HEAP_MOST_BETWEEN = 64 };
void sp_heap_latest_put(struct sp_thread *t, const void *p, uint64_t n);
bool sp_heap_latest_take(const struct sp_thread *t, const void *p, uint64_t n);
/* The same of samples: whether too few bytes came since for more than N others of the class of n bytes. */
bool sp_heap_is_recent(uint64_t n, uint64_t since);

/* ---- series.c ---- */

/* A block of n bytes came or went. */
void sp_heap_moment(struct sp_thread *t, const struct sp_raw_site *site);
void sp_heap_passed_at(const struct sp_thread *t, const struct sp_raw_site *s);
void sp_heap_point(uint64_t ns, const struct sp_thread *t, const struct sp_raw_site *site);

#endif
