/* SPDX-License-Identifier: BSD-3-Clause */
/* One thread: the LOCATION page of the file, whose tail belongs to the recorder.
 *
 * Functions return 0 or a negative errno. None prints, exits or calls Python, and those that an event can call keep
 * errno. The process lock (process.h) orders what several threads could do at the same time: growing the file,
 * defining, registering. */
#ifndef SP_RECORD_THREAD_H
#define SP_RECORD_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "format/format.h"
#include "record/machine.h"

enum { SP_C_CACHE = 64 };

/* One entry of the table that finds a child node by its parent and region. */
struct sp_path_entry {
	struct sp_raw_node *node; /* NULL: free */
	const struct sp_raw_node *parent;
};

/* Returns the hash of a child in that table. */
static inline uint32_t sp_path_hash(const struct sp_raw_node *parent, uint32_t region)
{
	/* nodes are 64 bytes apart: their low bits carry no information */
	uint64_t h = ((uint64_t)parent >> 6 ^ (uint64_t)region << 32) * UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t)(h >> 32);
}

/* A suspended generator or stack of a thread, found by its id. A program may have tens of thousands of coroutines, and
 * each enter of a coroutine searches this table. */
struct sp_waiting {
	struct sp_waiting *next; /* owned; next in the same chain */
	uint64_t id;
};
struct sp_waiting_table {
	struct sp_waiting **chains; /* owned; an array of `size` chains, a power of two */
	uint32_t size, n;
};

/* Rows of one type of chunks, found by a node and a number (rows.h). All 0: no rows. */
struct sp_node_rows {
	struct sp_raw_chunk *chunk;  /* the newest one */
	struct sp_node_entry *table; /* owned; open-addressed */
	uint32_t mask, n;
};

/* One recorded thread: its location in the file and the recorder's private data. */
struct sp_thread {
	struct sp_raw_location loc;             /* the part that readers see; must be first */
	uint64_t *ev_end;                       /* NULL without a trace */
	struct sp_raw_frame *_Atomic stack_end; /* NULL: the next enter takes the slow path; other threads may set it,
	                                           see sp_process_out_of_date() */
	uint64_t quiet; /* ticks; after a longer time without an event, an event takes the slow path, see off_cpu.h */
	struct sp_raw_node *root;
	struct sp_raw_node *node_next, *node_end;
	struct sp_raw_chunk *node_chunk, *ev_chunk, *stack_chunk;
	struct sp_path_entry
	    *table; /* owned; open-addressed by (parent, region); children of nodes with two or more children */
	struct sp_raw_node *collapsed;
	uint32_t table_mask, table_used;
	uint32_t node_chunks, ev_chunks;
	uint32_t node_values; /* number of struct sp_raw_values after each node; a copy, because another measurement may
	                         have begun */
	uint32_t depth_limit; /* 0: none */
	uint32_t marks;       /* marks on the stack; they do not count for the depth */
	bool traced;          /* a trace is recorded */
	bool booting;         /* in the interpreter's start-up: recording restarts when the program begins */
	bool silent;          /* functions are not recorded, user regions are: stack_end is NULL */
	bool gave_up;         /* no space for the trace: further events are only counted */
	uint32_t epoch;       /* sp_epoch at which the stack last agreed with the interpreter's */
	struct sp_thread *next;          /* list of all threads */
	struct sp_thread *_Atomic *slot; /* the thread's sp_self */
	struct sp_counts *counts;        /* owned; counts of metrics. NULL: no metrics are read */
	uint64_t paused_ticks;           /* sp_process.paused_ticks when the thread last read it */
	bool off;                        /* the thread paused recording itself and wrote that to its trace */
	uint32_t *begun, n_begun;        /* owned; user regions that began during the pause */
	struct sp_rewind *rewinds;       /* owned; positions to which the trace may be rewound, newest first */
	uint64_t *rewind_chunks;         /* owned; offsets of the chunks begun since the oldest position */
	uint32_t n_rewind_chunks;
	bool rewind_failed;                    /* a chunk's offset could not be stored */
	struct sp_task *task;                  /* the task that runs now; NULL: none */
	uint32_t number;                       /* of the THREAD_CREATE event that began it; 0: unknown */
	bool tasks;                            /* tasks may run in this thread */
	bool marked;                           /* the frame that is entered next belongs to the mark on top */
	struct sp_waiting_table aside, fibers; /* user regions of suspended generators; suspended stacks */
	struct sp_lines *lines;                /* owned; lines of chosen functions. NULL: no chosen function ran here */
	bool lines_failed;                     /* there was no space for lines */
	struct sp_walk *walk;                  /* owned; walk.h. NULL: the frames were never walked */
	struct sp_heap_thread *heap;           /* owned; heap/sites.c. NULL: no allocation yet */
	struct sp_waits *waits;                /* owned; waits for locks and other objects. NULL: no wait yet */
	struct sp_off_cpu *off_cpu;            /* owned; off_cpu.h. NULL: not measured */
	struct sp_c_cache {
		const void *def, *name, *owner;
		uint64_t region;
	} c_cache[SP_C_CACHE];       /* hook/naming/names.c: C functions called last */
	struct sp_node_rows tallies; /* tally.h */
};
_Static_assert(sizeof(struct sp_thread) <= SP_RAW_PAGE - sizeof(struct sp_raw_chunk), "a thread fits into its page");

/* The calling thread's location; NULL until its first event. A thread that stops the measurement sets that of all
 * threads to NULL: load it only once. Data that threads share without the GIL is _Atomic, in sequentially consistent
 * order; on x86-64 such a load costs nothing extra. initial-exec: a call of __tls_get_addr would cost more than the
 * event. */
extern __thread struct sp_thread *_Atomic sp_self SP_TLS_MODEL;

/* Changes with every start, resume and stop: each thread must then compare its stack again. It has a separate page,
 * which the kernel clears in the child of every fork. A child that ran no handler of pthread_atfork (a raw clone())
 * therefore reads 0 and leaves the hot path at once. */
extern union sp_cleared {
	_Atomic uint32_t epoch;
	char page[SP_MACHINE_PAGE];
} sp_cleared;
#define sp_epoch (sp_cleared.epoch)
extern _Atomic bool sp_recording; /* a measurement runs and is not paused */

/* Makes the calling thread's location. Returns NULL (counted) if that fails or nothing is measured. */
struct sp_thread *sp_thread_new(void);
/* Makes a location for a thread of the sampled process; begin: ticks. Returns NULL (counted) if there is no space.
 * sp_thread_ended() records the thread's end. */
struct sp_thread *sp_thread_of(uint64_t tid, uint64_t begin);
void sp_thread_ended(struct sp_thread *t, uint64_t end);
/* Disables recording for the calling thread until sp_thread_show() gets the returned pointer. */
struct sp_thread *sp_thread_hide(void);
void sp_thread_show(struct sp_thread *t);
/* Threads with these ids (gettid) are not recorded from the next start on. Takes over ids. */
void sp_thread_leave_out(uint64_t *ids, size_t n);
/* Discards what the thread recorded so far; its stack must be empty. */
void sp_thread_restart(struct sp_thread *t);
/* Defines the thread's name, of n bytes. */
void sp_thread_name(struct sp_thread *t, const char *name, size_t n);

/* Make the root node of t and its stack. Return 0 or a negative errno. */
int sp_thread_nodes_init(struct sp_thread *t);
int sp_thread_stack_init(struct sp_thread *t);

#endif
