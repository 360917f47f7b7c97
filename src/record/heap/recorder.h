/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory, for the rooms of _measure: how the recorder is begun and ended, and what it asks the hook. */
#ifndef SP_RECORD_HEAP_RECORDER_H
#define SP_RECORD_HEAP_RECORDER_H

#include "base/compiler.h"
#include "record/heap/heap.h"
#include "record/metrics.h"
#include "record/settings.h"
#include "record/thread.h"

/* Where the calling thread's innermost Python function is, of those that are recorded. */
struct sp_heap_where {
	const void *at; /* the instruction, or, before 3.11, the code; NULL: there is none */
	uint32_t offset;
	uint32_t region; /* 0: nobody has named its code */
	const void *frame;
	/* The same of the program's own function that called it, where that is a library's; NULL: none, or not known
	 * yet. */
	const void *own_at, *own_frame;
	uint32_t own_offset;
};
struct sp_heap_line {
	uint32_t region, line;
	uint32_t own_region, own_line;
};
/* Set by the hook; both without the lock. */
extern void (*sp_heap_where)(struct sp_heap_where *w);
extern void (*sp_heap_line)(const struct sp_heap_where *w, unsigned kind, struct sp_heap_line *line);

/* Whether settings ask for it; reads them. */
bool sp_heap_wanted(const struct sp_settings *s);
/* The columns, before the first node is made. */
void sp_heap_columns(void);
/* A raw file was opened: its HEAP and SERIES chunks. */
void sp_heap_file(void);
/* Recording begins: what the library is to be given. Begin and end of code, as struct sp_heap_recorder has them. */
const struct sp_heap_recorder *sp_heap_start(uint64_t *filter, const uintptr_t own[2], const uintptr_t other[2]);
/* The program is over: what is live now is left. */
void sp_heap_over(void);
void sp_heap_stop(void);
void sp_heap_fork(enum sp_fork when);
void sp_heap_thread_free(struct sp_thread *t);
/* The calling thread's counter of reasons to record nothing; NULL: there is no library. */
extern int *(*sp_heap_quiet)(void);
static inline void sp_heap_hush(int more)
{
	if (SP_UNLIKELY(sp_heap_quiet != NULL))
		*sp_heap_quiet() += more;
}

#endif
