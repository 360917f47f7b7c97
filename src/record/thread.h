/* SPDX-License-Identifier: BSD-3-Clause */
/* One thread: the LOCATION page of the file, whose tail belongs to the recorder.
 *
 * Functions return 0 or a negative errno; none prints, exits or calls Python, and all keep errno as it was where an
 * event can lead to them. The process lock (process.h) orders what several threads could do at once: growing the file,
 * defining, registering. */
#ifndef SP_RECORD_THREAD_H
#define SP_RECORD_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/format.h"

enum { SP_C_CACHE = 64 };

struct sp_path_entry {
	struct sp_raw_node *node; /* NULL: free */
	const struct sp_raw_node *parent;
};

static inline uint32_t sp_path_hash(const struct sp_raw_node *parent, uint32_t region)
{
	/* nodes are 64 bytes apart: their low bits say nothing */
	uint64_t h = ((uint64_t)parent >> 6 ^ (uint64_t)region << 32) * UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t)(h >> 32);
}

/* What waits in a thread for its turn, by what tells one from another. A program may have ten thousands of coroutines,
 * and this is looked into at each enter of one. */
struct sp_waiting {
	struct sp_waiting *next; /* owned, of the same chain */
	uint64_t id;
};
struct sp_waiting_table {
	struct sp_waiting **chains; /* owned; a power of two of them */
	uint32_t size, n;
};

struct sp_thread {
	struct sp_raw_location loc;             /* what a reader sees; must be first */
	uint64_t *ev_end;                       /* NULL while nothing is traced */
	struct sp_raw_frame *_Atomic stack_end; /* NULL: other threads may say so, see sp_process_out_of_date() */
	struct sp_raw_node *root;
	struct sp_raw_node *node_next, *node_end;
	struct sp_raw_chunk *node_chunk, *ev_chunk, *stack_chunk;
	struct sp_path_entry
	    *table; /* owned; open-addressed, by (parent, region): children of nodes with two or more */
	struct sp_raw_node *collapsed;
	uint32_t table_mask, table_used;
	uint32_t node_chunks, ev_chunks;
	uint32_t node_values;   /* struct sp_raw_values behind each node: another measurement may have begun by now */
	uint32_t depth_limit;   /* 0: none */
	uint32_t marks;         /* on the stack: no depth */
	bool traced;            /* events are wanted */
	bool booting;           /* in the interpreter's start-up: restarted where the program begins */
	bool silent;            /* functions are not recorded, user regions are: no end of the stack is set */
	bool gave_up;           /* no room for the trace: its events are counted from here on */
	uint32_t epoch;         /* of sp_epoch when the stack was made to agree with the interpreter's */
	struct sp_thread *next; /* registry */
	struct sp_thread *_Atomic *slot; /* the thread's sp_self */
	struct sp_counts *counts;        /* owned; of metrics. NULL: none are read */
	uint64_t paused_ticks;           /* of the process, when the thread last looked */
	bool off;                        /* it paused itself, and has said so in its trace */
	uint32_t *begun, n_begun;        /* owned; user regions that began while recording was off */
	struct sp_rewind *rewinds;       /* owned; points of the trace that may be gone back to, newest first */
	uint64_t *rewind_chunks;         /* owned; offsets of the chunks begun since the oldest of them */
	uint32_t n_rewind_chunks;
	bool rewind_failed;                    /* one of them could not be kept */
	struct sp_task *task;                  /* that runs now; NULL: none */
	uint32_t number;                       /* of the THREAD_CREATE that it began with; 0: not known */
	bool tasks;                            /* some may run in this thread */
	bool marked;                           /* the frame entered next belongs to the mark on top */
	struct sp_waiting_table aside, fibers; /* user regions of suspended generators; whole stacks */
	struct sp_lines *lines;                /* owned; of chosen functions. NULL: none ran here */
	bool lines_failed;                     /* there was no room for them */
	struct sp_walk *walk;                  /* owned; walk.h. NULL: it was never walked */
	struct sp_heap_thread *heap;           /* owned; heap/sites.c. NULL: nothing was allocated */
	struct sp_waits *waits;                /* owned; for locks and the like. NULL: none yet */
	struct sp_c_cache {
		const void *def, *name, *owner;
		uint64_t region;
	} c_cache[SP_C_CACHE]; /* hook/naming/names.c: C functions called last */
};
_Static_assert(sizeof(struct sp_thread) <= SP_RAW_PAGE - sizeof(struct sp_raw_chunk), "a thread fits into its page");

/* NULL until the thread's first event. Who stops the measurement sets that of all threads to NULL: load it once. What
 * threads without the GIL share is _Atomic, in sequentially consistent order; on x86-64 a load of it costs nothing.
 * initial-exec: a call of __tls_get_addr would cost more than the event. */
extern __thread struct sp_thread *_Atomic sp_self __attribute__((tls_model("initial-exec")));

/* Changes with every start, resume and stop: open stacks must be looked at again. It has a page of its own, which the
 * kernel clears in the child of every fork: a child that ran no handler of pthread_atfork (a raw clone()) finds 0, and
 * so leaves the hot path at once. */
extern union sp_cleared {
	_Atomic uint32_t epoch;
	char page[SP_RAW_PAGE];
} sp_cleared;
#define sp_epoch (sp_cleared.epoch)
extern _Atomic bool sp_recording; /* measuring, and not paused */

/* Makes the calling thread's location; NULL (counted) when that cannot be done or nothing is measured. */
struct sp_thread *sp_thread_new(void);
/* A location for a thread of the process that is sampled, which began at `begin`; NULL (counted): no room. And its end.
 */
struct sp_thread *sp_thread_of(uint64_t tid, uint64_t begin);
void sp_thread_ended(struct sp_thread *t, uint64_t end);
/* Of the calling thread nothing is recorded until sp_thread_show() gets what this returned. */
struct sp_thread *sp_thread_hide(void);
void sp_thread_show(struct sp_thread *t);
/* Of threads with these numbers (gettid) nothing is recorded from the next start on; takes over ids. */
void sp_thread_leave_out(uint64_t *ids, size_t n);
/* Throws away what the thread recorded so far; its stack must be empty. */
void sp_thread_restart(struct sp_thread *t);
void sp_thread_name(struct sp_thread *t, const char *name, size_t n);

int sp_thread_nodes_init(struct sp_thread *t);
int sp_thread_stack_init(struct sp_thread *t);

#endif
