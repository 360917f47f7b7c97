/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files that decode events share. */
#ifndef SP_MODEL_EVENTS_EVENTS_H
#define SP_MODEL_EVENTS_EVENTS_H

#include "model/builder/source.h"
#include "model/event.h"
#include "model/events/sampled_events.h"
#include "model/model.h"

/* Waits within each other, as in handlers of signals; what is deeper is damage. */
enum { SP_EVENTS_WAITS = 64 };

struct sp_events {
	struct sp_model *m;
	struct sp_place *place;
	struct sp_source *source;
	size_t problems; /* the model had when this was opened */
	struct sp_raw_file *raw;
	const struct sp_raw_thread *thread;
	size_t part;           /* of the thread's; the one being read is the one before */
	const uint64_t *words; /* of that part */
	size_t n, at;
	uint64_t *room; /* owned; of unpacked words */
	uint64_t ticks, ns;
	uint64_t end;    /* ns */
	uint32_t *stack; /* owned; the regions open */
	size_t depth, stack_room;
	size_t keep;      /* leave regions until so many are open; SIZE_MAX: none is to be left */
	size_t metric;    /* of the METRICS event being read: the value that comes next */
	struct sp_io *io; /* owned; room for one for each event of a call */
	size_t n_io, io_room;
	struct sp_mpi *mpi; /* owned; the same */
	size_t n_mpi, mpi_room;
	struct sp_events_wait {
		uint32_t lock, kind;
		size_t depth;     /* regions open when it began */
	} waits[SP_EVENTS_WAITS]; /* that are open, the innermost last */
	unsigned n_waits;
	bool gil;                          /* a wait for the GIL ended last, of which GIL_WAIT tells once more */
	bool again;                        /* a word that says two things is read the second time */
	bool quiet;                        /* nothing is told of damage, and nothing in the model changes */
	bool stays;                        /* pages that were read stay in memory */
	struct sp_sampled_events *sampled; /* owned; in the place of a trace; NULL: none */
	uint64_t forced;                   /* leaves made up because their caller was left, */
	uint64_t dropped;                  /* and leaves of what was not open */
};

/* Where in a trace what was read ends; the regions open there are the reader's to remember. */
struct sp_events_place {
	uint64_t ticks, ns;
	size_t part, at;
};

/* Reads from a raw file that is the caller's, beside others who do; NULL: the model's own, which is open. */
int sp_events_open_quiet(struct sp_events **out, const struct sp_model *m, uint32_t location, struct sp_raw_file *raw,
                         struct sp_err *e);
/* Whether the reading can go on here later; there are places, within words that say several things, where it cannot. */
bool sp_events_tell(const struct sp_events *s, struct sp_events_place *place);
/* Goes there; what is open has room for n regions, to be filled by the caller, outermost first. NULL: e says why. */
uint32_t *sp_events_seek(struct sp_events *s, const struct sp_events_place *place, size_t n, struct sp_err *e);

/* What an id of the process is in the model, plus 1; 0: it is not defined. */
static inline uint32_t sp_events_id(const struct sp_ids *ids, uint64_t id)
{
	return id < ids->n ? ids->to[id] : 0;
}

/* What an enum sp_raw_event of an enter or leave becomes. */
extern const uint8_t sp_events_kinds[8];
/* Reads words as long as each is a plain enter or leave of what is open, n at most. Returns how many these are. */
size_t sp_events_plain(struct sp_events *s, struct sp_event *out, size_t n);

/* Events of file I/O, of MPI, of threads and tasks, of waits. words: of payload; the kind is one of theirs. Return 1, 0
 * for what becomes no event, SP_EVENTS_AGAIN: one, and the same word is to be read again; or -1: damage. */
enum { SP_EVENTS_AGAIN = 2 };
int sp_events_io(struct sp_events *s, uint32_t what, uint32_t words, const uint64_t *payload, struct sp_event *out);
int sp_events_mpi(struct sp_events *s, uint32_t what, uint32_t words, const uint64_t *payload, struct sp_event *out);
int sp_events_task(struct sp_events *s, uint32_t what, uint32_t words, const uint64_t *payload, struct sp_event *out);
int sp_events_wait(struct sp_events *s, uint32_t what, uint32_t words, const uint64_t *payload, struct sp_event *out);
/* The end of the innermost wait, which has none of its own in the trace. how: enum sp_wait_end. */
void sp_events_end_wait(struct sp_events *s, unsigned how, struct sp_event *out);
/* Whether the innermost wait began in the innermost call, or outside of all: it ends before that call does. */
static inline bool sp_events_waits(const struct sp_events *s)
{
	return s->n_waits && s->waits[s->n_waits - 1].depth >= s->depth;
}

#endif
