/* SPDX-License-Identifier: BSD-3-Clause */
/* What an experiment holds, merged: the one thing that the writers and the report read.
 *
 * Indices are dense from 0. Times are nanoseconds; points in time are counted from sp_model.begin_ns. Everything
 * lives in the model's arena until sp_model_free(). */
#ifndef SP_MODEL_MODEL_H
#define SP_MODEL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/lock.h"

#define SP_NONE UINT32_MAX

struct sp_str {
	const char *p; /* UTF-8, NUL-terminated as well; may hold NUL */
	size_t n;
};

enum sp_region_kind {
	SP_REGION_PYTHON,
	SP_REGION_C,
	SP_REGION_USER,
	SP_REGION_COLLAPSED,
	SP_REGION_PARAMETER, /* not in a model: values of parameters are in its paths */
	SP_REGION_NATIVE,    /* a compiled function */
	SP_REGION_IO,        /* a function of the C library that works on files */
	SP_REGION_OFF,       /* the time in which recording was off */
	SP_REGION_MPI,       /* a function of MPI */
	SP_REGION_ROOT,
	SP_REGION_KINDS
};
extern const char *const sp_region_kind_names[SP_REGION_KINDS]; /* "python", "c", … */

/* What a function of MPI does. */
enum sp_mpi_role {
	SP_MPI_OTHER,
	SP_MPI_POINT2POINT,
	SP_MPI_BARRIER,
	SP_MPI_ONE2ALL,
	SP_MPI_ALL2ONE,
	SP_MPI_ALL2ALL,
	SP_MPI_COLL_OTHER,
	SP_MPI_RMA,
	SP_MPI_FILE_IO,
	SP_MPI_ATOMIC, /* one-sided, and reads or writes what others do at the same time */
	SP_MPI_ALLOCATE,
	SP_MPI_ROLES
};
extern const char *const sp_mpi_role_names[SP_MPI_ROLES]; /* "other", "point2point", … */

/* What Python says of a function's code, where that was asked for. */
struct sp_code {
	uint32_t argcount, nlocals, stacksize;
	int32_t lasti; /* offset of the instruction at which a call begins; -1: before the first */
	bool told;     /* false: all 0 */
};

/* Region 0 is the root ("<root>", kind ROOT). Regions of different processes with the same module, name, file, line and
 * kind are one; USER regions with the same module and name, at the first place that is known. */
struct sp_region {
	struct sp_str module;
	struct sp_str qualname;
	struct sp_str name; /* "module:qualname"; without a module the name alone; NATIVE without one: "object+0x…" */
	struct sp_str file; /* absolute, or "<string>" and the like, or empty; NATIVE: its source or object file */
	uint32_t line;      /* 0: not known */
	uint32_t address;   /* NATIVE: in the object file */
	uint8_t kind;       /* enum sp_region_kind */
	uint8_t role;       /* MPI: enum sp_mpi_role */
	bool generator;     /* a generator, coroutine or async generator: may be suspended */
	struct sp_code code;
};

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

/* The merged call tree. Path 0 is the root; a parent's index is smaller than its children's. Calls with different
 * values of a parameter are different paths below one parent. Where every call of a path got the same values there is
 * that path alone; else their time before the first value is in the path without it. */
struct sp_path {
	uint32_t parent; /* the root's is SP_NONE */
	uint32_t region;
	uint32_t parameter;                 /* index in sp_model.parameter_values: the one set last; SP_NONE: none */
	uint32_t first_child, next_sibling; /* SP_NONE: none */
};

/* Time covers calls and resumptions, and frames that were open before recording began, which are no calls. */
struct sp_value {
	uint64_t visits;
	uint64_t resumed;
	double incl, excl; /* ns */
	double min, max;   /* ns, of single durations; both 0 when visits + resumed is 0 */
	double sumsq;      /* ns^2 */
};

/* Of a row: the sum of its single durations, which min, max and sumsq speak of. */
double sp_value_each(const struct sp_value *v);

struct sp_row {
	uint32_t path;
	struct sp_value v;
};

/* A value that a parameter had in a call. */
struct sp_parameter_value {
	uint32_t parameter; /* index in sp_model.parameters */
	uint32_t kind;      /* SP_EVENT_PARAMETER_INT, _UINT or _STRING */
	struct sp_str text; /* numbers in decimal */
	uint32_t before;    /* the parameter that was set before it in the same call, or SP_NONE */
};

/* A quantity that is counted beside the time. */
struct sp_metric {
	struct sp_str name, unit, what;
	int exponent; /* the unit is 10^exponent of `unit` */
	uint8_t kind; /* enum sp_metric_kind */
	bool own;     /* exclusive: counted by the region itself; otherwise callees are included */
	bool level;   /* a height that was reached, not a count: in events it stands for itself */
};
/* Others are damage; whoever counts up to one would take forever. */
static inline bool sp_metric_exponent(int exponent)
{
	return exponent >= -30 && exponent <= 30;
}
enum sp_metric_kind {
	SP_METRIC_RUSAGE,
	SP_METRIC_PAPI,
	SP_METRIC_PERF,
	SP_METRIC_BYTES,
	SP_METRIC_WAIT,
	SP_METRIC_SAMPLE,
	SP_METRIC_MEMORY,
	SP_METRIC_KINDS
};
extern const char *const sp_metric_kind_names[SP_METRIC_KINDS]; /* "rusage", … */

/* A file, socket, … while it is open in a process. */
struct sp_io_handle {
	uint32_t process;
	struct sp_str path; /* empty: not known */
	uint32_t flags;     /* of open(2) */
	bool mpi;           /* a file of MPI, opened by */
	uint32_t comm;      /* this communicator; SP_NONE: not known */
};

/* Several processes, by their rank in something; SP_NONE: one that was not measured. */
struct sp_group {
	uint32_t *processes; /* indices */
	uint32_t n;
	uint64_t *unmeasured; /* NULL: none is told; of those that were not measured: sp_unmeasured(world, rank) */
};
/* The index of a world and a rank in it; a member of which not even that is known has UINT64_MAX. */
static inline uint64_t sp_unmeasured(uint32_t world, uint32_t rank)
{
	return (uint64_t)world << 32 | rank;
}

/* The processes that share an MPI_COMM_WORLD, by their rank. */
struct sp_world {
	uint64_t id;
	struct sp_group ranks;
};

/* A communicator of MPI. The COMM_SELF of each process is one of its own. Members may be shared with other ones. */
struct sp_comm {
	struct sp_str name; /* may be empty */
	uint32_t parent;    /* index; SP_NONE: none, or not known */
	struct sp_group
	    group; /* of an intercommunicator: the one of the known member with the smallest process index */
	struct sp_group remote;
	bool inter, self, world;
	bool incomplete; /* some members are not known, because a process was not measured or its file is damaged */
	uint32_t *cart;  /* size and periodicity of each dimension, NULL: no cartesian topology */
	uint32_t cart_dims;
	struct sp_str cart_name;
	uint32_t *coordinates; /* cart_dims for each member; SP_NONE: not known */
};

/* A window of MPI's one-sided communication. */
struct sp_win {
	struct sp_str name;
	uint32_t comm;
};

enum sp_task_state { /* as SP_RAW_TASK_… */
	             SP_TASK_WAITING,
	             SP_TASK_RUNNING,
	             SP_TASK_RETURNED,
	             SP_TASK_RAISED,
	             SP_TASK_CANCELLED,
	             SP_TASK_DROPPED,
	             SP_TASK_STATES
};
extern const char *const sp_task_state_names[SP_TASK_STATES];

/* What tasks waited for. */
struct sp_task_wait {
	uint32_t region; /* of the innermost coroutine; SP_NONE: not known */
	uint32_t kind;   /* string: the type of what it awaited; SP_NONE: not told */
	uint64_t count, ns;
};

/* A task of asyncio and the like, of which no more than so many have records of their own. */
struct sp_task {
	uint32_t process, number;     /* from 1 in each process */
	struct sp_str name;           /* may be empty */
	uint32_t region;              /* of its outermost coroutine; SP_NONE: not known */
	uint32_t location;            /* that ran it last */
	uint32_t creator;             /* a task; SP_NONE: none, or not known */
	uint32_t by;                  /* the location in which it was created; SP_NONE: not known */
	uint8_t state;                /* enum sp_task_state, at the end of the recording */
	bool seen_created;            /* otherwise `created` is its begin */
	uint64_t created, begin, end; /* ns since sp_model.begin_ns */
	uint64_t running, waiting;    /* ns, since its begin */
	uint64_t steps;               /* begin and resumptions */
	struct sp_task_wait *waits;   /* those that took longest */
	uint32_t n_waits;
};

/* The sums over tasks without a record, by region; SP_NONE: those that were created and never began. */
struct sp_task_rest {
	uint32_t process, region;
	uint64_t tasks, steps, running, waiting;
	uint64_t ended[4]; /* from SP_TASK_RETURNED on */
};

/* What all tasks of a region waited for at one call path, with record or without. */
struct sp_task_awaited {
	uint32_t process, region;
	struct sp_task_wait wait;
	uint64_t longest;      /* ns */
	struct sp_stack stack; /* where, from the root of its thread to the innermost coroutine; empty: not known */
};

/* Work given to the threads of pools. */
struct sp_handed {
	uint64_t given, taken;
	uint64_t ns, longest; /* from one to the other */
};

/* What a location did in one line of a function. Where a function is called again while it is open, its inner calls are
 * in their own lines only. */
struct sp_line {
	uint32_t location; /* SP_NONE: of several, see model/report/lines.h */
	uint32_t region;
	uint32_t line;    /* of the region's file */
	uint64_t hits;    /* how often it began */
	uint64_t own;     /* ns in the line itself */
	uint64_t callees; /* ns in what it called */
};

/* What one line of a call path allocated with one allocator. */
struct sp_site {
	uint32_t location, path;
	uint32_t region, line;               /* line of that region's file; region SP_NONE: not known */
	uint32_t own_region, own_line;       /* where the program called it, if region is a library's; SP_NONE */
	uint8_t kind;                        /* enum sp_raw_heap_kind */
	uint32_t grown;                      /* in how many slices of time `high` grew */
	uint64_t count, bytes;               /* allocated */
	uint64_t freed, freed_bytes;         /* of these, to the end of the process */
	uint64_t elsewhere;                  /* blocks of `freed` that another thread released */
	uint64_t temporary, temporary_bytes; /* released after at most N others of that size class */
	uint64_t peak, peak_bytes;           /* live when the process had most */
	uint64_t high;                       /* the most bytes that were live at once */
	uint64_t first, last; /* ns since begin_ns: of the first allocation, and when `high` grew last, by slices */
	uint64_t left, left_bytes; /* live when the program had ended, before the interpreter does */
};

struct sp_heap_point {
	uint64_t time; /* ns since begin_ns */
	uint64_t bytes, blocks, resident;
};

/* The heap of a process. Times are ns since begin_ns, UINT64_MAX: never. */
struct sp_heap {
	bool there;
	uint64_t bytes, blocks; /* live at the end of the process */
	uint64_t peak_bytes, peak_blocks, peak_time;
	uint64_t count, allocated, freed, freed_bytes;
	uint64_t unknown;          /* released, but not known: from before, or lost */
	uint64_t lost, lost_bytes; /* allocated, but not recorded */
	uint64_t unnamed;          /* frames that took their caller's place */
	uint64_t sample;           /* mean bytes between two that were recorded; 0: all were */
	uint64_t own;              /* bytes that recording took */
	uint64_t cost;             /* ns that it took in all threads together, about; 0: not known */
	uint64_t begin, ended;
	uint64_t resident, resident_peak, resident_peak_time;
	uint64_t limit; /* bytes; 0: none */
	uint64_t passes, passed;
	uint64_t over;                                    /* ns above the limit, all together */
	uint32_t passed_path, passed_region, passed_line; /* where it was passed first; SP_NONE: not known */
	struct sp_heap_point *points;
	size_t n_points;
};

struct sp_problem {
	struct sp_str text; /* "raw/h-12-0.raw at 0x5000: …" */
};

struct sp_model {
	struct sp_str dir;
	uint64_t begin_ns; /* since the epoch: the earliest start of a process */
	uint64_t end_ns;   /* since the epoch */
	struct sp_region *regions;
	size_t n_regions;
	struct sp_process *processes;
	size_t n_processes;
	struct sp_child *children;
	size_t n_children;
	struct sp_location *locations;
	size_t n_locations;
	struct sp_path *paths;
	size_t n_paths;
	struct sp_value *totals; /* for each path, summed over all locations */
	double *each;            /* of these the sum of all single durations: mean = each / (visits + resumed) */
	struct sp_row *values;   /* for each location a sorted run of rows; see sp_model_rows() */
	size_t n_values;
	struct sp_str *counters, *parameters, *strings; /* definitions that events refer to */
	size_t n_counters, n_parameters, n_strings;
	struct sp_parameter_value *parameter_values;
	size_t n_parameter_values;
	struct sp_metric *metrics;
	size_t n_metrics;
	uint64_t *row_metrics; /* n_metrics for each row of values; NULL: there are none */
	uint64_t
	    *total_metrics; /* n_metrics for each path; of the root, and of what is not own, the sum of its children */
	struct sp_io_handle *io_handles;
	size_t n_io_handles;
	struct sp_world *worlds; /* in the order of their first processes */
	size_t n_worlds;
	struct sp_comm *comms;
	size_t n_comms;
	struct sp_win *wins;
	size_t n_wins;
	struct sp_group *groups; /* that events RMA_GROUP_SYNC refer to */
	size_t n_groups;
	struct sp_task *tasks; /* by process and number */
	size_t n_tasks;
	struct sp_task_rest *task_rests;
	size_t n_task_rests;
	struct sp_task_awaited *task_awaited;
	size_t n_task_awaited;
	struct sp_handed handed; /* in all processes */
	struct sp_line *lines;   /* by location, region, line; each once */
	size_t n_lines;
	struct sp_site *sites; /* NULL: none, or from the merged file */
	size_t n_sites;
	struct sp_heap *heaps; /* of each process; NULL as sites */
	struct sp_lock *locks; /* by process and number */
	size_t n_locks;
	struct sp_lock_wait *lock_waits; /* by location and number */
	size_t n_lock_waits;
	struct sp_lock_circle *lock_circles; /* those that were interrupted first */
	size_t n_lock_circles;
	struct sp_problem *problems; /* damage found and survived */
	size_t n_problems;
	bool traced;
	bool compensated;              /* the cost of measuring was taken out of all times */
	struct sp_model_private *priv; /* owned */
};

enum {
	SP_MODEL_COMPENSATE = 1, /* take the measured cost of measuring out of all times */
	SP_MODEL_RAW = 2         /* from the raw files, also where they have been merged */
};                               /* flags */

/* Loads the experiment in directory dir, from its merged file if that is there and current. Damage that leaves
 * something to read becomes a problem in the model, a directory without one readable process an error. Returns 0, or -1
 * with e set. */
int sp_model_load(struct sp_model **out, const char *dir, unsigned flags, struct sp_err *e);
void sp_model_free(struct sp_model *m);
/* To be called before sp_model.values and row_metrics are looked at: those of a merged experiment are not checked
 * before they are needed. If they are damaged, they are made anew from the raw files. */
int sp_model_rows(const struct sp_model *m, struct sp_err *e);

enum sp_event_kind {
	SP_EVENT_ENTER,
	SP_EVENT_LEAVE,
	SP_EVENT_RESUME,
	SP_EVENT_SUSPEND,
	SP_EVENT_INHERIT,
	SP_EVENT_COUNTER,
	SP_EVENT_PARAMETER_INT,
	SP_EVENT_PARAMETER_UINT,
	SP_EVENT_PARAMETER_STRING,
	SP_EVENT_MARKER,
	SP_EVENT_OFF,
	SP_EVENT_ON,
	SP_EVENT_LOST,
	SP_EVENT_METRIC, /* one for each metric that is not own, together before the enter or leave they belong to */
	SP_EVENT_IO_CREATE,
	SP_EVENT_IO_DESTROY,
	SP_EVENT_IO_DUP,
	SP_EVENT_IO_SEEK,
	SP_EVENT_IO_BEGIN,
	SP_EVENT_IO_COMPLETE,
	SP_EVENT_IO_ISSUED,
	SP_EVENT_IO_DELETE,
	SP_EVENT_MPI_SEND, /* from here to RMA_LOCK in the order of enum sp_raw_extra; id: communicator or window */
	SP_EVENT_MPI_RECV,
	SP_EVENT_MPI_ISEND,
	SP_EVENT_MPI_ISEND_COMPLETE,
	SP_EVENT_MPI_IRECV_REQUEST,
	SP_EVENT_MPI_IRECV,
	SP_EVENT_MPI_REQUEST_TEST,
	SP_EVENT_MPI_REQUEST_CANCELLED,
	SP_EVENT_COLLECTIVE_BEGIN,
	SP_EVENT_COLLECTIVE_END,
	SP_EVENT_NBC_REQUEST,
	SP_EVENT_NBC_COMPLETE,
	SP_EVENT_COMM_CREATE,
	SP_EVENT_COMM_DESTROY,
	SP_EVENT_WIN_CREATE,
	SP_EVENT_WIN_DESTROY,
	SP_EVENT_RMA_PUT,
	SP_EVENT_RMA_GET,
	SP_EVENT_RMA_ATOMIC,
	SP_EVENT_RMA_COMPLETE,
	SP_EVENT_RMA_GROUP_SYNC,
	SP_EVENT_RMA_COLLECTIVE_BEGIN,
	SP_EVENT_RMA_COLLECTIVE_END,
	SP_EVENT_RMA_LOCK,
	SP_EVENT_THREAD_CREATE, /* id: the location that began then; SP_NONE: not known */
	SP_EVENT_THREAD_JOIN,   /* id: the location waited for, as above; uint: ns waited until now */
	SP_EVENT_TASK_CREATE,   /* id: a task, as of the next three */
	SP_EVENT_TASK_SWITCH,   /* the location runs it from now on; SP_NONE: none */
	SP_EVENT_TASK_END,      /* uint: enum sp_task_state; a switch follows */
	SP_EVENT_TASK_AWAITS,   /* first: region, second: string, as in sp_task_wait; a switch follows */
	SP_EVENT_GIL_WAIT,      /* uint: ns waited for the global interpreter lock until now */
	SP_EVENT_HANDOVER,      /* first: 0 given 1 taken, second: a number that both have, in each process */
	/* Waits begin and end as calls do, within each other and within the calls that are open; id: a lock; SP_NONE:
	 * nothing that is told apart. first: enum sp_lock_kind; second: of BEGIN an index in sp_model.lock_waits, or
	 * SP_NONE, of END enum sp_wait_end */
	SP_EVENT_WAIT_BEGIN,
	SP_EVENT_WAIT_END,
	SP_EVENT_LOCK_ACQUIRE, /* id: a lock, that the location holds now; uint: for the so-manieth time; 0: not told */
	SP_EVENT_LOCK_RELEASE  /* uint: as of its acquire, which may be of another location, or before the trace */
};

/* sp_mpi.root where it is no rank */
enum {
	SP_ROOT_NONE = -1,
	SP_ROOT_SELF = -2, /* of an intercommunicator: this process */
	SP_ROOT_GROUP = -3 /* of an intercommunicator: another one of this group */
};
/* sp_mpi.what of SP_EVENT_RMA_COMPLETE and SP_EVENT_RMA_LOCK */
enum sp_rma_complete { SP_RMA_BLOCKING, SP_RMA_NON_BLOCKING, SP_RMA_TEST, SP_RMA_REMOTE };
enum sp_rma_lock { SP_LOCK_REQUEST, SP_LOCK_ACQUIRE, SP_LOCK_TRY, SP_LOCK_RELEASE };
/* sp_io.flags */
enum { SP_IO_NON_BLOCKING = 1, SP_IO_COLLECTIVE = 2 };

/* What an event of MPI says; what does not belong to its kind is 0. Collective operations, types of atomics and of
 * locks, and levels of synchronisation have the numbers of OTF2. */
struct sp_mpi {
	/* Whose ranks peer and root are: the members of the communicator or window, or the remote group of an
	 * intercommunicator as this process sees it. NULL where the event names none. */
	const struct sp_group *peers;
	uint32_t peer; /* receiver, sender, target; below peers->n; of a lock also SP_NONE: all of them */
	int32_t tag;
	uint64_t bytes;   /* of a message, put or get */
	uint64_t request; /* unique in the process */
	uint32_t what;    /* collective operation, atomic type, kind of completion or of lock action */
	int32_t root;     /* rank, below peers->n, or SP_ROOT_… */
	uint32_t level;   /* of synchronisation */
	uint32_t type;    /* of a lock */
	uint32_t group;   /* index in sp_model.groups */
	uint64_t sent, received;
	uint64_t matching; /* also the number of a lock */
};

/* What an event of file I/O says; what does not belong to its kind is 0. */
struct sp_io {
	uint32_t mode;   /* begin: 0 read, 1 write, 2 flush; seek: whence; delete: 0 a file, 1 a file of MPI */
	uint32_t flags;  /* begin: SP_IO_… */
	uint32_t to;     /* dup: the new handle */
	int64_t asked;   /* seek: offset asked for; begin: bytes */
	uint64_t offset; /* begin: where, seek: reached; UINT64_MAX: not told, or it failed */
	uint64_t bytes;  /* complete: UINT64_MAX: it failed */
	/* begin, issued, complete: what belongs together in a process; 0: the next complete in the same location does
	 */
	uint64_t matching;
};

struct sp_event {
	uint64_t time; /* ns since sp_model.begin_ns; never smaller than the one before in its location */
	uint32_t kind; /* enum sp_event_kind */
	uint32_t id;   /* region, counter, parameter, metric, I/O handle, string of a marker or of a deleted file */
	union {
		double real;
		int64_t sint;
		uint64_t uint;
		uint32_t string;
		struct {
			uint32_t first, second;
		} pair;
		const struct sp_io *io;   /* until the next sp_events_read() */
		const struct sp_mpi *mpi; /* the same */
	} u;
};

/* Whether a process says what its threads did when: it was traced, or sampled, whose stacks come and go as if their
 * functions were entered and left when they were seen. */
static inline bool sp_process_has_events(const struct sp_process *p)
{
	return p->traced || p->sampled;
}
bool sp_model_has_events(const struct sp_model *m);

/* The trace of one location, in order. Enters and leaves are balanced: what was open at the end is left at the
 * location's end, with u.uint 1 in the event, a leave without its enter does not appear. */
struct sp_events;
int sp_events_open(struct sp_events **out, const struct sp_model *m, uint32_t location, struct sp_err *e);
/* Fills up to n events; returns how many, 0 at the end, -1 on error. */
long sp_events_read(struct sp_events *s, struct sp_event *out, size_t n, struct sp_err *e);
void sp_events_close(struct sp_events *s);
/* Number of event words recorded for a location, an upper bound of its events; for progress bars. */
uint64_t sp_events_count(const struct sp_model *m, uint32_t location);

#endif
