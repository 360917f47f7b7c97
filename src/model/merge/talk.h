/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages between the ranks of a merge. Each begins with what went wrong where it comes from, or nothing: what fails
 * in one rank fails in all, and nobody waits for one that has given up. */
#ifndef SP_MODEL_MERGE_TALK_H
#define SP_MODEL_MERGE_TALK_H

#include "model/merge/merge.h"
#include "model/merge/pack.h"

struct sp_talk {
	const struct sp_links *links; /* NULL: alone */
	int rank, size;
	bool mute; /* another rank cannot be reached: no more words to anyone */
};

/* Begins a message of one with rc (and e, where that is not 0). */
void sp_talk_begin(struct sp_pack *k, const struct sp_err *e, int rc);
/* Sends and frees it. Returns rc, or -1 with e set. */
int sp_talk_send(struct sp_talk *t, int to, struct sp_pack *k, int rc, struct sp_err *e);
/* The message of another rank, *bytes to be freed (NULL: there is none); what went wrong there goes wrong here. */
int sp_talk_receive(struct sp_talk *t, int from, struct sp_pack *k, struct sp_arena *arena, void **bytes, int rc,
                    struct sp_err *e);

#endif
