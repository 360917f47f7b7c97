/* SPDX-License-Identifier: BSD-3-Clause */
/* Locations: one for each thread, made at its first event. */
#include "record/buffer.h"
#include "record/callpath.h"
#include "record/definitions.h"
#include "record/events/interpose.h"
#include "record/events/walk.h"
#include "record/heap/recorder.h"
#include "record/hot.h"
#include "record/lines/lines.h"
#include "record/metrics.h"
#include "record/off_cpu.h"
#include "record/process.h"
#include "record/retired.h"
#include "record/stack.h"
#include "record/tally.h"
#include "record/thread.h"
#include "record/trace.h"
#include "record/waits/waits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

__thread struct sp_thread *_Atomic sp_self SP_TLS_MODEL;

static pthread_key_t end_key;
static pthread_once_t end_once = PTHREAD_ONCE_INIT;

/* The epoch at which no location could be made for this thread: the loss is counted once, and later events do not
 * retry. */
static __thread uint32_t failed_epoch SP_TLS_MODEL;

/* Whether t belongs to the measurement that was started last, which may be over. With the process lock held. */
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

/* Frees everything that the thread owns: nothing more will be recorded for it. With the process lock held. */
static void give_back(struct sp_thread *t)
{
	free(t->table);
	sp_metrics_thread_end(t);
	sp_stack_free_aside(t);
	sp_lines_free(t, true);
	sp_walk_free(t);
	sp_heap_thread_free(t);
	sp_waits_free(t, true);
	sp_off_cpu_free(t, true);
	sp_tally_free(t, true);
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
	/* If another measurement has begun, the page belongs to a retired one; after a fork it belongs to another
	 * process. A stop clears sp_self, but the thread's pthread key still points to the page, and that must not
	 * remain either. */
	const bool known = is_listed(t);
	sp_process.ending += known;
	if (!known)
		sp_retired_left(t);
	pthread_mutex_unlock(&sp_process.lock);
	if (!known)
		return;
	uint64_t end = sp_process_until(t, sp_ticks());
	/* a measurement that has ended is not changed: it may already be merged. One that is ending waits for this
	 * thread. */
	const bool over = t->loc.end;
	if (!over) {
		sp_lines_close(t, end);
		sp_stack_clear(t, end);
	}
	pthread_mutex_lock(&sp_process.lock);
	if (!over) {
		sp_off_cpu_end(t);
		t->loc.end = end;
	}
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
		sp_retired_left(t);
		pthread_setspecific(end_key, NULL);
	}
}

static int parts_init(struct sp_thread *t)
{
	int r = sp_metrics_thread_begin(t);
	if (!r)
		r = sp_thread_nodes_init(t);
	if (!r)
		r = sp_thread_stack_init(t);
	if (!r && t->traced)
		sp_thread_events_more(t);
	if (!r)
		sp_off_cpu_thread(t);
	return r;
}

/* Ids of threads that are not recorded; owned; under the process lock. */
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
	struct sp_raw_chunk *c = sp_buffer_unpublished(SP_RAW_LOCATION, NULL, SP_RAW_PAGE, 0, 0);
	if (!c) {
		sp_process_count(&sp_process.header->lost_threads, 1);
		return NULL;
	}
	struct sp_thread *t = (struct sp_thread *)(c + 1);
	c->location = t->loc.id = sp_process.header->locations++;
	t->loc.creator = SP_RAW_NONE;
	t->loc.tid = tid;
	t->loc.begin = t->loc.last = begin;
	/* copies, because another measurement may begin while the thread's other parts are made */
	t->depth_limit = sp_process.settings.depth;
	t->traced = sp_process.settings.trace;
	t->node_values = (sp_process.n_columns + SP_RAW_VALUES - 1) / SP_RAW_VALUES;
	t->paused_ticks = sp_process.paused_ticks;
	t->slot = &sp_self;
	c->used = sizeof t->loc;
	sp_buffer_publish(c);
	t->next = sp_process.threads;
	sp_process.threads = t;
	return t;
}

/* Makes all parts of a new location. Returns NULL (counted) if there is no space. If the measurement ends meanwhile,
 * no further part is made. */
static struct sp_thread *with_parts(struct sp_thread *t)
{
	if (!t || !parts_init(t))
		return t;
	pthread_mutex_lock(&sp_process.lock);
	if (is_listed(t)) {
		sp_process_count(&sp_process.header->lost_threads, sp_process.header->ended == SP_RAW_RUNNING);
		t->loc.end = t->loc.begin;
		give_back(t);
	} else {
		sp_retired_left(t);
	}
	pthread_mutex_unlock(&sp_process.lock);
	return NULL;
}

struct sp_thread *sp_thread_of(uint64_t tid, uint64_t begin)
{
	static struct sp_thread *_Atomic nobody;
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

/* Makes the new location the calling thread's, and gives up the thread's previous one. Returns false if the
 * measurement ended while the location was made. */
static bool publish(struct sp_thread *t)
{
	pthread_mutex_lock(&sp_process.lock);
	const bool listed = is_listed(t), running = listed && sp_process.header->ended == SP_RAW_RUNNING;
	sp_thread_leave();
	if (running) {
		t->epoch = sp_epoch;
		sp_self = t;
	} else if (listed) {
		give_back(t);
	} else {
		sp_retired_left(t);
	}
	pthread_mutex_unlock(&sp_process.lock);
	return running;
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
	failed_epoch = sp_epoch; /* prevents that another location is made */
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
	sp_off_cpu_restart(t);
	sp_tally_restart(t);
	if (sp_thread_nodes_init(t)) {
		/* the thread cannot be recorded: its stack stays empty */
		t->stack_end = NULL;
		sp_process_count(&sp_process.header->lost_threads, 1);
		return;
	}
	sp_stack_root(t);
	t->loc.unmatched = t->loc.deeper = t->loc.lost_paths = 0;
	t->loc.begin = t->loc.last = sp_ticks();
	t->traced = sp_process.settings.trace;
	if (t->traced)
		sp_thread_events_rewind(t);
}

void sp_thread_name(struct sp_thread *t, const char *name, size_t n)
{
	const struct sp_text text = {name, n};
	sp_define(SP_RAW_DEF_LOCATION_NAME, 0, t->loc.id, t->number, &text, 1);
}
