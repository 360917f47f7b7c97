/* SPDX-License-Identifier: BSD-3-Clause */
/* A trace as viewers of time lines have it: tracks, and on them slices, instants, counts and arrows. What becomes what
 * is decided here once, for all formats of that kind; each of them is a struct sp_timeline_sink. */
#ifndef SP_WRITE_TIMELINE_TIMELINE_H
#define SP_WRITE_TIMELINE_TIMELINE_H

#include "base/arena.h"
#include "model/event.h"
#include "model/model.h"
#include "model/mpi/messages.h"
#include "model/region.h"
#include "model/str.h"
#include "write/common/heap.h"
#include "write/common/out.h"

enum sp_note_kind { SP_NOTE_INT, SP_NOTE_UINT, SP_NOTE_TEXT };

/* Something that is said of a slice or an instant. Texts belong to the model or to the program. */
struct sp_note {
	struct sp_str name;
	uint32_t depth; /* of the call it belongs to */
	uint16_t nth;   /* of this name in the call, from 1 */
	uint8_t kind;   /* enum sp_note_kind */
	union {
		int64_t sint;
		uint64_t uint;
		struct sp_str text;
	} u;
};

/* One end of an arrow. */
struct sp_flow {
	uint64_t id;
	bool in;   /* the head */
	bool last; /* and the tail is known to be there, and to come before it */
};

/* Tracks have numbers: from 1 processes, then threads, tasks, counters of processes, metrics of threads, memory of
 * processes. */
enum sp_track_kind {
	SP_TRACK_ROOT,
	SP_TRACK_PROCESS,
	SP_TRACK_THREAD,
	SP_TRACK_TASK,
	SP_TRACK_COUNTER,
	SP_TRACK_METRIC,
	SP_TRACK_HEAP
};
struct sp_track {
	uint64_t number;   /* 0: the root */
	uint64_t parent;   /* 0: the root */
	uint32_t of;       /* index of the process, location, task, counter, metric; enum sp_heap_what */
	uint32_t process;  /* index */
	uint32_t location; /* of a metric */
	uint8_t kind;      /* enum sp_track_kind */
	struct sp_str name;
};

enum sp_mark_kind { SP_MARK_BEGIN, SP_MARK_END, SP_MARK_INSTANT };

/* Whatever is no plain call. */
struct sp_mark {
	uint64_t time;               /* ns since sp_model.begin_ns */
	const struct sp_track *on;   /* NULL: the track of the thread */
	uint8_t kind;                /* enum sp_mark_kind */
	uint32_t region;             /* named by it, and at its place in the source; SP_NONE: none */
	struct sp_str name;          /* where there is no region */
	const char *category, *also; /* also: a second one, or NULL */
	const struct sp_note *notes;
	size_t n_notes;
	const struct sp_flow *flows;
	size_t n_flows;
};

/* What writes a format. Errors stick in it until the end. Times never go back within a thread. */
struct sp_timeline_sink {
	/* Before anything is said of it. */
	void (*track)(void *to, const struct sp_track *t);
	/* What follows is of this location; SP_NONE: of none, and in no order. */
	void (*thread)(void *to, uint32_t location);
	/* A call of the thread: the path of all but few events. */
	void (*enter)(void *to, uint64_t time, uint32_t region);
	void (*leave)(void *to, uint64_t time);
	void (*mark)(void *to, const struct sp_mark *mark);
	void (*count)(void *to, const struct sp_track *t, uint64_t time, double value);
};

/* How many notes a call has at most: what is said beyond that becomes instants. */
enum { SP_TIMELINE_NOTES = 64 };

enum { SP_TASK_OPEN = 1 /* a slice in which it waits */, SP_TASK_BEGUN = 2 };

struct sp_timeline_flow;
struct sp_timeline_got;

struct sp_timeline {
	const struct sp_model *m;
	const struct sp_write_options *o;
	const struct sp_timeline_sink *sink;
	void *to;
	struct sp_err *e;
	struct sp_pick k;
	struct sp_arena arena;
	struct sp_str *names;  /* of processes */
	uint32_t *pids, *tids; /* of each process and location, unlike all others */
	uint8_t *task_states;  /* of each task: SP_TASK_… */
	bool *counter_seen;    /* of each process and counter */
	struct sp_messages messages;
	struct sp_heaps heaps;
	struct sp_str *lock_names;   /* of each lock; NULL: there are none */
	struct sp_str *wait_names;   /* of waits for each lock, made when met; NULL: none yet */
	struct sp_timeline_got *got; /* owned; when locks were got after a wait, by lock and number */
	size_t n_got;
	struct sp_timeline_flow *flows; /* ends of messages' arrows, by location and time */
	size_t n_flows;
	uint64_t done, total;

	/* of the location being read */
	uint32_t location, process;
	bool open;     /* what was never left stays open */
	uint64_t last; /* time */
	uint32_t depth;
	struct sp_note *notes; /* owned; of the open calls, the innermost last */
	size_t n_notes, note_room;
	size_t next_flow;
	uint32_t task;      /* it runs; SP_NONE: none */
	uint32_t awaits[2]; /* as SP_EVENT_TASK_AWAITS says, of the task that is left next */
	uint32_t ended;     /* enum sp_task_state, of the same; SP_NONE: it goes on */
	uint64_t *metrics;  /* the last value of each */
	bool *metric_seen;
};

/* Sends the whole trace to the sink. 0, or -1 with e set. sp_timeline_close() either way. */
int sp_timeline_open(struct sp_timeline *t, const struct sp_model *m, const struct sp_write_options *o,
                     struct sp_err *e);
int sp_timeline_send(struct sp_timeline *t, const struct sp_timeline_sink *sink, void *to);
void sp_timeline_close(struct sp_timeline *t);

static inline bool sp_timeline_picked(const struct sp_timeline *t, uint32_t process)
{
	return t->o->process == SP_NONE || t->o->process == process;
}

/* What a track is. */
struct sp_track sp_timeline_process(const struct sp_timeline *t, uint32_t process);
struct sp_track sp_timeline_thread(const struct sp_timeline *t, uint32_t location);
struct sp_track sp_timeline_task(const struct sp_timeline *t, uint32_t task);
struct sp_track sp_timeline_counter(const struct sp_timeline *t, uint32_t process, uint32_t counter);
struct sp_track sp_timeline_metric(const struct sp_timeline *t, uint32_t location, uint32_t metric);
/* Numbers for processes and threads, of which viewers know nothing else. */
int sp_timeline_number(struct sp_timeline *t);
/* All tracks but those of counters, what is to be said of processes, and what memory they had. -1: no memory here. */
int sp_timeline_places(struct sp_timeline *t);

/* Notes that one event makes. */
struct sp_notes {
	struct sp_note all[8];
	size_t n;
};
void sp_notes_text(struct sp_notes *n, const char *name, struct sp_str text);
void sp_notes_uint(struct sp_notes *n, const char *name, uint64_t value);
void sp_notes_int(struct sp_notes *n, const char *name, int64_t value);
/* What Python says of the region's code, under Omnitrace's names; nothing, where it was not asked for. lasti belongs to
 * calls that begin. */
void sp_notes_code(struct sp_notes *n, const struct sp_region *r, bool begins);
/* Said of the innermost call; outside of all, or if that has too many, an instant of that name. */
void sp_timeline_say(struct sp_timeline *t, uint64_t time, const char *name, const char *category,
                     const struct sp_notes *n);
/* An instant in the thread. */
void sp_timeline_instant(struct sp_timeline *t, uint64_t time, const char *name, const char *category,
                         const struct sp_notes *n, const struct sp_flow *flows, size_t n_flows);

/* Ends of arrows: of messages, between threads, to tasks, to the threads of pools, from who had a lock to who waited.
 */
enum sp_flow_kind { SP_FLOW_MESSAGE = 1, SP_FLOW_THREAD, SP_FLOW_TASK, SP_FLOW_HANDOVER, SP_FLOW_LOCK };
static inline uint64_t sp_flow_id(enum sp_flow_kind kind, uint64_t n)
{
	return (uint64_t)kind << 56 | n;
}

void sp_timeline_io(struct sp_timeline *t, const struct sp_event *ev);
void sp_timeline_task_event(struct sp_timeline *t, const struct sp_event *ev);
/* Behind the last event of the last location of a process. */
void sp_timeline_tasks_end(struct sp_timeline *t);
/* Closes the step that runs at the end of a location. */
void sp_timeline_task_stop(struct sp_timeline *t, uint64_t time);

/* Finds the names of locks, and which of them were got after a wait. */
int sp_timeline_find_locks(struct sp_timeline *t);
/* An event of locks and waits. */
void sp_timeline_wait(struct sp_timeline *t, const struct sp_event *ev);

/* Matches the messages, if there are any. */
int sp_timeline_match(struct sp_timeline *t);
void sp_timeline_unmatch(struct sp_timeline *t);
void sp_timeline_mpi(struct sp_timeline *t, const struct sp_event *ev);
/* A call of MPI begins: with arrows to the messages that it sends. False: with none. */
bool sp_timeline_mpi_enter(struct sp_timeline *t, const struct sp_event *ev);

#endif
