/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits of the threads, and the objects that they wait for, as the file has them. Who waits for what, and how that is
 * found out, is the caller's: the hook for Python's objects, interpose.c for the GIL, adapters for the C library's. */
#ifndef SP_RECORD_WAITS_WAITS_H
#define SP_RECORD_WAITS_WAITS_H

#include "record/thread.h"

/* After a wait caches are cold: what runs then lies together. */
#define SP_WAITS_TOGETHER __attribute__((hot))

/* What tells one row of a thread from another. */
struct sp_wait_key {
	uint64_t node;        /* sp_raw_node */
	uint64_t code;        /* whatever tells places apart within the node */
	uint64_t holder_node; /* 0: not known */
	uint32_t at;          /* the same for places within code */
	uint32_t object;      /* 0: none */
	uint32_t holder;      /* location, SP_RAW_NONE: none */
	uint32_t kind;        /* enum sp_raw_wait_kind */
};

/* A wait that goes on; lives on the stack of the thread that waits. */
struct sp_wait {
	struct sp_thread *t;
	struct sp_raw_wait *row; /* NULL: there was no room */
	struct sp_raw_object *object;
	uint64_t node;    /* whose metrics count it */
	uint64_t begin;   /* ticks */
	uint32_t process; /* *sp_adapter_v1.process: that of its begin */
};

/* Whether the settings want waits, of the measurement that goes on. Set where one begins, read without a lock. */
extern _Atomic bool sp_waits_wanted;

/* The columns of metrics; as sp_adapter_columns(). */
void sp_waits_columns(void);
/* A new file: no row and no object is known any more. */
void sp_waits_forget(void);

/* Nanoseconds of a number of ticks; now: in ticks. */
uint64_t sp_waits_ns(uint64_t ticks, uint64_t now);

/* The row of a key; NULL: there is none yet. */
struct sp_raw_wait *sp_waits_find(const struct sp_thread *t, const struct sp_wait_key *key);
/* A new one. file: string, 0 not known. NULL: no room, or too many. Takes the process lock. */
struct sp_raw_wait *sp_waits_add(struct sp_thread *t, const struct sp_wait_key *key, uint32_t file, uint32_t line);
/* A wait begins. row, object: NULL, or theirs. flags: SP_RAW_WAIT_… */
void sp_wait_begin(struct sp_wait *w, struct sp_thread *t, uint64_t node, struct sp_raw_wait *row,
                   struct sp_raw_object *object, unsigned flags);
/* And ends; false: with a file that is over. got: the object. */
bool sp_wait_end(struct sp_wait *w, bool got);
/* It was none. */
void sp_wait_drop(struct sp_wait *w);
/* Whether the calling thread is in a wait that is recorded, of a caller of w's. Those whose frames are gone, by
 * longjmp, are given up: they lie where w does, or below. */
bool sp_waits_within(struct sp_thread *t, const struct sp_wait *w);
/* For the GIL, at the top of the thread's stack; false: there is no room. Without the GIL. */
bool sp_wait_begin_gil(struct sp_wait *w, struct sp_thread *t);
/* A new object: id, address, kind, type (string); all else is its caller's to fill in. NULL: no room, or too many
 * (counted). Takes the process lock. */
struct sp_raw_object *sp_object_new(unsigned kind, const void *address, uint32_t type);
struct sp_raw_object *sp_object_of(uint32_t id); /* NULL: none */
/* Who holds it, a location. Whoever says so has the GIL, or for an object of the C library that one's lock; who looks
 * for a deadlock has neither. Relaxed: nothing else is read by it, and a deadlock is looked at twice, for it stays. */
static inline uint32_t sp_object_holder(const struct sp_raw_object *o)
{
	return __atomic_load_n(&o->holder, __ATOMIC_RELAXED);
}
static inline void sp_object_set_holder(struct sp_raw_object *o, uint32_t location)
{
	__atomic_store_n(&o->holder, location, __ATOMIC_RELAXED);
}
/* The calling thread got it, or gives it back. Where several threads could say so at once, the caller has a lock. */
void sp_object_acquired(struct sp_thread *t, struct sp_raw_object *o, uint64_t node, uint64_t now);
void sp_object_released(struct sp_thread *t, struct sp_raw_object *o);

/* Whether the wait w, which was interrupted, was one in a circle: then a DEADLOCK record is made. Under the GIL. */
void sp_waits_look_for_circle(const struct sp_wait *w);

/* Of a thread that ends, with the process lock held. done: its chunks will not be written again. */
void sp_waits_free(struct sp_thread *t, bool done);
/* As if nothing had been waited for. */
void sp_waits_restart(struct sp_thread *t);

#endif
