/* SPDX-License-Identifier: BSD-3-Clause */
/* Begin and end of a measurement, and fork: a child continues in a separate file. */
#include "format/checksum.h"
#include "record/adapter.h"
#include "record/buffer.h"
#include "record/definitions.h"
#include "record/events/interpose.h"
#include "record/events/task.h"
#include "record/filter.h"
#include "record/heap/recorder.h"
#include "record/libc.h"
#include "record/lines/lines.h"
#include "record/metrics.h"
#include "record/off_cpu.h"
#include "record/process.h"
#include "record/retired.h"
#include "record/settings.h"
#include "record/stack.h"
#include "record/thread.h"
#include "record/usage.h"
#include "record/waits/clib.h"
#include "record/waits/waits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

struct sp_process sp_process = {.lock = SP_LIBC_HELD_MUTEX};
union sp_cleared sp_cleared __attribute__((aligned(sizeof(union sp_cleared))));
_Atomic bool sp_recording;

/* The data of its parent that a child of fork needs, copied before the fork: afterwards the parent's pages change. */
static struct {
	struct sp_raw_frame *frames; /* owned; open frames of the forking thread, without the root */
	uint32_t *regions;           /* owned; regions of those frames */
	size_t n;
	bool known;   /* the forking thread has a location */
	bool running; /* the parent was recording; it may have ended before the child checks */
	bool silent;  /* functions of the forking thread are not recorded */
	struct sp_raw_header *header;
	uint32_t epoch;             /* sp_epoch of the parent; the child's is cleared by the kernel */
	struct sp_raw_chunk **defs; /* owned */
	uint64_t *defs_used;        /* owned; used bytes of each chunk at the fork */
	size_t n_defs;
	struct sp_segment *segments; /* owned */
	size_t n_segments;
} forking;

void sp_process_sync(void)
{
	if (sp_process.header)
		sp_process.header->last = sp_clock_sync();
}

void sp_process_lost(enum sp_raw_reason reason, int error, uint64_t bytes)
{
	struct sp_raw_header *h = sp_process.header;
	if (!h)
		return;
	uint32_t none = SP_RAW_REASON_NONE;
	sp_process_count(&h->lost_bytes, bytes);
	if (__atomic_compare_exchange_n(&h->lost_reason, &none, reason, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		h->lost_errno = error;
	if (reason == SP_RAW_REASON_DISK)
		sp_process.disk_failed = true;
}

static void fork_forget(void)
{
	free(forking.frames);
	free(forking.regions);
	free(forking.defs_used);
	const uint32_t epoch = forking.epoch;
	memset(&forking, 0, sizeof forking);
	forking.epoch = epoch;
}

static void fork_prepare(void)
{
	sp_adapter_forks = 1;
	sp_clib_fork(SP_FORK_BEFORE);
	pthread_mutex_lock(&sp_process.lock);
	sp_heap_fork(SP_FORK_BEFORE);
	sp_metrics_fork(SP_FORK_BEFORE);
	forking.epoch = sp_epoch;
	if (sp_process.forked || !sp_process.header)
		return;
	struct sp_thread *t = sp_self;
	forking.running = sp_process.header->ended == SP_RAW_RUNNING;
	forking.known = t && (t->epoch == sp_epoch || sp_process.paused);
	forking.silent = t && t->silent;
	forking.defs_used = malloc((sp_process.n_defs + 1) * sizeof *forking.defs_used);
	for (size_t i = 0; forking.defs_used && i < sp_process.n_defs; i++)
		forking.defs_used[i] = sp_process.defs[i]->used;
	size_t depth = forking.known ? sp_stack_depth(t) : 0;
	forking.frames = malloc((depth + 1) * sizeof *forking.frames);
	forking.regions = malloc((depth + 1) * sizeof *forking.regions);
	if (!forking.frames || !forking.regions)
		return;
	for (size_t i = 0; i < depth; i++) {
		forking.frames[i] = ((const struct sp_raw_frame *)t->loc.base)[i + 1];
		forking.regions[i] = sp_stack_region(&forking.frames[i]);
	}
	forking.n = depth;
}

static void fork_parent(void)
{
	if (!sp_process.forked)
		fork_forget();
	sp_metrics_fork(SP_FORK_PARENT);
	sp_heap_fork(SP_FORK_PARENT);
	pthread_mutex_unlock(&sp_process.lock);
	sp_clib_fork(SP_FORK_PARENT);
	sp_adapter_forks = 0;
}

/* After this, nothing reads the parent's file. */
static void forget_parent(void)
{
	sp_process.segments = NULL;
	sp_process.n_segments = sp_process.n_defs = 0;
	sp_process.defs = NULL;
	sp_process.threads = NULL;
	sp_process.ending = 0;
	sp_process.header = NULL;
	sp_task_forget(true);
	sp_waits_forget();
	sp_self = NULL;
}

/* Does only what cannot wait: the child must not write into the parent's pages any more. It makes its file at its
 * first event, because most children of fork become another program at once. */
static void fork_child(void)
{
	sp_libc_held_mutex(&sp_process.lock);
	sp_epoch = forking.epoch;
	sp_adapter_forks = sp_adapter_forked_python = 0;
	sp_metrics_fork(SP_FORK_CHILD);
	sp_heap_fork(SP_FORK_CHILD);
	sp_clib_fork(SP_FORK_CHILD);
	if (sp_process.forked || !sp_process.header)
		return;
	forking.header = sp_process.header;
	forking.defs = sp_process.defs;
	forking.n_defs = sp_process.n_defs;
	forking.segments = sp_process.segments;
	forking.n_segments = sp_process.n_segments;
	forget_parent();
	sp_process.forked = forking.running;
	if (!sp_process.forked)
		sp_retired_forget(); /* otherwise they are freed with the parent's pages */
}

/* The frames that were open at the fork will be left in the child, so they are also open there, without a visit. */
static struct sp_thread *child_frames(void)
{
	const bool paused = sp_process.paused;
	if (!forking.known || !(sp_recording || paused))
		return NULL;
	sp_recording = true;
	struct sp_thread *t = sp_thread_new();
	uint64_t now = sp_ticks();
	for (size_t i = 0; t && i < forking.n; i++) {
		const struct sp_raw_frame *f = &forking.frames[i];
		sp_stack_inherit(t, forking.regions[i], sp_stack_key(f), f->frame, sp_stack_reopened(f), now);
	}
	if (t && forking.silent)
		sp_thread_functions(t, false);
	sp_recording = !paused;
	if (t && paused) {
		/* only paused time after the fork counts for these frames */
		sp_process.paused_at = now;
		sp_stack_paused(t, now);
	}
	return t;
}

/* Some systems let a process read only its own children's memory (ptrace_scope 1): allows it to the sampler and the
 * sampler's children. */
static void let_sampler_in(void)
{
	if (sp_process.settings.sampler)
		prctl(PR_SET_PTRACER, (unsigned long)sp_process.settings.sampler, 0, 0, 0);
}

static int child_open(void)
{
	char *name = strdup(strrchr(sp_process.path, '/') + 1);
	let_sampler_in();
	int r = forking.defs_used ? sp_buffer_open(sp_process.dir) : -ENOMEM;
	if (!r) {
		sp_adapter_new_file(0);
		struct sp_raw_header *h = sp_process.header;
		h->start = SP_RAW_STARTED_FORK;
		h->flags = forking.header->flags;
		h->cost_in_ps = forking.header->cost_in_ps;
		h->cost_out_ps = forking.header->cost_out_ps;
		h->regions = sp_process.n_regions;
		r = sp_define_inherit(forking.defs, forking.defs_used, forking.n_defs);
		if (name)
			sp_define_meta("parent", name, strlen(name));
		sp_heap_file();
	}
	free(name);
	return r;
}

/* The mapped header of the file in which this unrecorded process and its children are counted: the file of its parent
 * or of an earlier ancestor. NULL: the process has a file, or nothing is measured. */
static struct sp_raw_header *counted_in;

static void count_lost(struct sp_raw_header *h, int error)
{
	int32_t none = 0;
	__atomic_compare_exchange_n(&h->lost_children_errno, &none, error, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	sp_process_count(&h->lost_children, 1);
}

/* This child is not recorded, and only its parent's file h can say so. */
static void child_lost(struct sp_raw_header *h, int error)
{
	count_lost(h, error);
	counted_in = h;
	sp_recording = false;
}

void sp_process_forks_unrecorded(void)
{
	if (counted_in)
		count_lost(counted_in, 0); /* 0: the file already has a reason */
}

/* Whether the kernel clears sp_cleared in children; false before Linux 4.14. */
static bool clears_epoch;

bool sp_process_is_foreign(void)
{
	if (sp_process.pid == getpid())
		return false; /* without reading the header: other threads may begin or end a measurement at the same
		                 time */
	struct sp_raw_header *h = sp_process.header;
	if (!h)
		return false;
	if (!clears_epoch || sp_epoch)
		return true; /* between vfork and exec all memory is the parent's; without clears_epoch the two cases
		                cannot be distinguished */
	sp_libc_held_mutex(&sp_process.lock);
	child_lost(h, SP_RAW_ERRNO_CLONE);
	sp_metrics_fork(SP_FORK_CHILD);
	sp_heap_fork(SP_FORK_CHILD);
	sp_clib_fork(SP_FORK_CHILD);
	forget_parent();
	sp_retired_forget();
	return true;
}

SP_COLD struct sp_thread *sp_process_forked(void)
{
	if (!sp_process.forked)
		return sp_process_is_foreign() ? NULL : sp_self;
	int error = errno;
	sp_process.forked = false;
	struct sp_thread *t = NULL;
	int r = child_open();
	if (!r)
		t = child_frames();
	else if (sp_process.header)
		sp_recording = false; /* the child's file says why it is empty */
	else
		child_lost(forking.header, -r);
	sp_buffer_unmap_all(forking.segments, forking.n_segments, forking.header != counted_in ? forking.header : NULL);
	free(forking.defs);
	fork_forget();
	sp_retired_forget();
	errno = error;
	return t;
}

/* Nothing was recorded: deletes the file. */
static void abandon(void)
{
	unlink(sp_process.path);
	pthread_mutex_lock(&sp_process.lock);
	sp_retired_add();
	pthread_mutex_unlock(&sp_process.lock);
}

uint64_t sp_process_until(const struct sp_thread *t, uint64_t now)
{
	if (sp_recording || !sp_process.header || sp_process.header->ended != SP_RAW_RUNNING)
		return now;
	return sp_process.paused_at > t->loc.last ? sp_process.paused_at : t->loc.last;
}

/* Takes the process lock when no thread is recording its own end: until it is done, such a thread writes into its
 * pages. */
static void lock_without_ends(void)
{
	pthread_mutex_lock(&sp_process.lock);
	while (sp_process.ending) {
		pthread_mutex_unlock(&sp_process.lock);
		usleep(100);
		pthread_mutex_lock(&sp_process.lock);
	}
}

int sp_process_start(const char *dir, struct sp_settings *s, struct sp_filter *f, enum sp_raw_start how)
{
	static bool handlers;
	if (!sp_process_is_foreign() && sp_process.header && sp_process.header->ended == SP_RAW_RUNNING)
		return -EALREADY;
	sp_clib_forget(); /* before the pages of its records are unmapped */
	if (counted_in)
		munmap(counted_in, SP_RAW_PAGE);
	counted_in = NULL;
	lock_without_ends();
	sp_retired_add();
	free(sp_process.dir);
	sp_settings_free(&sp_process.settings);
	sp_filter_free(sp_process.filter);
	sp_process.settings = *s;
	sp_process.filter = f;
	sp_process.n_regions = sp_process.n_columns = sp_process.n_sync = sp_process.off_region = sp_process.n_values =
	    0;
	sp_process.instrumented = s->instrument;
	sp_process.paused = false;
	memset(s, 0, sizeof *s);
	sp_define_forget();
	sp_waits_forget();
	pthread_mutex_unlock(&sp_process.lock);
	sp_task_forget(false);
	sp_clock_init(sp_process.settings.clock);
	sp_usage_begin();
	sp_process.dir = strdup(dir);
	if (how != SP_RAW_STARTED_SAMPLER)
		let_sampler_in();
	/* late threads, in events of the measurement before, define something as soon as there is a header */
	pthread_mutex_lock(&sp_process.lock);
	int r = sp_process.dir ? sp_buffer_open(dir) : -ENOMEM;
	const bool fits = !r && sp_define_fixed();
	pthread_mutex_unlock(&sp_process.lock);
	if (r)
		return r;
	if (!handlers && pthread_atfork(fork_prepare, fork_parent, fork_child))
		return -ENOMEM;
	if (!handlers)
		clears_epoch = !madvise(&sp_cleared, sizeof sp_cleared, MADV_WIPEONFORK);
	handlers = true;
	sp_process.header->start = how;
	if (sp_process.settings.trace && how != SP_RAW_STARTED_SAMPLER)
		sp_process.header->flags |= SP_RAW_FLAG_TRACE;
	if (!fits) {
		abandon();
		return -ENOSPC;
	}
	sp_metrics_start(sp_process.settings.metrics);
	sp_adapter_columns();
	sp_interpose_columns();
	sp_heap_columns();
	sp_waits_columns();
	sp_off_cpu_start();
	sp_adapter_new_file(1);
	sp_heap_file();
	sp_epoch++;
	sp_recording = true;
	return 0;
}

int sp_process_start_sampler(const char *dir, struct sp_settings *s, struct sp_filter *f, pid_t sampled,
                             const char *sampled_file)
{
	sp_process.sampled = sampled;
	sp_process.sampled_file = sampled_file;
	return sp_process_start(dir, s, f, SP_RAW_STARTED_SAMPLER);
}

void sp_process_filter(struct sp_filter *f, char *items)
{
	pthread_mutex_lock(&sp_process.lock);
	if (sp_process.filter)
		sp_filter_follow(f, sp_process.filter);
	sp_process.filter = f;
	free(sp_process.settings.filter);
	sp_process.settings.filter = items;
	/* C functions have no slot that says which filter decided about them */
	for (struct sp_thread *t = sp_process.threads; t; t = t->next)
		memset(t->c_cache, 0, sizeof t->c_cache);
	pthread_mutex_unlock(&sp_process.lock);
}

void sp_process_exec(bool begins)
{
	struct sp_raw_header *h = sp_process.header;
	if (sp_process_is_foreign() || !h || h->ended != (begins ? SP_RAW_RUNNING : SP_RAW_ENDED_EXEC))
		return;
	if (begins)
		sp_clib_stop();
	sp_process_sync();
	h->end_ticks = begins ? sp_ticks() : 0;
	__atomic_store_n(&h->ended, begins ? SP_RAW_ENDED_EXEC : SP_RAW_RUNNING, __ATOMIC_RELEASE);
}

void sp_process_stop(enum sp_raw_ended how)
{
	if (sp_process_is_foreign() || !sp_process.header || sp_process.header->ended != SP_RAW_RUNNING)
		return;
	sp_heap_stop();
	sp_clib_stop();
	uint64_t now = sp_ticks();
	if (how == SP_RAW_ENDED_STOPPED && sp_self) {
		sp_lines_close(sp_self, sp_process_until(sp_self, now));
		sp_stack_clear(sp_self, sp_process_until(sp_self, now));
	} else if (sp_self && sp_self->epoch == sp_epoch)
		sp_stack_unmark(sp_self, now); /* a task's last step that is over */
	sp_usage_end();
	lock_without_ends();
	/* other threads' frames stay open: their owners may be using them; the reader closes them at the end */
	for (struct sp_thread *t = sp_process.threads; t; t = t->next) {
		if (how == SP_RAW_ENDED_STOPPED)
			*t->slot = NULL;
		if (!t->loc.end) {
			sp_off_cpu_end(t);
			t->loc.end = sp_process_until(t, now);
		}
	}
	if (how == SP_RAW_ENDED_STOPPED)
		sp_metrics_stop();
	sp_recording = false;
	sp_epoch++;
	sp_process.paused = false;
	sp_process_sync();
	sp_process.header->end_ticks = now;
	sp_buffer_close();
	const bool sealed = sp_buffer_seal();
	/* from this store on readers use the length that the file has now */
	__atomic_store_n(&sp_process.header->ended, how, __ATOMIC_SEQ_CST);
	if (sealed) /* last, because the sum includes `ended` */
		__atomic_store_n(&sp_process.header->sum, sp_raw_header_sum(sp_process.header), __ATOMIC_RELEASE);
	pthread_mutex_unlock(&sp_process.lock);
}
