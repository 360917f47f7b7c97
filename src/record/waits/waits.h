/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits of the threads, and the objects that they wait for, in the file. The callers detect the waits and their
 * objects: the hook for Python's objects, interpose.c for the GIL, adapters for the C library's. */
#ifndef SP_RECORD_WAITS_WAITS_H
#define SP_RECORD_WAITS_WAITS_H

#include "record/thread.h"

/* Caches are cold after a wait: this places the code that runs then in one section. */
#define SP_WAITS_TOGETHER __attribute__((hot))

/* The key of a row in a thread. */
struct sp_wait_key {
	uint64_t node;        /* sp_raw_node */
	uint64_t code;        /* anything that distinguishes call sites within the node */
	uint64_t holder_node; /* call path of the lock holder; 0: unknown */
	uint32_t at;          /* distinguishes call sites within code */
	uint32_t object;      /* 0: no object */
	uint32_t holder;      /* location of the lock holder; SP_RAW_NONE: no holder */
	uint32_t kind;        /* enum sp_raw_wait_kind */
};

/* An outstanding wait; on the stack of the waiting thread. */
struct sp_wait {
	struct sp_thread *t;
	struct sp_raw_wait *row; /* NULL: there was no space */
	struct sp_raw_object *object;
	uint64_t node;    /* the node whose metrics count it */
	uint64_t begin;   /* ticks */
	uint64_t took;    /* ticks; set by sp_wait_end() */
	uint32_t process; /* *sp_adapter_v1.process at its begin */
};

/* Whether the settings of the current measurement request waits. Set at its begin, read without a lock. */
extern _Atomic bool sp_waits_wanted;
/* Threads may wait for one of Python's own objects at the same time: there is no GIL. */
extern bool sp_waits_parallel;

/* Defines the metric columns; as sp_adapter_columns(). */
void sp_waits_columns(void);
/* A new file begins: forgets all rows and objects. */
void sp_waits_forget(void);

/* Converts ticks to nanoseconds; now: the current time in ticks. */
uint64_t sp_waits_ns(uint64_t ticks, uint64_t now);

/* Returns the row of a key; NULL if it does not exist yet. */
struct sp_raw_wait *sp_waits_find(const struct sp_thread *t, const struct sp_wait_key *key);
/* Makes a row. file: a string, 0 if unknown. Returns NULL if there is no space or the limit is reached. Takes the
 * process lock. */
struct sp_raw_wait *sp_waits_add(struct sp_thread *t, const struct sp_wait_key *key, uint32_t file, uint32_t line);
/* Begins a wait. row and object may be NULL. flags: SP_RAW_WAIT_… */
void sp_wait_begin(struct sp_wait *w, struct sp_thread *t, uint64_t node, struct sp_raw_wait *row,
                   struct sp_raw_object *object, unsigned flags);
/* Ends a wait. `got`: the object was acquired. Returns false if the wait began in a file that is over. */
bool sp_wait_end(struct sp_wait *w, bool got);
/* Counts a wait in another row of its thread from now on; NULL: it stays where it is. */
void sp_wait_move(struct sp_wait *w, struct sp_raw_wait *row);
/* Discards a wait that turned out not to have waited. */
void sp_wait_drop(struct sp_wait *w);
/* Whether the calling thread is inside another recorded wait, one of a caller of w's function. Gives up waits whose
 * frames were left by longjmp: their addresses are that of w or below. */
bool sp_waits_within(struct sp_thread *t, const struct sp_wait *w);
/* Begins a wait for the GIL, at the top of the thread's stack, without holding the GIL. Returns false if there is no
 * space. */
bool sp_wait_begin_gil(struct sp_wait *w, struct sp_thread *t);
/* Makes an object with id, address, kind and type (a string); the caller fills in the rest. Returns NULL if there is
 * no space or the limit is reached (counted). Takes the process lock. */
struct sp_raw_object *sp_object_new(unsigned kind, const void *address, uint32_t type);
struct sp_raw_object *sp_object_of(uint32_t id); /* NULL: no such object */
/* The location of the lock holder. A writer holds the GIL or, for an object of the C library, that library's lock; the
 * search for deadlocks holds neither. Relaxed order: no other data depends on this value, and the search examines a
 * deadlock twice, because a real one persists. */
static inline uint32_t sp_object_holder(const struct sp_raw_object *o)
{
	return __atomic_load_n(&o->holder, __ATOMIC_RELAXED);
}
static inline void sp_object_set_holder(struct sp_raw_object *o, uint32_t location)
{
	__atomic_store_n(&o->holder, location, __ATOMIC_RELAXED);
}
/* The calling thread acquired the object, or releases it. If several threads could report this at the same time, the
 * caller holds a lock. */
void sp_object_acquired(struct sp_thread *t, struct sp_raw_object *o, uint64_t node, uint64_t now);
void sp_object_released(struct sp_thread *t, struct sp_raw_object *o);

/* Writes a DEADLOCK record if the interrupted wait w is part of a deadlock cycle. Needs the GIL. */
void sp_waits_find_cycle(const struct sp_wait *w);

/* Frees the waits of a thread that ends, with the process lock held. done: its chunks will not be written again. */
void sp_waits_free(struct sp_thread *t, bool done);
/* Discards all waits recorded so far. */
void sp_waits_restart(struct sp_thread *t);

#endif
