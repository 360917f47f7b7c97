/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of chosen functions, of one thread: what runs, what each line took. A stack apart from that of the call paths:
 * it has the open calls of chosen functions only, and works without the others being recorded.
 *
 * A frame says which line runs since when, or, while its line calls something, which call that is. A call is told by a
 * mark: the address of the interpreter's frame, or SP_LINES_C for what has none. */
#ifndef SP_RECORD_LINES_LINES_H
#define SP_RECORD_LINES_LINES_H

#include "base/compiler.h"
#include "record/clock.h"
#include "record/thread.h"

/* A function as one thread knows it. */
struct sp_line_function {
	uint64_t key;             /* 0: free */
	struct sp_raw_line *rows; /* NULL: its lines are not recorded */
	uint32_t first, lines;    /* rows[0] is of line `first` */
	uint32_t open;            /* number of its innermost open frame; 0: none */
	bool chosen;              /* otherwise it is told when it is called, so that its time is known */
	bool stale;               /* it has been chosen since */
};

struct sp_lines {
	struct sp_raw_line_frame *top;      /* the innermost open frame; the first one is none, with key 0 */
	struct sp_raw_line_frame *end;      /* behind the last one there is room for */
	struct sp_raw_chunk *stack;         /* of the frames */
	struct sp_raw_chunk *chunk;         /* of the rows, the newest */
	struct sp_raw_line *nowhere;        /* what is before a function's first line */
	struct sp_line_function *functions; /* owned; open-addressed, by key */
	uint32_t mask, n, chunks;
	uint32_t *heads; /* owned; numbers of open frames by the hash of `frame` */
	uint32_t *links; /* owned; of each open frame the next one with its hash */
	uint32_t heads_mask;
};

enum { SP_LINES_C = 1 };

static inline uint32_t sp_lines_hash(uint64_t key)
{
	return (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

/* NULL: not known in this thread. */
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

/* A line begins in the innermost frame, which is f and calls nothing. false: it is none of the function's. */
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

/* The lines of t, made where there are none; NULL: no room. */
struct sp_lines *sp_lines_of(struct sp_thread *t);
/* A function that the thread does not know yet; region 0: not chosen. NULL: no memory. */
struct sp_line_function *sp_lines_add(struct sp_thread *t, uint64_t key, uint32_t region, uint32_t first,
                                      uint32_t lines);
/* One that it knows is chosen only now. */
void sp_lines_choose(struct sp_thread *t, struct sp_line_function *f, uint32_t region, uint32_t first, uint32_t lines);
/* All threads that know it will ask again. */
void sp_lines_make_stale(uint64_t key);
/* A chosen function is entered, or goes on in a line (0: not known which). It may be known to be open. */
void sp_lines_enter(struct sp_thread *t, struct sp_line_function *f, uint64_t frame, uint32_t line, uint64_t now);
/* It ends or is suspended; those open above it have ended unseen. */
void sp_lines_leave(struct sp_thread *t, uint64_t frame, uint64_t now);
/* What the running line calls; nothing if it is calling something already. And the end of that, if mark is that. */
void sp_lines_call(struct sp_thread *t, uint64_t mark, uint64_t now);
void sp_lines_called(struct sp_thread *t, uint64_t mark, uint64_t now);
/* A line begins in a frame of f that need not be the innermost one, and may be new to us. */
void sp_lines_at(struct sp_thread *t, struct sp_line_function *f, uint64_t frame, uint32_t line);
/* Ends what is open. */
void sp_lines_close(struct sp_thread *t, uint64_t now);
/* As if nothing had run. */
void sp_lines_restart(struct sp_thread *t);
/* With the process lock held: the thread has no lines any more. done: its chunks will not be written again. */
void sp_lines_free(struct sp_thread *t, bool done);

#endif
