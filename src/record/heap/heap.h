/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory: the interface between the allocators and the recorder. The library spartito_heap.so (src/inject/heap), which
 * the dynamic linker loads before all others, contains the wrappers. It decides itself what needs no recording and
 * passes the rest to a recorder that _measure gives it.
 *
 * The rules of an event apply: a recorder never calls Python's allocators, prints or changes errno, and does not need
 * the GIL. */
#ifndef SP_RECORD_HEAP_HEAP_H
#define SP_RECORD_HEAP_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include "format/format.h"

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4 /* Linux 5.7 */
#endif

/* Symbols that the library exports; _measure finds them with dlsym. */
#define SP_HEAP_ATTACH_SYMBOL   "sp_heap_attach"
#define SP_HEAP_QUIET_SYMBOL    "sp_heap_quiet"
#define SP_HEAP_DOMAIN_SYMBOL   "sp_heap_domain"
#define SP_HEAP_SAMPLED_SYMBOL  "sp_heap_domain_sampled"
#define SP_HEAP_PYMALLOC_SYMBOL "sp_heap_domain_pymalloc"
#define SP_HEAP_ARENA_SYMBOL    "sp_heap_arena"
#define SP_HEAP_REAL_SYMBOL     "sp_heap_real_malloc"

/* A block that was removed from the table of known blocks and may have to be restored. */
struct sp_heap_block {
	uint64_t site, size; /* site 0: the block was unknown */
};

/* For sampling: one bit for each of 65,536 groups of addresses, few enough to stay in the cache. If a block's bit is
 * clear, the block was not recorded. The library owns the bits and the recorder sets them. */
enum { SP_HEAP_FILTER = 1 << 16 };
#define SP_HEAP_FILTER_SYMBOL "sp_heap_filter_bits"
/* Returns the number of a block's bit. */
static inline uint32_t sp_heap_filter_at(const void *p)
{
	return (uint32_t)((uintptr_t)p * UINT64_C(0x9e3779b97f4a7c15) >> 48);
}

/* Bytes of the largest block that Python's allocator (pymalloc) serves itself; it passes larger ones to malloc(). */
enum { SP_HEAP_PYMALLOC_MAX = 512 };

enum { SP_HEAP_VERSION = 4 };
/* The functions that record, and which allocations they concern. All sizes are in bytes. */
struct sp_heap_recorder {
	uint32_t version; /* SP_HEAP_VERSION */
	uint32_t size;
	/* Mean bytes between two recorded allocations; 0: all are recorded. */
	uint64_t sample;
	/* The code of _measure: its own allocations are not the program's. */
	uintptr_t own_begin, own_end;
	/* The code of the allocator in use, if it is not the C library's. Its own calls of wrapped functions are part
	 * of the memory that it returns to the program. Both 0: none. */
	uintptr_t other_begin, other_end;
	void (*allocated)(const void *p, size_t n, unsigned kind);
	/* since: for sampling, the bytes that the thread has allocated since it allocated p; UINT64_MAX: unknown. */
	void (*released)(const void *p, uint64_t since, struct sp_heap_block *block);
	/* The block was not released after all. */
	void (*restore)(const void *p, const struct sp_heap_block *block);
	/* Pages, or the bytes between two program breaks. Earlier records of that range are removed. */
	void (*mapped)(const void *p, size_t n);
	void (*unmapped)(const void *p, size_t n);
	/* Calls mremap() under the recorder's lock: other threads can use the pages that it leaves at once. If it
	 * fails, no record changes. Sets errno like mremap(). */
	void *(*remap)(void *p, size_t n, size_t to, int flags, void *at);
};

/* Rounds a size in bytes up to whole pages of the system. */
static inline size_t sp_heap_page_up(size_t n)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	return (n + page - 1) & ~(page - 1);
}

/* One of Python's allocator domains. PyMem_SetAllocator() gets functions of the library, with this struct as their
 * context, which contains the original allocator. */
struct sp_heap_domain {
	unsigned kind; /* enum sp_raw_heap_kind */
	/* For sampling, bytes: blocks larger than this come from another allocator, whose blocks are sampled
	 * themselves. */
	size_t limit;
	void *ctx;
	void *(*malloc)(void *ctx, size_t size);
	void *(*calloc)(void *ctx, size_t n, size_t size);
	void *(*realloc)(void *ctx, void *p, size_t size);
	void (*free)(void *ctx, void *p);
};
/* The library's functions for a domain; their context is a struct sp_heap_domain. */
struct sp_heap_domain_functions {
	void *(*malloc)(void *domain, size_t size);
	void *(*calloc)(void *domain, size_t n, size_t size);
	void *(*realloc)(void *domain, void *p, size_t size);
	void (*free)(void *domain, void *p); /* NULL: the original function, which accepts any context */
};

/* The original allocator of pymalloc's arenas. */
struct sp_heap_arenas {
	void *ctx;
	void *(*alloc)(void *arenas, size_t size);
	void (*free)(void *arenas, void *p, size_t size);
};

#endif
