/* SPDX-License-Identifier: BSD-3-Clause */
#include "record/tally.h"
#include "record/process.h"
#include "record/rows.h"
#include "record/stack.h"

#include <errno.h>

void sp_tally_add(struct sp_thread *t, const struct sp_raw_node *node, const struct sp_tally_event *what)
{
	const int error = errno;
	const uint32_t number = what->kind | what->generation << 8;
	struct sp_raw_tally *row = sp_node_row(&t->tallies, t, SP_RAW_TALLIES, sizeof *row, node, number);
	if (row) {
		row->kind = what->kind;
		row->generation = what->generation;
		row->ticks += what->ticks;
		row->objects += what->objects;
		/* last: a row with a count is complete */
		__atomic_store_n(&row->count, row->count + 1, __ATOMIC_RELEASE);
	}
	errno = error;
}

void sp_tally_exception(struct sp_thread *t, uint64_t key)
{
	enum { NOT_COUNTED = SP_RAW_FRAME_SKIPPED | SP_RAW_FRAME_INHERITED | SP_RAW_FRAME_FORKED };
	const struct sp_raw_frame *f = sp_stack_find(t, key);
	if (f && !(f->flags & NOT_COUNTED))
		sp_tally_add(t, (const struct sp_raw_node *)f->node,
		             &(struct sp_tally_event){.kind = SP_RAW_TALLY_EXCEPTION});
}

void sp_tally_restart(struct sp_thread *t)
{
	pthread_mutex_lock(&sp_process.lock);
	sp_rows_discard(t->tallies.chunk);
	sp_tally_free(t, false);
	pthread_mutex_unlock(&sp_process.lock);
}

void sp_tally_free(struct sp_thread *t, bool done)
{
	if (done)
		sp_rows_done(t->tallies.chunk);
	sp_node_rows_free(&t->tallies);
}
