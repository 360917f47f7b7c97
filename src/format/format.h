/* SPDX-License-Identifier: BSD-3-Clause */
/* The structs of the raw format. FORMAT.md specifies their meaning; a change here is a new version there. */
#ifndef SP_FORMAT_FORMAT_H
#define SP_FORMAT_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include "format/tallies.h"
#include "format/waits.h"

#define SP_RAW_MAGIC       "SPARTITO"
#define SP_RAW_VERSION     10u
#define SP_RAW_SUMS        6u /* the first version with checksums */
#define SP_RAW_ALL_SUMS    9u /* from here on, a header with a checksum means that all chunks have one */
#define SP_RAW_BYTE_ORDER  0x01020304u
#define SP_RAW_PAGE        4096u
#define SP_RAW_CHUNK_MAGIC 0x4b4e4843u /* "CHNK" */
#define SP_RAW_NONE        0xffffffffu
/* suffixes of file names; the second: samples by another process, of the process with the file of the same name */
#define SP_RAW_SUFFIX  ".raw"
#define SP_RAW_SAMPLES ".samples" SP_RAW_SUFFIX

enum sp_raw_clock { SP_RAW_CLOCK_MONOTONIC = 0, SP_RAW_CLOCK_TSC = 1, SP_RAW_CLOCK_CNTVCT = 2 };
enum sp_raw_ended {
	SP_RAW_RUNNING = 0,
	SP_RAW_ENDED_NORMAL = 1,
	SP_RAW_ENDED_STOPPED = 2,
	SP_RAW_ENDED_EXITED = 3, /* by os._exit() */
	SP_RAW_ENDED_EXEC = 4    /* replaced by another program */
};
enum sp_raw_start {
	SP_RAW_STARTED_EXEC = 0,
	SP_RAW_STARTED_FORK = 1,
	SP_RAW_STARTED_API = 2,
	SP_RAW_STARTED_SAMPLER = 3 /* a sampler of process pid wrote the file */
};
enum { SP_RAW_FLAG_TRACE = 1, SP_RAW_FLAG_PAUSED = 2 }; /* flags in sp_raw_header.flags */

/* One point in time on three clocks. */
struct sp_raw_sync {
	uint64_t ticks;
	uint64_t mono_ns;
	uint64_t real_ns;
};

struct sp_raw_header {
	char magic[8];
	uint32_t byte_order;
	uint32_t version;
	uint32_t header_bytes;
	uint32_t flags;
	uint32_t clock; /* enum sp_raw_clock */
	uint32_t ended; /* enum sp_raw_ended */
	uint32_t start; /* enum sp_raw_start */
	int32_t pid;
	int32_t ppid;       /* STARTED_SAMPLER: id of the process that writes the file */
	uint32_t locations; /* number created up to now */
	uint32_t regions;   /* highest region id up to now */
	uint32_t sampler;   /* process id of its sampler; 0: it did not ask for one */
	uint64_t bytes;     /* reserved in the file up to now; data after that are ignored */
	struct sp_raw_sync first;
	struct sp_raw_sync last;
	uint64_t end_ticks; /* 0 until the end */
	/* the measurement overhead in picoseconds: inside the region's interval, and outside it (in the caller's) */
	uint64_t cost_in_ps;
	uint64_t cost_out_ps;
	/* losses of the whole process; sp_raw_location has those of one location */
	uint64_t lost_threads; /* threads without a location */
	uint64_t lost_regions; /* regions that could not be defined; recorded as region 0 */
	uint64_t lost_bytes;   /* trace bytes dropped because of the memory limit or a full disk */
	uint32_t lost_reason;  /* enum sp_raw_reason of the first loss */
	int32_t lost_errno;    /* its errno, or 0 */
	uint64_t memory_limit; /* bytes; 0: no limit */
	char host[128];
	uint64_t lost_children;      /* forked children without a file, and their children; before version 6: 0 */
	int32_t lost_children_errno; /* errno of the first of them; or SP_RAW_ERRNO_CLONE */
	uint32_t sum;                /* checksum of the header; 0: no checksum; since version 6 */
};
_Static_assert(sizeof(struct sp_raw_header) == 320, "raw header");

/* Instead of an errno: a raw clone(), which calls no handlers, created the process. */
#define SP_RAW_ERRNO_CLONE (-1)

enum sp_raw_reason {
	SP_RAW_REASON_NONE = 0,
	SP_RAW_REASON_MEMORY = 1, /* the memory limit, with --when-full stop */
	SP_RAW_REASON_DISK = 2,   /* the file could not grow: see lost_errno */
	SP_RAW_REASON_HOOK = 3,   /* another tool removed the hook */
	SP_RAW_REASON_INTERNAL = 4,
	SP_RAW_REASON_METRICS = 5 /* metrics of a thread could not be read: see lost_errno */
};

enum sp_raw_chunk_type {
	SP_RAW_DEFS = 1,
	SP_RAW_LOCATION = 2,
	SP_RAW_NODES = 3,
	SP_RAW_EVENTS = 4,
	SP_RAW_STACK = 5,
	SP_RAW_EVENTSZ = 6,
	SP_RAW_FREE = 7,
	SP_RAW_LINES = 8,
	SP_RAW_LINE_STACK = 9,
	SP_RAW_SITES = 10,
	SP_RAW_HEAP = 11,
	SP_RAW_SERIES = 12,
	SP_RAW_WAITS = 13,
	SP_RAW_OBJECTS = 14,
	SP_RAW_OFF_CPU = 15,
	SP_RAW_TALLIES = 16,
	SP_RAW_CHUNK_TYPES
};

struct sp_raw_chunk {
	uint32_t magic;
	uint32_t type;     /* enum sp_raw_chunk_type */
	uint32_t location; /* SP_RAW_NONE: the whole process */
	uint32_t seq;      /* number among the chunks of this type and location */
	uint64_t bytes;    /* whole chunk, with header */
	uint64_t used;
	uint64_t base;
	uint64_t address;     /* address of the chunk in the process that wrote it */
	uint64_t reserved[1]; /* for the writer only */
	/* lower half: EVENTSZ: number of words; 0: not recorded; upper half: checksum; 0: no checksum */
	uint64_t words;
};
_Static_assert(sizeof(struct sp_raw_chunk) == 64, "raw chunk");

struct sp_raw_node {
	uint32_t parent; /* index; SP_RAW_NONE for the root */
	uint32_t region;
	uint64_t visits;
	uint64_t resumed;
	uint64_t incl; /* ticks */
	uint64_t min;
	uint64_t max;
	double sumsq;   /* ticks^2 */
	uint64_t child; /* writer's pointer to the child that was used last */
};
_Static_assert(sizeof(struct sp_raw_node) == 64, "raw node");

/* Follows a node, in the place of another node, and has values of the node's metrics. */
enum { SP_RAW_VALUES = 7 };
struct sp_raw_values {
	uint32_t none;  /* SP_RAW_NONE, in the position of a node's parent */
	uint32_t first; /* column of value[0] */
	uint64_t value[SP_RAW_VALUES];
};
_Static_assert(sizeof(struct sp_raw_values) == sizeof(struct sp_raw_node), "raw values");

enum {
	/* open since before recording began: it has time, but no visit, minimum or maximum */
	SP_RAW_FRAME_INHERITED = 1,
	SP_RAW_FRAME_FORKED = 2,  /* open at a fork, in the child: the same */
	SP_RAW_FRAME_SKIPPED = 4, /* below the depth limit: not recorded; node is that of the nearest recorded caller */
	SP_RAW_FRAME_COLLAPSED = 8, /* in the collapsed node; has time only if the frame below is not collapsed */
	SP_RAW_FRAME_HIDDEN = 16,   /* with SKIPPED: its callees are recorded as those of its caller */
	SP_RAW_FRAME_METRICS = 32,  /* metrics are read at its ends; otherwise ignored */
	/* with SKIPPED and HIDDEN: not a call; an action is due when the frame above it has ended */
	SP_RAW_FRAME_MARK = 64,
	/* functions that it calls are left out; with SKIPPED, it is such a function itself */
	SP_RAW_FRAME_LEFT_OUT = 128
};

struct sp_raw_frame {
	uint64_t enter; /* ticks */
	uint64_t node;  /* writer's pointer */
	uint64_t key;   /* for the writer: identifies the frame at the leave */
	uint64_t frame; /* for the writer: the interpreter's frame, only of inherited frames */
	uint64_t flags;
};
_Static_assert(sizeof(struct sp_raw_frame) == 40, "raw frame");

/* The time of a thread in one line of a function. All 0 except region and line: the line never ran. */
struct sp_raw_line {
	uint32_t region;
	uint32_t line;    /* of the region's file */
	uint64_t hits;    /* number of times the line began */
	uint64_t own;     /* ticks in the line itself */
	uint64_t callees; /* ticks in functions that the line called */
};
_Static_assert(sizeof(struct sp_raw_line) == 32, "raw line");

/* An open call of a function that is recorded line by line. */
struct sp_raw_line_frame {
	uint64_t line;  /* writer's pointer to the sp_raw_line that is running; 0: no line yet */
	uint64_t since; /* ticks; time after this is not in that line yet; 0: the line is complete */
	uint64_t begin; /* ticks; time of its enter or last resumption */
	uint64_t inner; /* ticks since `since` during which an inner call of the same function was open */
	uint64_t calls; /* not 0: the time since `since` belongs to callees of the line; 0: to the line itself */
	uint64_t below; /* the next outer frame of the same function; 0: no such frame */
	uint64_t key;   /* for the writer, as the fields below */
	uint64_t frame;
	uint64_t table;
	uint32_t first, lines;
};
_Static_assert(sizeof(struct sp_raw_line_frame) == 80, "raw frame of lines");

/* The allocator that made a block. */
enum sp_raw_heap_kind {
	SP_RAW_HEAP_MALLOC = 0, /* malloc, calloc, realloc, posix_memalign and the like; new of C++ */
	SP_RAW_HEAP_MMAP = 1,
	SP_RAW_HEAP_PYTHON_RAW = 2, /* this and the next ones: the domains of Python's allocators */
	SP_RAW_HEAP_PYTHON_MEM = 3,
	SP_RAW_HEAP_PYTHON_OBJECT = 4,
	SP_RAW_HEAP_KINDS
};

/* Allocations by one line of a call path with one allocator. Live blocks: count - freed. */
struct sp_raw_site {
	uint64_t node;               /* writer's pointer, as in a frame */
	uint32_t region, line;       /* line: in that region's file; both 0: unknown */
	uint32_t kind;               /* enum sp_raw_heap_kind */
	uint32_t grown;              /* number of time slices in which `high` grew */
	uint64_t count, bytes;       /* allocations */
	uint64_t freed, freed_bytes; /* of these: released, by any thread */
	uint64_t elsewhere;          /* of `freed`: by a different thread */
	/* released by the thread before it allocated more than N others of the same size class (setting temporary); in
	 * files before version 6: before any other */
	uint64_t temporary, temporary_bytes;
	uint64_t epoch; /* epoch of the heap for which peak and peak_bytes are valid */
	/* live at the heap's peak if epoch equals the heap's; otherwise the same as what is live now */
	uint64_t peak, peak_bytes;
	uint64_t high;             /* maximum of live bytes */
	uint64_t first, last;      /* ticks; first allocation; last growth of `high`, in time slices */
	uint64_t left, left_bytes; /* live when the program ended, if the heap's `ended` is not 0 */
	uint32_t slice;            /* for the writer */
	uint32_t number;           /* for the writer */
	/* If `region` is a function of a library: the program's own function that called it, and the line in that file;
	 * both 0: unknown. Missing in files before version 6. */
	uint32_t own_region, own_line;
};
_Static_assert(sizeof(struct sp_raw_site) == 160, "raw site");
static inline size_t sp_raw_site_bytes(uint32_t version)
{
	return version < 6 ? offsetof(struct sp_raw_site, own_region) : sizeof(struct sp_raw_site);
}

/* The heap of a process. Bytes are requested sizes. */
struct sp_raw_heap {
	uint64_t bytes, blocks;           /* live now, of the recorded allocations */
	uint64_t peak_bytes, peak_blocks; /* at the peak of bytes */
	/* if a small block caused the peak: in time slices, as `first` and `last` of sites */
	uint64_t peak_ticks;
	uint64_t epoch;            /* number of peaks */
	uint64_t count, allocated; /* all recorded allocations: blocks, bytes */
	uint64_t freed, freed_bytes;
	uint64_t unknown;          /* released blocks that were allocated before recording began, or not recorded */
	uint64_t lost, lost_bytes; /* allocated, but not recorded: no call path, or no memory */
	uint64_t unnamed;          /* frames that were replaced by their caller, because their code had no name yet */
	uint64_t sample;           /* mean bytes between recorded allocations; 0: all are recorded */
	uint64_t own;              /* bytes of memory that the recording itself takes, in addition to the file */
	uint64_t begin, ended;     /* ticks; first allocation; end of the program, 0: not seen */
	uint64_t slice;            /* nanoseconds */
	uint64_t resident, resident_peak, resident_ticks; /* bytes: last, maximum; ticks of the maximum */
	uint64_t limit;                                   /* of resident bytes; 0: no limit */
	/* ticks; first time that the limit was exceeded, 0: never; total time above it; begin of the current time above
	 * it, 0: not above */
	uint64_t passed, over, since;
	uint64_t passes;
	uint64_t passed_node; /* writer's pointer in the location below; 0: unknown */
	uint32_t passed_location, passed_region, passed_line;
	uint32_t reserved;
	/* ticks that the recording took, for those of its events that were timed; missing in a chunk of 240 bytes */
	uint64_t cost;
};
_Static_assert(sizeof(struct sp_raw_heap) == 248, "raw heap");

/* The heap at one point in time. */
struct sp_raw_point {
	uint64_t ticks;
	uint64_t bytes, blocks;
	uint64_t resident; /* resident bytes of the process, from the system */
};
_Static_assert(sizeof(struct sp_raw_point) == 32, "raw point");

struct sp_raw_location {
	/* the hot cache line: written for every event */
	uint64_t top;  /* writer's pointer to the innermost open frame */
	uint64_t base; /* writer's pointer to frame 0 */
	uint64_t last; /* ticks of the last event */
	uint64_t next; /* writer's pointer to the next event word */
	/* the following fields change rarely */
	uint64_t stack; /* offset of the STACK chunk in the file */
	uint32_t id;
	uint32_t creator; /* location id; SP_RAW_NONE: unknown */
	uint64_t tid;     /* the system's thread id */
	uint64_t begin;   /* ticks */
	uint64_t end;     /* ticks; 0 until the thread has ended */
	uint64_t nodes;   /* number of nodes in use */
	uint64_t lost_events;
	uint64_t lost_paths; /* visits recorded in a collapsed node because of the memory limit */
	uint64_t deeper;     /* calls not recorded because of the depth limit */
	uint64_t unmatched;  /* leaves without an enter */
};
_Static_assert(sizeof(struct sp_raw_location) == 112, "raw location");

#define SP_RAW_KIND_BITS   3
#define SP_RAW_ID_BITS     24
#define SP_RAW_DELTA_SHIFT (SP_RAW_KIND_BITS + SP_RAW_ID_BITS)
#define SP_RAW_ID_MAX      ((1u << SP_RAW_ID_BITS) - 1)
#define SP_RAW_DELTA_MAX   ((UINT64_C(1) << (64 - SP_RAW_DELTA_SHIFT)) - 1)

enum sp_raw_event {
	SP_RAW_END = 0,
	SP_RAW_ENTER = 1,
	SP_RAW_LEAVE = 2,
	SP_RAW_RESUME = 3,
	SP_RAW_SUSPEND = 4,
	SP_RAW_INHERIT = 5,
	SP_RAW_EXTRA = 6
};

enum sp_raw_extra {
	SP_RAW_X_TIME = 1,
	SP_RAW_X_COUNTER = 2,
	SP_RAW_X_PARAMETER_INT = 3,
	SP_RAW_X_PARAMETER_UINT = 4,
	SP_RAW_X_PARAMETER_STRING = 5,
	SP_RAW_X_MARKER = 6,
	SP_RAW_X_OFF = 7,
	SP_RAW_X_ON = 8,
	SP_RAW_X_LOST = 9,
	SP_RAW_X_METRICS = 10,
	SP_RAW_X_IO_CREATE = 11,
	SP_RAW_X_IO_DESTROY = 12,
	SP_RAW_X_IO_DUP = 13,
	SP_RAW_X_IO_SEEK = 14,
	SP_RAW_X_IO_BEGIN = 15,
	SP_RAW_X_IO_COMPLETE = 16,
	SP_RAW_X_IO_ISSUED = 17,
	SP_RAW_X_IO_DELETE = 18,
	SP_RAW_X_MPI_SEND = 20,
	SP_RAW_X_MPI_RECV = 21,
	SP_RAW_X_MPI_ISEND = 22,
	SP_RAW_X_MPI_ISEND_COMPLETE = 23,
	SP_RAW_X_MPI_IRECV_REQUEST = 24,
	SP_RAW_X_MPI_IRECV = 25,
	SP_RAW_X_MPI_REQUEST_TEST = 26,
	SP_RAW_X_MPI_REQUEST_CANCELLED = 27,
	SP_RAW_X_COLLECTIVE_BEGIN = 28,
	SP_RAW_X_COLLECTIVE_END = 29,
	SP_RAW_X_NBC_REQUEST = 30,
	SP_RAW_X_NBC_COMPLETE = 31,
	SP_RAW_X_COMM_CREATE = 32,
	SP_RAW_X_COMM_DESTROY = 33,
	SP_RAW_X_WIN_CREATE = 34,
	SP_RAW_X_WIN_DESTROY = 35,
	SP_RAW_X_RMA_PUT = 36,
	SP_RAW_X_RMA_GET = 37,
	SP_RAW_X_RMA_ATOMIC = 38,
	SP_RAW_X_RMA_COMPLETE = 39,
	SP_RAW_X_RMA_GROUP_SYNC = 40,
	SP_RAW_X_RMA_COLLECTIVE_BEGIN = 41,
	SP_RAW_X_RMA_COLLECTIVE_END = 42,
	SP_RAW_X_RMA_LOCK = 43,
	/* threads and tasks */
	SP_RAW_X_THREAD_CREATE = 50,
	SP_RAW_X_THREAD_JOIN = 51,
	SP_RAW_X_TASK_CREATE = 52,
	SP_RAW_X_TASK_SWITCH = 53,
	SP_RAW_X_TASK_END = 54,
	SP_RAW_X_TASK_AWAITS = 55,
	SP_RAW_X_GIL_WAIT = 56,
	SP_RAW_X_HANDOVER = 57,
	/* samples */
	SP_RAW_X_SAMPLE = 60,
	SP_RAW_X_SAMPLES_END = 61,
	SP_RAW_X_SAMPLE_LINES = 62,
	/* locks and waits */
	SP_RAW_X_WAIT_BEGIN = 64,
	SP_RAW_X_WAIT_END = 65,
	SP_RAW_X_LOCK_ACQUIRE = 66,
	SP_RAW_X_LOCK_RELEASE = 67,
	/* time off the processor; payload: SP_RAW_OFF_CPU_… */
	SP_RAW_X_OFF_CPU = 70
};

/* The numbers are those of OTF2's CollectiveOp, RmaSyncLevel, LockType and RmaAtomicType. */
#define SP_RAW_ROOT_NONE  (-1)
#define SP_RAW_ROOT_SELF  (-2) /* of an intercommunicator: this process is the root */
#define SP_RAW_ROOT_GROUP (-3) /* of an intercommunicator: another process of this group is the root */

enum sp_raw_rma_complete {
	SP_RAW_RMA_BLOCKING = 0,
	SP_RAW_RMA_NON_BLOCKING = 1,
	SP_RAW_RMA_TEST = 2,
	SP_RAW_RMA_REMOTE = 3
};
enum sp_raw_rma_lock { SP_RAW_LOCK_REQUEST = 0, SP_RAW_LOCK_ACQUIRE = 1, SP_RAW_LOCK_TRY = 2, SP_RAW_LOCK_RELEASE = 3 };

/* flags above the mode in the second word of IO_BEGIN; the paradigm in the fourth word of IO_CREATE */
enum { SP_RAW_IO_MODE_MASK = 0xff, SP_RAW_IO_NON_BLOCKING = 0x100, SP_RAW_IO_COLLECTIVE = 0x200 };
enum { SP_RAW_IO_POSIX = 0, SP_RAW_IO_MPI = 1 };

enum sp_raw_io_mode { SP_RAW_IO_READ = 0, SP_RAW_IO_WRITE = 1, SP_RAW_IO_FLUSH = 2 };
#define SP_RAW_IO_FAILED UINT64_MAX /* the result of a failed operation; an unknown offset */

enum sp_raw_def_kind {
	SP_RAW_DEF_META = 1,
	SP_RAW_DEF_REGION = 2,
	SP_RAW_DEF_LOCATION_NAME = 3,
	SP_RAW_DEF_COUNTER = 4,
	SP_RAW_DEF_PARAMETER = 5,
	SP_RAW_DEF_STRING = 6,
	SP_RAW_DEF_METRIC = 7,
	SP_RAW_DEF_COMM = 8,
	SP_RAW_DEF_WIN = 9,
	SP_RAW_DEF_GROUP = 10,
	SP_RAW_DEF_CLOCK = 11,
	SP_RAW_DEF_CART = 12,
	SP_RAW_DEF_TASK = 13,
	SP_RAW_DEF_CHILD = 14,
	SP_RAW_DEF_CODE = 15,
	SP_RAW_DEF_DEADLOCK = 17
};

/* The string of a CODE record: Python's data of a region's code. */
struct sp_raw_code {
	uint32_t argcount, nlocals, stacksize;
	int32_t lasti; /* begin of a call: offset of an instruction, in bytes; -1: before the first */
};
_Static_assert(sizeof(struct sp_raw_code) == 16, "raw code");

/* A run of ranks of an MPI_COMM_WORLD: first, first + 1, … */
struct sp_raw_ranks {
	uint64_t world; /* META mpi_world; 0: unknown */
	uint32_t first;
	uint32_t count;
};

/* The second string of a COMM record. */
struct sp_raw_comm {
	uint64_t id;     /* equal in all members, and unique among the communicators of the world */
	uint64_t parent; /* id; 0: no parent */
	uint32_t size, rank;
	uint32_t remote_size; /* for intercommunicators */
	uint32_t reserved;
};
enum { SP_RAW_COMM_INTER = 1, SP_RAW_COMM_SELF = 2, SP_RAW_COMM_WORLD = 4 }; /* flags of a COMM record */

/* flags of a CHILD record */
enum {
	SP_RAW_CHILD_FORKED = 1,   /* began as a copy of this process */
	SP_RAW_CHILD_ENDED = 2,    /* has ended; status as from waitpid() */
	SP_RAW_CHILD_SIGNALLED = 4 /* this process sent it a signal; status is the signal's number */
};

/* The second string of a CHILD record. */
struct sp_raw_child {
	uint64_t begin; /* ticks; time of its start or of the signal; 0: before the recording */
	uint64_t end;   /* ticks; time at which this process learned of its end; 0: not yet */
	int32_t status;
	uint32_t reserved;
};

/* The string of a CLOCK record: one point in time on two clocks. */
struct sp_raw_clock_sync {
	uint64_t ticks;     /* of this process */
	uint64_t reference; /* ticks of rank 0 of the same world at that time */
	uint64_t error;     /* half the round trip, in ticks of this process */
};

/* The kind of a TASK record, in its flags. */
enum { SP_RAW_TASK_ONE = 0, SP_RAW_TASK_REST = 1, SP_RAW_TASK_AWAITED = 2, SP_RAW_TASK_HANDED = 3 };

enum sp_raw_task_state {
	SP_RAW_TASK_WAITING = 0, /* since its last step or its creation */
	SP_RAW_TASK_RUNNING = 1,
	SP_RAW_TASK_RETURNED = 2,
	SP_RAW_TASK_RAISED = 3,
	SP_RAW_TASK_CANCELLED = 4,
	SP_RAW_TASK_DROPPED = 5 /* destroyed before its end */
};
enum { SP_RAW_TASK_WAITS = 4 };

/* The first string of a TASK record, which is updated while the process runs. Sums are of steps and waits that have
 * ended. */
struct sp_raw_task {
	uint64_t created; /* ticks; 0: not recorded */
	uint64_t begun;
	uint64_t since; /* begin of its state */
	uint64_t running, waiting;
	uint64_t steps;
	uint32_t creator;  /* the task that created it; 0: no task */
	uint32_t by;       /* the location that created it; SP_RAW_NONE: unknown */
	uint32_t location; /* the location that ran it last */
	uint32_t state;    /* enum sp_raw_task_state */
	struct {
		uint32_t region; /* of the innermost coroutine; all 0: no wait */
		uint32_t kind;   /* string: type of the awaited object; 0: not recorded */
		uint64_t count, ticks;
	} waits[SP_RAW_TASK_WAITS]; /* the longest waits */
};
_Static_assert(sizeof(struct sp_raw_task) == 160, "raw task");

/* The sums for tasks without a record. */
struct sp_raw_tasks {
	uint64_t tasks;
	uint64_t ended[4]; /* number of ended tasks by state, from SP_RAW_TASK_RETURNED on */
	uint64_t running, waiting;
	uint64_t steps;
};

/* The first string of an AWAITED record. */
struct sp_raw_awaited {
	uint64_t count, ticks, longest;
	uint32_t kind;     /* string: type of the awaited object; 0: not recorded */
	uint32_t location; /* the location of the node */
	/* writer's pointer to the call path of the innermost coroutine; 0 or invalid: not recorded */
	uint64_t node;
};

/* The first string of a HANDED record. */
struct sp_raw_handed {
	uint64_t given, taken;
	uint64_t ticks, longest; /* ticks from handing over to the start of the work */
};
_Static_assert(sizeof(struct sp_raw_tasks) == 64 && sizeof(struct sp_raw_awaited) == 40 &&
                   sizeof(struct sp_raw_handed) == 32,
               "raw sums of tasks");

/* Role of a region of kind MPI, in b of its definition. */
enum sp_raw_mpi_role {
	SP_RAW_MPI_OTHER = 0,
	SP_RAW_MPI_POINT2POINT = 1,
	SP_RAW_MPI_BARRIER = 2,
	SP_RAW_MPI_ONE2ALL = 3,
	SP_RAW_MPI_ALL2ONE = 4,
	SP_RAW_MPI_ALL2ALL = 5,
	SP_RAW_MPI_COLL_OTHER = 6,
	SP_RAW_MPI_RMA = 7,
	SP_RAW_MPI_FILE_IO = 8,
	SP_RAW_MPI_ATOMIC = 9, /* one-sided, and reads or writes data that others access at the same time */
	SP_RAW_MPI_ALLOCATE = 10
};

/* flags of a METRIC record: the origin of the values, and whether they are exclusive or the growth of a counter
 * during the region, including callees. LEVEL: values in the trace are absolute, not sums since the start */
enum sp_raw_metric_kind {
	SP_RAW_METRIC_RUSAGE = 0,
	SP_RAW_METRIC_PAPI = 1,
	SP_RAW_METRIC_PERF = 2,
	SP_RAW_METRIC_BYTES = 3,
	SP_RAW_METRIC_WAIT = 4,
	SP_RAW_METRIC_SAMPLE = 5,
	SP_RAW_METRIC_MEMORY = 6
};
enum { SP_RAW_METRIC_KIND_MASK = 0xff, SP_RAW_METRIC_EXCLUSIVE = 0x100, SP_RAW_METRIC_LEVEL = 0x200 };

enum sp_raw_region_kind {
	SP_RAW_REGION_PYTHON = 0,
	SP_RAW_REGION_C = 1, /* a C function called from Python */
	SP_RAW_REGION_USER = 2,
	SP_RAW_REGION_COLLAPSED = 3, /* call paths for which the memory limit left no room */
	SP_RAW_REGION_PARAMETER =
	    /* a value of a parameter: a node between a call and the same call with that value */
	4,
	SP_RAW_REGION_NATIVE = 5, /* a compiled function that was built with -finstrument-functions */
	SP_RAW_REGION_IO = 6,     /* a function of the C library that works on files */
	SP_RAW_REGION_OFF = 7,    /* the time in which recording was off */
	SP_RAW_REGION_MPI = 8     /* a function of MPI; its role is in the position of the line */
};

/* flags of a REGION record above the kind: properties of the code object */
enum { SP_RAW_REGION_KIND_MASK = 0xff, SP_RAW_REGION_GENERATOR = 0x100, SP_RAW_REGION_COROUTINE = 0x200 };

struct sp_raw_def {
	uint16_t kind;
	uint16_t flags;
	uint32_t bytes; /* whole record, a multiple of 8 */
	uint32_t a;
	uint32_t b;
	uint32_t len[4]; /* bytes of each string; 0 if unused */
};
_Static_assert(sizeof(struct sp_raw_def) == 32, "raw definition");

#endif
