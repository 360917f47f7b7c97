/* SPDX-License-Identifier: BSD-3-Clause */
/* One process while its file is loaded: its definitions, each id once, in the order of the file. */
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
#include "model/tally.h"
#include "model/task.h"
#include "reader/reader.h"

struct sp_event_range;
struct sp_source;

enum { SP_MAX_DIMENSIONS = 64 }; /* maximum of a cartesian topology; more is damage */

/* MPI definitions of one process in the order of its file, each id once. Texts are in the builder's scratch arena. */
struct sp_comm_def {
	uint32_t id, order; /* order: position among the process's MPI definitions, also in the structs below */
	uint32_t flags;     /* SP_RAW_COMM_… */
	struct sp_raw_comm c;
	bool recorded; /* c was recorded */
	struct sp_str name, members, remote;
	struct sp_str cart_name, cart, coordinates; /* empty: not recorded */
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
	struct sp_comm_def *comms; /* owned, as the other arrays */
	struct sp_win_def *wins;
	struct sp_group_def *groups;
	size_t n_comms, n_wins, n_groups, comm_capacity, win_capacity, group_capacity;
	const struct sp_comm_def *self; /* MPI_COMM_SELF; NULL: not recorded */
};

/* A CHILD record: a process that this process started. */
struct sp_child_def {
	int32_t pid;
	uint32_t flags; /* SP_RAW_CHILD_… */
	struct sp_str command;
	struct sp_raw_child record;
};

struct sp_children_defs {
	struct sp_child_def *p; /* owned */
	size_t n, capacity;
};

/* One TASK record of the file. */
struct sp_task_def {
	uint8_t what; /* SP_RAW_TASK_… */
	uint32_t a, b;
	const char *data; /* in the mapped file, `bytes` long */
	size_t bytes;
	struct sp_str name;
};

struct sp_task_defs {
	struct sp_task_def *defs;     /* owned, until the process is read */
	size_t n, capacity, count[4]; /* count: number of records of each kind */
	uint32_t highest;             /* highest number of a task */
	/* in the model's arena; times are ticks */
	struct sp_task *tasks;
	struct sp_task_rest *rests;
	struct sp_task_awaited *awaited;
	struct sp_handed handed;
};

/* Lines of one process: `location` is the index among its locations, times are ticks. */
struct sp_line_defs {
	struct sp_line *p; /* in the model's arena */
	size_t n;
};

/* Tallies of one process: `location` is the index among its locations, times are ticks, `path` is as the rows'. */
struct sp_tally_defs {
	struct sp_tally *p; /* in the model's arena; NULL: none */
	size_t n;
};

/* The metrics of off-CPU time; gap 0: not measured. */
struct sp_off_cpu_metrics {
	uint32_t waiting, preempted;
	uint64_t gap; /* ticks; the shortest gap that was measured */
};

/* Memory of one process: `location` is the index among its locations, times are ticks. */
struct sp_site_defs {
	struct sp_site *p; /* owned */
	size_t n, capacity;
	struct sp_raw_heap *heap;    /* in the model's arena; NULL: not recorded */
	struct sp_raw_point *points; /* in the model's arena */
	size_t n_points;
	uint32_t passed_path; /* SP_NONE: unknown */
};

/* Locks and waits of one process: locations and locks are indices within the process, times are ticks. */
struct sp_lock_defs {
	struct sp_lock *locks; /* in the model's arena, as the other arrays */
	size_t n_locks;
	struct sp_lock_wait *waits;
	size_t n_waits;
	struct sp_lock_cycle *cycles;
	size_t n_cycles;
	struct sp_str *records; /* owned, until the process is read; DEADLOCK records */
	size_t n_records, record_capacity;
};

/* Thread id of the operating system, and the index of that thread in the file. */
struct sp_tid {
	uint64_t tid;
	size_t at;
};

/* A process while it is loaded, before the processes are put in order. */
struct sp_loading {
	struct sp_process process;     /* begin and stop are not set yet */
	struct sp_str parent_name;     /* META parent */
	struct sp_location *locations; /* in the arena; begin, end and process are not set yet */
	struct sp_event_range *places; /* in the arena */
	uint64_t *begins;              /* in the arena; ticks */
	uint64_t mono, real;           /* ns at clock.first; real is 0 if the clock is damaged */
	uint64_t end;                  /* ticks */
	struct sp_source *source;
	struct sp_mpi_defs mpi; /* owned */
	struct sp_children_defs children;
	struct sp_task_defs tasks;
	struct sp_line_defs lines;
	struct sp_site_defs sites;
	struct sp_off_cpu_metrics off_cpu;
	struct sp_tally_defs tallies;
	struct sp_lock_defs locks;
	/* ns; sort key among the processes: all processes of one MPI_COMM_WORLD have the key of the first one */
	uint64_t place;
	struct sp_raw_clock_sync sync[2]; /* first and last record */
	unsigned syncs;                   /* number of CLOCK records */
	bool settled;                     /* clock_sync.c: the clock was compared with another host's */
	uint64_t unmoved;                 /* clock_sync.c: `real` before the alignment */
	/* in the builder's scratch arena, if there are samples; sorted by tid and index */
	struct sp_tid *tids;
	/* in the builder's scratch arena; threads that only the samples contain: their locations follow those of the
	 * process's own threads */
	struct sp_raw_thread **strangers;
	struct sp_loading *samples; /* while the process is read: its file of samples; NULL: no such file */
	/* while merging: index of its first location among all, in the order of files */
	uint32_t order;
	bool final; /* the file is complete: no process writes it any more */
};

/* Free what the structs own, but not the structs themselves. */
void sp_source_close(struct sp_source *s);
void sp_loading_free(struct sp_loading *l);

#endif
