/* SPDX-License-Identifier: BSD-3-Clause */
/* Measurements that are over, kept as long as a thread may be inside one of their events. Wrappers of file I/O, MPI
 * and compiled functions record without the GIL: a thread may be preempted in the middle of an event and continue when
 * another measurement runs. The pages that it uses stay until it has ended or has a location in a later measurement. */
#include "record/buffer.h"
#include "record/events/walk.h"
#include "record/heap/recorder.h"
#include "record/lines/lines.h"
#include "record/off_cpu.h"
#include "record/process.h"
#include "record/retired.h"
#include "record/stack.h"
#include "record/tally.h"
#include "record/thread.h"
#include "record/waits/waits.h"

#include <stdlib.h>
#include <sys/mman.h>

/* One retired measurement. */
struct sp_retired {
	struct sp_retired *next; /* owned */
	struct sp_thread *threads;
	struct sp_segment *segments; /* owned */
	size_t n_segments;
	struct sp_raw_header *header;
};

static void thread_free(struct sp_thread *t)
{
	free(t->table);
	sp_stack_free_aside(t);
	sp_lines_free(t, false);
	sp_walk_free(t);
	sp_heap_thread_free(t);
	sp_waits_free(t, false);
	sp_off_cpu_free(t, false);
	sp_tally_free(t, false);
}

static void retired_free(struct sp_retired *past)
{
	sp_buffer_unmap_all(past->segments, past->n_segments, past->header);
	free(past);
}

void sp_retired_add(void)
{
	struct sp_retired *past = sp_process.header ? calloc(1, sizeof *past) : NULL;
	if (past) {
		*past = (struct sp_retired){sp_process.past, sp_process.threads, sp_process.segments,
		                            sp_process.n_segments, sp_process.header};
		sp_process.past = past;
		for (struct sp_thread *t = past->threads; t; t = t->next)
			*t->slot = NULL;
	}
	/* without memory for a record the pages are never freed */
	struct sp_thread *own = sp_process.threads;
	sp_process.threads = NULL;
	sp_process.segments = NULL;
	sp_process.n_segments = 0;
	sp_process.header = NULL;
	while (own && own->slot != &sp_self)
		own = own->next;
	sp_retired_left(own);
	sp_thread_leave();
}

void sp_retired_left(const struct sp_thread *location)
{
	for (struct sp_retired **p = &sp_process.past, *past; (past = *p); p = &past->next) {
		struct sp_thread **t = &past->threads;
		while (*t && *t != location)
			t = &(*t)->next;
		if (*t) {
			struct sp_thread *found = *t;
			*t = found->next;
			thread_free(found);
		}
		if (!past->threads) {
			*p = past->next;
			retired_free(past);
			return;
		}
	}
}

void sp_retired_forget(void)
{
	while (sp_process.past) {
		struct sp_retired *past = sp_process.past;
		sp_process.past = past->next;
		retired_free(past);
	}
	sp_thread_leave();
}
