/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory, for the components of _measure: begin and end of the recorder, and its questions to the hook. */
#ifndef SP_RECORD_HEAP_RECORDER_H
#define SP_RECORD_HEAP_RECORDER_H

#include "base/compiler.h"
#include "record/heap/heap.h"
#include "record/metrics.h"
#include "record/settings.h"
#include "record/thread.h"

/* The current instruction of the calling thread's innermost recorded Python function. */
struct sp_heap_where {
	const void *at; /* the instruction, or, before 3.11, the code object; NULL: no such function */
	uint32_t offset;
	uint32_t region; /* 0: its code has no name yet */
	const void *frame;
	/* The same for the program's own function that called it, if the innermost function belongs to a library;
	 * NULL: no such function, or not known yet. */
	const void *own_at, *own_frame;
	uint32_t own_offset;
};
/* Region and line of an allocation, and those of the program's own function; 0: unknown. */
struct sp_heap_line {
	uint32_t region, line;
	uint32_t own_region, own_line;
};
/* Set by the hook: the current position, and its lines. The caller does not hold the lock. */
extern void (*sp_heap_where)(struct sp_heap_where *w);
extern void (*sp_heap_line)(const struct sp_heap_where *w, unsigned kind, struct sp_heap_line *line);

/* Whether the settings request memory recording; reads its settings. */
bool sp_heap_wanted(const struct sp_settings *s);
/* Defines the columns, before the first node is made. */
void sp_heap_columns(void);
/* A raw file was opened: makes its HEAP and SERIES chunks. */
void sp_heap_file(void);
/* Begins recording and returns the struct to pass to the library, or NULL. own, other: begin and end of code as in
 * struct sp_heap_recorder. */
const struct sp_heap_recorder *sp_heap_start(uint64_t *filter, const uintptr_t own[2], const uintptr_t other[2]);
/* The program is over: counts the blocks that are live now as leaked. */
void sp_heap_over(void);
/* End recording; handle a step of a fork; free a thread's table of sites. */
void sp_heap_stop(void);
void sp_heap_fork(enum sp_fork when);
void sp_heap_thread_free(struct sp_thread *t);
/* Returns the calling thread's counter: while it is not 0, nothing is recorded. NULL: the library is not loaded. */
extern int *(*sp_heap_quiet)(void);
/* Disables (1) or enables again (-1) the recording of the calling thread's allocations; calls may be nested. */
static inline void sp_heap_hush(int more)
{
	if (SP_UNLIKELY(sp_heap_quiet != NULL))
		*sp_heap_quiet() += more;
}

#endif
