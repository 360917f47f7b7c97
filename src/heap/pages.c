/* SPDX-License-Identifier: BSD-3-Clause */
/* Pages that the program maps itself. Those of an allocator are in what it gives out; those that the dynamic linker and
 * the C library map for themselves come by other ways. */
#include "heap/heap.h"

#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline const struct sp_heap_recorder *recorder(const void *caller)
{
	const struct sp_heap_recorder *r = __atomic_load_n(&sp_heap_recorder, __ATOMIC_ACQUIRE);
	if (SP_LIKELY(!r) || sp_heap_self.quiet || (uintptr_t)caller - r->own_begin < r->own_end - r->own_begin)
		return NULL;
	return r;
}
#define CALLER __builtin_extract_return_addr(__builtin_return_address(0))

static void *map(const struct sp_heap_recorder *r, void *at, size_t n, int protection, int flags, int fd, off_t offset)
{
	void *p = (void *)syscall(SYS_mmap, at, n, protection, flags, fd, offset);
	struct sp_heap_self *me = &sp_heap_self;
	if (!r || p == MAP_FAILED)
		return p;
	me->quiet++;
	if (flags & MAP_FIXED)
		r->unmapped(p, n);
	r->mapped(p, n);
	me->quiet--;
	return p;
}

SP_EXPORT void *mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset)
{
	return map(recorder(CALLER), at, n, protection, flags, fd, offset);
}

SP_EXPORT void *mmap64(void *at, size_t n, int protection, int flags, int fd, off_t offset);
void *mmap64(void *at, size_t n, int protection, int flags, int fd, off_t offset)
{
	return map(recorder(CALLER), at, n, protection, flags, fd, offset);
}

SP_EXPORT int munmap(void *p, size_t n)
{
	const struct sp_heap_recorder *r = recorder(CALLER);
	struct sp_heap_self *me = &sp_heap_self;
	/* others may be given the pages as soon as they are free */
	if (r && n && !((uintptr_t)p & 4095)) {
		me->quiet++;
		r->unmapped(p, n);
		me->quiet--;
	}
	return (int)syscall(SYS_munmap, p, n);
}

SP_EXPORT void *mremap(void *p, size_t n, size_t to, int flags, ...)
{
	const struct sp_heap_recorder *r = recorder(CALLER);
	struct sp_heap_self *me = &sp_heap_self;
	va_list more;
	va_start(more, flags);
	void *at = flags & MREMAP_FIXED ? va_arg(more, void *) : NULL;
	va_end(more);
	if (!r)
		return (void *)syscall(SYS_mremap, p, n, to, flags, at);
	me->quiet++;
	r->unmapped(p, n); /* others may be given the pages as soon as they are free */
	void *q = (void *)syscall(SYS_mremap, p, n, to, flags, at);
	if (q == MAP_FAILED) {
		r->mapped(p, n);
	} else {
		r->unmapped(q, to);
		r->mapped(q, to);
	}
	me->quiet--;
	return q;
}
