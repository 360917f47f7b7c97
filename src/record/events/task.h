/* SPDX-License-Identifier: BSD-3-Clause */
/* Tasks (of asyncio and the like), waits for threads, and work that is handed over. The hook finds out what happens;
 * here it is counted and written. A task is known by the address of its outermost coroutine while that lives.
 *
 * A task runs in steps. Below the frame of its coroutine each step has a mark on the stack, so that neither calls nor
 * returns need to be looked at: what comes next in the thread finds the mark on top, and the step is over. */
#ifndef SP_RECORD_EVENTS_TASK_H
#define SP_RECORD_EVENTS_TASK_H

#include "record/definitions.h"
#include "record/thread.h"

struct sp_task_wait;

struct sp_task {
	struct sp_task *next; /* of the same chain */
	uint64_t key;
	struct sp_raw_task *raw;   /* in the file; of a task without a record `own` */
	struct sp_raw_tasks *rest; /* the sums that a task without a record is in; else NULL */
	struct sp_raw_task own;
	struct sp_task *outer; /* that ran before it in the thread, and goes on after its step */
	uint32_t number;       /* 0: it has no record and no events */
	uint32_t region;
	bool begun, running;
	bool suspended;            /* its coroutine suspends itself in this step */
	bool open;                 /* its coroutine is not Python's: the end of a step may be the task's */
	uint8_t raised;            /* SP_RAW_TASK_RAISED or …_CANCELLED on its way out of the coroutine; or 0 */
	size_t depth;              /* of the coroutine's frame, while it runs */
	uint64_t since;            /* ticks: of the time that is not counted yet */
	size_t await_depth;        /* of the frame that suspended last, */
	uint64_t await_time;       /* when, */
	const void *awaited;       /* and what it handed out */
	uint64_t await_node;       /* of the innermost coroutine: its call path */
	uint32_t what, kind;       /* region of the innermost coroutine, string: see FORMAT.md */
	struct sp_task_wait *wait; /* sums of what it waits for */
};

/* All but sp_mark_… only for the calling thread, and with the GIL. NULL: not known, or no memory. */
struct sp_task *sp_task_find(uint64_t key);
/* Somebody makes a task of that coroutine. */
void sp_task_created(struct sp_thread *t, uint64_t key);
/* Its first step that is seen. created: or its creation was not seen. */
struct sp_task *sp_task_begun(struct sp_thread *t, uint64_t key, uint32_t region, struct sp_text name);
/* Enters its coroutine, as sp_enter(), where no mark is on top. */
void sp_task_step(struct sp_thread *t, struct sp_task *k, uint32_t region, uint64_t key, uint64_t now, unsigned kind);
/* The thread's task is suspended when its coroutine is left now; kind: a string, or 0. */
void sp_task_suspends(struct sp_thread *t, uint32_t kind);
/* The coroutine lies where one was that never came to its end. */
void sp_task_dropped(struct sp_thread *t, struct sp_task *k);
void sp_task_forget(bool forked); /* all */

/* Numbers of threads that are created; and that t created the one of that number then. */
uint32_t sp_thread_number(void);
void sp_thread_created(struct sp_thread *t, uint32_t number, uint64_t then);
/* The thread waits for the end of another one from now on, in the function that it enters next, or, if that is not
 * recorded, until its next event. */
void sp_task_joins(struct sp_thread *t, uint64_t tid, bool recorded);

/* Work is given to others or, taken, begins; by the address of what stands for it. */
void sp_task_handover(struct sp_thread *t, uint64_t key, bool taken);

/* The frame of this mark was left; it is taken from the stack now, for another reason. */
void sp_mark_over(struct sp_thread *t, struct sp_raw_frame *f, uint64_t now);
void sp_mark_off(struct sp_thread *t, struct sp_raw_frame *f, uint64_t now);
/* If f is a mark: recording was off for so many ticks above it. */
void sp_mark_paused(const struct sp_raw_frame *f, uint64_t off);

#endif
