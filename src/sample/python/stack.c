/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the stack of one thread while the thread runs.
 *
 * One system call copies the thread state, the memory that contained the innermost frames in the last read, and the
 * thread state once more. Frames that both states have in common did not change meanwhile; only the innermost one may
 * have been entered or left between them. Other frames, of a deep stack or in memory that the last stack did not use,
 * were read at another time: they count if two successive reads agree on them. Otherwise the stack is read again. */
#include "sample/python/private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

enum {
	TRIES = 8,
	MAX_MEMOS = 512,
	DATA_STACK_BLOCK = 4096, /* bytes that are copied at a time: since 3.11 frames are contiguous, */
	OBJECT_BLOCK = 512,      /* before that each frame is a separate object */
	/* maximum number of frames that may be read one by one while a thread calls and returns */
	FEW = 64,
	MAX_FRAMES = 1 << 17, /* maximum number of Python frames of a stack, */
	MAX_STEPS = 1 << 18,  /* and of all frames, including the interpreter's own */
};
/* Values of `owner` of a frame, since 3.11. Since 3.12, OWNED_BY_C and larger values are frames of C code. */
enum { OWNED_BY_GENERATOR = 1, OWNED_BY_C = 3 };
/* Number of successive reads that must end at a frame before it counts as the outermost one of the thread. */
enum { ENOUGH = 2, ENOUGH_OF_GENERATOR = TRIES };

/* The copies of one read. */
struct shot {
	struct sp_memo *memo;
	char before[STATE_BYTES], after[STATE_BYTES];
	uint64_t cframe_before, cframe_after; /* current frame in 3.11 and 3.12 */
	bool late;                            /* memory was read after `after` */
	/* number of the innermost frames that were copied between the two states */
	size_t together;
	uint64_t end;    /* address of the outermost frame; 0: no frame, or not reached */
	unsigned enough; /* number of reads that must end there */
};

static void forget_memos(struct sp_python *p)
{
	for (size_t i = 0; i < p->n_memos; i++) {
		free(p->memos[i].blocks);
		free(p->memos[i].separate);
	}
	p->n_memos = 0;
}

void sp_stacks_free(struct sp_python *p)
{
	forget_memos(p);
	free(p->memos);
	free(p->seen);
	sp_snapshot_free(&p->snapshot);
}

static struct sp_memo *memo_of(struct sp_python *p, uint64_t state)
{
	for (size_t i = 0; i < p->n_memos; i++)
		if (p->memos[i].state == state)
			return &p->memos[i];
	if (p->n_memos == MAX_MEMOS)
		forget_memos(p); /* most of them belong to threads that have ended */
	if (!sp_grow(&p->memos, p->n_memos, &p->memos_capacity, sizeof *p->memos))
		return NULL;
	p->memos[p->n_memos] = (struct sp_memo){.state = state};
	return &p->memos[p->n_memos++];
}

/* ---- copying ---- */

/* Copies what the last read needed. Returns false if the thread state is unreadable. */
static bool copy(struct sp_python *p, struct shot *s)
{
	const struct sp_memo *m = s->memo;
	const uint64_t cframe = m->cframe + p->at.cframe_frame;
	const struct sp_piece pieces[] = {{m->state, s->before, p->state_bytes},
	                                  {cframe, &s->cframe_before, 8},
	                                  {m->state, s->after, p->state_bytes},
	                                  {cframe, &s->cframe_after, 8}};
	const struct sp_piece states[] = {pieces[0], pieces[2]};
	const bool both = m->cframe != 0;
	const int got =
	    sp_snapshot_copy(&p->snapshot, m->blocks, m->n_blocks, both ? pieces : states, both ? 4 : 2, both ? 2 : 1);
	s->late = got < (both ? 4 : 2);
	if (got <= 0)
		return false;
	if (p->at.cframe_frame != SP_NO_OFFSET) {
		const uint64_t now = sp_u64(s->before, p->at.thread_frame);
		if (now != m->cframe || got < 2) {
			s->late = true;
			if (!sp_target_read(p->t, now + p->at.cframe_frame, &s->cframe_before, 8))
				return false;
		}
		s->memo->cframe = now;
	}
	return true;
}

static bool copy_after(struct sp_python *p, struct shot *s)
{
	return sp_target_read(p->t, s->memo->state, s->after, p->state_bytes) &&
	       (p->at.cframe_frame == SP_NO_OFFSET ||
	        sp_target_read(p->t, sp_u64(s->after, p->at.thread_frame) + p->at.cframe_frame, &s->cframe_after, 8));
}

/* Stores the blocks that the next read will need; fewer if there is no memory. */
static void remember_blocks(struct sp_python *p, struct sp_memo *m)
{
	const size_t n = p->snapshot.n_needed;
	if (n > m->blocks_capacity) {
		uint64_t *more = realloc(m->blocks, 2 * n * sizeof *more);
		if (more) {
			m->blocks = more;
			m->blocks_capacity = 2 * n;
		}
	}
	m->n_blocks = sp_snapshot_needed(&p->snapshot, m->blocks, m->blocks_capacity);
}

/* The bytes of a frame; NULL: unreadable. */
static const char *frame_at(struct sp_python *p, uint64_t at, char buffer[FRAME_BYTES], bool *together)
{
	return at & 7 ? NULL : sp_snapshot_at(&p->snapshot, at, p->frame_bytes, buffer, together);
}

/* ---- walking ---- */

static uint64_t current_of(const struct sp_python *p, const char *state, uint64_t cframe)
{
	return p->at.cframe_frame == SP_NO_OFFSET ? sp_u64(state, p->at.thread_frame) : cframe;
}

/* Decodes a frame. Returns false for a frame of the interpreter itself. */
static bool take(const struct sp_python *p, const char *bytes, uint64_t at, struct sp_seen *out)
{
	out->frame = at;
	out->code = sp_u64(bytes, p->at.frame_code) & ~UINT64_C(7); /* 3.14 stores flags in the lowest bits */
	out->globals = sp_u64(bytes, p->at.frame_globals);
	if (p->version < 0x030b) {
		out->instruction = sp_u32(bytes, p->at.frame_instruction);
		out->entry = true;
		return true;
	}
	out->instruction = sp_u64(bytes, p->at.frame_instruction);
	out->copy = p->at.frame_copy != SP_NO_OFFSET ? sp_u32(bytes, p->at.frame_copy) : 0;
	out->entry = p->at.frame_entry != SP_NO_OFFSET && bytes[p->at.frame_entry];
	return p->version < 0x030c ||
	       ((unsigned char)bytes[p->at.frame_owner] < OWNED_BY_C && !sp_codes_is_internal(p, out->code));
}

static bool is_of_generator(const struct sp_python *p, const char *frame)
{
	return p->version < 0x030b ? sp_u64(frame, p->at.frame_generator) != 0
	                           : frame[p->at.frame_owner] == OWNED_BY_GENERATOR;
}

/* The number of successive reads that must end at this frame; 0: it cannot be the outermost one. A frame that is being
 * created or freed has no caller, nor has a suspended generator. Since 3.12 the outermost frame is always one of C
 * code. Before that a generator may be the outermost one, if C code without a Python caller resumes it. */
static unsigned enough(const struct sp_python *p, const char *frame)
{
	if (p->version >= 0x030c)
		return (unsigned char)frame[p->at.frame_owner] < OWNED_BY_C ? 0 : ENOUGH;
	return is_of_generator(p, frame) ? ENOUGH_OF_GENERATOR : ENOUGH;
}

/* Whether the frame is in use. Before 3.11 a frame is an object, and unused ones are in a free list, linked in the same
 * way as callers. */
static bool is_used(const struct sp_python *p, const char *frame)
{
	return p->version >= 0x030b || (int64_t)sp_u64(frame, 0) > 0; /* ob_refcnt */
}

/* Whether the frames are linked in a cycle: the walk has passed more frames than its memory can contain. */
static bool is_cycle(const struct sp_python *p, size_t steps)
{
	return steps > p->snapshot.n_needed * (p->snapshot.block / p->frame_bytes + 1);
}

/* Walks from a frame outwards, up to MAX_FRAMES + 1 frames. Returns their number, -EAGAIN or -ENOMEM. Sets s->end. All
 * frames are needed, even if the caller wants fewer: the outermost one shows whether they are consistent. */
static int walk(struct sp_python *p, struct shot *s, uint64_t frame)
{
	char bytes[FRAME_BYTES];
	size_t n = 0, steps = 0;
	bool together = true;
	s->end = 0;
	s->enough = ENOUGH;
	s->together = 0;
	for (uint64_t next; frame; frame = next) {
		const char *f = frame_at(p, frame, bytes, &together);
		if (!f || !is_used(p, f) || ++steps > MAX_STEPS || is_cycle(p, steps))
			return -EAGAIN;
		if (!sp_grow(&p->seen, n, &p->room_seen, sizeof *p->seen))
			return -ENOMEM;
		next = sp_u64(f, p->at.frame_previous);
		if (!take(p, f, frame, &p->seen[n])) {
			if (n && !sp_codes_is_internal(p, p->seen[n].code))
				p->seen[n - 1].entry = true;
		} else if (n++ == MAX_FRAMES) {
			return (int)n;
		}
		if (together)
			s->together = n;
		if (!next) {
			s->end = frame;
			s->enough = enough(p, f);
		}
	}
	return s->end && !s->enough ? -EAGAIN : (int)n;
}

/* Whether the frames may be a consistent snapshot. `first` and `later`: the innermost frames before and after the
 * copy. */
static bool holds(struct sp_python *p, uint64_t first, uint64_t later, int n)
{
	char bytes[FRAME_BYTES];
	bool together;
	if (later == first)
		return true;
	/* it returned to its caller */
	for (int i = 0; i < n && i < 2; i++)
		if (p->seen[i].frame == later)
			return true;
	/* or it called */
	for (int i = 0; i < 2 && later; i++) {
		const char *f = frame_at(p, later, bytes, &together);
		later = f ? sp_u64(f, p->at.frame_previous) : 0;
		if (later == first)
			return true;
	}
	return !n && !later;
}

/* Whether the last read found the same outer frames: those of the n frames that were not copied together with the
 * thread state. They are compared by position from the outermost one. If not, stores them for the next read. */
static bool found_twice(struct sp_python *p, struct shot *s, size_t n)
{
	struct sp_memo *m = s->memo;
	const size_t separate = n - s->together;
	size_t same = 0;
	while (same < separate && same < m->n_apart) {
		const struct sp_seen *one = &p->seen[n - 1 - same], *other = &m->separate[same];
		if (one->frame != other->frame || one->code != other->code || one->instruction != other->instruction)
			break;
		same++;
	}
	if (same == separate)
		return true;
	/* store all of them: frames that are inner now may be outer frames in the next read */
	if (n > m->apart_capacity) {
		struct sp_seen *more = realloc(m->separate, 2 * n * sizeof *more);
		if (!more)
			return false;
		m->separate = more;
		m->apart_capacity = 2 * n;
	}
	for (size_t i = 0; i < n; i++)
		m->separate[i] = p->seen[n - 1 - i];
	m->n_apart = n;
	return false;
}

/* Whether enough successive reads ended at the outermost frame. */
static bool ends_well(const struct shot *s)
{
	struct sp_memo *m = s->memo;
	m->ends = s->end == m->end ? m->ends + 1 : 1;
	m->end = s->end;
	if (m->ends >= s->enough)
		m->root = s->end;
	return s->end == m->root;
}

/* Reads the thread state and all frames once; returns as sp_python_stack(). */
static int try_stack(struct sp_python *p, struct shot *s, bool last)
{
	if (!copy(p, s))
		return sp_target_alive(p->t) ? -EAGAIN : -ESRCH;
	const uint64_t first = current_of(p, s->before, s->cframe_before);
	const int n = walk(p, s, first);
	if (n < 0)
		return n;
	const bool all = p->snapshot.n == p->snapshot.together && !s->late;
	remember_blocks(p, s->memo);
	if (!all && !copy_after(p, s))
		return -EAGAIN;
	if (!holds(p, first, current_of(p, s->after, s->cframe_after), n))
		return -EAGAIN;
	if (n > MAX_FRAMES)
		return n; /* its outer frames are unknown, so nothing more can be checked */
	if (s->together < (size_t)n && !found_twice(p, s, (size_t)n) && !(last && (size_t)n <= FEW))
		return -EAGAIN;
	return ends_well(s) ? n : -EAGAIN;
}

int sp_python_stack(struct sp_python *p, const struct sp_python_thread *thread, struct sp_python_frame *out,
                    size_t buffer)
{
	struct shot s;
	int n = -EAGAIN;
	p->snapshot.target = p->t;
	p->snapshot.block = p->version < 0x030b ? OBJECT_BLOCK : DATA_STACK_BLOCK;
	if (!(s.memo = memo_of(p, thread->state)))
		return -ENOMEM;
	for (int i = 0; i < TRIES && n == -EAGAIN; i++) {
		p->read++;
		n = try_stack(p, &s, i == TRIES - 1);
		if (n < 0)
			continue;
		int r = sp_codes_resolve(p, p->seen, (size_t)n < buffer ? (size_t)n : buffer, out);
		n = r < 0 ? r : r > 0 && i + 1 < TRIES ? -EAGAIN : n;
	}
	return n;
}
