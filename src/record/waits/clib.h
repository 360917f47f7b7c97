/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits of the C library: what stands between its functions that wait and the recorder. The library spartito_waits.so
 * (room clib), which the dynamic linker loads before all others, has the wrappers, and finds out for itself what need
 * not be told; the rest it tells a recorder, which _measure gives it.
 *
 * The rules of an event hold: a recorder never calls Python, prints or changes errno, and the GIL is not needed. */
#ifndef SP_RECORD_WAITS_CLIB_H
#define SP_RECORD_WAITS_CLIB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/format.h"

/* What the library exports, found by _measure with dlsym. */
#define SP_CLIB_ATTACH_SYMBOL    "sp_clib_attach"
#define SP_CLIB_ALLOCATOR_SYMBOL "sp_clib_allocator"

/* A bit for each of so many groups of addresses. Where there is none, nothing is known of an object. */
enum { SP_CLIB_FILTER = 1 << 16 };
static inline uint32_t sp_clib_filter_at(const void *p)
{
	return (uint32_t)(((uintptr_t)p >> 3) * UINT64_C(0x9e3779b97f4a7c15) >> 48);
}
static inline bool sp_clib_may_be_in(const uint64_t *filter, const void *p)
{
	const uint32_t at = sp_clib_filter_at(p);
	return __atomic_load_n(&filter[at / 64], __ATOMIC_RELAXED) >> at % 64 & 1;
}

/* A wait that begins. */
struct sp_clib_call {
	unsigned kind, flags; /* enum sp_raw_wait_kind; SP_RAW_WAIT_… */
	const void *object;   /* NULL: none */
	const void *caller;   /* the instruction behind the call */
	const int *owner;     /* gettid() of the thread that holds the object now; 0, NULL: none, or not known */
	int fd;               /* of a file lock; otherwise -1 */
};

enum sp_clib_end {
	SP_CLIB_GOT,
	SP_CLIB_NOT_GOT,
	SP_CLIB_NO_WAIT /* it came back at once: nothing is counted */
};

/* Of the recorder; on the stack of the thread that waits. */
struct sp_clib_wait {
	uint64_t room[10];
};

struct sp_clib_recorder {
	uint32_t version; /* 1 */
	uint32_t size;
	/* The code of _measure, and that of the interpreter: what these wait for is not the program's, or is recorded
	 * where Python's objects are. */
	uintptr_t own_begin, own_end, python_begin, python_end;
	/* And that of the allocator, which the recorder may have called, and which has a lock while it waits for
	 * another: a recorder that allocates would wait for that. */
	uintptr_t allocator_begin, allocator_end;
	/* Of objects that somebody waited for: who gets and releases them is told. And of those that were made here. */
	const uint64_t *waited, *known;
	/* Set where the handler of a signal called a function that waits: it is not recorded. */
	bool *handlers;
	/* false: it is not recorded, and has no end. */
	bool (*begin)(struct sp_clib_wait *w, const struct sp_clib_call *call);
	void (*end)(struct sp_clib_wait *w, enum sp_clib_end how);
	/* By the calling thread, which has the object, and about to release it. */
	void (*acquired)(const void *object);
	void (*released)(const void *object);
	/* It was made by `caller`, or is about to be no more. */
	void (*made)(const void *object, const void *caller);
	void (*gone)(const void *object);
};

/* ---- for the rooms of _measure ---- */

/* Where the calling thread's innermost Python function is. */
struct sp_clib_where {
	const void *code; /* NULL: none */
	int at;           /* the instruction */
	bool gil;         /* the thread has it */
};
/* Set by the hook; the second gives string and line, 0 where they are not known. */
extern void (*_Atomic sp_clib_where)(struct sp_clib_where *w);
extern uint32_t (*_Atomic sp_clib_line)(const struct sp_clib_where *w, uint32_t *line);

/* What the library is to be given, from the start of a measurement on. */
const struct sp_clib_recorder *sp_clib_start(const uintptr_t own[2], const uintptr_t python[2],
                                             const uintptr_t allocator[2]);
/* A new measurement: nothing is known of any object. */
void sp_clib_forget(void);
/* The end of one. Makes definitions. */
void sp_clib_stop(void);
/* The object that stands for the file behind a descriptor; NULL: no room, or it is none. Keeps errno. */
struct sp_raw_object *sp_object_of_file(unsigned kind, int fd);

#endif
