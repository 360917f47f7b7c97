/* SPDX-License-Identifier: BSD-3-Clause */
/* Rewinding: removes from the file what a thread's trace recorded since a remembered position. The profile keeps it.
 * Chunks that were filled since then may only be on disk and are changed there. */
#include "format/checksum.h"
#include "record/buffer.h"
#include "record/clock.h"
#include "record/hot.h"
#include "record/off_cpu.h"
#include "record/process.h"
#include "record/rewind.h"
#include "record/stack.h"
#include "record/thread.h"
#include "record/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One remembered position in the trace of a thread. */
struct sp_rewind {
	struct sp_rewind *older; /* owned */
	uint32_t region;
	uint64_t chunk, bytes; /* the chunk that was being filled: offset in the file and length, bytes */
	uint64_t next;         /* the position in that chunk, bytes */
	uint64_t last;         /* time of the last event, ticks */
	size_t depth;
	struct sp_raw_frame frames[]; /* frames that were open, outermost first */
};

static uint64_t offset_of(const struct sp_raw_chunk *c)
{
	pthread_mutex_lock(&sp_process.lock);
	uint64_t offset = sp_buffer_offset(c);
	pthread_mutex_unlock(&sp_process.lock);
	return offset;
}

static struct sp_rewind *point_of(const struct sp_thread *t, uint32_t region)
{
	size_t depth = sp_stack_depth(t);
	struct sp_rewind *r = malloc(sizeof *r + depth * sizeof r->frames[0]);
	if (!r)
		return NULL;
	*r = (struct sp_rewind){.older = t->rewinds,
	                        .region = region,
	                        .chunk = offset_of(t->ev_chunk),
	                        .bytes = t->ev_chunk->bytes,
	                        .next = t->loc.next - (uint64_t)t->ev_chunk,
	                        .last = t->loc.last,
	                        .depth = depth};
	memcpy(r->frames, (const struct sp_raw_frame *)t->loc.base + 1, depth * sizeof r->frames[0]);
	return r;
}

/* Records that a region begins or ends that has no frame on the stack. */
static void event_without_frame(struct sp_thread *t, unsigned kind, uint32_t region, uint64_t now)
{
	sp_off_cpu_gap(t, now, SP_RAW_EXTRA, 0); /* the event itself would search for the frame */
	sp_stack_event(t, now, kind, region);
}

void sp_rewind_begin(struct sp_thread *t, uint32_t region)
{
	if (t->traced) /* the off-CPU time before the position stays */
		sp_off_cpu_gap(t, sp_ticks(), SP_RAW_EXTRA, 0);
	if (!t->traced || !t->ev_chunk)
		return;
	struct sp_rewind *r = point_of(t, region);
	if (!r) {
		t->loc.lost_events += 2;
		return;
	}
	t->rewinds = r;
	event_without_frame(t, SP_RAW_ENTER, region, sp_ticks());
}

void sp_rewind_chunk(struct sp_thread *t, const struct sp_raw_chunk *c)
{
	uint64_t *more = realloc(t->rewind_chunks, (t->n_rewind_chunks + 1) * sizeof *more);
	if (!more) {
		t->rewind_failed = true;
		return;
	}
	t->rewind_chunks = more;
	t->rewind_chunks[t->n_rewind_chunks++] = offset_of(c);
}

/* Ends the chunk with the position there. Its new checksum is computed at once, because nothing else knows of a chunk
 * that is only on disk. Returns 0 or -errno. */
static int end_chunk(int fd, const struct sp_rewind *r)
{
	struct sp_raw_chunk *c = sp_buffer_map(fd, r->chunk, r->bytes);
	if (!c)
		return -errno;
	/* a process that is killed in between leaves a chunk without a checksum */
	__atomic_store_n(&c->words, 0, __ATOMIC_RELEASE);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (r->next < r->bytes)
		*(uint64_t *)((char *)c + r->next) = SP_RAW_END;
	sp_raw_chunk_seal(c, c + 1, r->bytes - sizeof *c);
	sp_buffer_unmap(c, r->chunk, r->bytes);
	return 0;
}

/* The chunk with the position ends there, the following chunks become free, and the current one is emptied. */
static int forget_chunks(struct sp_thread *t, const struct sp_rewind *r)
{
	const uint64_t current = offset_of(t->ev_chunk), no_sum = 0;
	const uint32_t type = SP_RAW_FREE;
	int fd = open(sp_process.path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	int result = end_chunk(fd, r);
	uint32_t first = t->n_rewind_chunks;
	while (first > 0 && t->rewind_chunks[first - 1] != r->chunk)
		first--;
	for (uint32_t i = first; i < t->n_rewind_chunks && !result; i++) {
		off_t at = (off_t)(t->rewind_chunks[i] + offsetof(struct sp_raw_chunk, type));
		const off_t sum = (off_t)(t->rewind_chunks[i] + offsetof(struct sp_raw_chunk, words));
		if (t->rewind_chunks[i] != current && (pwrite(fd, &no_sum, sizeof no_sum, sum) != sizeof no_sum ||
		                                       pwrite(fd, &type, sizeof type, at) != sizeof type))
			result = -EIO;
	}
	close(fd);
	if (result)
		return result; /* an outer position still needs the list */
	t->n_rewind_chunks = first;
	sp_rewind_chunk(t, t->ev_chunk);
	return 0;
}

static void forget_words(struct sp_thread *t, char *from)
{
	memset(from, 0, t->loc.next - (uint64_t)from);
	t->loc.next = (uint64_t)from;
}

/* Writes a leave for each call that was open at the position and is not open now, and an inherit for the opposite. */
static void agree(struct sp_thread *t, const struct sp_rewind *r, uint64_t now)
{
	const struct sp_raw_frame *open = (const struct sp_raw_frame *)t->loc.base + 1;
	size_t depth = sp_stack_depth(t), same = 0;
	while (same < depth && same < r->depth && sp_stack_key(&open[same]) == sp_stack_key(&r->frames[same]))
		same++;
	for (size_t i = r->depth; i-- > same;)
		if (!(r->frames[i].flags & SP_RAW_FRAME_SKIPPED))
			sp_stack_event(t, now, SP_RAW_LEAVE, sp_stack_region(&r->frames[i]));
	for (size_t i = same; i < depth; i++)
		if (!(open[i].flags & SP_RAW_FRAME_SKIPPED))
			sp_stack_event(t, now, SP_RAW_INHERIT, sp_stack_region(&open[i]));
}

static void undo(struct sp_thread *t, const struct sp_rewind *r, uint64_t now)
{
	if (!t->ev_chunk || t->rewind_failed)
		return; /* there was no space for the trace: the missing events are counted */
	if (offset_of(t->ev_chunk) == r->chunk) {
		forget_words(t, (char *)t->ev_chunk + r->next);
	} else {
		const int failed = forget_chunks(t, r);
		if (failed) {
			sp_process_lost(SP_RAW_REASON_INTERNAL, -failed, 0);
			return;
		}
		forget_words(t, (char *)(t->ev_chunk + 1));
		t->ev_chunk->base = r->last;
	}
	t->loc.last = r->last;
	sp_extra_at(t, SP_RAW_X_OFF, NULL, 0, now);
	sp_extra_at(t, SP_RAW_X_ON, NULL, 0, now);
	agree(t, r, now);
}

bool sp_rewind_end(struct sp_thread *t, uint32_t region, bool take_out)
{
	struct sp_rewind *r = t->rewinds;
	uint64_t now = sp_ticks();
	int error = errno;
	while (r && r->region != region)
		r = r->older;
	if (!r)
		return !t->traced;
	while (t->rewinds != r) {
		struct sp_rewind *inner = t->rewinds;
		t->rewinds = inner->older;
		free(inner);
	}
	if (take_out)
		undo(t, r, now);
	else
		event_without_frame(t, SP_RAW_LEAVE, region, now);
	t->rewinds = r->older;
	free(r);
	if (!t->rewinds)
		sp_rewind_free(t);
	errno = error;
	return true;
}

void sp_rewind_free(struct sp_thread *t)
{
	for (struct sp_rewind *r = t->rewinds, *older; r; r = older) {
		older = r->older;
		free(r);
	}
	free(t->rewind_chunks);
	t->rewinds = NULL;
	t->rewind_chunks = NULL;
	t->n_rewind_chunks = 0;
	t->rewind_failed = false;
}
