/* SPDX-License-Identifier: BSD-3-Clause */
/* The library that `spartito run --memory-profile` has loaded before all others (LD_PRELOAD): it stands in front of the
 * allocators, calls the real ones, and tells the recorder.
 *
 * It is in every process of the run, whatever program that is. Until spartito._measure has attached itself a wrapper is
 * one load and one branch. The real functions are those of the next library that has them, so that allocators of the
 * program's own choice, preloaded after this one, stay in use. */
#ifndef SP_HEAP_H
#define SP_HEAP_H

#include "record/heap.h"

#include <errno.h>

#define SP_LIKELY(x)   __builtin_expect(!!(x), 1)
#define SP_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define SP_COLD        __attribute__((cold, noinline))
#define SP_EXPORT      __attribute__((visibility("default")))

/* NULL: nothing is recorded. */
extern const struct sp_heap_recorder *sp_heap_recorder;

struct sp_heap_self {
	int quiet;    /* not 0: within an allocator that is recorded itself, or within the recorder */
	bool drawn;   /* `left` and `seed` are */
	int64_t left; /* bytes to the next one that is recorded */
	uint64_t seed;
	const void *last; /* what the thread allocated last, if it was recorded, */
	int64_t then;     /* and `left` after it: what is not recorded subtracts from it */
};
extern __thread struct sp_heap_self sp_heap_self __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* n bytes made me->left negative: draws the next gap. false: nothing had been drawn yet, and they are not recorded. */
SP_COLD bool sp_heap_sampled(const struct sp_heap_recorder *r, struct sp_heap_self *me, size_t n);

static inline void sp_heap_tell(const struct sp_heap_recorder *r, struct sp_heap_self *me, const void *p, size_t n,
                                unsigned kind)
{
	r->allocated(p, n, kind);
	me->last = p;
	me->then = me->left;
}

extern uint64_t sp_heap_filter[SP_HEAP_FILTER / 64] __attribute__((visibility("hidden")));
/* Whether the block may be one that was chosen. */
static inline bool sp_heap_may_be_known(const void *p)
{
	const uint32_t at = sp_heap_filter_at(p);
	return SP_UNLIKELY(sp_heap_filter[at / 64] >> at % 64 & 1);
}

static inline void sp_heap_forget(const struct sp_heap_recorder *r, struct sp_heap_self *me, const void *p,
                                  struct sp_heap_block *block)
{
	const bool temporary = me->last == p && me->then == me->left;
	if (temporary)
		me->last = NULL;
	r->released(p, temporary, block);
}

void sp_heap_restore(const void *p, const struct sp_heap_block *block);

/* Of the C library, or whoever is in its place. */
void *sp_heap_real_calloc(size_t n, size_t size);

#endif
