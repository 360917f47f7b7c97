/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of live blocks: 16 bytes each, in separately mapped memory. Entries of blocks in one page are close to
 * each other, so that the table is in the caches as much as the heap is. */
#include "record/heap/private.h"

#include <string.h>
#include <sys/mman.h>

enum { SHARDS = 64, FIRST_ENTRIES = 512, ADDRESS_BITS = 48 };
#define ADDRESS ((UINT64_C(1) << ADDRESS_BITS) - 1)

/* One block. low: address, and bits 32 to 47 of the size; high: site, and the rest of the size */
struct entry {
	uint64_t low, high; /* low 0: free; GONE: free, but the search continues behind it */
};
#define GONE UINT64_C(1)

static struct shard {
	struct entry *all; /* mask + 1 entries */
	uint32_t mask, used, gone;
} shards[SHARDS];

static struct shard *shard_of(uintptr_t p)
{
	return &shards[(p >> 20) * UINT64_C(0x9e3779b97f4a7c15) >> 58];
}

static uint32_t home_of(const struct shard *s, uintptr_t p)
{
	return (uint32_t)(((p >> 12) * UINT64_C(0x9e3779b97f4a7c15) >> 32) + (p >> 4)) & s->mask;
}

static void *pages_new(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	sp_heap.raw->own += bytes;
	return p;
}

static void pages_free(void *p, size_t bytes)
{
	if (p && !munmap(p, bytes))
		sp_heap.raw->own -= bytes;
}

static bool is_at(const struct entry *e, uintptr_t p)
{
	return !((e->low ^ p) & ADDRESS);
}

SP_COLD static bool grow(struct shard *s)
{
	const uint32_t n = s->all ? s->mask + 1 : 0;
	const uint32_t size = !n ? FIRST_ENTRIES : s->used > n / 3 ? n * 2 : n; /* or only to remove the GONE entries */
	struct entry *old = s->all, *fresh = pages_new(size * sizeof *fresh);
	if (!fresh)
		return false;
	s->all = fresh;
	s->mask = size - 1;
	s->gone = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (old[i].low <= GONE)
			continue;
		uint32_t at = home_of(s, old[i].low & ADDRESS);
		while (fresh[at].low)
			at = (at + 1) & s->mask;
		fresh[at] = old[i];
	}
	pages_free(old, n * sizeof *old);
	return true;
}

static struct sp_heap_block block_of(const struct entry *e)
{
	return (struct sp_heap_block){e->high >> 32, e->low >> ADDRESS_BITS << 32 | (uint32_t)e->high};
}

bool sp_heap_blocks_put(const void *pointer, const struct sp_heap_block *block, struct sp_heap_block *before)
{
	const uintptr_t p = (uintptr_t)pointer;
	struct shard *s = shard_of(p);
	before->site = 0;
	if (SP_UNLIKELY(!s->all || (s->used + s->gone) * 3 > s->mask * 2) && !grow(s))
		return false;
	uint32_t at = home_of(s, p);
	while (s->all[at].low > GONE && !is_at(&s->all[at], p))
		at = (at + 1) & s->mask;
	struct entry *e = &s->all[at];
	if (SP_UNLIKELY(e->low > GONE)) {
		*before = block_of(e);
	} else {
		s->gone -= e->low == GONE;
		s->used++;
	}
	*e = (struct entry){p | block->size >> 32 << ADDRESS_BITS, block->site << 32 | (uint32_t)block->size};
	return true;
}

struct sp_heap_block sp_heap_blocks_take(const void *pointer)
{
	const uintptr_t p = (uintptr_t)pointer;
	struct shard *s = shard_of(p);
	struct sp_heap_block block = {0, 0};
	if (!s->all)
		return block;
	uint32_t at = home_of(s, p);
	while (s->all[at].low && !(s->all[at].low > GONE && is_at(&s->all[at], p)))
		at = (at + 1) & s->mask;
	struct entry *e = &s->all[at];
	if (!e->low)
		return block;
	block = block_of(e);
	s->used--;
	s->gone++;
	e->low = GONE;
	/* GONE entries at the end of a run become free: no search continues behind them */
	for (uint32_t next = (at + 1) & s->mask; !s->all[next].low && s->all[at].low == GONE; at = (at - 1) & s->mask) {
		s->all[at].low = 0;
		s->gone--;
		next = at;
	}
	return block;
}

/* ---- pages ---- */

/* One range of mapped pages of a site; sorted by address. */
static struct pages {
	uintptr_t begin, end;
	uint32_t site,
	    number; /* number: the same for all remaining pieces of one mapping; 0: there is only one piece */
} * pages;
static uint32_t n_pages, pages_capacity, numbers;

void sp_heap_blocks_clear(void)
{
	for (int i = 0; i < SHARDS; i++) {
		pages_free(shards[i].all, shards[i].all ? (shards[i].mask + 1) * sizeof(struct entry) : 0);
		memset(&shards[i], 0, sizeof shards[i]);
	}
	n_pages = 0;
}

static bool more_pages(void)
{
	const uint32_t capacity = pages_capacity ? pages_capacity * 2 : 256;
	struct pages *fresh = pages_new(capacity * sizeof *fresh);
	if (!fresh)
		return false;
	if (n_pages)
		memcpy(fresh, pages, n_pages * sizeof *fresh);
	pages_free(pages, pages_capacity * sizeof *pages);
	pages = fresh;
	pages_capacity = capacity;
	return true;
}

/* Returns the index of the first range that ends behind p. */
static uint32_t first_behind(uintptr_t p)
{
	uint32_t low = 0, high = n_pages;
	while (low < high) {
		const uint32_t middle = (low + high) / 2;
		if (pages[middle].end <= p)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void insert(uint32_t at, struct pages p)
{
	memmove(&pages[at + 1], &pages[at], (n_pages - at) * sizeof *pages);
	pages[at] = p;
	n_pages++;
}

bool sp_heap_pages_put(uintptr_t begin, uintptr_t end, uint32_t site)
{
	if (n_pages == pages_capacity && !more_pages())
		return false;
	insert(first_behind(begin), (struct pages){begin, end, site, 0});
	return true;
}

/* Whether no piece of the mapping with this number is left. */
static bool is_last(uint32_t number)
{
	for (uint32_t i = 0; number && i < n_pages; i++)
		if (pages[i].number == number)
			return false;
	return true;
}

void sp_heap_pages_take(uintptr_t begin, uintptr_t end, void (*gone)(uint32_t site, uint64_t bytes, bool whole))
{
	uint32_t at = first_behind(begin);
	if (begin == end)
		return; /* mremap() with an old size of 0 makes a second mapping of shared pages */
	while (at < n_pages && pages[at].begin < end) {
		const struct pages p = pages[at];
		const uintptr_t from = p.begin > begin ? p.begin : begin, to = p.end < end ? p.end : end;
		bool last = false;
		if (from > p.begin && to < p.end) { /* from the middle of the range */
			if (n_pages == pages_capacity && !more_pages())
				return;
			pages[at].end = from;
			pages[at].number = p.number ? p.number : ++numbers;
			insert(at + 1, (struct pages){to, p.end, p.site, pages[at].number});
		} else if (from > p.begin) {
			pages[at++].end = from;
		} else if (to < p.end) {
			pages[at].begin = to;
		} else {
			memmove(&pages[at], &pages[at + 1], (--n_pages - at) * sizeof *pages);
			last = is_last(p.number);
		}
		gone(p.site, to - from, last);
		if (from > p.begin && to < p.end)
			return;
	}
}
