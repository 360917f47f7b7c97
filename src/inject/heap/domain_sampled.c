/* SPDX-License-Identifier: BSD-3-Clause */
/* The domains of Python's allocators if one allocation in many is recorded. Nearly every call only subtracts, or checks
 * the filter, and jumps to the real function. Blocks that Python's allocator takes from malloc() are left to the
 * wrapper of malloc(). */
#include "inject/heap/heap.h"

#include <string.h>

enum { IDLE = 64 << 10 }; /* bytes until the next check whether anything is recorded */

/* Whether the n bytes that made `left` negative are recorded. Bytes of the recorder itself are chosen like others but
 * not recorded, so that the next allocation does not replace them. */
static bool is_recorded(size_t n)
{
	struct sp_heap_self *me = &sp_heap_self;
	const struct sp_heap_recorder *r = __atomic_load_n(&sp_heap_recorder, __ATOMIC_ACQUIRE);
	if (!r) /* the measurement is over, but another allocator that wraps this one keeps it in use */
		sp_heap_undraw(me, IDLE);
	return r && sp_heap_sampled(r, me, n) && !me->quiet;
}

static void *report(const struct sp_heap_domain *d, void *p, size_t n)
{
	struct sp_heap_self *me = &sp_heap_self;
	const struct sp_heap_recorder *r = __atomic_load_n(&sp_heap_recorder, __ATOMIC_ACQUIRE);
	if (p && r) {
		me->quiet++;
		sp_heap_record(r, me, p, n, d->kind);
		me->quiet--;
	}
	return p;
}

static inline bool is_chosen(size_t limit, size_t n)
{
	return SP_LIKELY(n <= limit) && SP_UNLIKELY((sp_heap_self.left -= (int64_t)n) < 0);
}

SP_COLD static void forget(const void *p, struct sp_heap_block *block)
{
	struct sp_heap_self *me = &sp_heap_self;
	const struct sp_heap_recorder *r = __atomic_load_n(&sp_heap_recorder, __ATOMIC_ACQUIRE);
	if (!r || !p || me->quiet)
		return;
	me->quiet++;
	sp_heap_forget(r, me, p, block);
	me->quiet--;
}

/* Reallocates a block: the old one is forgotten, the new one has the new size; small: malloc()'s wrapper must not count
 * it. */
static void *resized(const struct sp_heap_domain *d, void *p, size_t n, bool small)
{
	struct sp_heap_self *me = &sp_heap_self;
	struct sp_heap_block block = {0, 0};
	if (sp_heap_may_be_known(p))
		forget(p, &block);
	me->quiet += small; /* a large block that becomes small stays where it is */
	void *q = d->realloc(d->ctx, p, n);
	me->quiet -= small;
	if (SP_UNLIKELY(!q) && block.site)
		sp_heap_restore(p, &block);
	return q;
}

/* ---- any allocator ---- */

SP_COLD static void *malloc_chosen(const struct sp_heap_domain *d, size_t n)
{
	return is_recorded(n) ? report(d, d->malloc(d->ctx, n), n) : d->malloc(d->ctx, n);
}

static void *sampled_malloc(void *domain, size_t n)
{
	const struct sp_heap_domain *d = domain;
	return is_chosen(d->limit, n) ? malloc_chosen(d, n) : d->malloc(d->ctx, n);
}

SP_COLD static void *calloc_chosen(const struct sp_heap_domain *d, size_t n, size_t size)
{
	return is_recorded(n * size) ? report(d, d->calloc(d->ctx, n, size), n * size) : d->calloc(d->ctx, n, size);
}

static void *sampled_calloc(void *domain, size_t n, size_t size)
{
	const struct sp_heap_domain *d = domain;
	return is_chosen(d->limit, n * size) ? calloc_chosen(d, n, size) : d->calloc(d->ctx, n, size);
}

static void *sampled_realloc(void *domain, void *p, size_t n)
{
	const struct sp_heap_domain *d = domain;
	void *q = resized(d, p, n, n <= d->limit);
	return q && is_chosen(d->limit, n) && is_recorded(n) ? report(d, q, n) : q;
}

SP_COLD static void free_known(const struct sp_heap_domain *d, void *p)
{
	struct sp_heap_block block;
	forget(p, &block);
	d->free(d->ctx, p);
}

static void sampled_free(void *domain, void *p)
{
	const struct sp_heap_domain *d = domain;
	if (sp_heap_may_be_known(p))
		free_known(d, p);
	else
		d->free(d->ctx, p);
}

SP_EXPORT const struct sp_heap_domain_functions sp_heap_domain_sampled = {sampled_malloc, sampled_calloc,
                                                                          sampled_realloc, sampled_free};

/* ---- pymalloc: it treats unknown blocks as blocks of malloc(). So a chosen block is allocated with malloc(): its
 * release goes to free(), its new size to realloc(), and other releases need no check. pymalloc does not use its
 * context, so the context can be the domain, which stays valid. ---- */

SP_COLD static void *pymalloc_malloc_chosen(const struct sp_heap_domain *d, size_t n)
{
	return is_recorded(n) ? report(d, sp_heap_real_calloc(1, n ? n : 1), n) : d->malloc(d->ctx, n);
}

static void *pymalloc_malloc(void *domain, size_t n)
{
	const struct sp_heap_domain *d = domain;
	return is_chosen(SP_HEAP_PYMALLOC_MAX, n) ? pymalloc_malloc_chosen(d, n) : d->malloc(domain, n);
}

SP_COLD static void *pymalloc_calloc_chosen(const struct sp_heap_domain *d, size_t n, size_t size)
{
	return is_recorded(n * size) ? report(d, sp_heap_real_calloc(1, n && size ? n * size : 1), n * size)
	                             : d->calloc(d->ctx, n, size);
}

static void *pymalloc_calloc(void *domain, size_t n, size_t size)
{
	const struct sp_heap_domain *d = domain;
	return is_chosen(SP_HEAP_PYMALLOC_MAX, n * size) ? pymalloc_calloc_chosen(d, n, size)
	                                                 : d->calloc(domain, n, size);
}

SP_COLD static void *pymalloc_realloc_chosen(const struct sp_heap_domain *d, void *p, size_t n)
{
	const bool recorded = is_recorded(n);
	void *q = resized(d, p, n, true);
	void *moved = q && recorded ? sp_heap_real_calloc(1, n ? n : 1) : NULL;
	if (!moved)
		return q;
	memcpy(moved, q, n);
	d->free(d->ctx, q);
	return report(d, moved, n);
}

/* A block of malloc() that becomes small goes to realloc(), which must not subtract its bytes again. */
static void *pymalloc_realloc(void *domain, void *p, size_t n)
{
	const struct sp_heap_domain *d = domain;
	if (is_chosen(SP_HEAP_PYMALLOC_MAX, n))
		return pymalloc_realloc_chosen(d, p, n);
	sp_heap_self.counted = p;
	return d->realloc(domain, p, n);
}

SP_EXPORT const struct sp_heap_domain_functions sp_heap_domain_pymalloc = {pymalloc_malloc, pymalloc_calloc,
                                                                           pymalloc_realloc, NULL};

/* ---- arenas: their contents are recorded, not the arenas ---- */

static void *arena_alloc(void *arenas, size_t n)
{
	const struct sp_heap_arenas *a = arenas;
	sp_heap_self.quiet++;
	void *p = a->alloc(a->ctx, n);
	sp_heap_self.quiet--;
	return p;
}

static void arena_free(void *arenas, void *p, size_t n)
{
	const struct sp_heap_arenas *a = arenas;
	sp_heap_self.quiet++;
	a->free(a->ctx, p, n);
	sp_heap_self.quiet--;
}

SP_EXPORT const struct sp_heap_arenas sp_heap_arena = {NULL, arena_alloc, arena_free};
