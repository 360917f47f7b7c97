/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of chosen functions in one thread: which line runs, and the time in each line. They have a separate stack,
 * which contains only the open calls of chosen functions and works even if no other function is recorded.
 *
 * A frame states which line runs since when, or, while its line calls something, which call that is. A call is
 * identified by a mark: the address of the interpreter's frame, or SP_LINES_C for a call without one. */
#ifndef SP_RECORD_LINES_LINES_H
#define SP_RECORD_LINES_LINES_H

#include "base/compiler.h"
#include "record/clock.h"
#include "record/thread.h"

/* A function's entry in one thread. */
struct sp_line_function {
	uint64_t key;             /* 0: the entry is free */
	struct sp_raw_line *rows; /* NULL: its lines are not recorded */
	uint32_t first, lines;    /* rows[0] is of line `first` */
	uint32_t open;            /* number of its innermost open frame; 0: not open */
	bool chosen;              /* otherwise only its calls are reported, so that their time is known */
	bool stale;               /* the function has been chosen since the entry was made */
};

/* The lines that one thread recorded. */
struct sp_lines {
	struct sp_raw_line_frame *top;      /* the innermost open frame; the first frame is a sentinel with key 0 */
	struct sp_raw_line_frame *end;      /* behind the last usable frame */
	struct sp_raw_chunk *stack;         /* chunk of the frames */
	struct sp_raw_chunk *chunk;         /* newest chunk of the rows */
	struct sp_raw_line *nowhere;        /* row for the time before a function's first line */
	struct sp_line_function *functions; /* owned; open-addressed, by key */
	uint32_t mask, n, chunks;
	uint32_t *heads; /* owned; numbers of open frames by the hash of `frame` */
	uint32_t *links; /* owned; for each open frame the next one with the same hash */
	uint32_t heads_mask;
};

enum { SP_LINES_C = 1 };

static inline uint32_t sp_lines_hash(uint64_t key)
{
	return (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

/* Returns the entry of a function in this thread; NULL if there is no entry. */
static inline struct sp_line_function *sp_lines_find(const struct sp_lines *l, uint64_t key)
{
	for (uint32_t i = sp_lines_hash(key) & l->mask;; i = (i + 1) & l->mask) {
		struct sp_line_function *f = &l->functions[i];
		if (f->key == key)
			return f;
		if (!f->key)
			return NULL;
	}
}

/* A line begins in the innermost frame f, whose current line calls nothing. Returns false if the line is not one of
 * the function's. */
__attribute__((always_inline)) static inline bool sp_lines_next(struct sp_raw_line_frame *f, uint32_t line)
{
	const uint32_t at = line - f->first;
	if (SP_UNLIKELY(at >= f->lines))
		return false;
	const uint64_t now = sp_ticks();
	struct sp_raw_line *was = (struct sp_raw_line *)f->line, *is = (struct sp_raw_line *)f->table + at;
	was->own += sp_ticks_between(f->since, now);
	is->hits++;
	f->line = (uint64_t)is;
	f->since = now;
	return true;
}

/* Returns the lines of t, made at first use; NULL if there is no space. */
struct sp_lines *sp_lines_of(struct sp_thread *t);
/* Adds an entry for a function; region 0: it is not chosen. Returns NULL without memory. */
struct sp_line_function *sp_lines_add(struct sp_thread *t, uint64_t key, uint32_t region, uint32_t first,
                                      uint32_t lines);
/* A function that already has an entry is now chosen. */
void sp_lines_choose(struct sp_thread *t, struct sp_line_function *f, uint32_t region, uint32_t first, uint32_t lines);
/* Makes the entries of a function stale in all threads: at the next event they check again whether it is chosen. */
void sp_lines_make_stale(uint64_t key);
/* A chosen function is entered or resumed, in a line (0: unknown). Its frame may already be open. */
void sp_lines_enter(struct sp_thread *t, struct sp_line_function *f, uint64_t frame, uint32_t line, uint64_t now);
/* The function ends or is suspended; frames above it have ended unseen. */
void sp_lines_leave(struct sp_thread *t, uint64_t frame, uint64_t now);
/* sp_lines_call(): the current line begins a call; does nothing during another call of that line. sp_lines_called():
 * the call ends, if mark identifies it. */
void sp_lines_call(struct sp_thread *t, uint64_t mark, uint64_t now);
void sp_lines_called(struct sp_thread *t, uint64_t mark, uint64_t now);
/* A line begins in a frame of f, which need not be the innermost one and may not be open yet. */
void sp_lines_at(struct sp_thread *t, struct sp_line_function *f, uint64_t frame, uint32_t line);
/* Ends all open frames at the time `now` (ticks). */
void sp_lines_close(struct sp_thread *t, uint64_t now);
/* Ends all open frames and clears all counts. */
void sp_lines_restart(struct sp_thread *t);
/* Frees the lines of the thread, with the process lock held. done: its chunks will not be written again. */
void sp_lines_free(struct sp_thread *t, bool done);

#endif
