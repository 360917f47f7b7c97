/* SPDX-License-Identifier: BSD-3-Clause */
/* The domains of Python's allocators where one allocation in many is recorded: nearly every call subtracts, or looks
 * into the filter, and goes straight on to the real function. Blocks that Python's allocator takes from malloc() are
 * left to that one's wrapper. */
#include "heap/heap.h"

#include <string.h>

/* Whether n bytes that are to be had now are recorded. */
static bool is_recorded(size_t n)
{
	struct sp_heap_self *me = &sp_heap_self;
	const struct sp_heap_recorder *r = __atomic_load_n(&sp_heap_recorder, __ATOMIC_ACQUIRE);
	return r && !me->quiet && sp_heap_sampled(r, me, n);
}

static void *tell(const struct sp_heap_domain *d, void *p, size_t n)
{
	struct sp_heap_self *me = &sp_heap_self;
	const struct sp_heap_recorder *r = __atomic_load_n(&sp_heap_recorder, __ATOMIC_ACQUIRE);
	if (p && r) {
		me->quiet++;
		sp_heap_tell(r, me, p, n, d->kind);
		me->quiet--;
	}
	return p;
}

static inline bool is_chosen(const struct sp_heap_domain *d, size_t n)
{
	return SP_UNLIKELY(n <= d->most && (sp_heap_self.left -= (int64_t)n) < 0);
}

SP_COLD static void *malloc_chosen(const struct sp_heap_domain *d, size_t n)
{
	if (!is_recorded(n))
		return d->malloc(d->ctx, n);
	return tell(d, d->foreign ? sp_heap_real_calloc(1, n ? n : 1) : d->malloc(d->ctx, n), n);
}

static void *sampled_malloc(void *domain, size_t n)
{
	const struct sp_heap_domain *d = domain;
	return is_chosen(d, n) ? malloc_chosen(d, n) : d->malloc(d->ctx, n);
}

SP_COLD static void *calloc_chosen(const struct sp_heap_domain *d, size_t n, size_t size)
{
	if (!is_recorded(n * size))
		return d->calloc(d->ctx, n, size);
	return tell(d, d->foreign ? sp_heap_real_calloc(1, n && size ? n * size : 1) : d->calloc(d->ctx, n, size),
	            n * size);
}

static void *sampled_calloc(void *domain, size_t n, size_t size)
{
	const struct sp_heap_domain *d = domain;
	return is_chosen(d, n * size) ? calloc_chosen(d, n, size) : d->calloc(d->ctx, n, size);
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

static void *sampled_realloc(void *domain, void *p, size_t n)
{
	const struct sp_heap_domain *d = domain;
	struct sp_heap_self *me = &sp_heap_self;
	struct sp_heap_block block = {0, 0};
	const bool small = n <= d->most;
	if (sp_heap_may_be_known(p))
		forget(p, &block);
	me->quiet += small; /* a large block that becomes small stays where it is */
	void *q = d->realloc(d->ctx, p, n);
	me->quiet -= small;
	if (SP_UNLIKELY(!q) && block.site)
		sp_heap_restore(p, &block);
	if (!q || !is_chosen(d, n) || !is_recorded(n))
		return q;
	void *moved = d->foreign ? sp_heap_real_calloc(1, n ? n : 1) : q;
	if (!moved)
		return q;
	if (moved != q) {
		memcpy(moved, q, n);
		d->free(d->ctx, q);
	}
	return tell(d, moved, n);
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

/* ---- arenas: what is in them is recorded, and not they ---- */

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
