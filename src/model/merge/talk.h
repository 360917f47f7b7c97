/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages between the ranks of a merge. Each message begins with the sender's error, if any: an error in one rank
 * fails all ranks, and no rank waits for one that has given up. */
#ifndef SP_MODEL_MERGE_TALK_H
#define SP_MODEL_MERGE_TALK_H

#include "model/merge/merge.h"
#include "model/merge/pack.h"

struct sp_talk {
	const struct sp_links *links; /* NULL: a single process */
	int rank, size;
	bool mute; /* another rank cannot be reached: send nothing more */
};

/* Begins a message with the status rc (and e, if rc is not 0). */
void sp_talk_begin(struct sp_pack *k, const struct sp_err *e, int rc);
/* Sends and frees the message. Returns rc, or -1 with e set. */
int sp_talk_send(struct sp_talk *t, int to, struct sp_pack *k, int rc, struct sp_err *e);
/* Receives the message of another rank; the caller frees *bytes (NULL: no message). An error of the sender is returned
 * as an error here. Returns 0, or -1 with e set. */
int sp_talk_receive(struct sp_talk *t, int from, struct sp_pack *k, struct sp_arena *arena, void **bytes, int rc,
                    struct sp_err *e);

#endif
