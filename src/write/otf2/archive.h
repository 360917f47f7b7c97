/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the OTF2 writer share. References: a region has its index in the model, of which 0 stands for those
 * that could not be defined, and behind the model's come two of our own and those of waits; a thread has its
 * number in its process in the upper half and its process in the lower, as Score-P has it; parameters, strings and
 * classes of metrics are numbered as they are met. Ranks of MPI that are not in the archive have numbers behind those
 * of the processes. */
#ifndef SP_WRITE_OTF2_ARCHIVE_H
#define SP_WRITE_OTF2_ARCHIVE_H

#include <otf2/otf2.h>

#include "base/intern.h"
#include "model/event.h"
#include "model/model.h"
#include "model/parts/samples.h"
#include "model/str.h"
#include "write/common/heap.h"
#include "write/common/scorep_tree.h"

enum parameter_type { PARAMETER_INT, PARAMETER_UINT, PARAMETER_STRING, PARAMETER_TYPES };
enum attribute {
	ATTRIBUTE_OFFSET,
	ATTRIBUTE_PROCESS,
	ATTRIBUTE_THREAD,
	ATTRIBUTE_TASK,
	ATTRIBUTE_COROUTINE,
	ATTRIBUTE_AWAITS_IN,
	ATTRIBUTE_AWAITS,
	ATTRIBUTE_ENDED,
	ATTRIBUTE_STATE,
	ATTRIBUTE_LOCK,
	ATTRIBUTE_HOLDER,
	ATTRIBUTE_HELD_IN,
	ATTRIBUTE_FILE,
	ATTRIBUTE_LINE,
	ATTRIBUTE_WAIT_ENDED
};
enum comm { COMM_ALL, COMM_TEAMS /* the first of those of processes */ };

/* Metrics that are read together. */
struct sp_otf2_class {
	uint32_t *metrics; /* indices in the model */
	uint8_t n;
};

/* Waits while they are written. */
struct sp_otf2_waits {
	struct sp_str *names;            /* of each lock */
	uint32_t regions[SP_LOCK_KINDS]; /* of each kind, from 1, in the order in which they were met; 0: none */
	uint32_t kinds[SP_LOCK_KINDS];   /* of each of these */
	uint32_t n_regions;
	struct sp_otf2_wait {
		uint64_t begin, inner; /* ns; inner: of waits within it */
	} * open;                      /* owned; the innermost last */
	size_t n, room;
	uint32_t metrics[2]; /* its time, and 1 for each; SP_NONE: they are not there */
};

/* What the events say of an I/O handle. */
struct sp_otf2_handle {
	uint32_t number; /* its reference and 1; 0: no event names it, and it is not in the archive */
	bool created;
	bool open;         /* an operation has begun */
	uint32_t location; /* in which */
	uint64_t matching; /* the operation's number there */
};

/* A rank that has no events, because its process was not measured or is not in the archive, but is named by some: so
 * that messages to it have an end. */
struct sp_otf2_stranger {
	uint32_t rank;    /* among those of all worlds; SP_NONE: it stands for all that no event names */
	uint32_t process; /* in the model; SP_NONE: it was not measured */
	OTF2_LocationRef location;
	OTF2_LocationGroupRef group;
};

struct sp_otf2 {
	const struct sp_model *m;
	const struct sp_write_options *o;
	struct sp_pick k;
	struct sp_err *e;
	OTF2_Archive *archive;
	OTF2_GlobalDefWriter *defs;
	OTF2_MarkerWriter *markers; /* NULL until the first marker */
	OTF2_AttributeList *attributes;
	struct sp_arena arena;
	struct sp_intern strings; /* number in the table = OTF2 reference */
	uint32_t *string_refs;    /* of each string of the model, SP_NONE: not yet used */
	uint32_t *teams;          /* of each process: the communicator of its threads; SP_NONE: it has none */
	uint32_t n_teams;
	uint32_t *created; /* locations whose creator is known, by creator and time */
	size_t n_created;
	bool *creation; /* of each location: it is written */
	struct sp_otf2_waits waits;
	/* a slot is PARAMETER_TYPES * index in the model + type */
	uint32_t *parameter_refs; /* of each slot, SP_NONE: not yet used */
	uint32_t *parameters;     /* the slot of each reference */
	uint32_t n_parameter_refs;
	struct sp_otf2_class *classes; /* owned; behind those of the counters */
	uint32_t n_classes;
	struct sp_otf2_handle *handles;
	uint32_t *handle_order; /* the model's indices in the order of their references */
	uint32_t n_handles;
	bool posix_io, mpi_io;  /* there is something of it */
	struct sp_intern files; /* number in the table = OTF2 reference */
	uint32_t n_groups;      /* those that the events of MPI name come first */
	uint32_t n_topologies, n_dimensions;
	/* of each communicator and window of the model; SP_NONE: no event names it, and it is not in the archive */
	uint32_t *comm_refs, *win_refs;
	uint32_t *comm_order, *win_order; /* the model's indices in the order of these numbers */
	uint32_t n_comm_refs, n_win_refs;
	OTF2_CommRef self;     /* one MPI_COMM_SELF stands for that of each process; SP_NONE: there is none */
	uint32_t *world_first; /* of each world: its rank 0 among all ranks; behind them the number of all */
	bool *rank_seen;       /* of all ranks: an event names it */
	uint32_t *rank_places; /* of all ranks: the number in the group of those in the archive; SP_NONE: it is not */
	uint32_t n_rank_places;
	struct sp_otf2_stranger *strangers; /* in the order of their ranks */
	uint32_t n_strangers;
	bool samples;              /* samples are written as such, as nothing in the archive has exact calls */
	struct sp_intern contexts; /* (path, line, parent): number in the table = OTF2 reference, as of the next */
	struct sp_intern rates;    /* of interrupt generators: Hz, in decimal */
	uint32_t *chain,
	    *before; /* contexts of a sample and of the one before it, outermost first; room for all paths */
	struct sp_heaps heaps;
	uint32_t *heap_refs;  /* of each process: that of its first metric of memory; SP_NONE: it has none */
	uint32_t first_class; /* reference; before it come the counters and the metrics of memory */
	uint32_t off; /* the region of pauses: call paths have it, the events MEASUREMENT_ON_OFF alone; SP_NONE: none */
	uint64_t *events;           /* written for each location */
	uint64_t done, total, last; /* last: the greatest time written */
	bool failed;                /* e is set */
};

/* Both set the archive's error unless it has one; they return -1. */
int sp_otf2_fail(struct sp_otf2 *a, const char *what);
int sp_otf2_fail_memory(struct sp_otf2 *a);
/* OTF2 strings end at NUL: one inside becomes \x00. s is part of a string that ends so. NULL: no memory. */
const char *sp_otf2_text(struct sp_otf2 *a, struct sp_str s);
/* The reference of a string, which is defined when it is met for the first time. */
OTF2_StringRef sp_otf2_string(struct sp_otf2 *a, struct sp_str s);

static inline OTF2_StringRef sp_otf2_literal(struct sp_otf2 *a, const char *s)
{
	return sp_otf2_string(a, sp_text(s));
}

static inline OTF2_LocationRef sp_otf2_location(const struct sp_model *m, uint32_t location)
{
	return (uint64_t)m->locations[location].id << 32 | m->locations[location].process;
}

static inline bool sp_otf2_picked(const struct sp_otf2 *a, uint32_t process)
{
	return a->o->process == SP_NONE || a->o->process == process;
}

/* Of a process in the archive: readers expect numbers without gaps. */
static inline OTF2_LocationGroupRef sp_otf2_process(const struct sp_otf2 *a, uint32_t process)
{
	return a->o->process == SP_NONE ? process : 0;
}

static inline uint32_t sp_otf2_processes(const struct sp_otf2 *a)
{
	return a->o->process == SP_NONE ? (uint32_t)a->m->n_processes : 1;
}

/* The threads of a location's process. */
static inline OTF2_CommRef sp_otf2_team(const struct sp_otf2 *a, uint32_t location)
{
	return a->teams[a->m->locations[location].process];
}

/* The reference of a parameter with that kind of value (SP_EVENT_PARAMETER_…). */
uint32_t sp_otf2_parameter(struct sp_otf2 *a, uint32_t parameter, uint32_t kind);
/* The reference of the class of these metrics, or SP_NONE: no memory, and the archive has failed. */
uint32_t sp_otf2_class(struct sp_otf2 *a, const uint32_t *metrics, uint8_t n);

/* A location whose samples are being written. */
struct sp_otf2_sampling {
	uint32_t depth; /* of the sample before, in sp_otf2.before; 0: there was none */
	OTF2_InterruptGeneratorRef generator;
	uint32_t class; /* of the metrics that come with each; SP_NONE: there are none */
	uint8_t n;      /* of these metrics */
	uint32_t metrics[2 + SP_SAMPLE_COUNTERS];
	uint8_t which[2 + SP_SAMPLE_COUNTERS]; /* in sums */
	uint64_t sums[2 + SP_SAMPLE_COUNTERS];
};
int sp_otf2_prepare_samples(struct sp_otf2 *a);
int sp_otf2_samples_begin(struct sp_otf2 *a, struct sp_otf2_sampling *s, uint32_t location,
                          const struct sp_events *events);
/* events: the sample is the one that was read last. Returns an OTF2_ErrorCode. */
int sp_otf2_sample(struct sp_otf2 *a, struct sp_otf2_sampling *s, OTF2_EvtWriter *w, const struct sp_sample *sample,
                   const struct sp_events *events);

/* Memory over time; before the first event. */
int sp_otf2_prepare_heaps(struct sp_otf2 *a);
/* Returns an OTF2_ErrorCode. */
int sp_otf2_heap(struct sp_otf2 *a, OTF2_EvtWriter *w, uint32_t process, uint64_t time, const struct sp_heap_count *c);
/* first: the reference of the first of its members, behind all others. */
void sp_otf2_define_heap_members(struct sp_otf2 *a, OTF2_MetricMemberRef first);
void sp_otf2_define_heaps(struct sp_otf2 *a, OTF2_MetricMemberRef first);
void sp_otf2_define_peaks(struct sp_otf2 *a, uint32_t process); /* properties of it */

/* The program, in call paths only. */
static inline OTF2_RegionRef sp_otf2_program_region(const struct sp_otf2 *a)
{
	return (OTF2_RegionRef)a->m->n_regions;
}

/* Writes the events of a location. */
int sp_otf2_events(struct sp_otf2 *a, uint32_t location);
/* An event of file I/O. found: the handle was open before the call that is running. Returns an OTF2_ErrorCode. */
int sp_otf2_io(struct sp_otf2 *a, OTF2_EvtWriter *w, uint32_t location, const struct sp_event *ev, bool found);

/* An event of MPI. Returns an OTF2_ErrorCode. */
int sp_otf2_mpi(struct sp_otf2 *a, OTF2_EvtWriter *w, const struct sp_event *ev);
/* Before the first event. */
int sp_otf2_prepare_mpi(struct sp_otf2 *a);
static inline bool sp_otf2_has_mpi(const struct sp_model *m)
{
	return m->n_comms || m->n_groups || m->n_worlds;
}
/* References come in order, so that what there is of MPI is defined at two places of sp_otf2_define_places(). */
void sp_otf2_define_ranks(struct sp_otf2 *a); /* all ranks, and groups of them */
void sp_otf2_define_comms(struct sp_otf2 *a); /* communicators, windows, topologies */
/* Behind the last event: which ranks there are. */
int sp_otf2_find_ranks(struct sp_otf2 *a);
/* host: of each process. */
void sp_otf2_define_strangers(struct sp_otf2 *a, const uint32_t *host);

/* An event of threads and tasks but the creation of a thread; before: the time of the last event of the location.
 * Returns an OTF2_ErrorCode. */
int sp_otf2_task(struct sp_otf2 *a, OTF2_EvtWriter *w, uint32_t location, const struct sp_event *ev, uint64_t before);
/* The region of waits of a kind (enum sp_lock_kind), which is used from here on. */
OTF2_RegionRef sp_otf2_wait_region(struct sp_otf2 *a, unsigned kind);
/* An event of locks and waits. Returns an OTF2_ErrorCode. */
int sp_otf2_wait(struct sp_otf2 *a, OTF2_EvtWriter *w, const struct sp_event *ev);
int sp_otf2_prepare_waits(struct sp_otf2 *a); /* before the first event */
void sp_otf2_define_waits(struct sp_otf2 *a); /* regions, behind those of the model */
void sp_otf2_define_locks(struct sp_otf2 *a); /* names of locks, behind the processes */

/* Global definitions; what cannot be written makes the archive fail. */
void sp_otf2_define_places(struct sp_otf2 *a);  /* machines, processes, threads, and their groups */
void sp_otf2_define_code(struct sp_otf2 *a);    /* regions, their groups, metrics, parameters, call paths */
void sp_otf2_define_mpi(struct sp_otf2 *a);     /* ranks, communicators, windows; behind the places */
void sp_otf2_define_samples(struct sp_otf2 *a); /* behind the regions */
void sp_otf2_define_io(struct sp_otf2 *a);

#endif
