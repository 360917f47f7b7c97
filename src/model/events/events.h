/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files that decode events share. */
#ifndef SP_MODEL_EVENTS_EVENTS_H
#define SP_MODEL_EVENTS_EVENTS_H

#include "model/builder/source.h"
#include "model/event.h"
#include "model/events/sampled_events.h"
#include "model/model.h"

/* maximum depth of nested waits, as in signal handlers; more is damage */
enum { SP_EVENTS_WAITS = 64 };

struct sp_events {
	struct sp_model *m;
	struct sp_event_range *place;
	struct sp_source *source;
	size_t problems; /* number of problems the model had when this was opened */
	struct sp_raw_file *raw;
	const struct sp_raw_thread *thread;
	size_t part;           /* index of the next part of the thread's trace */
	const uint64_t *words; /* the words of the current part */
	size_t n, at;
	uint64_t *buffer; /* owned; buffer for unpacked words */
	uint64_t ticks, ns;
	uint64_t end;    /* ns */
	uint32_t *stack; /* owned; the open regions */
	size_t depth, stack_capacity;
	size_t keep;      /* leave regions until this number is open; SIZE_MAX: no region has to be left */
	size_t metric;    /* of the METRICS event being read: index of the next value */
	struct sp_io *io; /* owned; one element for each event of a call */
	size_t n_io, io_capacity;
	struct sp_mpi *mpi; /* owned; as io */
	size_t n_mpi, mpi_capacity;
	struct sp_events_wait {
		uint32_t lock, kind;
		size_t depth;     /* number of open regions when the wait began */
	} waits[SP_EVENTS_WAITS]; /* the open waits, innermost last */
	unsigned n_waits;
	/* a wait for the GIL ended last, and the next GIL_WAIT reports the same wait */
	bool gil;
	/* time of the last GIL_WAIT and of the event before it, which the off-CPU time behind it begins with;
	 * UINT64_MAX: none */
	uint64_t gil_ns, gil_since;
	bool again;                        /* the current word makes two events and is read a second time */
	bool quiet;                        /* damage is not reported, and nothing in the model changes */
	bool stays;                        /* pages that were read stay in memory */
	struct sp_sampled_events *sampled; /* owned; events made of samples replace the trace; NULL: not used */
	uint64_t forced;                   /* number of leaves that were added because their caller was left */
	uint64_t dropped;                  /* number of leaves that were dropped because their region was not open */
};

/* A position in a trace. The reader of the trace has to keep the list of regions open there. */
struct sp_events_position {
	uint64_t ticks, ns;
	size_t part, at;
};

/* Opens a location's trace for reading from a raw file of the caller, in parallel with other readers. raw NULL: use the
 * model's own file, which is open. Returns 0, or -1 with e set. */
int sp_events_open_quiet(struct sp_events **out, const struct sp_model *m, uint32_t location, struct sp_raw_file *raw,
                         struct sp_err *e);
/* Stores the current position. Returns false inside a word that makes several events, where reading cannot resume. */
bool sp_events_position(const struct sp_events *s, struct sp_events_position *place);
/* Moves to a position. Returns the array of open regions, with room for n, for the caller to fill, outermost first;
 * NULL with e set on an error. */
uint32_t *sp_events_seek(struct sp_events *s, const struct sp_events_position *place, size_t n, struct sp_err *e);

/* The model's index of an id of the process, plus 1; 0: undefined. */
static inline uint32_t sp_events_id(const struct sp_ids *ids, uint64_t id)
{
	return id < ids->n ? ids->to[id] : 0;
}

/* Table from enum sp_raw_event of enters and leaves to enum sp_event_kind. */
extern const uint8_t sp_events_kinds[8];
/* Reads words as long as each is a plain enter, or a plain leave of the innermost open region, at most n. Returns their
 * number. */
size_t sp_events_plain(struct sp_events *s, struct sp_event *out, size_t n);

/* Decodes an event that the program itself recorded; payload: complete. Returns 1: an event; -1: damage. */
int sp_events_user(struct sp_events *s, uint32_t what, const uint64_t *payload, struct sp_event *out);
/* Decode events of file I/O, of MPI, of threads and tasks, of waits. words: payload of the event, whose kind must
 * belong to the function. Return 1: an event; 0: no event; SP_EVENTS_AGAIN: an event, and the same word has to be read
 * again; -1: damage. */
enum { SP_EVENTS_AGAIN = 2 };
int sp_events_io(struct sp_events *s, uint32_t what, uint32_t words, const uint64_t *payload, struct sp_event *out);
int sp_events_mpi(struct sp_events *s, uint32_t what, uint32_t words, const uint64_t *payload, struct sp_event *out);
int sp_events_task(struct sp_events *s, uint32_t what, uint32_t words, const uint64_t *payload, struct sp_event *out);
int sp_events_wait(struct sp_events *s, uint32_t what, uint32_t words, const uint64_t *payload, struct sp_event *out);
/* Limits the off-CPU time of an event to the time since the event before, whose time is `before` (ns); that of a wait
 * for the GIL begins before the GIL_WAIT in front of it. Call for each event of a rare kind. */
void sp_events_limit_off_cpu(struct sp_events *s, uint64_t before, struct sp_event *out);
/* Makes the end event of the innermost wait, which has no end in the trace. how: enum sp_wait_end. */
void sp_events_end_wait(struct sp_events *s, unsigned how, struct sp_event *out);
/* Whether the innermost wait began in the innermost call, or outside all calls: then it ends before that call does. */
static inline bool sp_events_waits(const struct sp_events *s)
{
	return s->n_waits && s->waits[s->n_waits - 1].depth >= s->depth;
}

#endif
