/* SPDX-License-Identifier: BSD-3-Clause */
/* The stack of one thread, read while it runs.
 *
 * One call of the kernel copies the thread state, the piece of the data stack that has the frames, what other frames
 * there were the last time, and the thread state once more. Frames that the first and the last have in common did not
 * move meanwhile; the innermost one alone may have come or gone between them. What is not so is read again. */
#include "sample/python_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

enum {
	TRIES = 8,
	MOST_MEMOS = 512,
	STACK_BYTES = 1 << 16, /* of the data stack's top piece; larger ones are those of one huge frame */
	SLACK = 1024,          /* bytes that the data stack may have grown by since the last read */
	STEPS_MORE = 256,      /* frames of the interpreter itself between those that are wanted */
};
/* `owner` of a frame from 3.12 on: this and above are those of C code */
enum { OWNED_BY_C = 3 };

/* The copies of one read. */
struct shot {
	struct sp_memo *memo;
	char before[STATE_BYTES], after[STATE_BYTES];
	uint64_t cframe_before, cframe_after; /* what the current frame is in 3.11 and 3.12 */
	char frames[GUESSES][FRAME_BYTES];
	uint64_t piece;           /* of the data stack: where the copy begins in the process */
	size_t used;              /* its bytes */
	unsigned n_frames;        /* of memo->frames that are there */
	bool late;                /* frames were read after `after` */
	uint64_t needed[GUESSES]; /* frames outside of the data stack */
	unsigned n_needed;
};

static struct sp_memo *memo_of(struct sp_python *p, uint64_t state)
{
	for (size_t i = 0; i < p->n_memos; i++)
		if (p->memos[i].state == state)
			return &p->memos[i];
	if (p->n_memos == MOST_MEMOS)
		p->n_memos = 0; /* of threads that have ended, most of them */
	if (!sp_grow(&p->memos, p->n_memos, &p->room_memos, sizeof *p->memos))
		return NULL;
	p->memos[p->n_memos] = (struct sp_memo){.state = state};
	return &p->memos[p->n_memos++];
}

/* ---- copying ---- */

struct vector {
	struct iovec to[GUESSES + 8], from[GUESSES + 8];
	size_t n;
};

static void want(struct vector *v, uint64_t at, void *to, size_t n)
{
	v->to[v->n] = (struct iovec){to, n};
	v->from[v->n++] = (struct iovec){(void *)(uintptr_t)at, n};
}

/* By the guesses of the last time. false: the thread state cannot be read. */
static bool copy(struct sp_python *p, struct shot *s)
{
	struct sp_memo *m = s->memo;
	struct vector v = {.n = 0};
	const bool cframes = p->at.cframe_frame != SP_NO_OFFSET;
	want(&v, m->state, s->before, p->state_bytes);
	if (m->cframe)
		want(&v, m->cframe + p->at.cframe_frame, &s->cframe_before, 8);
	if (m->chunk)
		want(&v, m->chunk, p->stack, m->used);
	size_t first = v.n;
	for (unsigned i = 0; i < m->n_frames; i++)
		want(&v, m->frames[i], s->frames[i], p->frame_bytes);
	want(&v, m->state, s->after, p->state_bytes);
	if (m->cframe)
		want(&v, m->cframe + p->at.cframe_frame, &s->cframe_after, 8);
	size_t got = sp_target_read_many(p->t, v.to, v.from, v.n);
	s->n_frames = got <= first ? 0 : got - first < m->n_frames ? (unsigned)(got - first) : m->n_frames;
	s->piece = m->chunk;
	s->used = m->chunk && got >= first ? m->used : 0;
	s->n_needed = 0;
	s->late = got < v.n;
	if (!got)
		return false;
	if (cframes) {
		uint64_t cframe = sp_u64(s->before, p->at.thread_frame);
		if (cframe != m->cframe || got < 2)
			s->late = sp_target_read(p->t, cframe + p->at.cframe_frame, &s->cframe_before, 8);
		m->cframe = cframe;
	}
	return true;
}

/* The data stack's top piece is another one, or longer than it was. */
static bool follow_chunk(struct sp_python *p, struct shot *s)
{
	if (p->at.thread_chunk == SP_NO_OFFSET)
		return true;
	uint64_t chunk = sp_u64(s->before, p->at.thread_chunk), top = sp_u64(s->before, p->at.thread_top);
	struct sp_memo *m = s->memo;
	bool fits = chunk && top > chunk && top - chunk <= STACK_BYTES;
	if (chunk == m->chunk && (!fits || top - chunk <= s->used)) {
		if (fits && top - chunk + 4 * SLACK < m->used)
			m->used = top - chunk + SLACK;
		return true;
	}
	m->chunk = fits ? chunk : 0;
	m->used = fits ? top - chunk + SLACK : 0;
	if (m->used > STACK_BYTES)
		m->used = STACK_BYTES;
	/* not beyond its end: there may be nothing */
	uint64_t size;
	if (fits && sp_target_read(p->t, chunk + 8, &size, 8) && size >= top - chunk && m->used > size)
		m->used = size;
	return false;
}

/* A struct _PyStackChunk begins with the piece before it and its own size. */
static bool is_in_piece_before(struct sp_python *p, struct shot *s, uint64_t at)
{
	uint64_t before = s->used >= 16 ? sp_u64(p->stack, 0) : 0, size;
	/* the whole frame is to be in it: then nothing further is asked for, whatever its first word says */
	if (!before || !sp_target_read(p->t, before + 8, &size, 8) || size > STACK_BYTES || size < p->frame_bytes ||
	    at < before || at - before > size - p->frame_bytes || !sp_target_read(p->t, before, p->stack, size))
		return false;
	s->piece = before;
	s->used = size;
	s->late = true;
	return true;
}

/* The bytes of a frame; NULL: not there. */
static const char *frame_at(struct sp_python *p, struct shot *s, uint64_t at, char room[FRAME_BYTES])
{
	do
		if (at >= s->piece && s->used >= p->frame_bytes && at - s->piece <= s->used - p->frame_bytes)
			return p->stack + (at - s->piece);
	while (is_in_piece_before(p, s, at));
	if (s->n_needed < GUESSES)
		s->needed[s->n_needed++] = at;
	for (unsigned i = 0; i < s->n_frames; i++)
		if (s->memo->frames[i] == at)
			return s->frames[i];
	s->late = true;
	return sp_target_read(p->t, at, room, p->frame_bytes) ? room : NULL;
}

/* ---- walking ---- */

static uint64_t current_of(const struct sp_python *p, const char *state, uint64_t cframe)
{
	return p->at.cframe_frame == SP_NO_OFFSET ? sp_u64(state, p->at.thread_frame) : cframe;
}

/* One frame; false: it is the interpreter's own. */
static bool take(const struct sp_python *p, const char *bytes, uint64_t at, struct sp_seen *out)
{
	out->frame = at;
	out->code = sp_u64(bytes, p->at.frame_code) & ~UINT64_C(7); /* 3.14 has marks in the lowest bits */
	out->globals = sp_u64(bytes, p->at.frame_globals);
	if (p->version < 0x030b) {
		out->instruction = sp_u32(bytes, p->at.frame_instruction);
		out->entry = true;
		return true;
	}
	out->instruction = sp_u64(bytes, p->at.frame_instruction);
	out->entry = p->at.frame_entry != SP_NO_OFFSET && bytes[p->at.frame_entry];
	return p->version < 0x030c ||
	       ((unsigned char)bytes[p->at.frame_owner] < OWNED_BY_C && !sp_codes_is_internal(p, out->code));
}

/* The frames from one on outwards, room of them at most and one more: how many, or -EAGAIN. *end: the last one's
 * address, when none is missing. */
static int walk(struct sp_python *p, struct shot *s, uint64_t frame, size_t room, uint64_t *end)
{
	char bytes[FRAME_BYTES];
	size_t n = 0, steps = 0;
	*end = 0;
	for (uint64_t next; frame; frame = next) {
		const char *f = frame & 7 ? NULL : frame_at(p, s, frame, bytes);
		struct sp_seen *seen = &p->seen[n];
		if (!f || ++steps > 2 * room + STEPS_MORE)
			return -EAGAIN;
		next = sp_u64(f, p->at.frame_previous);
		if (!take(p, f, frame, seen)) {
			if (n && !sp_codes_is_internal(p, seen->code))
				p->seen[n - 1].entry = true;
		} else if (n++ == room) {
			return (int)n;
		}
		*end = frame;
	}
	return (int)n;
}

/* May the frames have been of one moment? `later` is the innermost one behind the copy. */
static bool holds(struct sp_python *p, struct shot *s, uint64_t first, uint64_t later, int n)
{
	char bytes[FRAME_BYTES];
	if (later == first)
		return true;
	/* it returned, to its caller */
	for (int i = 0; i < n && i < 2; i++)
		if (p->seen[i].frame == later)
			return true;
	/* or it called */
	for (int i = 0; i < 2 && later; i++) {
		const char *f = frame_at(p, s, later, bytes);
		later = f ? sp_u64(f, p->at.frame_previous) : 0;
		if (later == first)
			return true;
	}
	return !n && !later;
}

/* What the thread state and all frames tell once; as sp_python_stack(). */
static int try_stack(struct sp_python *p, struct shot *s, size_t room, bool last)
{
	if (!copy(p, s))
		return sp_target_alive(p->t) ? -EAGAIN : -ESRCH;
	if (!follow_chunk(p, s) && !copy(p, s))
		return -EAGAIN;
	uint64_t first = current_of(p, s->before, s->cframe_before), end;
	int n = walk(p, s, first, room, &end);
	if (n < 0)
		return n;
	if (s->late) {
		if (!sp_target_read(p->t, s->memo->state, s->after, p->state_bytes))
			return -EAGAIN;
		if (p->at.cframe_frame != SP_NO_OFFSET &&
		    !sp_target_read(p->t, sp_u64(s->after, p->at.thread_frame) + p->at.cframe_frame, &s->cframe_after,
		                    8))
			return -EAGAIN;
	}
	if (!holds(p, s, first, current_of(p, s->after, s->cframe_after), n))
		return -EAGAIN;
	/* a frame that is taken apart has no caller any more: another outermost one has to be seen twice */
	if ((size_t)n <= room && end != s->memo->root) {
		s->memo->root = end;
		if (!last)
			return -EAGAIN;
	}
	return n;
}

static bool have_room(struct sp_python *p, size_t room)
{
	if (!p->stack && !(p->stack = malloc(STACK_BYTES)))
		return false;
	if (room + 1 <= p->room_seen)
		return true;
	struct sp_seen *more = realloc(p->seen, (room + 1) * sizeof *more);
	if (!more)
		return false;
	p->seen = more;
	p->room_seen = room + 1;
	return true;
}

int sp_python_stack(struct sp_python *p, const struct sp_python_thread *thread, struct sp_python_frame *out,
                    size_t room)
{
	struct shot s;
	int n = -EAGAIN;
	if (!have_room(p, room) || !(s.memo = memo_of(p, thread->state)))
		return -ENOMEM;
	for (int i = 0; i < TRIES && n == -EAGAIN; i++) {
		p->read++;
		n = try_stack(p, &s, room, i == TRIES - 1);
		if (n < 0)
			continue;
		s.memo->n_frames = s.n_needed; /* so it will be the next time */
		memcpy(s.memo->frames, s.needed, s.n_needed * sizeof *s.needed);
		int r = sp_codes_resolve(p, p->seen, (size_t)n < room ? (size_t)n : room, out);
		n = r < 0 ? r : r > 0 && i + 1 < TRIES ? -EAGAIN : n;
	}
	return n;
}
