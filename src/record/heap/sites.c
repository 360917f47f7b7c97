/* SPDX-License-Identifier: BSD-3-Clause */
/* Where memory is allocated: a site for each line of a call path and allocator, found through the instruction. */
#include "record/buffer.h"
#include "record/clock.h"
#include "record/heap/private.h"
#include "record/process.h"
#include "record/thread.h"

#include <errno.h>
#include <stdlib.h>

enum { SIZE_CLASSES = 65, CACHE = 256, FIRST_TABLE = 64, FIRST_SITES = SP_RAW_PAGE, LAST_SITES = 256 << 10 };

void (*sp_heap_where)(struct sp_heap_where *w);
void (*sp_heap_line)(const struct sp_heap_where *w, unsigned kind, struct sp_heap_line *line);

/* One thread's sites. */
struct sp_heap_thread {
	struct {
		struct sp_raw_node *node; /* NULL: the entry is free */
		const void *at, *own_at;
		uint32_t offset, own_offset, region, kind;
		struct sp_raw_site *site;
	} cache[CACHE];
	struct sp_raw_site **table; /* owned; open-addressed, mask + 1 entries */
	uint32_t mask, n;
	struct sp_raw_chunk *chunk;
	uint32_t chunks;
	const void *
	    *latest; /* owned; for each size class a ring of the `within` blocks allocated last; NULL: none yet */
	uint32_t within, at[SIZE_CLASSES];
};

/* Returns the size class of n bytes: one for each power of two. */
static unsigned size_class(uint64_t n)
{
	return n ? 64 - (unsigned)__builtin_clzll(n) : 0;
}

/* Returns how many of the latest blocks of a class are candidates: a block is temporary if it is among them at its
 * release, that is, after at most N other allocations (setting temporary). */
static uint32_t candidates(void)
{
	const uint32_t n = sp_process.settings.temporary;
	return (n < 1 ? 1 : n > SP_HEAP_MAX_BETWEEN ? SP_HEAP_MAX_BETWEEN : n) + 1;
}

bool sp_heap_is_recent(uint64_t n, uint64_t since)
{
	const uint64_t smallest = UINT64_C(1) << (n ? size_class(n) - 1 : 0);
	return since / candidates() < smallest;
}

void sp_heap_latest_put(struct sp_thread *t, const void *p, uint64_t n)
{
	struct sp_heap_thread *h = t->heap;
	if (SP_UNLIKELY(!h || !h->latest)) {
		if (!h || h->within)
			return; /* the allocation failed before */
		h->within = candidates();
		h->latest = calloc((size_t)h->within * SIZE_CLASSES, sizeof *h->latest);
		if (!h->latest)
			return;
	}
	const unsigned c = size_class(n);
	h->latest[c * h->within + h->at[c]] = p;
	h->at[c] = h->at[c] + 1 < h->within ? h->at[c] + 1 : 0;
}

bool sp_heap_latest_take(const struct sp_thread *t, const void *p, uint64_t n)
{
	const struct sp_heap_thread *h = t->heap;
	const void **ring = h && h->latest ? h->latest + (size_t)size_class(n) * h->within : NULL;
	for (uint32_t i = 0; ring && i < h->within; i++)
		if (ring[i] == p) {
			ring[i] = NULL;
			return true;
		}
	return false;
}

static uint64_t mix(uint64_t h)
{
	h *= UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 29;
}

static uint32_t hash_of(uint64_t node, const struct sp_heap_line *l, uint32_t kind)
{
	const uint64_t lines = (uint64_t)l->line << 8 ^ (uint64_t)l->own_line << 36;
	return (uint32_t)(mix(mix(node >> 6 ^ (uint64_t)l->region << 32) ^ lines ^ kind) >> 32);
}

static struct sp_raw_site **find(const struct sp_heap_thread *h, uint64_t node, const struct sp_heap_line *l,
                                 uint32_t kind)
{
	uint32_t i = hash_of(node, l, kind) & h->mask;
	struct sp_raw_site *s;
	while ((s = h->table[i]) && !(s->node == node && s->region == l->region && s->line == l->line &&
	                              s->own_region == l->own_region && s->own_line == l->own_line && s->kind == kind))
		i = (i + 1) & h->mask;
	return &h->table[i];
}

static bool table_grow(struct sp_heap_thread *h)
{
	const uint32_t n = h->table ? h->mask + 1 : 0, size = n ? n * 2 : FIRST_TABLE;
	struct sp_raw_site **old = h->table, **fresh = calloc(size, sizeof *fresh);
	if (!fresh)
		return false;
	h->table = fresh;
	h->mask = size - 1;
	for (uint32_t i = 0; i < n; i++) {
		const struct sp_raw_site *s = old[i];
		if (s)
			*find(h, s->node, &(struct sp_heap_line){s->region, s->line, s->own_region, s->own_line},
			      s->kind) = old[i];
	}
	free(old);
	return true;
}

/* Makes space for one more site in the file. */
static bool chunk_grow(struct sp_thread *t, struct sp_heap_thread *h)
{
	uint64_t bytes = h->chunk ? h->chunk->bytes * 2 : FIRST_SITES;
	if (bytes > LAST_SITES)
		bytes = LAST_SITES;
	pthread_mutex_lock(&sp_process.lock);
	const bool full = sp_process.mapped + bytes > sp_process.settings.trace_memory;
	struct sp_raw_chunk *c = full ? NULL : sp_buffer_chunk(SP_RAW_SITES, t, bytes, h->chunks, 0);
	if (full)
		sp_process_lost(SP_RAW_REASON_MEMORY, 0, 0);
	if (c) {
		h->chunks++;
		h->chunk = c;
	}
	pthread_mutex_unlock(&sp_process.lock);
	return c;
}

static struct sp_raw_site *site_new(struct sp_thread *t, struct sp_heap_thread *h)
{
	struct sp_raw_site *s = NULL;
	if ((!h->chunk || (h->chunk->used + 1) * sizeof *s > h->chunk->bytes - sizeof *h->chunk) && !chunk_grow(t, h))
		return NULL;
	sp_heap_lock();
	if (!sp_heap_is_over(t) && sp_heap.n_sites + 1 < SP_HEAP_MAX_SITES) {
		s = (struct sp_raw_site *)(h->chunk + 1) + h->chunk->used;
		s->number = ++sp_heap.n_sites;
		sp_heap.sites[s->number] = (struct sp_heap_site){s, t};
		s->epoch = sp_heap.raw->epoch;
		s->first = s->last = sp_ticks();
	}
	sp_heap_unlock();
	return s;
}

static struct sp_heap_thread *of_thread(struct sp_thread *t)
{
	struct sp_heap_thread *h = t->heap ? t->heap : calloc(1, sizeof *h);
	if (h && !h->table && !table_grow(h)) {
		free(h);
		h = NULL;
	}
	return t->heap = h;
}

SP_COLD static struct sp_raw_site *site_slow(struct sp_thread *t, struct sp_heap_thread *h, struct sp_raw_node *node,
                                             unsigned kind, const struct sp_heap_where *w)
{
	struct sp_heap_line line = {0};
	if (w->at && sp_heap_line)
		sp_heap_line(w, kind, &line);
	struct sp_raw_site **place = find(h, (uint64_t)node, &line, kind), *s = *place;
	if (s)
		return s;
	/* a search ends at a free entry: if the table cannot grow, one entry stays free */
	s = h->n < h->mask ? site_new(t, h) : NULL;
	if (!s)
		return NULL;
	s->node = (uint64_t)node;
	s->region = line.region;
	s->line = line.line;
	s->own_region = line.own_region;
	s->own_line = line.own_line;
	s->kind = kind;
	__atomic_store_n(&h->chunk->used, h->chunk->used + 1, __ATOMIC_RELEASE);
	*place = s;
	if (++h->n * 2 > h->mask)
		table_grow(h);
	return s;
}

struct sp_raw_site *sp_heap_site_of(struct sp_thread *t, struct sp_raw_node *node, unsigned kind)
{
	struct sp_heap_thread *h = SP_LIKELY(t->heap != NULL) ? t->heap : of_thread(t);
	struct sp_heap_where w = {.at = NULL};
	if (SP_UNLIKELY(!h))
		return NULL;
	if (sp_heap_where)
		sp_heap_where(&w);
	const uint64_t key = (uint64_t)node >> 6 ^ (uint64_t)w.at >> 1 ^ (uint64_t)w.offset << 3 ^
	                     (uint64_t)w.own_at << 5 ^ (uint64_t)w.own_offset << 9 ^ kind;
	const uint32_t i = (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 56) % CACHE;
	if (SP_LIKELY(h->cache[i].node == node && h->cache[i].at == w.at && h->cache[i].offset == w.offset &&
	              h->cache[i].region == w.region && h->cache[i].kind == kind && h->cache[i].own_at == w.own_at &&
	              h->cache[i].own_offset == w.own_offset))
		return h->cache[i].site;
	struct sp_raw_site *s = site_slow(t, h, node, kind, &w);
	if (s) {
		h->cache[i].node = node;
		h->cache[i].at = w.at;
		h->cache[i].offset = w.offset;
		h->cache[i].region = w.region;
		h->cache[i].own_at = w.own_at;
		h->cache[i].own_offset = w.own_offset;
		h->cache[i].kind = kind;
		h->cache[i].site = s;
	}
	return s;
}

/* Blocks outlive their thread, and so do the sites: their chunks stay mapped. */
void sp_heap_thread_free(struct sp_thread *t)
{
	if (t->heap) {
		free(t->heap->table);
		free(t->heap->latest);
	}
	free(t->heap);
	t->heap = NULL;
}
