/* SPDX-License-Identifier: BSD-3-Clause */
/* A table from descriptors to handles. It has no locks, so a cancelled thread or a fork in another thread cannot leave
 * one locked. A descriptor that was open before, or that was opened by a function that is not wrapped (sockets, pipes),
 * gets its handle with the first call that uses it. */
#include "inject/io/preload.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PLACES = 4096, PAGES = 1024 }; /* for descriptors up to 4 million */

/* process << 32 | handle: handles of the parent are invalid in a forked child */
static uint64_t *pages[PAGES];

static uint64_t *place_of(int fd, bool make)
{
	unsigned i = (unsigned)fd / PLACES;
	if (i >= PAGES)
		return NULL; /* also negative descriptors */
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

/* The handle of an entry; 0: no handle, or of an earlier process. */
static uint32_t current(uint64_t entry)
{
	return entry >> 32 == sp_adapter_read(sp_preload_adapter->process) ? (uint32_t)entry : 0;
}

static uint32_t path_of(int fd)
{
	char link[32], path[PATH_MAX];
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, sizeof path);
	return n > 0 ? sp_preload_adapter->string(path, (size_t)n) : 0;
}

uint32_t sp_preload_handle_open(const struct sp_preload_call *c, int fd, const char *path, uint64_t flags)
{
	const struct sp_adapter *a = sp_preload_adapter;
	int error = errno;
	uint64_t *place = place_of(fd, true);
	if (place) {
		uint64_t entry = sp_preload_adapter->io_handle(),
		         old = __atomic_exchange_n(place, entry, __ATOMIC_RELAXED);
		/* closed by a function that is not wrapped */
		const uint64_t gone = current(old);
		if (gone)
			a->extra(c->t, SP_RAW_X_IO_DESTROY, &gone, 1, a->now());
		uint32_t id = path ? a->string(path, strnlen(path, PATH_MAX)) : path_of(fd);
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
			fd |= PLACES - 1; /* no handle in this page */
		else if (current(__atomic_load_n(place, __ATOMIC_RELAXED)))
			return (int)fd;
	}
	return -1;
}
