/* SPDX-License-Identifier: BSD-3-Clause */
/* The trace of a location. */
#ifndef SP_MODEL_EVENT_H
#define SP_MODEL_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/comm.h"
#include "model/model.h"
#include "model/process.h"

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
	SP_EVENT_METRIC, /* one for each inclusive metric, all of them before the enter or leave they belong to */
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
	SP_EVENT_THREAD_CREATE, /* id: the location that began; SP_NONE: unknown */
	SP_EVENT_THREAD_JOIN,   /* id: the location that was joined, as above; uint: ns waited until this event */
	SP_EVENT_TASK_CREATE,   /* id: a task, also in the next three */
	SP_EVENT_TASK_SWITCH,   /* the location runs this task from now on; SP_NONE: no task */
	SP_EVENT_TASK_END,      /* uint: enum sp_task_state; a switch follows */
	SP_EVENT_TASK_AWAITS,   /* first: region, second: string, as in sp_task_wait; a switch follows */
	SP_EVENT_GIL_WAIT,      /* uint: ns waited for the global interpreter lock until this event */
	/* first: 0 the work was given, 1 it was taken; second: a number that both events have, unique in the process */
	SP_EVENT_HANDOVER,
	/* Waits are nested like calls, in each other and in open calls. id: a lock; SP_NONE: no known object. first:
	 * enum sp_lock_kind; second: of BEGIN an index in sp_model.lock_waits, or SP_NONE, of END enum sp_wait_end. */
	SP_EVENT_WAIT_BEGIN,
	SP_EVENT_WAIT_END,
	/* id: a lock that the location holds from now on; uint: its acquisition count; 0: not recorded */
	SP_EVENT_LOCK_ACQUIRE,
	SP_EVENT_LOCK_RELEASE, /* uint: that of its acquire, which may be in another location, or before the trace */
	/* uint: ns of the time since the previous event in which the location did not run, at most all of it; id:
	 * enum sp_off_cpu_kind */
	SP_EVENT_OFF_CPU
};

enum sp_off_cpu_kind { SP_OFF_CPU_WAITING, SP_OFF_CPU_PREEMPTED, SP_OFF_CPU_KINDS };

/* Values of sp_mpi.root that are not ranks. */
enum {
	SP_ROOT_NONE = -1,
	SP_ROOT_SELF = -2, /* of an intercommunicator: this process */
	SP_ROOT_GROUP = -3 /* of an intercommunicator: another process of this group */
};
/* Values of sp_mpi.what in SP_EVENT_RMA_COMPLETE and SP_EVENT_RMA_LOCK. */
enum sp_rma_complete { SP_RMA_BLOCKING, SP_RMA_NON_BLOCKING, SP_RMA_TEST, SP_RMA_REMOTE };
enum sp_rma_lock { SP_LOCK_REQUEST, SP_LOCK_ACQUIRE, SP_LOCK_TRY, SP_LOCK_RELEASE };
/* Flags in sp_io.flags. */
enum { SP_IO_NON_BLOCKING = 1, SP_IO_COLLECTIVE = 2 };

/* Fields of an event of MPI; fields that its kind does not have are 0. Collective operations, types of atomics and of
 * locks, and levels of synchronisation have the numbers of OTF2. */
struct sp_mpi {
	/* The group in which peer and root are ranks: the members of the communicator or window, or the remote group of
	 * an intercommunicator as this process sees it. NULL if the event names no communicator or window. */
	const struct sp_group *peers;
	uint32_t peer; /* rank of the receiver, sender or target, below peers->n; of a lock also SP_NONE: all ranks */
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

/* Fields of an event of file I/O; fields that its kind does not have are 0. */
struct sp_io {
	uint32_t mode;   /* begin: 0 read, 1 write, 2 flush; seek: whence; delete: 0 a file, 1 a file of MPI */
	uint32_t flags;  /* begin: SP_IO_… */
	uint32_t to;     /* dup: the new handle */
	int64_t asked;   /* seek: requested offset; begin: requested bytes */
	uint64_t offset; /* begin: offset in the file, seek: reached offset; UINT64_MAX: not recorded, or it failed */
	uint64_t bytes;  /* complete: UINT64_MAX: it failed */
	/* begin, issued, complete: events of one operation in a process have the same number; 0: the next complete in
	 * the same location belongs to it */
	uint64_t matching;
};

struct sp_event {
	uint64_t time; /* ns since sp_model.begin_ns; not smaller than the previous event's in its location */
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
		const struct sp_io *io;   /* valid until the next sp_events_read() */
		const struct sp_mpi *mpi; /* valid until the next sp_events_read() */
	} u;
};

/* Whether a process has events: it was traced, or it was sampled. Samples become events: functions of a stack are
 * entered and left when samples show them appear and disappear. */
static inline bool sp_process_has_events(const struct sp_process *p)
{
	return p->traced || p->sampled;
}
bool sp_model_has_events(const struct sp_model *m);

/* A reader of the trace of one location, in order. Enters and leaves are balanced: calls that are open at the
 * location's end get a leave there, with u.uint 1 in the event; a leave without its enter is dropped. */
struct sp_events;
int sp_events_open(struct sp_events **out, const struct sp_model *m, uint32_t location, struct sp_err *e);
/* Fills up to n events. Returns their number, 0 at the end, -1 with e set on an error. */
long sp_events_read(struct sp_events *s, struct sp_event *out, size_t n, struct sp_err *e);
void sp_events_close(struct sp_events *s);
/* Number of event words recorded for a location: an upper limit of its events, for progress bars. */
uint64_t sp_events_count(const struct sp_model *m, uint32_t location);

#endif
