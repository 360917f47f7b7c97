/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups of processes, communicators and windows of MPI. */
#ifndef SP_MODEL_COMM_H
#define SP_MODEL_COMM_H

#include <stdbool.h>
#include <stdint.h>

#include "model/str.h"

/* Several processes, by their rank in a group; SP_NONE: a process that was not measured. */
struct sp_group {
	uint32_t *processes; /* indices */
	uint32_t n;
	/* NULL: not recorded; for processes that were not measured: sp_unmeasured(world, rank) */
	uint64_t *unmeasured;
};
/* Combines the index of a world and a rank in it. A member without a known world and rank has UINT64_MAX. */
static inline uint64_t sp_unmeasured(uint32_t world, uint32_t rank)
{
	return (uint64_t)world << 32 | rank;
}

/* The processes that share an MPI_COMM_WORLD, by their rank. */
struct sp_world {
	uint64_t id;
	struct sp_group ranks;
};

/* A communicator of MPI. Each process's COMM_SELF is a separate one. Groups may be shared with other communicators. */
struct sp_comm {
	struct sp_str name; /* may be empty */
	uint32_t parent;    /* index; SP_NONE: no parent, or unknown */
	struct sp_group
	    group; /* of an intercommunicator: the group of the known member with the smallest process index */
	struct sp_group remote;
	bool inter, self, world;
	bool incomplete; /* some members are unknown, because a process was not measured or its file is damaged */
	uint32_t *cart;  /* size and periodicity of each dimension, NULL: no cartesian topology */
	uint32_t cart_dims;
	struct sp_str cart_name;
	uint32_t *coordinates; /* cart_dims for each member; SP_NONE: unknown */
};

/* A window of MPI's one-sided communication. */
struct sp_win {
	struct sp_str name;
	uint32_t comm;
};

#endif
