/* SPDX-License-Identifier: BSD-3-Clause */
/* The handle of each descriptor. A table without locks: a thread that is cancelled or a fork in another thread leaves
 * nothing held. What is open already, or came by a way that is not wrapped (sockets, pipes), gets its handle with the
 * first call that works on it. */
#include "preload/preload.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PLACES = 4096, PAGES = 1024 }; /* descriptors up to 4 million */

/* process << 32 | handle: in a child of fork those of the parent mean nothing */
static uint64_t *pages[PAGES];

static uint64_t *place_of(int fd, bool make)
{
	unsigned i = (unsigned)fd / PLACES;
	if (i >= PAGES)
		return NULL; /* negative ones too */
	uint64_t *page = __atomic_load_n(&pages[i], __ATOMIC_ACQUIRE);
	if (SP_UNLIKELY(!page) && make) {
		uint64_t *fresh =
		    mmap(NULL, PLACES * sizeof *fresh, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (fresh == MAP_FAILED)
			return NULL;
		if (__atomic_compare_exchange_n(&pages[i], &page, fresh, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			page = fresh;
		else
			munmap(fresh, PLACES * sizeof *fresh); /* another thread was first */
	}
	return page ? &page[fd % PLACES] : NULL;
}

/* 0: it is of an earlier process, or none. */
static uint32_t current(uint64_t entry)
{
	return entry >> 32 == *sp_preload_adapter->process ? (uint32_t)entry : 0;
}

/* The length of the UTF-8 character at p, or 0. */
static size_t utf8_length(const unsigned char *p, size_t left)
{
	size_t n = *p < 0x80                 ? 1
	           : *p >= 0xc2 && *p < 0xe0 ? 2
	           : *p >= 0xe0 && *p < 0xf0 ? 3
	           : *p >= 0xf0 && *p < 0xf5 ? 4
	                                     : 0;
	if (n > left)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	bool odd = (*p == 0xe0 && p[1] < 0xa0) || (*p == 0xed && p[1] > 0x9f) || (*p == 0xf0 && p[1] < 0x90) ||
	           (*p == 0xf4 && p[1] > 0x8f); /* too long, a surrogate, or past the last one */
	return odd ? 0 : n;
}

/* The id of a path; bytes that are not UTF-8 are escaped as Python's backslashreplace has them. */
static uint32_t path_id(const char *path, size_t n)
{
	const unsigned char *p = (const unsigned char *)path;
	char text[PATH_MAX + 4];
	size_t used = 0;
	for (size_t i = 0, length; i < n && used + 4 <= sizeof text; i += length ? length : 1) {
		length = utf8_length(p + i, n - i);
		if (length) {
			memcpy(text + used, p + i, length);
			used += length;
		} else {
			static const char digits[] = "0123456789abcdef";
			const char escaped[4] = {'\\', 'x', digits[p[i] >> 4], digits[p[i] & 15]};
			memcpy(text + used, escaped, 4);
			used += 4;
		}
	}
	return used ? sp_preload_adapter->string(text, used) : 0;
}

static uint32_t path_of(int fd)
{
	char link[32], path[PATH_MAX];
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, sizeof path);
	return n > 0 ? path_id(path, (size_t)n) : 0;
}

uint32_t sp_preload_handle_open(const struct sp_preload_call *c, int fd, const char *path, uint64_t flags)
{
	const struct sp_adapter *a = sp_preload_adapter;
	int error = errno;
	uint64_t *place = place_of(fd, true);
	if (place) {
		uint64_t entry = sp_preload_adapter->io_handle(),
		         old = __atomic_exchange_n(place, entry, __ATOMIC_RELAXED);
		/* closed by a way that is not wrapped */
		const uint64_t gone = current(old);
		if (gone)
			a->extra(c->t, SP_RAW_X_IO_DESTROY, &gone, 1, a->now());
		uint32_t id = path ? path_id(path, strnlen(path, PATH_MAX)) : path_of(fd);
		const uint64_t payload[3] = {(uint32_t)entry, id, flags};
		a->extra(c->t, SP_RAW_X_IO_CREATE, payload, 3, a->now());
		errno = error;
		return (uint32_t)entry;
	}
	errno = error;
	return 0;
}

SP_COLD static uint32_t handle_found(const struct sp_preload_call *c, int fd)
{
	int error = errno;
	int (*control)(int, int, ...) = (int (*)(int, int, ...))sp_preload_real[SP_F_fcntl];
	int flags = fd < 0 ? -1 : control(fd, F_GETFL);
	uint32_t handle = flags < 0 ? 0 : sp_preload_handle_open(c, fd, NULL, (uint64_t)(unsigned)flags);
	errno = error;
	return handle;
}

uint32_t sp_preload_handle(const struct sp_preload_call *c, int fd)
{
	const uint64_t *place = place_of(fd, false);
	uint32_t handle = place ? current(__atomic_load_n(place, __ATOMIC_RELAXED)) : 0;
	return SP_LIKELY(handle != 0) ? handle : handle_found(c, fd);
}

uint32_t sp_preload_handle_set(int fd)
{
	uint64_t *place = place_of(fd, true);
	if (!place)
		return 0;
	uint64_t entry = sp_preload_adapter->io_handle();
	__atomic_store_n(place, entry, __ATOMIC_RELAXED);
	return (uint32_t)entry;
}

uint32_t sp_preload_handle_take(int fd)
{
	uint64_t *place = place_of(fd, false);
	return place ? current(__atomic_exchange_n(place, 0, __ATOMIC_RELAXED)) : 0;
}

int sp_preload_handle_next(unsigned fd, unsigned last)
{
	for (; fd <= last && fd < (unsigned)PAGES * PLACES; fd++) {
		const uint64_t *place = place_of((int)fd, false);
		if (!place)
			fd |= PLACES - 1; /* none in this page */
		else if (current(__atomic_load_n(place, __ATOMIC_RELAXED)))
			return (int)fd;
	}
	return -1;
}
