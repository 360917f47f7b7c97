/* SPDX-License-Identifier: BSD-3-Clause */
/* Records memory. One lock protects all counts, so that the numbers of all threads are a consistent snapshot. Under
 * the GIL no thread waits for it. */
#include "record/adapter.h"
#include "record/callpath.h"
#include "record/clock.h"
#include "record/definitions.h"
#include "record/heap/private.h"
#include "record/hot.h"
#include "record/process.h"
#include "record/stack.h"
#include "record/thread.h"
#include "record/trace.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { CALLS = 64, LARGE = 64 << 10 };
/* A flag in the site of a released block: it was counted as temporary. */
#define TEMPORARY (UINT64_C(1) << 63)

struct sp_heap sp_heap = {.raw = &sp_heap.nowhere};
int *(*sp_heap_quiet)(void);

/* ---- the lock: held for some dozen nanoseconds, or at most for the time to read the resident size ---- */

/* The lock holder may not be running, and a thread of a real-time class yields only to threads of that class. */
SP_COLD static void let_others_run(unsigned tries)
{
	enum { YIELDS = 500 };
	const struct timespec pause = {0, 20000};
	const int error = errno;
	if (tries < YIELDS)
		sched_yield();
	else
		syscall(SYS_nanosleep, &pause, NULL); /* the C library's function is a cancellation point */
	errno = error;
}

void sp_heap_take_lock(void)
{
	for (unsigned tries = 0; SP_UNLIKELY(__atomic_exchange_n(&sp_heap.lock, 1, __ATOMIC_ACQUIRE)); tries++)
		if (tries > 50)
			let_others_run(tries);
}

void sp_heap_lock(void)
{
	if (SP_LIKELY(!sp_adapter_forks)) /* while it forks, the thread already holds the lock */
		sp_heap_take_lock();
}

void sp_heap_unlock(void)
{
	if (SP_LIKELY(!sp_adapter_forks))
		__atomic_store_n(&sp_heap.lock, 0, __ATOMIC_RELEASE);
}

/* ---- sampling: the number of blocks that a recorded one represents ---- */

/* Returns 1 - exp(-x) for x > 0, without calling the C library. */
static double chance(double x)
{
	double sum = 1, term = 1, y = x;
	int halvings = 0;
	if (x > 40)
		return 1;
	if (x < 1e-4)
		return x - x * x / 2;
	for (; y > 0.5; halvings++)
		y /= 2;
	for (int k = 1; k < 14; k++)
		sum += term *= -y / k;
	for (; halvings; halvings--)
		sum *= sum;
	return 1 - sum;
}

/* Returns how many blocks a recorded one of n bytes represents, chosen at random so that the mean is right; *bytes:
 * their size. The release gets the same result, because it depends only on the address and the size. */
static uint64_t weight_of(const void *p, uint64_t n, uint64_t *bytes)
{
	const uint64_t sample = sp_heap.raw->sample;
	*bytes = n;
	if (SP_LIKELY(!sample))
		return 1;
	const double w = 1 / chance((double)(n ? n : 1) / (double)sample);
	const double u = (double)((((uint64_t)p >> 4) * UINT64_C(0xd1342543de82ef95)) >> 11) * 0x1p-53;
	*bytes = (uint64_t)((double)n * w + 0.5);
	return (uint64_t)(w + u);
}

/* ---- counting, with the lock held ---- */

/* Called before a site changes: stores what was live at the heap's peak, if the site has not changed since that
 * peak. */
static inline void keep_peak(struct sp_raw_site *s)
{
	if (s->epoch != sp_heap.raw->epoch) {
		s->peak = s->count - s->freed;
		s->peak_bytes = s->bytes - s->freed_bytes;
		s->epoch = sp_heap.raw->epoch;
	}
}

/* Adds live blocks. */
static inline void rise(uint64_t blocks, uint64_t bytes)
{
	struct sp_raw_heap *h = sp_heap.raw;
	h->blocks += blocks;
	h->bytes += bytes;
	if (h->bytes > h->peak_bytes) {
		h->peak_bytes = h->bytes;
		h->peak_blocks = h->blocks;
		/* small blocks make too many new peaks to read the clock for each */
		if (SP_UNLIKELY(bytes >= LARGE))
			h->peak_ticks = sp_ticks();
		else if (h->peak_ticks < sp_heap.slice_ticks)
			h->peak_ticks = sp_heap.slice_ticks;
		h->epoch++;
	}
}

static inline void add(struct sp_raw_site *s, uint64_t blocks, uint64_t bytes)
{
	struct sp_raw_heap *h = sp_heap.raw;
	keep_peak(s);
	s->count += blocks;
	s->bytes += bytes;
	const uint64_t live = s->bytes - s->freed_bytes;
	if (live > s->high) {
		s->high = live;
		if (s->slice != sp_heap.slice) {
			s->slice = sp_heap.slice;
			s->grown++;
			s->last = sp_heap.slice_ticks;
		}
	}
	h->count += blocks;
	h->allocated += bytes;
	rise(blocks, bytes);
}

/* Whether another thread owns the site. */
static inline bool is_elsewhere(uint64_t site)
{
	return sp_heap.sites[site].owner != sp_self;
}

static inline void take(uint32_t site, uint64_t blocks, uint64_t bytes)
{
	struct sp_raw_heap *h = sp_heap.raw;
	struct sp_raw_site *s = sp_heap.sites[site].raw;
	keep_peak(s);
	s->freed += blocks;
	s->freed_bytes += bytes;
	if (is_elsewhere(site))
		s->elsewhere += blocks;
	h->freed += blocks;
	h->freed_bytes += bytes;
	h->blocks -= blocks;
	h->bytes -= bytes;
}

static void take_pages(uint32_t site, uint64_t bytes, bool whole)
{
	take(site, whole, bytes);
}

/* The number of recorded blocks of each bit of the filter. */
static uint8_t filter_counts[SP_HEAP_FILTER];

void sp_heap_filter_clear(void)
{
	memset(filter_counts, 0, sizeof filter_counts);
	if (sp_heap.bits)
		memset(sp_heap.bits, 0, SP_HEAP_FILTER / 8);
}

static inline void filter_count(const void *p, int more)
{
	const uint32_t at = sp_heap_filter_at(p);
	uint8_t *n = sp_heap.filter ? &filter_counts[at] : NULL;
	if (!n || *n == UINT8_MAX) /* a saturated count never changes again */
		return;
	*n = (uint8_t)(*n + more);
	const uint64_t bit = UINT64_C(1) << at % 64, word = sp_heap.filter[at / 64];
	__atomic_store_n(&sp_heap.filter[at / 64], *n ? word | bit : word & ~bit, __ATOMIC_RELAXED);
}

static void lose(uint64_t bytes)
{
	sp_heap.raw->lost++;
	sp_heap.raw->lost_bytes += bytes;
}

/* ---- cost of recording: with sampling each event is timed, otherwise one in SP_HEAP_TIMED; the work that is done
 * once in CALLS is timed separately ---- */

/* Returns the time in ticks if this event is timed, otherwise 0. Never times an event that also calls `snapshot_at()`
 * because of its number. */
static inline uint64_t cost_begin(void)
{
	const uint32_t calls = __atomic_load_n(&sp_heap.calls, __ATOMIC_RELAXED);
	return SP_UNLIKELY(((calls ^ CALLS / 2) & sp_heap.untimed) == 0) ? sp_ticks() : 0;
}

/* Adds the time of an event that represents `many` events. The time has a maximum: a longer event was interrupted. */
SP_COLD static void cost_add(uint64_t begin, uint64_t many)
{
	const uint64_t ticks = sp_ticks_between(begin, sp_ticks());
	sp_heap.raw->cost += many * (ticks < sp_heap.interrupted ? ticks : sp_heap.interrupted);
}

static inline void cost_end(uint64_t begin)
{
	if (SP_UNLIKELY(begin))
		cost_add(begin, sp_heap.untimed + 1);
}

SP_COLD static void snapshot_at(struct sp_thread *t, const struct sp_raw_site *s, bool timed)
{
	const uint64_t begin = timed ? sp_ticks() : 0;
	sp_heap_snapshot(t, s);
	if (begin)
		cost_add(begin, 1);
}

static inline void count_call(struct sp_thread *t, const struct sp_raw_site *s, uint64_t bytes)
{
	const bool turn = ++sp_heap.calls % CALLS == 0;
	if (SP_UNLIKELY(turn || bytes >= LARGE || sp_heap.filter))
		snapshot_at(t, s, turn && sp_heap.untimed);
}

/* ---- calls from the library ---- */

/* Returns the location of the calling thread, or NULL if it does not record now. *lost: it should record but cannot. */
static struct sp_thread *location(bool *lost)
{
	struct sp_thread *t = sp_self;
	*lost = false;
	if (SP_LIKELY(t && t->epoch == sp_epoch && sp_recording && !sp_adapter_forks))
		return SP_LIKELY(!t->booting) ? t : NULL;
	const bool booting = t && t->booting;
	t = sp_adapter_thread();
	*lost = !t && sp_recording && !booting && !sp_process.forked;
	return t;
}

SP_COLD static struct sp_raw_node *outside(struct sp_thread *t)
{
	struct sp_raw_node *n = sp_heap.outside ? sp_callpath_child(t, t->root, sp_heap.outside) : NULL;
	return n ? n : t->collapsed;
}

static struct sp_raw_site *site_now(struct sp_thread *t, unsigned kind)
{
	uint64_t unnamed = 0;
	struct sp_raw_node *n = sp_stack_node(t, &unnamed);
	if (SP_UNLIKELY(n == t->root))
		n = outside(t);
	if (SP_UNLIKELY(unnamed))
		__atomic_fetch_add(&sp_heap.raw->unnamed, unnamed, __ATOMIC_RELAXED);
	return sp_heap_site_of(t, n, kind);
}

/* The limit was passed: stores the site, if it was not seen at an allocation, and sets a marker in the trace. */
SP_COLD static void mark_limit(struct sp_thread *t)
{
	static const char text[] = "the resident size passed --limit-rss";
	sp_heap.mark = false;
	const struct sp_raw_site *s = site_now(t, SP_RAW_HEAP_MALLOC);
	sp_heap_lock();
	if (s && sp_heap.raw->passed_location == SP_RAW_NONE)
		sp_heap_passed_at(t, s);
	sp_heap_unlock();
	const uint64_t id = t->traced ? sp_define_name(SP_RAW_DEF_STRING, text, sizeof text - 1) : 0;
	if (id)
		sp_extra(t, SP_RAW_X_MARKER, &id, 1);
}

static void allocated(const void *p, size_t n, unsigned kind)
{
	const uint64_t begin = cost_begin();
	const int error = errno;
	bool lost;
	struct sp_thread *t = location(&lost);
	struct sp_raw_site *s = SP_LIKELY(t != NULL) ? site_now(t, kind) : NULL;
	struct sp_heap_block block = {0, n}, before;
	uint64_t bytes, blocks;
	if (!s && !t && !lost)
		goto out;
	sp_heap_lock();
	if (SP_UNLIKELY(sp_heap_is_over(t))) {
		/* the measurement ended meanwhile */
	} else if (SP_UNLIKELY(!s || (block.site = s->number, !sp_heap_blocks_put(p, &block, &before)))) {
		lose(n);
	} else {
		if (SP_UNLIKELY(before.site)) {
			blocks = weight_of(p, before.size, &bytes);
			take((uint32_t)before.site, blocks, bytes);
		} else {
			filter_count(p, 1);
		}
		blocks = weight_of(p, n, &bytes);
		add(s, blocks, bytes);
		if (SP_LIKELY(!sp_heap.filter))
			sp_heap_latest_put(t, p, n);
		count_call(t, s, n);
		cost_end(begin);
	}
	sp_heap_unlock();
	if (SP_UNLIKELY(sp_heap.mark) && t)
		mark_limit(t);
out:
	errno = error;
}

static void released(const void *p, uint64_t since, struct sp_heap_block *block)
{
	const uint64_t begin = cost_begin();
	uint64_t bytes, blocks;
	block->site = 0;
	sp_heap_lock();
	if (SP_LIKELY(sp_heap.on)) {
		*block = sp_heap_blocks_take(p);
		if (SP_LIKELY(block->site)) {
			blocks = weight_of(p, block->size, &bytes);
			take((uint32_t)block->site, blocks, bytes);
			filter_count(p, -1);
			struct sp_thread *t = sp_self;
			/* blocks that the interpreter releases at its own end are not temporary */
			if (t && !sp_heap.raw->ended && sp_heap.sites[block->site].owner == t &&
			    (sp_heap.filter ? sp_heap_is_recent(block->size, since)
			                    : sp_heap_latest_take(t, p, block->size))) {
				struct sp_raw_site *s = sp_heap.sites[block->site].raw;
				s->temporary += blocks;
				s->temporary_bytes += bytes;
				block->site |= TEMPORARY;
			}
			count_call(NULL, NULL, block->size);
		} else if (!sp_heap.filter) {
			sp_heap.raw->unknown++;
		}
		cost_end(begin);
	}
	sp_heap_unlock();
	if (SP_UNLIKELY(sp_heap.mark)) {
		const int error = errno;
		bool lost;
		struct sp_thread *t = location(&lost);
		if (t)
			mark_limit(t);
		errno = error;
	}
}

/* Called by the thread that just released the block. */
static void restore(const void *p, const struct sp_heap_block *block)
{
	const struct sp_heap_block is = {block->site & ~TEMPORARY, block->size};
	struct sp_heap_block before;
	uint64_t bytes;
	sp_heap_lock();
	if (sp_heap.on && is.site <= sp_heap.n_sites && sp_heap_blocks_put(p, &is, &before)) {
		const uint64_t blocks = weight_of(p, is.size, &bytes);
		struct sp_raw_site *s = sp_heap.sites[is.site].raw;
		keep_peak(s);
		s->freed -= blocks;
		s->freed_bytes -= bytes;
		if (is_elsewhere(is.site))
			s->elsewhere -= blocks;
		if (block->site & TEMPORARY) {
			s->temporary -= blocks;
			s->temporary_bytes -= bytes;
		}
		sp_heap.raw->freed -= blocks;
		sp_heap.raw->freed_bytes -= bytes;
		rise(blocks, bytes);
		filter_count(p, 1);
	}
	sp_heap_unlock();
}

/* A range belongs to the program, with one site. Earlier records of the range were released unseen or are replaced. */
static void put_pages(struct sp_thread *t, struct sp_raw_site *s, bool lost, uintptr_t begin, uintptr_t end)
{
	sp_heap_pages_take(begin, end, take_pages);
	if (s && sp_heap_pages_put(begin, end, s->number)) {
		add(s, 1, end - begin);
		count_call(t, s, end - begin);
	} else if (t || lost) {
		lose(end - begin);
	}
}

static void mapped(const void *p, size_t n)
{
	const int error = errno;
	bool lost;
	struct sp_thread *t = location(&lost);
	struct sp_raw_site *s = t ? site_now(t, SP_RAW_HEAP_MMAP) : NULL;
	sp_heap_lock();
	if (!sp_heap_is_over(t))
		put_pages(t, s, lost, (uintptr_t)p, (uintptr_t)p + n);
	sp_heap_unlock();
	errno = error;
}

static void unmapped(const void *p, size_t n)
{
	sp_heap_lock();
	if (sp_heap.on)
		sp_heap_pages_take((uintptr_t)p, (uintptr_t)p + n, take_pages);
	sp_heap_unlock();
}

/* Calls mremap() under the lock, so that no other thread reports the freed pages before they are removed here. */
static void *remap(void *p, size_t n, size_t to, int flags, void *at)
{
	const int before = errno;
	bool lost;
	struct sp_thread *t = location(&lost);
	struct sp_raw_site *s = t ? site_now(t, SP_RAW_HEAP_MMAP) : NULL;
	const uintptr_t from = (uintptr_t)p;
	sp_heap_lock();
	errno = before;
	void *q = (void *)syscall(SYS_mremap, p, n, to, flags, at);
	const int error = errno;
	if (q != MAP_FAILED && !sp_heap_is_over(t)) {
		if (!(flags & MREMAP_DONTUNMAP))
			sp_heap_pages_take(from, from + sp_heap_page_up(n), take_pages);
		put_pages(t, s, lost, (uintptr_t)q, (uintptr_t)q + sp_heap_page_up(to));
	}
	sp_heap_unlock();
	errno = error;
	return q;
}

struct sp_heap_recorder sp_heap_recorder = {
    .version = SP_HEAP_VERSION,
    .size = sizeof sp_heap_recorder,
    .allocated = allocated,
    .released = released,
    .restore = restore,
    .mapped = mapped,
    .unmapped = unmapped,
    .remap = remap,
};
