/* SPDX-License-Identifier: BSD-3-Clause */
/* Begin and end of the heap recorder: its columns, its chunks in the file, the program's end, fork. */
#include "record/buffer.h"
#include "record/clock.h"
#include "record/definitions.h"
#include "record/heap/private.h"
#include "record/metrics.h"
#include "record/process.h"
#include "record/settings.h"
#include "record/thread.h"

#include <sys/mman.h>

enum { SERIES_BYTES = 64 << 10, INTERRUPTED_NS = 26000 };

bool sp_heap_wanted(const struct sp_settings *s)
{
	return s->memory_profile || s->memory_sample || s->limit_rss;
}

void sp_heap_columns(void)
{
	static const struct {
		const char *name, *unit, *what;
	} columns[] = {
	    {"allocations", "#", "blocks of memory allocated"},
	    {"allocated", "B", "bytes of memory allocated"},
	    {"temporary", "#", "of these, released after at most N others of about that size"},
	    {"left", "#", "of these, still there when the program ended"},
	    {"left_bytes", "B", "bytes of memory still there when the program ended"},
	    {"peak_bytes", "B", "bytes of memory live when the heap of the process was largest"},
	};
	static const char outside_name[] = "(outside of Python functions)";
	const struct sp_text none = {"", 0}, name = {outside_name, sizeof outside_name - 1};
	if (!sp_heap_wanted(&sp_process.settings))
		return;
	for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
		sp_define_metric(columns[i].name, columns[i].unit, 0, columns[i].what,
		                 SP_RAW_METRIC_MEMORY | SP_RAW_METRIC_EXCLUSIVE);
	sp_heap.outside = sp_define_region(none, name, none, 0, SP_RAW_REGION_NATIVE);
}

void sp_heap_file(void)
{
	if (!sp_heap_wanted(&sp_process.settings))
		return;
	pthread_mutex_lock(&sp_process.lock);
	struct sp_raw_chunk *c = sp_buffer_unpublished(SP_RAW_HEAP, NULL, SP_RAW_PAGE, 0, 0);
	struct sp_raw_chunk *series = c ? sp_buffer_chunk(SP_RAW_SERIES, NULL, SERIES_BYTES, 0, 0) : NULL;
	pthread_mutex_unlock(&sp_process.lock);
	if (!c)
		return;
	c->used = sizeof(struct sp_raw_heap);
	sp_heap.raw = (struct sp_raw_heap *)(c + 1);
	*sp_heap.raw = (struct sp_raw_heap){
	    .sample = sp_process.settings.memory_profile ? 0 : sp_process.settings.memory_sample,
	    .own = sp_heap.nowhere.own,
	    .limit = sp_process.settings.limit_rss,
	    .begin = sp_ticks(),
	    .passed_location = SP_RAW_NONE,
	};
	sp_buffer_publish(c);
	sp_heap.series = series;
	sp_heap.series_every = 0;
	sp_heap.point_ns = sp_heap.slice_ns = 0;
}

static void *reserve(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

const struct sp_heap_recorder *sp_heap_start(uint64_t *bits, const uintptr_t own[2], const uintptr_t other[2])
{
	sp_heap.bits = bits;
	if (!sp_heap.sites)
		sp_heap.sites = reserve(SP_HEAP_MAX_SITES * sizeof *sp_heap.sites);
	const uint64_t sample = sp_heap.raw->sample;
	if (!sp_heap.sites || sp_heap.raw == &sp_heap.nowhere)
		return NULL;
	sp_heap_lock();
	sp_heap.filter = sample ? sp_heap.bits : NULL;
	sp_heap.untimed = sample ? 0 : SP_HEAP_TIMED - 1;
	sp_heap.interrupted = sp_clock_about(INTERRUPTED_NS);
	sp_heap_filter_clear();
	sp_heap_recorder.sample = sample;
	sp_heap_recorder.own_begin = own[0];
	sp_heap_recorder.own_end = own[1];
	sp_heap_recorder.other_begin = other[0];
	sp_heap_recorder.other_end = other[1];
	sp_heap.n_sites = 0;
	sp_heap.epoch = sp_epoch;
	sp_heap.on = true;
	sp_heap_snapshot(NULL, NULL);
	sp_heap_unlock();
	return &sp_heap_recorder;
}

void sp_heap_over(void)
{
	sp_heap_lock();
	if (sp_heap.on && !sp_heap.raw->ended) {
		for (uint32_t i = 1; i <= sp_heap.n_sites; i++) {
			struct sp_raw_site *s = sp_heap.sites[i].raw;
			s->left = s->count - s->freed;
			s->left_bytes = s->bytes - s->freed_bytes;
		}
		sp_heap_point(sp_clock_nanoseconds(CLOCK_MONOTONIC_COARSE), NULL, NULL);
		sp_heap.raw->ended = sp_ticks();
	}
	sp_heap_unlock();
}

static void forget(void)
{
	sp_heap.raw = &sp_heap.nowhere;
	sp_heap.series = NULL;
	sp_heap.n_sites = 0;
	sp_heap_blocks_clear();
	sp_heap.nowhere.own = 0;
}

void sp_heap_stop(void)
{
	sp_heap_lock();
	if (sp_heap.on) {
		sp_heap_point(sp_clock_nanoseconds(CLOCK_MONOTONIC_COARSE), NULL, NULL);
		if (sp_heap.raw->since)
			sp_heap.raw->over += sp_ticks_between(sp_heap.raw->since, sp_ticks());
		sp_heap.on = false;
		sp_heap_filter_clear();
		forget();
	}
	sp_heap_unlock();
}

/* A child begins with an empty table: its parent's allocations are unknown there. */
void sp_heap_fork(enum sp_fork when)
{
	if (when == SP_FORK_BEFORE) {
		sp_heap_take_lock();
		return;
	}
	if (when == SP_FORK_CHILD && sp_heap.on) {
		const uint64_t sample = sp_heap.raw->sample;
		sp_heap.raw = &sp_heap.nowhere; /* from here on no page of the parent is written */
		forget();
		sp_heap.nowhere = (struct sp_raw_heap){.sample = sample};
		sp_heap_filter_clear();
	}
	__atomic_store_n(&sp_heap.lock, 0, __ATOMIC_RELEASE);
}
