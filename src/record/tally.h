/* SPDX-License-Identifier: BSD-3-Clause */
/* Tallies: how often something rare happened at a call path, such as a garbage collection or a call that an exception
 * ends. Ordinary events do not come here. */
#ifndef SP_RECORD_TALLY_H
#define SP_RECORD_TALLY_H

#include <stdint.h>

#include "record/thread.h"

/* What happened: the members of struct sp_raw_tally. */
struct sp_tally_event {
	enum sp_raw_tally_kind kind;
	uint32_t generation;
	uint64_t ticks, objects;
};

/* Adds one event of the calling thread t to the row of a node of it. Without space the process counts it as lost. Takes
 * the process lock for a new row. Keeps errno. */
void sp_tally_add(struct sp_thread *t, const struct sp_raw_node *node, const struct sp_tally_event *what);
/* An exception ends the innermost open call with this key, before its leave. Calls that were open before recording
 * began are not counted, as they count for no visit. */
void sp_tally_exception(struct sp_thread *t, uint64_t key);
/* Discards what was recorded so far. */
void sp_tally_restart(struct sp_thread *t);
/* Frees the data of a thread that ends, with the process lock held. done: its chunks will not be written again. */
void sp_tally_free(struct sp_thread *t, bool done);

#endif
