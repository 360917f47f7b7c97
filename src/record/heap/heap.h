/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory: what stands between the allocators and the recorder. The library spartito_heap.so (room heap), which the
 * dynamic linker loads before all others, has the wrappers, and finds out for itself what it need not tell; the rest it
 * tells a recorder, which _measure gives it.
 *
 * The rules of an event hold: a recorder never calls Python's allocators, prints or changes errno, and the GIL is not
 * needed. */
#ifndef SP_RECORD_HEAP_HEAP_H
#define SP_RECORD_HEAP_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/format.h"

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4 /* Linux 5.7 */
#endif

/* What the library exports, found by _measure with dlsym. */
#define SP_HEAP_ATTACH_SYMBOL   "sp_heap_attach"
#define SP_HEAP_QUIET_SYMBOL    "sp_heap_quiet"
#define SP_HEAP_DOMAIN_SYMBOL   "sp_heap_domain"
#define SP_HEAP_SAMPLED_SYMBOL  "sp_heap_domain_sampled"
#define SP_HEAP_PYMALLOC_SYMBOL "sp_heap_domain_pymalloc"
#define SP_HEAP_ARENA_SYMBOL    "sp_heap_arena"
#define SP_HEAP_REAL_SYMBOL     "sp_heap_real_malloc"

/* A block that is not known any more, for the case that it lives on. */
struct sp_heap_block {
	uint64_t site, size; /* site 0: it was not known */
};

/* Of sampling: a bit for each of so many groups of addresses, few enough to stay in the cache. Where there is none, no
 * block was recorded. The library has it, and the recorder sets it. */
enum { SP_HEAP_FILTER = 1 << 16 };
#define SP_HEAP_FILTER_SYMBOL "sp_heap_filter_bits"
static inline uint32_t sp_heap_filter_at(const void *p)
{
	return (uint32_t)((uintptr_t)p * UINT64_C(0x9e3779b97f4a7c15) >> 48);
}

/* Bytes of the largest block that Python's own allocator (pymalloc) has itself; larger ones it takes from malloc(). */
enum { SP_HEAP_PYMALLOC_MOST = 512 };

enum { SP_HEAP_VERSION = 4 };
struct sp_heap_recorder {
	uint32_t version; /* SP_HEAP_VERSION */
	uint32_t size;
	/* Mean bytes between two that are recorded; 0: all are. */
	uint64_t sample;
	/* The code of _measure: what it allocates is not the program's. */
	uintptr_t own_begin, own_end;
	/* The code of the allocator in use, if it is not the C library's: what that calls itself of the wrapped
	 * functions is in what it gives out. Both 0: none. */
	uintptr_t other_begin, other_end;
	void (*allocated)(const void *p, size_t n, unsigned kind);
	/* since: of sampling, the bytes that the thread has allocated since it allocated p; UINT64_MAX: not known. */
	void (*released)(const void *p, uint64_t since, struct sp_heap_block *block);
	/* The block was not released after all. */
	void (*restore)(const void *p, const struct sp_heap_block *block);
	/* Pages, or bytes between two program breaks. What was known of that range before is gone. */
	void (*mapped)(const void *p, size_t n);
	void (*unmapped)(const void *p, size_t n);
	/* Calls mremap(): the pages that it leaves are free for others at once, and if it fails all stays as it is.
	 * Sets errno as that does. */
	void *(*remap)(void *p, size_t n, size_t to, int flags, void *at);
};

static inline size_t sp_heap_page_up(size_t n)
{
	return (n + SP_RAW_PAGE - 1) & ~(size_t)(SP_RAW_PAGE - 1);
}

/* The functions of one of Python's domains as PyMem_SetAllocator() takes them: of the library, called with a context
 * that says who is behind them. */
struct sp_heap_domain {
	unsigned kind; /* enum sp_raw_heap_kind */
	/* Of sampling: larger ones than this the domain takes from another allocator whose blocks are sampled
	 * themselves. */
	size_t most;
	void *ctx;
	void *(*malloc)(void *ctx, size_t size);
	void *(*calloc)(void *ctx, size_t n, size_t size);
	void *(*realloc)(void *ctx, void *p, size_t size);
	void (*free)(void *ctx, void *p);
};
struct sp_heap_domain_functions {
	void *(*malloc)(void *domain, size_t size);
	void *(*calloc)(void *domain, size_t n, size_t size);
	void *(*realloc)(void *domain, void *p, size_t size);
	void (*free)(void *domain, void *p); /* NULL: the real one, with any context */
};

struct sp_heap_arenas {
	void *ctx;
	void *(*alloc)(void *arenas, size_t size);
	void (*free)(void *arenas, void *p, size_t size);
};

#endif
