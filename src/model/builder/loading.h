/* SPDX-License-Identifier: BSD-3-Clause */
/* One process while its file is loaded: what its definitions say, each id once, in the order of the file. */
#ifndef SP_MODEL_BUILDER_LOADING_H
#define SP_MODEL_BUILDER_LOADING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/line.h"
#include "model/lock.h"
#include "model/memory.h"
#include "model/process.h"
#include "model/str.h"
#include "model/task.h"
#include "reader/reader.h"

struct sp_place;
struct sp_source;

enum { SP_MOST_DIMENSIONS = 64 }; /* of a cartesian topology: what is more can only be damage */

/* Definitions of MPI of one process as its file has them, each id once, in their order; texts are in the builder's
 * scratch. */
struct sp_comm_def {
	uint32_t id, order; /* order: in which they came, as of the others */
	uint32_t flags;     /* SP_RAW_COMM_… */
	struct sp_raw_comm c;
	bool told; /* c is */
	struct sp_str name, members, remote;
	struct sp_str cart_name, cart, coordinates; /* empty: not told */
};

struct sp_win_def {
	uint32_t id, order, comm;
	struct sp_str name;
};

struct sp_group_def {
	uint32_t id, order;
	struct sp_str members;
};

struct sp_mpi_defs {
	struct sp_comm_def *comms; /* owned, as the others */
	struct sp_win_def *wins;
	struct sp_group_def *groups;
	size_t n_comms, n_wins, n_groups, comm_room, win_room, group_room;
	const struct sp_comm_def *self; /* MPI_COMM_SELF; NULL: not told */
};

/* What a process says of those that it started. */
struct sp_child_def {
	int32_t pid;
	uint32_t flags; /* SP_RAW_CHILD_… */
	struct sp_str command;
	struct sp_raw_child said;
};

struct sp_children_defs {
	struct sp_child_def *p; /* owned */
	size_t n, room;
};

/* A TASK record as the file has it. */
struct sp_task_def {
	uint8_t what; /* SP_RAW_TASK_… */
	uint32_t a, b;
	const char *data; /* in the file; bytes */
	size_t bytes;
	struct sp_str name;
};

struct sp_task_defs {
	struct sp_task_def *defs; /* owned, until the process is read */
	size_t n, room, count[4]; /* of each kind */
	uint32_t highest;         /* number of a task */
	/* in the model's arena, their times in ticks */
	struct sp_task *tasks;
	struct sp_task_rest *rests;
	struct sp_task_awaited *awaited;
	struct sp_handed handed;
};

/* What one process says of lines: `location` is the place among its locations, times are ticks. */
struct sp_line_defs {
	struct sp_line *p; /* in the model's arena */
	size_t n;
};

/* What one process says of memory: `location` is the place among its locations, times are ticks. */
struct sp_site_defs {
	struct sp_site *p; /* owned */
	size_t n, room;
	struct sp_raw_heap *heap;    /* in the arena; NULL: none */
	struct sp_raw_point *points; /* in the arena */
	size_t n_points;
	uint32_t passed_path; /* SP_NONE: not known */
};

/* What one process says of locks and waits: locations are places among its own, locks are indices of its own, times are
 * ticks. */
struct sp_lock_defs {
	struct sp_lock *locks; /* in the model's arena, as the others */
	size_t n_locks;
	struct sp_lock_wait *waits;
	size_t n_waits;
	struct sp_lock_circle *circles;
	size_t n_circles;
	struct sp_str *records; /* owned, until the process is read; DEADLOCK */
	size_t n_records, record_room;
};

/* The system's number of a thread, and its place in the file. */
struct sp_tid {
	uint64_t tid;
	size_t at;
};

/* A process while it is loaded, before the processes are put in order. */
struct sp_loading {
	struct sp_process process;     /* begin and stop are not set yet */
	struct sp_str parent_name;     /* META parent */
	struct sp_location *locations; /* in the arena; begin, end and process are not set yet */
	struct sp_place *places;       /* in the arena */
	uint64_t *begins;              /* in the arena; ticks */
	uint64_t mono, real;           /* ns at clock.first; real 0: damaged */
	uint64_t end;                  /* ticks */
	struct sp_source *source;
	struct sp_mpi_defs mpi; /* owned */
	struct sp_children_defs children;
	struct sp_task_defs tasks;
	struct sp_line_defs lines;
	struct sp_site_defs sites;
	struct sp_lock_defs locks;
	uint64_t place; /* ns: its place among the processes; those of one MPI_COMM_WORLD have the first one's */
	struct sp_raw_clock_sync sync[2]; /* the first and the last */
	unsigned syncs;                   /* how many of them there are */
	bool settled;                     /* clock_sync.c: its clock was compared */
	uint64_t unmoved;                 /* clock_sync.c: real, before that */
	struct sp_tid *tids;              /* in the builder's scratch, where there are samples; by tid and place */
	struct sp_raw_thread **strangers; /* in the builder's scratch; threads of the samples, of which locations behind
	                                     those of the process's own threads are */
	struct sp_loading *samples;       /* while it is read: what its file of samples says; NULL: there is none */
	uint32_t order;                   /* while merging: of its first location among all, in the order of files */
	bool final;                       /* nobody writes its file any more */
};

/* All that they own, but not themselves. */
void sp_source_close(struct sp_source *s);
void sp_loading_free(struct sp_loading *l);

#endif
