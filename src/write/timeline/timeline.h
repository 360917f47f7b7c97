/* SPDX-License-Identifier: BSD-3-Clause */
/* A trace for timeline viewers: tracks with slices, instants, counts and arrows. This component converts events to
 * these once for all such formats; each format is a struct sp_timeline_sink. */
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

/* A named value of a slice or an instant. Texts belong to the model or are constants. */
struct sp_note {
	struct sp_str name;
	uint32_t depth; /* depth of the call it belongs to */
	uint16_t nth;   /* number among the notes of this name in the call, from 1 */
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
	bool in;   /* true: the head */
	bool last; /* the tail is known to exist and to come before this head */
};

/* Kinds of tracks. Tracks are numbered from 1: processes, threads, tasks, counters of processes, metrics of threads,
 * memory of processes. */
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

/* An event other than a plain call. */
struct sp_mark {
	uint64_t time;               /* ns since sp_model.begin_ns */
	const struct sp_track *on;   /* NULL: the track of the thread */
	uint8_t kind;                /* enum sp_mark_kind */
	uint32_t region;             /* gives the name and source location; SP_NONE: no region */
	struct sp_str name;          /* used without a region */
	const char *category, *also; /* also: a second category, or NULL */
	const struct sp_note *notes;
	size_t n_notes;
	const struct sp_flow *flows;
	size_t n_flows;
};

/* The functions that write a format. The sink stores errors until the end. Times never decrease within a thread. */
struct sp_timeline_sink {
	/* Declares a track, before anything else refers to it. */
	void (*track)(void *to, const struct sp_track *t);
	/* Begins a location: following events belong to it; SP_NONE: they belong to no location and are in no order. */
	void (*thread)(void *to, uint32_t location);
	/* A call of the thread: nearly all events are of this kind. */
	void (*enter)(void *to, uint64_t time, uint32_t region);
	void (*leave)(void *to, uint64_t time);
	void (*mark)(void *to, const struct sp_mark *mark);
	void (*count)(void *to, const struct sp_track *t, uint64_t time, double value);
};

/* Maximum number of notes of a call; further ones become instants. */
enum { SP_TIMELINE_NOTES = 64 };

enum { SP_TASK_OPEN = 1 /* a slice in which it waits is open */, SP_TASK_BEGUN = 2 };

struct sp_timeline_flow;
struct sp_timeline_acquisition;

struct sp_timeline {
	const struct sp_model *m;
	const struct sp_write_options *o;
	const struct sp_timeline_sink *sink;
	void *to;
	struct sp_err *e;
	struct sp_pick k;
	struct sp_arena arena;
	struct sp_str *names;  /* for each process */
	uint32_t *pids, *tids; /* for each process and location, all different */
	uint8_t *task_states;  /* for each task: SP_TASK_… */
	bool *counter_seen;    /* for each process and counter */
	struct sp_messages messages;
	struct sp_heaps heaps;
	struct sp_str *lock_names; /* for each lock; NULL: no locks */
	struct sp_str *wait_names; /* for waits for each lock, made at first use; NULL: not made yet */
	struct sp_timeline_acquisition
	    *acquisitions; /* owned; acquisitions that followed a wait, sorted by lock and number */
	size_t n_acquisitions;
	struct sp_timeline_flow *flows; /* ends of messages' arrows, sorted by location and time */
	size_t n_flows;
	uint64_t done, total;

	/* the current location */
	uint32_t location, process;
	bool open;     /* calls that were never left stay open */
	uint64_t last; /* time of the last event */
	uint32_t depth;
	uint32_t waits;        /* number of open waits */
	struct sp_note *notes; /* owned; of the open calls, the innermost last */
	size_t n_notes, note_capacity;
	size_t next_flow;
	uint32_t task;      /* the running task; SP_NONE: no task */
	uint32_t awaits[2]; /* from SP_EVENT_TASK_AWAITS, for the next task that is left */
	uint32_t ended;     /* enum sp_task_state, for the same task; SP_NONE: it continues later */
	uint64_t *metrics;  /* the last value of each metric */
	bool *metric_seen;
};

/* Opens a timeline and sends the whole trace to the sink. Returns 0, or -1 with e set. Call sp_timeline_close() in both
 * cases. */
int sp_timeline_open(struct sp_timeline *t, const struct sp_model *m, const struct sp_write_options *o,
                     struct sp_err *e);
int sp_timeline_send(struct sp_timeline *t, const struct sp_timeline_sink *sink, void *to);
void sp_timeline_close(struct sp_timeline *t);

static inline bool sp_timeline_picked(const struct sp_timeline *t, uint32_t process)
{
	return t->o->process == SP_NONE || t->o->process == process;
}

/* The descriptions of tracks. */
struct sp_track sp_timeline_process(const struct sp_timeline *t, uint32_t process);
struct sp_track sp_timeline_thread(const struct sp_timeline *t, uint32_t location);
struct sp_track sp_timeline_task(const struct sp_timeline *t, uint32_t task);
struct sp_track sp_timeline_counter(const struct sp_timeline *t, uint32_t process, uint32_t counter);
struct sp_track sp_timeline_metric(const struct sp_timeline *t, uint32_t location, uint32_t metric);
/* Assigns unique numbers to processes and threads, by which viewers identify them. Returns 0, or -1: no memory. */
int sp_timeline_number(struct sp_timeline *t);
/* Sends all tracks except those of counters, the data of processes, and their memory. Returns 0, or -1: no memory. */
int sp_timeline_places(struct sp_timeline *t);

/* The notes of one event. */
struct sp_notes {
	struct sp_note all[8];
	size_t n;
};
void sp_notes_text(struct sp_notes *n, const char *name, struct sp_str text);
void sp_notes_uint(struct sp_notes *n, const char *name, uint64_t value);
void sp_notes_int(struct sp_notes *n, const char *name, int64_t value);
/* Adds Python's data of the region's code, under Omnitrace's names, if it was recorded. begins: the call begins (only
 * then lasti is valid). */
void sp_notes_code(struct sp_notes *n, const struct sp_region *r, bool begins);
/* Attaches notes to the innermost call; outside of calls, or if the call has too many notes, makes an instant of this
 * name. */
void sp_timeline_note(struct sp_timeline *t, uint64_t time, const char *name, const char *category,
                      const struct sp_notes *n);
/* Sends an instant of the thread. */
void sp_timeline_instant(struct sp_timeline *t, uint64_t time, const char *name, const char *category,
                         const struct sp_notes *n, const struct sp_flow *flows, size_t n_flows);

/* Kinds of arrows: messages, thread starts, tasks, work for thread pools, from a lock holder to a waiter. */
enum sp_flow_kind { SP_FLOW_MESSAGE = 1, SP_FLOW_THREAD, SP_FLOW_TASK, SP_FLOW_HANDOVER, SP_FLOW_LOCK };
static inline uint64_t sp_flow_id(enum sp_flow_kind kind, uint64_t n)
{
	return (uint64_t)kind << 56 | n;
}

void sp_timeline_io(struct sp_timeline *t, const struct sp_event *ev);
void sp_timeline_task_event(struct sp_timeline *t, const struct sp_event *ev);
/* Call after the last event of the last location of a process. */
void sp_timeline_tasks_end(struct sp_timeline *t);
/* Closes the running step at the end of a location. */
void sp_timeline_task_stop(struct sp_timeline *t, uint64_t time);

/* Finds the names of locks, and acquisitions that followed a wait. Returns 0, or -1 with the timeline's error set. */
int sp_timeline_find_locks(struct sp_timeline *t);
/* Sends an event of locks and waits. */
void sp_timeline_wait(struct sp_timeline *t, const struct sp_event *ev);

/* Matches the messages, if there are any. Returns 0, or -1 with the timeline's error set. */
int sp_timeline_match(struct sp_timeline *t);
void sp_timeline_unmatch(struct sp_timeline *t);
void sp_timeline_mpi(struct sp_timeline *t, const struct sp_event *ev);
/* Sends the begin of an MPI call with arrows to the messages that it sends. Returns false if it sends none. */
bool sp_timeline_mpi_enter(struct sp_timeline *t, const struct sp_event *ev);

#endif
