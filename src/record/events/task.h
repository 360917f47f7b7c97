/* SPDX-License-Identifier: BSD-3-Clause */
/* Tasks (of asyncio and similar libraries), waits for threads, and work handed over to other threads. The hook
 * detects the events; this unit counts and writes them. A task is identified by the address of its outermost
 * coroutine while that exists.
 *
 * A task runs in steps. Each step has a mark on the stack below the frame of its coroutine. The thread's next event
 * finds the mark on top, which means that the step is over; calls and returns need no check for this. */
#ifndef SP_RECORD_EVENTS_TASK_H
#define SP_RECORD_EVENTS_TASK_H

#include "record/definitions.h"
#include "record/thread.h"

struct sp_task_wait;

/* One task. */
struct sp_task {
	struct sp_task *next; /* next in the same chain */
	uint64_t key;
	struct sp_raw_task *raw;   /* the task's record in the file, or `own` if it has no record */
	struct sp_raw_tasks *rest; /* the sums that include a task without a record; otherwise NULL */
	struct sp_raw_task own;
	struct sp_task *outer; /* the task that ran in the thread before this step and continues after it */
	uint32_t number;       /* 0: the task has no record and no events */
	uint32_t region;
	bool begun, running;
	bool suspended;      /* its coroutine suspends at the end of this step */
	bool open;           /* its coroutine is not Python code: the end of a step may be the end of the task */
	uint8_t raised;      /* SP_RAW_TASK_RAISED or …_CANCELLED while the exception leaves the coroutine; or 0 */
	size_t depth;        /* of the coroutine's frame, during a step */
	uint64_t since;      /* ticks; time before it is already counted */
	size_t await_depth;  /* of the frame that suspended last */
	uint64_t await_time; /* ticks: when it suspended */
	const void *awaited; /* the object that it yielded */
	uint64_t await_node; /* call path of the innermost coroutine */
	uint32_t what, kind; /* region of the innermost coroutine; a string: see FORMAT.md */
	struct sp_task_wait *wait; /* sums for the object that it waits for */
};

/* Returns the task with this key; NULL if it is unknown. All functions except sp_mark_… are only for the calling
 * thread and need the GIL. Without one, only the thread that runs a coroutine uses the data of its task, which is freed
 * when the coroutine has ended. */
struct sp_task *sp_task_find(uint64_t key);
/* The thread makes a task for this coroutine. */
void sp_task_created(struct sp_thread *t, uint64_t key);
/* The first step of a task that is seen; its creation need not have been seen. Returns NULL without memory. */
struct sp_task *sp_task_begun(struct sp_thread *t, uint64_t key, uint32_t region, struct sp_text name);
/* Enters the task's coroutine, as sp_enter(), if no mark is on top. */
void sp_task_step(struct sp_thread *t, struct sp_task *k, uint32_t region, uint64_t key, uint64_t now, unsigned kind);
/* The thread's task is suspended by the next leave of its coroutine; kind: a string, or 0. */
void sp_task_suspends(struct sp_thread *t, uint32_t kind);
/* A new coroutine is at the address of k's, which never ended. */
void sp_task_dropped(struct sp_thread *t, struct sp_task *k);
void sp_task_forget(bool forked); /* frees all tasks; forked: in a child of fork */

/* Returns the number of a thread that is about to be created. sp_thread_created() records that t created it at the
 * time `then` (ticks). */
uint32_t sp_thread_number(void);
void sp_thread_created(struct sp_thread *t, uint32_t number, uint64_t then);
/* From now on the thread waits for the end of another one: in the function that it enters next, or, if that is not
 * recorded, until its next event. */
void sp_task_joins(struct sp_thread *t, uint64_t tid, bool recorded);

/* Work is handed over to another thread or, with taken, begins. key: the address of the object that represents it. */
void sp_task_handover(struct sp_thread *t, uint64_t key, bool taken);

/* The frame of this mark was left; the mark is removed from the stack for another reason. */
void sp_mark_over(struct sp_thread *t, struct sp_raw_frame *f, uint64_t now);
void sp_mark_off(struct sp_thread *t, struct sp_raw_frame *f, uint64_t now);
/* If f is a mark: recording was paused for `off` ticks while it was on the stack. */
void sp_mark_paused(const struct sp_raw_frame *f, uint64_t off);

#endif
