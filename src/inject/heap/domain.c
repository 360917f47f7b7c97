/* SPDX-License-Identifier: BSD-3-Clause */
/* The domains of Python's allocators if everything is recorded. Memory that they take from the C library contains their
 * own blocks, and is not recorded again. */
#include "inject/heap/heap.h"

static inline const struct sp_heap_recorder *recorder(const struct sp_heap_self *me)
{
	const struct sp_heap_recorder *r = __atomic_load_n(&sp_heap_recorder, __ATOMIC_ACQUIRE);
	return SP_UNLIKELY(me->quiet) ? NULL : r;
}

static inline void *report(const struct sp_heap_recorder *r, struct sp_heap_self *me, void *p, size_t n,
                           const struct sp_heap_domain *d)
{
	if (r && SP_LIKELY(p != NULL))
		sp_heap_record(r, me, p, n, d->kind);
	me->quiet--;
	return p;
}

static void *domain_malloc(void *domain, size_t n)
{
	const struct sp_heap_domain *d = domain;
	struct sp_heap_self *me = &sp_heap_self;
	const struct sp_heap_recorder *r = recorder(me);
	me->quiet++;
	return report(r, me, d->malloc(d->ctx, n), n, d);
}

static void *domain_calloc(void *domain, size_t n, size_t size)
{
	const struct sp_heap_domain *d = domain;
	struct sp_heap_self *me = &sp_heap_self;
	const struct sp_heap_recorder *r = recorder(me);
	me->quiet++;
	return report(r, me, d->calloc(d->ctx, n, size), n * size, d);
}

static void *domain_realloc(void *domain, void *p, size_t n)
{
	const struct sp_heap_domain *d = domain;
	struct sp_heap_self *me = &sp_heap_self;
	const struct sp_heap_recorder *r = recorder(me);
	struct sp_heap_block block = {0, 0};
	me->quiet++;
	if (r && p)
		sp_heap_forget(r, me, p, &block);
	void *q = d->realloc(d->ctx, p, n);
	if (SP_UNLIKELY(!q) && block.site)
		r->restore(p, &block);
	return report(r, me, q, n, d);
}

static void domain_free(void *domain, void *p)
{
	const struct sp_heap_domain *d = domain;
	struct sp_heap_self *me = &sp_heap_self;
	const struct sp_heap_recorder *r = recorder(me);
	struct sp_heap_block block;
	me->quiet++;
	if (r && p)
		sp_heap_forget(r, me, p, &block);
	d->free(d->ctx, p);
	me->quiet--;
}

SP_EXPORT const struct sp_heap_domain_functions sp_heap_domain = {domain_malloc, domain_calloc, domain_realloc,
                                                                  domain_free};
