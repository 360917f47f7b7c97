/* SPDX-License-Identifier: BSD-3-Clause */
/* The trace of a thread: its chunks, and the records in them that hot.h does not write itself. */
#include "record/buffer.h"
#include "record/clock.h"
#include "record/hot.h"
#include "record/off_cpu.h"
#include "record/process.h"
#include "record/rewind.h"
#include "record/settings.h"
#include "record/thread.h"
#include "record/trace.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

enum {
	FIRST_EVENTS = 16 << 10, /* bytes of a thread's first chunk */
	LAST_EVENTS = 1 << 20,   /* bytes of a thread's largest chunk */
	TIME_WORDS = 2           /* words of a record SP_RAW_X_TIME */
};

/* Even the smallest chunk has space for a time, the longest record and the event that the record belongs to. */
_Static_assert((SP_RAW_PAGE - sizeof(struct sp_raw_chunk)) / sizeof(uint64_t) >= TIME_WORDS + 1 + SP_PAYLOAD_MAX + 1,
               "every record fits into every chunk");

/* Needs the process lock. "stop" counts all bytes of events, "flush" only those that are mapped now. */
static bool events_allowed(uint64_t bytes)
{
	const struct sp_settings *s = &sp_process.settings;
	return s->when_full == SP_STOP ? sp_process.event_bytes + bytes <= s->trace_memory
	                               : sp_process.mapped + bytes <= s->trace_memory;
}

static struct sp_raw_chunk *events_chunk(struct sp_thread *t)
{
	struct sp_raw_chunk *old = t->ev_chunk;
	/* the calibration is traced in the first thread's first chunk, and metrics make its events longer */
	uint64_t bytes = old ? old->bytes * 2 : FIRST_EVENTS * (t->loc.id ? 1 : 1 + sp_process.n_sync);
	if (bytes > LAST_EVENTS)
		bytes = LAST_EVENTS;
	if (old && sp_process.settings.when_full == SP_FLUSH)
		sp_buffer_done(old);
	while (bytes > SP_RAW_PAGE && (!events_allowed(bytes) || bytes * 8 > sp_process.settings.trace_memory))
		bytes /= 2;
	struct sp_raw_chunk *c = NULL;
	if (!events_allowed(bytes))
		sp_process_lost(SP_RAW_REASON_MEMORY, 0, 0);
	else if (!sp_process.disk_failed)
		c = sp_buffer_chunk(SP_RAW_EVENTS, t, bytes, t->ev_chunks, t->loc.last);
	if (c) {
		sp_process.event_bytes += c->bytes;
		t->ev_chunks++;
	}
	return c;
}

bool sp_thread_events_more(struct sp_thread *t)
{
	int error = errno;
	if (sp_process.pid != getpid())
		return false; /* sp_process_is_foreign(): t is the parent's */
	pthread_mutex_lock(&sp_process.lock);
	struct sp_raw_chunk *c = events_chunk(t);
	pthread_mutex_unlock(&sp_process.lock);
	t->ev_chunk = c;
	if (c && t->rewinds)
		sp_rewind_chunk(t, c);
	t->gave_up = !c;
	t->loc.next = c ? (uint64_t)(c + 1) : 0;
	t->ev_end = c ? (uint64_t *)((char *)c + c->bytes) : NULL;
	errno = error;
	return c != NULL;
}

static uint64_t extra_word(uint64_t delta, unsigned what, unsigned words)
{
	return delta << SP_RAW_DELTA_SHIFT | (uint64_t)(what | words << 8) << SP_RAW_KIND_BITS | SP_RAW_EXTRA;
}

/* Stores the first word of a record last: if the process is killed before that, the record does not exist, and readers
 * of the file see it complete. */
static void put_first(uint64_t *w, uint64_t word)
{
	__atomic_store_n(w, word, __ATOMIC_RELEASE);
}

/* Reserves `words` words in one chunk for a record at the time *now (ticks). The caller stores them and moves loc.next
 * behind them. Begins the next chunk if this one is too full, and writes a separate TIME record if the time since the
 * last event is too long for an event. If the clock went back, *now becomes the time of the last event. Returns NULL
 * if there is no space. Only sp_event(), whose records are one word, reserves space without this function. */
static uint64_t *reserve(struct sp_thread *t, uint64_t *now, unsigned words)
{
	if (*now < t->loc.last)
		*now = t->loc.last;
	const bool is_long = *now - t->loc.last > SP_RAW_DELTA_MAX;
	const unsigned all = words + (is_long ? TIME_WORDS : 0);
	if ((!t->ev_end || t->ev_end - (uint64_t *)t->loc.next < (ptrdiff_t)all) &&
	    (t->gave_up || !sp_thread_events_more(t)))
		return NULL;
	uint64_t *w = (uint64_t *)t->loc.next;
	sp_assert_in_chunk(t, w, all);
	if (is_long) {
		w[1] = *now - t->loc.last;
		put_first(w, extra_word(0, SP_RAW_X_TIME, 1));
		w += TIME_WORDS;
		t->loc.next = (uint64_t)w;
		t->loc.last = *now;
	}
	return w;
}

static void lose(struct sp_thread *t, uint64_t now)
{
	t->loc.last = now;
	t->loc.lost_events++;
}

/* There was no event for a long time, the chunk is full, the time does not fit, the clock went back, or tracing was
 * given up, in which case each event is counted as lost. The caller has already set loc.last, which was `delta` ticks
 * earlier. */
void sp_event_slow(struct sp_thread *t, uint64_t now, uint64_t delta, unsigned kind, uint32_t id)
{
	t->loc.last = now - delta;
	if (delta > t->quiet)
		sp_off_cpu_gap(t, now, kind, id);
	if (!t->traced) {
		t->loc.last = now;
		return;
	}
	uint64_t *w = reserve(t, &now, 1);
	if (!w) {
		lose(t, now);
		return;
	}
	*w = (now - t->loc.last) << SP_RAW_DELTA_SHIFT | (uint64_t)id << SP_RAW_KIND_BITS | kind;
	t->loc.last = now;
	t->loc.next = (uint64_t)(w + 1);
}

/* Appends a record with n words of payload at the time `now`, in a chunk that has space for `behind` more words.
 * Returns false if there is no space. */
static bool append(struct sp_thread *t, unsigned what, const uint64_t *payload, unsigned n, unsigned behind,
                   uint64_t now)
{
	/* exports begin a wait for the GIL after the event before it: the off-CPU time of the wait follows it */
	const bool off_behind = what == SP_RAW_X_GIL_WAIT;
	uint64_t off = 0;
	assert(n <= SP_PAYLOAD_MAX);
	if (now - t->loc.last > t->quiet)
		off = sp_off_cpu_count(t, now, SP_RAW_EXTRA, 0);
	if (!off_behind)
		sp_event_off_cpu(t, off, now);
	uint64_t *w = reserve(t, &now, 1 + n + behind);
	if (!w)
		return false;
	for (unsigned i = 0; i < n; i++)
		w[1 + i] = payload[i];
	put_first(w, extra_word(now - t->loc.last, what, n));
	t->loc.last = now;
	t->loc.next = (uint64_t)(w + 1 + n);
	if (off_behind)
		sp_event_off_cpu(t, off, now);
	return true;
}

void sp_extra_at(struct sp_thread *t, enum sp_raw_extra what, const uint64_t *payload, unsigned n, uint64_t now)
{
	if (t->traced && !append(t, what, payload, n, 0, now))
		lose(t, now > t->loc.last ? now : t->loc.last);
}

void sp_extra(struct sp_thread *t, enum sp_raw_extra what, const uint64_t *payload, unsigned n)
{
	if (t->traced)
		sp_extra_at(t, what, payload, n, sp_ticks());
}

void sp_event_off_cpu(struct sp_thread *t, uint64_t record, uint64_t now)
{
	/* without space nothing is lost but its place in time: the sum is in the profile */
	if (record && t->traced)
		append(t, SP_RAW_X_OFF_CPU, &record, 1, 0, now);
}

void sp_event_metrics(struct sp_thread *t, const uint64_t *values, unsigned n, uint64_t now)
{
	if (t->traced)
		append(t, SP_RAW_X_METRICS, values, n, 1, now);
}

/* Empties the current chunk; only if it is the thread's first one. */
void sp_thread_events_rewind(struct sp_thread *t)
{
	struct sp_raw_chunk *c = t->ev_chunk;
	if (!c || c->seq)
		return;
	memset(c + 1, 0, c->bytes - sizeof *c);
	c->base = t->loc.last;
	t->loc.next = (uint64_t)(c + 1);
	t->ev_end = (uint64_t *)((char *)c + c->bytes);
}

void sp_thread_events_hold(struct sp_thread *t)
{
	t->traced = false;
	t->loc.next = 0;
	t->ev_end = NULL;
}
