/* SPDX-License-Identifier: BSD-3-Clause */
/* The library that `spartito run --memory-profile` preloads (LD_PRELOAD): it wraps the allocators, calls the real ones,
 * and reports to the recorder.
 *
 * It is in every process of the run, whatever its program. Until spartito._measure attaches a recorder, a wrapper is
 * one load and one branch. The real functions are those of the next library that has them, so an allocator of the
 * program's choice, preloaded after this one, stays in use. */
#ifndef SP_INJECT_HEAP_HEAP_H
#define SP_INJECT_HEAP_HEAP_H

#include "base/compiler.h"
#include "record/heap/heap.h"

#include <errno.h>

/* NULL: nothing is recorded. */
extern const struct sp_heap_recorder *sp_heap_recorder __attribute__((visibility("hidden")));

enum { SP_HEAP_RECENT = 16 };

struct sp_heap_self {
	int quiet;    /* not 0: inside an allocator whose own calls are recorded, or inside the recorder */
	bool drawn;   /* `left` and `seed` are valid */
	int64_t left; /* bytes until the next recorded allocation */
	uint64_t seed;
	uint64_t base; /* base - left is the number of bytes that were subtracted up to now */
	struct {
		const void *p;
		uint64_t bytes;   /* base - left at the time of its allocation */
	} recent[SP_HEAP_RECENT]; /* with sampling: ring of the latest recorded blocks */
	unsigned newest;
	/* in pymalloc's domains: the block whose new size is already subtracted, if realloc() gets it */
	const void *counted;
};
extern __thread struct sp_heap_self sp_heap_self SP_TLS_MODEL __attribute__((visibility("hidden")));

/* Call when n bytes made me->left negative: draws the next gap. Returns false if no gap had been drawn yet; then the
 * bytes are not recorded. */
SP_COLD bool sp_heap_sampled(const struct sp_heap_recorder *r, struct sp_heap_self *me, size_t n);

static inline void sp_heap_set_left(struct sp_heap_self *me, int64_t bytes)
{
	me->base += (uint64_t)bytes - (uint64_t)me->left;
	me->left = bytes;
}

/* Makes the first gap be drawn after this number of bytes. */
static inline void sp_heap_undraw(struct sp_heap_self *me, int64_t bytes)
{
	me->drawn = false;
	sp_heap_set_left(me, bytes);
}

static inline void sp_heap_record(const struct sp_heap_recorder *r, struct sp_heap_self *me, const void *p, size_t n,
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
/* Whether the block may be a recorded one, by the filter. Relaxed: the thread that passed the block on made its bit
 * visible too. */
static inline bool sp_heap_may_be_known(const void *p)
{
	const uint32_t at = sp_heap_filter_at(p);
	return SP_UNLIKELY(__atomic_load_n(&sp_heap_filter[at / 64], __ATOMIC_RELAXED) >> at % 64 & 1);
}

static inline void sp_heap_forget(const struct sp_heap_recorder *r, struct sp_heap_self *me, const void *p,
                                  struct sp_heap_block *block)
{
	uint64_t since = UINT64_MAX;
	for (unsigned i = 0; r->sample && i < SP_HEAP_RECENT; i++)
		if (me->recent[i].p == p) {
			/* another thread may have released an older block at this address: the newest one counts */
			const uint64_t of_this = me->base - (uint64_t)me->left - me->recent[i].bytes;
			if (of_this < since)
				since = of_this;
			me->recent[i].p = NULL;
		}
	r->released(p, since, block);
}

/* The recorder of a call, if the call is recorded: not one by _measure, nor one inside an allocator with a separate
 * wrapper. */
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

/* Evaluates a call without recording: an allocator may call other wrapped functions, and maps its pages by mmap(). */
#define SP_HEAP_QUIETLY(call)                                                                                          \
	__extension__({                                                                                                \
		sp_heap_self.quiet++;                                                                                  \
		__typeof__(call) quietly = (call);                                                                     \
		sp_heap_self.quiet--;                                                                                  \
		quietly;                                                                                               \
	})

void sp_heap_restore(const void *p, const struct sp_heap_block *block);

/* What the wrappers of malloc() and the like do. */
enum sp_heap_way {
	/* check everything: all allocations are recorded, or the real functions are unknown, or some blocks are from
	 * `early` */
	SP_HEAP_DIRECT,
	SP_HEAP_PASSED_ON, /* call the real functions: nothing is recorded */
	SP_HEAP_SAMPLED,   /* the same, but subtract bytes, and check releases with the filter */
};

/* The functions of the C library or its replacement; NULL: not looked up yet. */
extern struct sp_heap_real {
	enum sp_heap_way way;
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void (*free)(void *);
} sp_heap_real __attribute__((visibility("hidden")));

/* Bytes for allocations while the functions are looked up; they are never freed. */
enum { SP_HEAP_EARLY = 64 << 10 };
extern char sp_heap_early[SP_HEAP_EARLY] __attribute__((visibility("hidden")));
static inline bool sp_heap_is_early(const void *p)
{
	return (uintptr_t)p - (uintptr_t)sp_heap_early < SP_HEAP_EARLY;
}
/* Used while the real function is unknown. */
SP_COLD void *sp_heap_early_malloc(size_t n);
SP_COLD void *sp_heap_early_calloc(size_t n, size_t size);
/* Used while the real function is unknown, or for a block of `early`. */
SP_COLD void *sp_heap_early_realloc(void *p, size_t n);
/* Tries to find the real function; returns whether it is known now. */
SP_COLD bool sp_heap_early_free(void);

void *sp_heap_real_calloc(size_t n, size_t size);
extern void *(*sp_heap_real_sbrk)(intptr_t) __attribute__((visibility("hidden")));
extern int (*sp_heap_real_brk)(void *) __attribute__((visibility("hidden")));
/* Looks up sbrk() and brk(); returns whether both exist. */
bool sp_heap_resolve(void);

#endif
