/* SPDX-License-Identifier: BSD-3-Clause */
/* Pages that the program maps itself. Pages of an allocator contain its blocks. Pages that the dynamic linker and the C
 * library map do not pass through these wrappers. */
#include "inject/heap/heap.h"

#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *map(const struct sp_heap_recorder *r, void *at, size_t n, int protection, int flags, int fd, off_t offset)
{
	void *p = (void *)syscall(SYS_mmap, at, n, protection, flags, fd, offset);
	struct sp_heap_self *me = &sp_heap_self;
	if (!r || p == MAP_FAILED)
		return p;
	me->quiet++;
	r->mapped(p, sp_heap_page_up(n));
	me->quiet--;
	return p;
}

SP_EXPORT void *mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset)
{
	return map(sp_heap_recorder_of(SP_HEAP_CALLER), at, n, protection, flags, fd, offset);
}

#if defined(__GLIBC__) /* elsewhere it is a macro */
SP_EXPORT void *mmap64(void *at, size_t n, int protection, int flags, int fd, off_t offset);
void *mmap64(void *at, size_t n, int protection, int flags, int fd, off_t offset)
{
	return map(sp_heap_recorder_of(SP_HEAP_CALLER), at, n, protection, flags, fd, offset);
}
#endif

static void unmapped(const struct sp_heap_recorder *r, void *p, size_t n)
{
	struct sp_heap_self *me = &sp_heap_self;
	me->quiet++;
	r->unmapped(p, n);
	me->quiet--;
}

SP_EXPORT int munmap(void *p, size_t n)
{
	const struct sp_heap_recorder *r = sp_heap_recorder_of(SP_HEAP_CALLER);
	/* report the release first, as others may get the pages immediately; the system rejects other arguments */
	if (r && n && sp_heap_page_up((uintptr_t)p) == (uintptr_t)p && n <= (size_t)INTPTR_MAX - (uintptr_t)p)
		unmapped(r, p, sp_heap_page_up(n));
	return (int)syscall(SYS_munmap, p, n);
}

SP_EXPORT void *mremap(void *p, size_t n, size_t to, int flags, ...)
{
	const struct sp_heap_recorder *r = sp_heap_recorder_of(SP_HEAP_CALLER);
	struct sp_heap_self *me = &sp_heap_self;
	va_list more;
	va_start(more, flags);
	void *at = flags & (MREMAP_FIXED | MREMAP_DONTUNMAP) ? va_arg(more, void *) : NULL;
	va_end(more);
	if (!r)
		return (void *)syscall(SYS_mremap, p, n, to, flags, at);
	me->quiet++;
	void *q = r->remap(p, n, to, flags, at);
	me->quiet--;
	return q;
}

/* ---- the program break, if the program moves it; the C library's allocator uses another symbol, and other allocators
 * are quiet meanwhile ---- */

static void broken(const struct sp_heap_recorder *r, char *before, char *after)
{
	struct sp_heap_self *me = &sp_heap_self;
	if (after < before)
		unmapped(r, after, (size_t)(before - after));
	if (after <= before)
		return;
	me->quiet++;
	r->mapped(before, (size_t)(after - before));
	me->quiet--;
}

SP_EXPORT void *sbrk(intptr_t more)
{
	const struct sp_heap_recorder *r = sp_heap_recorder_of(SP_HEAP_CALLER);
	if (!sp_heap_resolve())
		return errno = ENOMEM, (void *)-1;
	char *before = sp_heap_real_sbrk(more);
	if (r && before != (char *)-1)
		broken(r, before, before + more);
	return before;
}

SP_EXPORT int brk(void *to)
{
	const struct sp_heap_recorder *r = sp_heap_recorder_of(SP_HEAP_CALLER);
	if (!sp_heap_resolve())
		return errno = ENOMEM, -1;
	char *before = sp_heap_real_sbrk(0);
	const int failed = sp_heap_real_brk(to);
	/* an address below the first break is not rejected, but changes nothing */
	char *after = sp_heap_real_sbrk(0);
	if (r && !failed && before != (char *)-1 && after != (char *)-1)
		broken(r, before, after);
	return failed;
}
