/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes by their ranks, and lists of them. */
#ifndef SP_MODEL_MPI_MEMBERS_H
#define SP_MODEL_MPI_MEMBERS_H

#include "model/builder/builder.h"
#include "model/comm.h"
#include "model/str.h"

struct sp_member_list {
	struct sp_group g;
	bool complete;
};

struct sp_members {
	struct sp_builder *b;
	struct sp_member_world {
		uint64_t id;
		uint32_t index; /* in sp_model.worlds; SP_NONE: not yet there */
		struct sp_group ranks;
	} * worlds; /* owned; in the order of their ids */
	size_t n_worlds;
	uint64_t most;               /* no group can have more members */
	struct sp_intern lists;      /* as they are told */
	struct sp_member_list *list; /* owned */
	size_t list_room;
};

/* Finds the model's worlds; -1 without memory. */
int sp_members_begin(struct sp_members *x, struct sp_builder *b);
void sp_members_end(struct sp_members *x);

/* n members in the model's arena, none of them known; -1 without memory. */
int sp_members_alloc(const struct sp_members *x, struct sp_group *g, uint32_t n);

/* The members that runs of sp_raw_ranks tell. Complete lists that are told in the same way are one. Returns 1 when they
 * cannot be right, -1 without memory. */
int sp_members_told(struct sp_members *x, const struct sp_str *runs, struct sp_member_list *out);

#endif
