/* SPDX-License-Identifier: BSD-3-Clause */
/* malloc, calloc, realloc and free. If nothing is recorded, or only one block in many, nearly every call only
 * subtracts, or checks the filter, and jumps to the real function. Bytes are chosen independently of the caller; a slow
 * path then checks whether they belong to the program. All other calls use the slow path. */
#include "inject/heap/heap.h"

#include <stdlib.h>

#define SP_NOINLINE __attribute__((noinline))

static inline const struct sp_heap_recorder *any_recorder(void)
{
	return __atomic_load_n(&sp_heap_recorder, __ATOMIC_ACQUIRE);
}

static inline enum sp_heap_way way_now(void)
{
	return __atomic_load_n(&sp_heap_real.way, __ATOMIC_ACQUIRE);
}

/* A request for half the address space or more always fails: chosen() undoes its subtraction. */
static inline bool is_chosen(size_t n)
{
	return SP_UNLIKELY(((sp_heap_self.left -= (int64_t)n) | (int64_t)n) < 0);
}

/* Whether only the real function has to be called for n bytes: it is known, and nothing is recorded. */
static inline bool is_passed(enum sp_heap_way way, size_t n)
{
	return SP_LIKELY(way == SP_HEAP_SAMPLED) ? !is_chosen(n) : way == SP_HEAP_PASSED_ON;
}

/* The same for the release of a block. */
static inline bool is_passed_free(enum sp_heap_way way, const void *p)
{
	return SP_LIKELY(way == SP_HEAP_SAMPLED) ? !sp_heap_may_be_known(p) : way == SP_HEAP_PASSED_ON;
}

/* The recorder for n bytes that are not passed on; NULL: not recorded. subtracted: is_chosen() returned true for
 * them. */
static const struct sp_heap_recorder *chosen(size_t n, bool subtracted, const void *caller)
{
	const struct sp_heap_recorder *r = any_recorder();
	struct sp_heap_self *me = &sp_heap_self;
	if (!r) {
		sp_heap_undraw(me, 0);
		return NULL;
	}
	if (r->sample) {
		if (!subtracted && !is_chosen(n))
			return NULL;
		if ((int64_t)n < 0)
			me->left += (int64_t)n;
		if ((int64_t)n < 0 || !sp_heap_sampled(r, me, n))
			return NULL;
	}
	return sp_heap_recorder_of(caller);
}

static inline void *report(const struct sp_heap_recorder *r, void *p, size_t n)
{
	struct sp_heap_self *me = &sp_heap_self;
	if (r && p) {
		me->quiet++;
		sp_heap_record(r, me, p, n, SP_RAW_HEAP_MALLOC);
		me->quiet--;
	}
	return p;
}

/* Reports a release, before another thread can get the block. */
static inline void forget(const struct sp_heap_recorder *r, const void *p, struct sp_heap_block *block)
{
	struct sp_heap_self *me = &sp_heap_self;
	if (r && p && (!r->sample || sp_heap_may_be_known(p))) {
		me->quiet++;
		sp_heap_forget(r, me, p, block);
		me->quiet--;
	}
}

SP_NOINLINE static void *malloc_slow(size_t n, bool subtracted, const void *caller)
{
	if (!sp_heap_real.malloc)
		return sp_heap_early_malloc(n);
	const struct sp_heap_recorder *r = chosen(n, subtracted, caller);
	return report(r, SP_HEAP_QUIETLY(sp_heap_real.malloc(n)), n);
}

SP_EXPORT void *malloc(size_t n)
{
	const enum sp_heap_way way = way_now();
	return is_passed(way, n) ? sp_heap_real.malloc(n) : malloc_slow(n, way == SP_HEAP_SAMPLED, SP_HEAP_CALLER);
}

SP_NOINLINE static void *calloc_slow(size_t n, size_t size, bool subtracted, const void *caller)
{
	if (!sp_heap_real.calloc)
		return sp_heap_early_calloc(n, size);
	const struct sp_heap_recorder *r = chosen(n * size, subtracted, caller);
	return report(r, SP_HEAP_QUIETLY(sp_heap_real.calloc(n, size)), n * size);
}

SP_EXPORT void *calloc(size_t n, size_t size)
{
	const enum sp_heap_way way = way_now();
	return is_passed(way, n * size) ? sp_heap_real.calloc(n, size)
	                                : calloc_slow(n, size, way == SP_HEAP_SAMPLED, SP_HEAP_CALLER);
}

SP_NOINLINE static void *realloc_slow(void *p, size_t n, bool subtracted, const void *caller)
{
	struct sp_heap_self *me = &sp_heap_self;
	struct sp_heap_block block = {0, 0};
	if (!sp_heap_real.realloc || sp_heap_is_early(p))
		return sp_heap_early_realloc(p, n);
	const bool counted = p && p == me->counted && n <= SP_HEAP_PYMALLOC_MAX;
	if (counted)
		me->counted = NULL;
	const struct sp_heap_recorder *of = sp_heap_recorder_of(caller);
	const struct sp_heap_recorder *r = counted ? NULL : chosen(n, subtracted, caller);
	forget(of, p, &block);
	void *q = SP_HEAP_QUIETLY(sp_heap_real.realloc(p, n));
	if (of && !q && n && block.site)
		of->restore(p, &block);
	return report(r, q, n);
}

static inline void *resize(void *p, size_t n, const void *caller)
{
	const enum sp_heap_way way = way_now();
	bool subtracted = false;
	if (SP_LIKELY(way == SP_HEAP_SAMPLED)) {
		if (p != sp_heap_self.counted && !sp_heap_may_be_known(p)) {
			if (!is_chosen(n))
				return sp_heap_real.realloc(p, n);
			subtracted = true;
		}
	} else if (way == SP_HEAP_PASSED_ON) {
		return sp_heap_real.realloc(p, n);
	}
	return realloc_slow(p, n, subtracted, caller);
}

SP_EXPORT void *realloc(void *p, size_t n)
{
	return resize(p, n, SP_HEAP_CALLER);
}

SP_EXPORT void *reallocarray(void *p, size_t n, size_t size)
{
	size_t whole;
	if (__builtin_mul_overflow(n, size, &whole)) {
		errno = ENOMEM;
		return NULL;
	}
	return resize(p, whole, SP_HEAP_CALLER);
}

SP_NOINLINE static void free_slow(void *p, const void *caller)
{
	struct sp_heap_block block;
	if (!p || sp_heap_is_early(p) || !(sp_heap_real.free || sp_heap_early_free()))
		return;
	forget(sp_heap_recorder_of(caller), p, &block);
	sp_heap_self.quiet++;
	sp_heap_real.free(p);
	sp_heap_self.quiet--;
}

static inline void release(void *p, const void *caller)
{
	if (is_passed_free(way_now(), p))
		sp_heap_real.free(p);
	else
		free_slow(p, caller);
}

SP_EXPORT void free(void *p)
{
	release(p, SP_HEAP_CALLER);
}

/* C23 functions that do the same as free() */
SP_EXPORT void free_sized(void *p, size_t n);
void free_sized(void *p, size_t n)
{
	(void)n;
	release(p, SP_HEAP_CALLER);
}

SP_EXPORT void free_aligned_sized(void *p, size_t alignment, size_t n);
void free_aligned_sized(void *p, size_t alignment, size_t n)
{
	(void)alignment, (void)n;
	release(p, SP_HEAP_CALLER);
}

/* for programs that were linked with a GNU C library before 2.26 */
SP_EXPORT void cfree(void *p);
void cfree(void *p)
{
	release(p, SP_HEAP_CALLER);
}
