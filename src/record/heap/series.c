/* SPDX-License-Identifier: BSD-3-Clause */
/* The heap and the resident size over time. */
#include "record/clock.h"
#include "record/heap/private.h"
#include "record/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MS           UINT64_C(1000000)
#define SLICE        (20 * MS)
#define FIRST_PERIOD (10 * MS)
enum { CALLS = 64 };

static const char path[] = "/proc/self/statm";

/* Whether the descriptor still refers to that file: another thread may have closed it (os.closerange) and opened a
 * file of the program under its number. */
static bool is_ours(int fd)
{
	struct stat named, found;
	return !fstatat(AT_FDCWD, path, &named, 0) && !fstat(fd, &found) && named.st_ino == found.st_ino &&
	       named.st_dev == found.st_dev;
}

/* Returns the resident bytes; 0 if unknown. No call here is a cancellation point, and errno is kept, because free()
 * keeps it. No descriptor stays open, and only this function's descriptor is closed. pread does not change the
 * position in a file of the program. */
static uint64_t resident(void)
{
	char text[128];
	const int error = errno, fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	ssize_t n = fd >= 0 ? syscall(SYS_pread64, fd, text, sizeof text - 1, (off_t)0) : 0;
	if (fd >= 0 && is_ours(fd))
		syscall(SYS_close, fd);
	else
		n = 0;
	errno = error;
	uint64_t pages = 0;
	const char *p = n > 0 ? memchr(text, ' ', (size_t)n) : NULL;
	for (p = p ? p + 1 : text; n > 0 && p < text + n && *p >= '0' && *p <= '9'; p++)
		pages = pages * 10 + (uint64_t)(*p - '0');
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Removes every second point and doubles the time between points. */
static void thin_out(struct sp_raw_chunk *c)
{
	struct sp_raw_point *p = (struct sp_raw_point *)(c + 1);
	for (uint64_t i = 0; i < c->used / 2; i++)
		p[i] = p[2 * i + 1];
	__atomic_store_n(&c->used, c->used / 2, __ATOMIC_RELEASE);
	sp_heap.series_every *= 2;
}

void sp_heap_passed_at(const struct sp_thread *t, const struct sp_raw_site *s)
{
	struct sp_raw_heap *h = sp_heap.raw;
	h->passed_location = t->loc.id;
	h->passed_node = s->node;
	h->passed_region = s->region;
	h->passed_line = s->line;
}

static void limit_passed(const struct sp_thread *t, const struct sp_raw_site *s, uint64_t now)
{
	struct sp_raw_heap *h = sp_heap.raw;
	h->passes++;
	h->since = now;
	if (h->passed)
		return;
	h->passed = now;
	if (t && s)
		sp_heap_passed_at(t, s);
	sp_heap.mark = true;
}

void sp_heap_point(uint64_t ns, const struct sp_thread *t, const struct sp_raw_site *s)
{
	struct sp_raw_heap *h = sp_heap.raw;
	struct sp_raw_chunk *c = sp_heap.series;
	const uint64_t now = sp_ticks(), bytes = resident();
	sp_heap.point_ns = ns;
	h->resident = bytes;
	if (bytes > h->resident_peak) {
		h->resident_peak = bytes;
		h->resident_ticks = now;
	}
	if (h->limit && bytes > h->limit && !h->since) {
		limit_passed(t, s, now);
	} else if (h->since && bytes <= h->limit) {
		h->over += sp_ticks_between(h->since, now);
		h->since = 0;
	}
	if (!c)
		return;
	if ((c->used + 1) * sizeof(struct sp_raw_point) > c->bytes - sizeof *c)
		thin_out(c);
	((struct sp_raw_point *)(c + 1))[c->used] = (struct sp_raw_point){now, h->bytes, h->blocks, bytes};
	__atomic_store_n(&c->used, c->used + 1, __ATOMIC_RELEASE);
}

void sp_heap_snapshot(struct sp_thread *t, const struct sp_raw_site *s)
{
	const uint64_t ns = sp_clock_nanoseconds(CLOCK_MONOTONIC_COARSE);
	if (ns - sp_heap.slice_ns >= SLICE) {
		sp_heap.slice_ns = ns;
		sp_heap.slice++;
		sp_heap.slice_ticks = sp_ticks();
	}
	if (!sp_heap.series_every)
		sp_heap.series_every = FIRST_PERIOD;
	sp_heap.raw->slice = SLICE;
	if (ns - sp_heap.point_ns >= sp_heap.series_every)
		sp_heap_point(ns, t, s);
}
