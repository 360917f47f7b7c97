/* SPDX-License-Identifier: BSD-3-Clause */
/* Locations: one for each thread, made at its first event; and the thread's pieces of the trace. */
#include "record/heap_record.h"
#include "record/hot.h"
#include "record/interpose.h"
#include "record/lines.h"
#include "record/walk.h"
#include "record/waits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FIRST_EVENTS = 16 << 10, LAST_EVENTS = 1 << 20 };

__thread struct sp_thread *sp_self __attribute__((tls_model("initial-exec")));

static pthread_key_t end_key;
static pthread_once_t end_once = PTHREAD_ONCE_INIT;

/* The epoch in which no location could be made for this thread: counted once, not tried for every event. */
static __thread uint32_t failed_epoch __attribute__((tls_model("initial-exec")));

/* Of the measurement that was started last, also when it is over. With the process lock held. */
static bool is_listed(const struct sp_thread *t)
{
	const struct sp_thread *one = t ? sp_process.threads : NULL;
	while (one && one != t)
		one = one->next;
	return one;
}

/* with the process lock held */
static void unlink_thread(const struct sp_thread *t)
{
	for (struct sp_thread **p = &sp_process.threads; *p; p = &(*p)->next)
		if (*p == t) {
			*p = t->next;
			return;
		}
}

/* All that it holds, with the process lock held: nothing more will be recorded of it. */
static void give_back(struct sp_thread *t)
{
	free(t->table);
	sp_metrics_thread_end(t);
	sp_stack_free_aside(t);
	sp_lines_free(t, true);
	sp_walk_free(t);
	sp_heap_thread_free(t);
	sp_waits_free(t, true);
	unlink_thread(t);
	if (t->ev_chunk)
		sp_buffer_done(t->ev_chunk);
	sp_buffer_done(t->stack_chunk);
	for (struct sp_raw_chunk *c = t->node_chunk, *before; c; c = before) {
		before = (struct sp_raw_chunk *)c->reserved[0];
		sp_buffer_done(c);
	}
	sp_buffer_done((struct sp_raw_chunk *)t - 1);
}

static void at_thread_end(void *arg)
{
	struct sp_thread *t = arg;
	pthread_mutex_lock(&sp_process.lock);
	sp_self = NULL;
	/* when another measurement has begun the page is a page of the past; after a fork it is another process's.
	 * After a stop, which has taken the thread's own pointer to it, its pointer to that must not stay either. */
	const bool known = is_listed(t);
	sp_process.ending += known;
	if (!known)
		sp_past_left(t);
	pthread_mutex_unlock(&sp_process.lock);
	if (!known)
		return;
	uint64_t end = sp_process_until(t, sp_ticks());
	/* a measurement that has ended stays as it is: it may have been merged by now. One that ends waits for us. */
	const bool over = t->loc.end;
	if (!over) {
		sp_lines_close(t, end);
		sp_stack_clear(t, end);
	}
	pthread_mutex_lock(&sp_process.lock);
	if (!over)
		t->loc.end = end;
	give_back(t);
	sp_process.ending--;
	pthread_mutex_unlock(&sp_process.lock);
}

static void make_key(void)
{
	if (pthread_key_create(&end_key, at_thread_end))
		end_key = (pthread_key_t)-1;
}

void sp_thread_leave(void)
{
	pthread_once(&end_once, make_key);
	struct sp_thread *t = pthread_getspecific(end_key);
	if (t && !is_listed(t)) {
		sp_past_left(t);
		pthread_setspecific(end_key, NULL);
	}
}

/* With the process lock held: when-full "stop" counts all event bytes, "flush" only what is mapped now. */
static bool events_allowed(uint64_t bytes)
{
	const struct sp_settings *s = &sp_process.settings;
	return s->when_full == SP_STOP ? sp_process.event_bytes + bytes <= s->memory
	                               : sp_process.mapped + bytes <= s->memory;
}

static struct sp_raw_chunk *events_chunk(struct sp_thread *t)
{
	struct sp_raw_chunk *old = t->ev_chunk;
	/* the first thread is calibrated in its first chunk, and metrics make its events longer */
	uint64_t bytes = old ? old->bytes * 2 : FIRST_EVENTS * (t->loc.id ? 1 : 1 + sp_process.n_sync);
	if (bytes > LAST_EVENTS)
		bytes = LAST_EVENTS;
	if (old && sp_process.settings.when_full == SP_FLUSH)
		sp_buffer_done(old);
	while (bytes > SP_RAW_PAGE && (!events_allowed(bytes) || bytes * 8 > sp_process.settings.memory))
		bytes /= 2;
	struct sp_raw_chunk *c = NULL;
	if (!events_allowed(bytes))
		sp_process_lost(SP_RAW_REASON_MEMORY, 0, 0);
	else if (!sp_process.disk_failed)
		c = sp_buffer_chunk(SP_RAW_EVENTS, t, bytes);
	if (c) {
		sp_process.event_bytes += c->bytes;
		c->seq = t->ev_chunks++;
		c->base = t->loc.last;
	}
	return c;
}

bool sp_thread_events_more(struct sp_thread *t)
{
	int error = errno;
	if (sp_process.pid != getpid())
		return false; /* t is the parent's: sp_process_is_foreign() */
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

/* The chunk is full, the time does not fit, or tracing was given up: then every event is counted. */
void sp_event_slow(struct sp_thread *t, uint64_t now, uint64_t delta, unsigned kind, uint32_t id)
{
	/* what an event with its payload may need; the last words of a chunk may stay empty */
	enum { ROOM = 9 };
	if (!t->ev_end || (uint64_t *)t->loc.next + ROOM > t->ev_end) {
		t->loc.last = now - delta;
		if (t->gave_up || !sp_thread_events_more(t))
			goto lost;
		t->loc.last = now;
	}
	uint64_t *w = (uint64_t *)t->loc.next;
	if (delta > SP_RAW_DELTA_MAX) {
		w[1] = delta;
		w[0] = (uint64_t)(SP_RAW_X_TIME | 1 << 8) << SP_RAW_KIND_BITS | SP_RAW_EXTRA;
		w += 2;
		delta = 0;
	}
	*w = delta << SP_RAW_DELTA_SHIFT | (uint64_t)id << SP_RAW_KIND_BITS | kind;
	t->loc.next = (uint64_t)(w + 1);
	return;
lost:
	t->loc.last = now;
	t->loc.lost_events++;
}

/* An event with payload words. What it says is written at its own time; words of a payload may be 0. */
void sp_extra_at(struct sp_thread *t, enum sp_raw_extra what, const uint64_t *payload, unsigned n, uint64_t now)
{
	if (!t->traced)
		return;
	if (now < t->loc.last)
		now = t->loc.last;
	uint64_t delta = now - t->loc.last;
	uint64_t *w = (uint64_t *)t->loc.next;
	if (!t->ev_end || w + 1 + n > t->ev_end || delta > SP_RAW_DELTA_MAX) {
		/* room, or time, is made by an event that says nothing */
		uint64_t none = 0;
		uint64_t before = t->loc.lost_events;
		t->loc.last = now;
		sp_event_slow(t, now, delta, SP_RAW_EXTRA, SP_RAW_X_TIME | 1 << 8);
		if (t->loc.lost_events != before)
			return;
		w = (uint64_t *)t->loc.next;
		*w++ = none;
		delta = 0;
	}
	for (unsigned i = 0; i < n; i++)
		w[1 + i] = payload[i];
	w[0] = delta << SP_RAW_DELTA_SHIFT | (uint64_t)(what | n << 8) << SP_RAW_KIND_BITS | SP_RAW_EXTRA;
	t->loc.last = now;
	t->loc.next = (uint64_t)(w + 1 + n);
}

void sp_extra(struct sp_thread *t, enum sp_raw_extra what, const uint64_t *payload, unsigned n)
{
	if (t->traced)
		sp_extra_at(t, what, payload, n, sp_ticks());
}

void sp_event_metrics(struct sp_thread *t, const uint64_t *values, unsigned n, uint64_t now)
{
	enum { BESIDE = 4 }; /* words: the time if it is long, the record itself, and the event */
	if (!t->traced)
		return;
	uint64_t *w = (uint64_t *)t->loc.next, delta = now - t->loc.last;
	if (!t->ev_end || w + n + BESIDE > t->ev_end) {
		if (t->gave_up || !sp_thread_events_more(t))
			return;
		w = (uint64_t *)t->loc.next;
	}
	if (delta > SP_RAW_DELTA_MAX) {
		w[1] = delta;
		w[0] = (uint64_t)(SP_RAW_X_TIME | 1 << 8) << SP_RAW_KIND_BITS | SP_RAW_EXTRA;
		w += 2;
		delta = 0;
	}
	memcpy(w + 1, values, n * sizeof *values);
	w[0] = delta << SP_RAW_DELTA_SHIFT | (uint64_t)(SP_RAW_X_METRICS | n << 8) << SP_RAW_KIND_BITS | SP_RAW_EXTRA;
	t->loc.last = now;
	t->loc.next = (uint64_t)(w + 1 + n);
}

static int parts_init(struct sp_thread *t)
{
	int r = sp_metrics_thread_begin(t);
	if (!r)
		r = sp_thread_nodes_init(t);
	if (!r)
		r = sp_thread_stack_init(t);
	if (!r && sp_process.settings.trace) {
		t->traced = true;
		sp_thread_events_more(t);
	}
	return r;
}

/* Owned; with the process lock held. */
static uint64_t *left_out;
static size_t n_left_out;

void sp_thread_leave_out(uint64_t *ids, size_t n)
{
	pthread_mutex_lock(&sp_process.lock);
	free(left_out);
	left_out = ids;
	n_left_out = n;
	pthread_mutex_unlock(&sp_process.lock);
}

static bool is_left_out(void)
{
	const uint64_t tid = n_left_out ? (uint64_t)syscall(SYS_gettid) : 0;
	for (size_t i = 0; i < n_left_out; i++)
		if (left_out[i] == tid)
			return true;
	return false;
}

static struct sp_thread *location_new(uint64_t tid, uint64_t begin)
{
	struct sp_raw_chunk *c = sp_buffer_chunk(SP_RAW_LOCATION, NULL, SP_RAW_PAGE);
	if (!c) {
		sp_process.header->lost_threads++;
		return NULL;
	}
	struct sp_thread *t = (struct sp_thread *)(c + 1);
	c->location = t->loc.id = sp_process.header->locations++;
	t->loc.creator = SP_RAW_NONE;
	t->loc.tid = tid;
	t->loc.begin = t->loc.last = begin;
	t->depth_limit = sp_process.settings.depth;
	t->paused_ticks = sp_process.paused_ticks;
	t->slot = &sp_self;
	c->used = sizeof t->loc;
	t->next = sp_process.threads;
	sp_process.threads = t;
	return t;
}

/* Makes all that a new location needs; NULL (counted): no room. No part is made where the measurement ends meanwhile.
 */
static struct sp_thread *with_parts(struct sp_thread *t)
{
	if (!t || !parts_init(t))
		return t;
	pthread_mutex_lock(&sp_process.lock);
	if (is_listed(t)) {
		sp_process.header->lost_threads += sp_process.header->ended == SP_RAW_RUNNING;
		t->loc.end = t->loc.begin;
		give_back(t);
	} else {
		sp_past_left(t);
	}
	pthread_mutex_unlock(&sp_process.lock);
	return NULL;
}

struct sp_thread *sp_thread_of(uint64_t tid, uint64_t begin)
{
	static struct sp_thread *nobody;
	pthread_mutex_lock(&sp_process.lock);
	struct sp_thread *t = location_new(tid, begin);
	if (t)
		t->slot = &nobody;
	pthread_mutex_unlock(&sp_process.lock);
	return with_parts(t);
}

void sp_thread_ended(struct sp_thread *t, uint64_t end)
{
	pthread_mutex_lock(&sp_process.lock);
	t->loc.end = end;
	give_back(t);
	pthread_mutex_unlock(&sp_process.lock);
}

/* The calling thread is at its new location from here on. false: the measurement ended while it was made. What the
 * thread had before is given up. */
static bool publish(struct sp_thread *t)
{
	pthread_mutex_lock(&sp_process.lock);
	const bool listed = is_listed(t), goes_on = listed && sp_process.header->ended == SP_RAW_RUNNING;
	sp_thread_leave();
	if (goes_on) {
		t->epoch = sp_epoch;
		sp_self = t;
	} else if (listed) {
		give_back(t);
	} else {
		sp_past_left(t);
	}
	pthread_mutex_unlock(&sp_process.lock);
	return goes_on;
}

struct sp_thread *sp_thread_new(void)
{
	if (failed_epoch == sp_epoch && !sp_process.forked)
		return NULL;
	int error = errno;
	struct sp_thread *t = sp_process_forked();
	if (t)
		return t;
	pthread_once(&end_once, make_key);
	pthread_mutex_lock(&sp_process.lock);
	if (sp_recording && sp_process.header && !is_left_out())
		t = location_new((uint64_t)syscall(SYS_gettid), sp_ticks());
	pthread_mutex_unlock(&sp_process.lock);
	t = with_parts(t);
	if (!t) {
		failed_epoch = sp_epoch;
	} else if (publish(t)) {
		if (sp_interpose_creator(&t->loc.creator, &t->number))
			sp_thread_name(t, "", 0);
		pthread_setspecific(end_key, t);
	} else {
		t = NULL;
	}
	errno = error;
	return t;
}

struct sp_thread *sp_thread_hide(void)
{
	struct sp_thread *t = sp_self;
	failed_epoch = sp_epoch; /* and no other one is made */
	sp_self = NULL;
	return t;
}

void sp_thread_show(struct sp_thread *t)
{
	failed_epoch = 0;
	if (!sp_self && t && sp_process.header && !sp_process.forked)
		sp_self = t;
}

void sp_thread_restart(struct sp_thread *t)
{
	t->booting = false;
	sp_callpath_reset(t);
	sp_walk_reset(t);
	sp_lines_restart(t);
	sp_waits_restart(t);
	if (sp_thread_nodes_init(t)) {
		/* the thread cannot be recorded: its stack stays empty */
		t->stack_end = NULL;
		sp_process.header->lost_threads++;
		return;
	}
	sp_stack_root(t);
	t->loc.unmatched = t->loc.deeper = t->loc.lost_paths = 0;
	t->loc.begin = t->loc.last = sp_ticks();
	t->traced = sp_process.settings.trace;
	if (t->traced)
		sp_thread_events_rewind(t);
}

/* Makes the current chunk empty again; only while it is the thread's first. */
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

void sp_thread_name(struct sp_thread *t, const char *name, size_t n)
{
	const struct sp_text text = {name, n};
	sp_define(SP_RAW_DEF_LOCATION_NAME, 0, t->loc.id, t->number, &text, 1);
}
