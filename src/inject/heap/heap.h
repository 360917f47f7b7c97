/* SPDX-License-Identifier: BSD-3-Clause */
/* The library that `spartito run --memory-profile` has loaded before all others (LD_PRELOAD): it stands in front of the
 * allocators, calls the real ones, and tells the recorder.
 *
 * It is in every process of the run, whatever program that is. Until spartito._measure has attached itself a wrapper is
 * one load and one branch. The real functions are those of the next library that has them, so that allocators of the
 * program's own choice, preloaded after this one, stay in use. */
#ifndef SP_INJECT_HEAP_HEAP_H
#define SP_INJECT_HEAP_HEAP_H

#include "base/compiler.h"
#include "record/heap/heap.h"

#include <errno.h>

/* NULL: nothing is recorded. */
extern const struct sp_heap_recorder *sp_heap_recorder __attribute__((visibility("hidden")));

enum { SP_HEAP_RECENT = 16 };

struct sp_heap_self {
	int quiet;    /* not 0: within an allocator that is recorded itself, or within the recorder */
	bool drawn;   /* `left` and `seed` are */
	int64_t left; /* bytes to the next one that is recorded */
	uint64_t seed;
	uint64_t base; /* less `left`: all bytes that were subtracted from it */
	struct {
		const void *p;
		uint64_t bytes;   /* that had been subtracted then */
	} recent[SP_HEAP_RECENT]; /* of sampling: the latest blocks that were recorded, a ring */
	unsigned newest;
	const void *counted; /* of pymalloc's domains: the block whose new size is subtracted, if realloc() gets it */
};
extern __thread struct sp_heap_self sp_heap_self __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* n bytes made me->left negative: draws the next gap. false: nothing had been drawn yet, and they are not recorded. */
SP_COLD bool sp_heap_sampled(const struct sp_heap_recorder *r, struct sp_heap_self *me, size_t n);

static inline void sp_heap_set_left(struct sp_heap_self *me, int64_t bytes)
{
	me->base += (uint64_t)bytes - (uint64_t)me->left;
	me->left = bytes;
}

/* The first gap is drawn in so many bytes. */
static inline void sp_heap_undraw(struct sp_heap_self *me, int64_t bytes)
{
	me->drawn = false;
	sp_heap_set_left(me, bytes);
}

static inline void sp_heap_tell(const struct sp_heap_recorder *r, struct sp_heap_self *me, const void *p, size_t n,
                                unsigned kind)
{
	r->allocated(p, n, kind);
	if (r->sample) {
		me->newest = (me->newest + 1) % SP_HEAP_RECENT;
		me->recent[me->newest].p = p;
		me->recent[me->newest].bytes = me->base - (uint64_t)me->left;
	}
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
	uint64_t since = UINT64_MAX;
	for (unsigned i = 0; r->sample && i < SP_HEAP_RECENT; i++)
		if (me->recent[i].p == p) {
			/* another thread may have released an older block of the address: the newest one counts */
			const uint64_t of_this = me->base - (uint64_t)me->left - me->recent[i].bytes;
			if (of_this < since)
				since = of_this;
			me->recent[i].p = NULL;
		}
	r->released(p, since, block);
}

/* What records a call, if it is chosen: not one by _measure, or by an allocator of another function of its own. */
static inline const struct sp_heap_recorder *sp_heap_recorder_of(const void *caller)
{
	const struct sp_heap_recorder *r = __atomic_load_n(&sp_heap_recorder, __ATOMIC_ACQUIRE);
	const uintptr_t from = (uintptr_t)caller;
	if (SP_LIKELY(!r) || sp_heap_self.quiet || from - r->own_begin < r->own_end - r->own_begin ||
	    from - r->other_begin < r->other_end - r->other_begin)
		return NULL;
	return r;
}
#define SP_HEAP_CALLER __builtin_extract_return_addr(__builtin_return_address(0))

/* An allocator may call others of these functions, and maps its pages by mmap(). */
#define SP_HEAP_QUIETLY(call)                                                                                          \
	__extension__({                                                                                                \
		sp_heap_self.quiet++;                                                                                  \
		__typeof__(call) quietly = (call);                                                                     \
		sp_heap_self.quiet--;                                                                                  \
		quietly;                                                                                               \
	})

void sp_heap_restore(const void *p, const struct sp_heap_block *block);

/* How calls of malloc() and the like go on. */
enum sp_heap_way {
	SP_HEAP_LOOKED_AT, /* all of them: everything is recorded, or the real functions are not known yet, or some
	                    * blocks are not theirs (`early`) */
	SP_HEAP_PASSED_ON, /* to the real functions: nothing is recorded */
	SP_HEAP_SAMPLED,   /* the same, but bytes are subtracted, and releases looked up in the filter */
};

/* Of the C library, or whoever is in its place; NULL: not known yet. */
extern struct sp_heap_real {
	enum sp_heap_way way;
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void (*free)(void *);
} sp_heap_real __attribute__((visibility("hidden")));

/* What is asked for while they are looked up is here, and never given back. */
enum { SP_HEAP_EARLY = 64 << 10 };
extern char sp_heap_early[SP_HEAP_EARLY] __attribute__((visibility("hidden")));
static inline bool sp_heap_is_early(const void *p)
{
	return (uintptr_t)p - (uintptr_t)sp_heap_early < SP_HEAP_EARLY;
}
/* Where the real one is not known yet. */
SP_COLD void *sp_heap_early_malloc(size_t n);
SP_COLD void *sp_heap_early_calloc(size_t n, size_t size);
/* Or the block is early. */
SP_COLD void *sp_heap_early_realloc(void *p, size_t n);
/* Whether it is known now. */
SP_COLD bool sp_heap_early_free(void);

void *sp_heap_real_calloc(size_t n, size_t size);
extern void *(*sp_heap_real_sbrk)(intptr_t) __attribute__((visibility("hidden")));
extern int (*sp_heap_real_brk)(void *) __attribute__((visibility("hidden")));
/* Whether these two are there, and known. */
bool sp_heap_resolve(void);

#endif
