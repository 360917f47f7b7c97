/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes, those that they started, and locations: the threads of processes. */
#ifndef SP_MODEL_PROCESS_H
#define SP_MODEL_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/str.h"

enum sp_process_end {
	SP_END_NORMAL,
	SP_END_STOPPED, /* the program ended the measurement */
	SP_END_ABRUPT,  /* killed or crashed; on another host perhaps still running */
	SP_END_EXITED,  /* os._exit */
	SP_END_EXEC,    /* became another program */
	SP_END_RUNNING, /* goes on */
	SP_ENDS
};
extern const char *const sp_process_end_names[SP_ENDS]; /* "normal", "stopped", … */

struct sp_meta {
	struct sp_str key, value;
};

struct sp_lost {
	uint64_t events; /* trace events not recorded */
	uint64_t paths;  /* visits in collapsed call paths */
	uint64_t threads;
	uint64_t regions;
	uint64_t bytes;
	uint64_t deeper; /* calls below the depth limit: chosen by the user, not a loss */
	uint64_t unmatched;
	uint64_t children; /* of fork, that could not make a file */
};

struct sp_process {
	struct sp_str file; /* name of the raw file */
	struct sp_str host;
	struct sp_str command; /* may be empty */
	int32_t pid, ppid;
	uint32_t parent;      /* process index, SP_NONE: not measured */
	uint32_t rank;        /* in its MPI_COMM_WORLD; SP_NONE: MPI was not begun */
	uint32_t ranks;       /* size of that */
	uint64_t world;       /* processes with the same number share one MPI_COMM_WORLD; 0: none */
	uint32_t world_index; /* in sp_model.worlds; SP_NONE: rank is */
	uint8_t end;          /* enum sp_process_end */
	int32_t status;       /* as of waitpid, where the process that started it waited for it; -1: not known */
	uint32_t continues;   /* the process that became this program by exec; SP_NONE: none */
	uint32_t ended_by;    /* the process of the program whose signal ended this one; SP_NONE: none did */
	bool forked;
	bool traced;
	bool sampled; /* its threads were looked at from outside, again and again */
	bool counted; /* its calls were recorded; otherwise its times are those of samples, and visits are unknown */
	uint64_t begin, stop; /* ns since sp_model.begin_ns */
	uint32_t first_location, locations;
	double cost_in, cost_out; /* ns that measuring adds to a visit: within its own interval, and in its caller's */
	struct sp_lost lost;      /* of the process and all its locations */
	const char *lost_reason;  /* a sentence, or NULL */
	const char *lost_children_reason; /* the same, of lost.children */
	struct sp_meta *meta;
	size_t metas;
};

/* A process that a measured one started, or became by exec. */
struct sp_child {
	uint32_t parent;       /* process index */
	uint32_t process;      /* its own process index, the first of several after exec; SP_NONE: not measured */
	int32_t pid;           /* 0: not known */
	struct sp_str command; /* empty: a copy of its parent, or not known */
	uint64_t begin;        /* ns since sp_model.begin_ns */
	uint64_t end;          /* when its parent knew of its end; 0: it did not wait */
	int32_t status;        /* as of waitpid; -1: not known */
	bool forked;           /* begins as a copy of its parent */
	bool exec;             /* is what its parent became */
};

struct sp_location {
	uint32_t process;
	uint32_t creator;   /* location index, SP_NONE: not known */
	struct sp_str name; /* "MainThread", "Thread-1 (work)", … */
	uint64_t tid;
	uint64_t begin, end; /* ns since sp_model.begin_ns */
	uint32_t id;         /* within its process */
	struct sp_lost lost;
	size_t first_value, values; /* rows of sp_model.values, sorted by path */
	uint64_t visits, resumed;   /* of all paths */
	double busy, mpi;           /* ns in any path; in MPI */
	struct sp_str open;         /* the innermost call that was never left: "f", or "f, called by g"; empty: none */
};

#endif
