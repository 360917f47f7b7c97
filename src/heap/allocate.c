/* SPDX-License-Identifier: BSD-3-Clause */
/* malloc, calloc, realloc and free. Where nothing is recorded, or one block in many, nearly every call subtracts, or
 * looks into the filter, and goes straight on to the real function: bytes are chosen whoever asks for them, and whether
 * they are the program's is looked at then. */
#include "heap/heap.h"

#include <stdlib.h>

#define SP_NOINLINE __attribute__((noinline))

static inline const struct sp_heap_recorder *any_recorder(void)
{
	return __atomic_load_n(&sp_heap_recorder, __ATOMIC_ACQUIRE);
}

/* Whether nothing is to be recorded of n bytes: nothing is at all, or these are not chosen. */
static inline bool is_passed(const struct sp_heap_recorder *r, size_t n)
{
	if (SP_LIKELY(!r))
		return true;
	/* half of all there is nobody gets, and it must not be subtracted */
	return r->sample && SP_LIKELY(((sp_heap_self.left -= (int64_t)n) | (int64_t)n) >= 0);
}

/* The same of the release of a block. */
static inline bool is_passed_free(const struct sp_heap_recorder *r, const void *p)
{
	return SP_LIKELY(!r) || (r->sample && SP_LIKELY(!sp_heap_may_be_known(p)));
}

/* Of n bytes that are not passed: what records them; NULL: they are not the program's. */
static const struct sp_heap_recorder *chosen(const struct sp_heap_recorder *r, size_t n, const void *caller)
{
	struct sp_heap_self *me = &sp_heap_self;
	if (r->sample && (int64_t)n < 0)
		me->left += (int64_t)n;
	else if (!r->sample || sp_heap_sampled(r, me, n))
		return sp_heap_recorder_of(caller);
	return NULL;
}

static inline void *tell(const struct sp_heap_recorder *r, void *p, size_t n)
{
	struct sp_heap_self *me = &sp_heap_self;
	if (r && p) {
		me->quiet++;
		sp_heap_tell(r, me, p, n, SP_RAW_HEAP_MALLOC);
		me->quiet--;
	}
	return p;
}

/* Before the block is free for others. */
static inline void forget(const struct sp_heap_recorder *r, const void *p, struct sp_heap_block *block)
{
	struct sp_heap_self *me = &sp_heap_self;
	if (r && p && !is_passed_free(r, p)) {
		me->quiet++;
		sp_heap_forget(r, me, p, block);
		me->quiet--;
	}
}

SP_NOINLINE static void *malloc_recorded(const struct sp_heap_recorder *r, size_t n, const void *caller)
{
	r = chosen(r, n, caller);
	return tell(r, SP_HEAP_QUIETLY(sp_heap_real.malloc(n)), n);
}

SP_EXPORT void *malloc(size_t n)
{
	const struct sp_heap_recorder *r = any_recorder();
	void *(*real)(size_t) = sp_heap_real.malloc;
	if (SP_UNLIKELY(!real))
		return sp_heap_early_malloc(n);
	return is_passed(r, n) ? real(n) : malloc_recorded(r, n, SP_HEAP_CALLER);
}

SP_NOINLINE static void *calloc_recorded(const struct sp_heap_recorder *r, size_t n, size_t size, const void *caller)
{
	r = chosen(r, n * size, caller);
	return tell(r, SP_HEAP_QUIETLY(sp_heap_real.calloc(n, size)), n * size);
}

SP_EXPORT void *calloc(size_t n, size_t size)
{
	const struct sp_heap_recorder *r = any_recorder();
	void *(*real)(size_t, size_t) = sp_heap_real.calloc;
	if (SP_UNLIKELY(!real))
		return sp_heap_early_calloc(n, size);
	return is_passed(r, n * size) ? real(n, size) : calloc_recorded(r, n, size, SP_HEAP_CALLER);
}

/* passed: the n bytes are. */
SP_NOINLINE static void *realloc_recorded(const struct sp_heap_recorder *r, void *p, size_t n, bool passed,
                                          const void *caller)
{
	struct sp_heap_block block = {0, 0};
	const struct sp_heap_recorder *of = sp_heap_recorder_of(caller);
	forget(of, p, &block);
	void *q = SP_HEAP_QUIETLY(sp_heap_real.realloc(p, n));
	if (of && !q && n && block.site)
		of->restore(p, &block);
	return passed ? q : tell(chosen(r, n, caller), q, n);
}

static inline void *resize(void *p, size_t n, const void *caller)
{
	const struct sp_heap_recorder *r = any_recorder();
	void *(*real)(void *, size_t) = sp_heap_real.realloc;
	if (SP_UNLIKELY(!real || sp_heap_is_early(p)))
		return sp_heap_early_realloc(p, n);
	const bool passed = is_passed(r, n);
	return passed && is_passed_free(r, p) ? real(p, n) : realloc_recorded(r, p, n, passed, caller);
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

SP_NOINLINE static void free_recorded(void *p, const void *caller)
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
	const struct sp_heap_recorder *r = any_recorder();
	void (*real)(void *) = sp_heap_real.free;
	if (SP_LIKELY(real && !sp_heap_is_early(p) && is_passed_free(r, p)))
		real(p);
	else
		free_recorded(p, caller);
}

SP_EXPORT void free(void *p)
{
	release(p, SP_HEAP_CALLER);
}

/* C23's, which do what free() does */
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

/* of programs that were linked before 2.26 of the GNU C library */
SP_EXPORT void cfree(void *p);
void cfree(void *p)
{
	release(p, SP_HEAP_CALLER);
}
