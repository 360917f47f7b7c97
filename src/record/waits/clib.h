/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits of the C library: the interface between its functions that wait and the recorder. The library
 * spartito_waits.so (src/inject/waits), which the dynamic linker loads before all others, contains the wrappers. It
 * decides itself what needs no recording and passes the rest to a recorder that _measure gives it.
 *
 * The rules of an event apply: a recorder never calls Python, prints or changes errno, and does not need the GIL. */
#ifndef SP_RECORD_WAITS_CLIB_H
#define SP_RECORD_WAITS_CLIB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/format.h"

/* Symbols that the library exports; _measure finds them with dlsym. */
#define SP_CLIB_ATTACH_SYMBOL    "sp_clib_attach"
#define SP_CLIB_ALLOCATOR_SYMBOL "sp_clib_allocator"

/* One bit for each of 65,536 groups of addresses. If an object's bit is clear, nothing is known of the object. */
enum { SP_CLIB_FILTER = 1 << 16 };
/* Returns the number of an object's bit. */
static inline uint32_t sp_clib_filter_at(const void *p)
{
	return (uint32_t)(((uintptr_t)p >> 3) * UINT64_C(0x9e3779b97f4a7c15) >> 48);
}
/* Whether an object's bit is set; relaxed, as no other data depends on it. */
static inline bool sp_clib_may_be_in(const uint64_t *filter, const void *p)
{
	const uint32_t at = sp_clib_filter_at(p);
	return __atomic_load_n(&filter[at / 64], __ATOMIC_RELAXED) >> at % 64 & 1;
}

/* A wait that begins. */
struct sp_clib_call {
	unsigned kind, flags; /* enum sp_raw_wait_kind; SP_RAW_WAIT_… */
	const void *object;   /* NULL: no object */
	const void *caller;   /* the instruction after the call */
	const int *owner;     /* gettid() of the current lock holder; 0 or a NULL pointer: free, or unknown */
	int fd;               /* of a file lock; otherwise -1 */
};

/* How a wait ended. */
enum sp_clib_end {
	SP_CLIB_ACQUIRED,
	SP_CLIB_NOT_ACQUIRED,
	SP_CLIB_NO_WAIT /* the function returned at once: nothing is counted */
};

/* The recorder's data of one wait; on the stack of the waiting thread. */
struct sp_clib_wait {
	uint64_t buffer[10];
};

/* The functions that record waits, and which calls they concern. */
struct sp_clib_recorder {
	uint32_t version; /* 1 */
	uint32_t size;
	/* The code of _measure and of the interpreter: waits of the former are not the program's, and those of the
	 * latter are recorded with Python's objects. */
	uintptr_t own_begin, own_end, python_begin, python_end;
	/* The code of the allocator. The recorder may have called it, and it may hold a lock while it waits for
	 * another one: a recorder that allocates memory would wait for the first. */
	uintptr_t allocator_begin, allocator_end;
	/* Filters: objects that a thread has waited for, whose acquisitions and releases the library reports; and
	 * objects whose creation was reported. */
	const uint64_t *waited, *known;
	/* The library sets it if a signal handler called a function that waits; such calls are not recorded. */
	bool *handlers;
	/* Returns false if the wait is not recorded; then there is no end() for it. */
	bool (*begin)(struct sp_clib_wait *w, const struct sp_clib_call *call);
	void (*end)(struct sp_clib_wait *w, enum sp_clib_end how);
	/* Called by the thread that acquired the object, or is about to release it. */
	void (*acquired)(const void *object);
	void (*released)(const void *object);
	/* The object was made by code at `caller`, or is about to be destroyed. */
	void (*made)(const void *object, const void *caller);
	void (*gone)(const void *object);
};

/* ---- for the components of _measure ---- */

/* The current position in the calling thread's innermost Python function. */
struct sp_clib_where {
	const void *code; /* NULL: no such function */
	int at;           /* offset of the current instruction in the code, in bytes */
	bool gil;         /* the thread holds the GIL */
};
/* Set by the hook: the current position; its file (a string) and line, 0 if unknown. */
extern void (*_Atomic sp_clib_where)(struct sp_clib_where *w);
extern uint32_t (*_Atomic sp_clib_line)(const struct sp_clib_where *w, uint32_t *line);

/* Returns the recorder to pass to the library, at the start of a measurement. Arguments: begin and end of code. */
const struct sp_clib_recorder *sp_clib_start(const uintptr_t own[2], const uintptr_t python[2],
                                             const uintptr_t allocator[2]);
/* A new measurement begins: forgets the records of all objects. */
void sp_clib_forget(void);
/* Ends a measurement. Writes definitions. */
void sp_clib_stop(void);
/* Returns the object for the file of a descriptor; NULL if there is no space or no file. Keeps errno. */
struct sp_raw_object *sp_object_of_file(unsigned kind, int fd);

#endif
