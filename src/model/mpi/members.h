/* SPDX-License-Identifier: BSD-3-Clause */
/* Members of MPI groups: processes by rank. */
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
		uint32_t index; /* in sp_model.worlds; SP_NONE: not added yet */
		struct sp_group ranks;
	} * worlds; /* owned; sorted by id */
	size_t n_worlds;
	uint64_t limit;              /* maximum number of members of a group */
	struct sp_intern lists;      /* keys: member lists as recorded */
	struct sp_member_list *list; /* owned */
	size_t list_capacity;
};

/* Finds the model's worlds. Returns 0, or -1: no memory. */
int sp_members_begin(struct sp_members *x, struct sp_builder *b);
void sp_members_end(struct sp_members *x);

/* Allocates n unknown members in the model's arena. Returns 0, or -1: no memory. */
int sp_members_alloc(const struct sp_members *x, struct sp_group *g, uint32_t n);

/* Decodes the members from runs of struct sp_raw_ranks. Complete lists with equal runs share one array. Returns 0, 1 if
 * the runs are invalid, or -1: no memory. */
int sp_members_recorded(struct sp_members *x, const struct sp_str *runs, struct sp_member_list *out);

#endif
