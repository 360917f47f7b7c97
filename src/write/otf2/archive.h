/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the OTF2 writer share. References: a region has its index in the model (0 is the region of
 * functions that could not be defined); after the model's regions come two of this writer and those of waits. A thread
 * has its number within its process in the upper half and its process in the lower half, as in Score-P. Parameters,
 * strings and classes of metrics are numbered in the order of first use. MPI ranks that are not in the archive have
 * numbers after those of the processes. */
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
enum comm { COMM_ALL, COMM_TEAMS /* the first communicator of the processes' threads */ };

/* Metrics that are read together. */
struct sp_otf2_class {
	uint32_t *metrics; /* indices in the model */
	uint8_t n;
};

/* The state of writing waits. */
struct sp_otf2_waits {
	struct sp_str *names;            /* for each lock */
	uint32_t regions[SP_LOCK_KINDS]; /* number of each kind, from 1, in the order of first use; 0: unused */
	uint32_t kinds[SP_LOCK_KINDS];   /* the kind of each of these */
	uint32_t n_regions;
	struct sp_otf2_wait {
		uint64_t begin, inner; /* ns; inner: time of waits within it */
	} * open;                      /* owned; outstanding waits, the innermost last */
	size_t n, capacity;
	uint32_t metrics[2]; /* time of waits, and number of waits; SP_NONE: not in the model */
};

/* The state of an I/O handle. */
struct sp_otf2_handle {
	uint32_t number; /* its reference + 1; 0: no event refers to it, so it is not in the archive */
	bool created;
	bool open;         /* an operation is outstanding */
	uint32_t location; /* its location */
	uint64_t matching; /* its number in that location */
};

/* A rank without events, because its process was not measured or is not in the archive, to which events refer: messages
 * to it need an endpoint. */
struct sp_otf2_stranger {
	uint32_t rank;    /* among the ranks of all worlds; SP_NONE: all ranks to which no event refers */
	uint32_t process; /* in the model; SP_NONE: not measured */
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
	OTF2_MarkerWriter *markers; /* NULL before the first marker */
	OTF2_AttributeList *attributes;
	struct sp_arena arena;
	struct sp_intern strings; /* number in the table = OTF2 reference */
	uint32_t *string_refs;    /* for each string of the model; SP_NONE: not used yet */
	uint32_t *teams;          /* for each process: communicator of its threads; SP_NONE: not defined */
	uint32_t n_teams;
	uint32_t *created; /* locations with a known creator, sorted by creator and time */
	size_t n_created;
	bool *creation; /* for each location: its creation is written */
	struct sp_otf2_waits waits;
	/* a slot is PARAMETER_TYPES * index in the model + type */
	uint32_t *parameter_refs; /* for each slot; SP_NONE: not used yet */
	uint32_t *parameters;     /* the slot of each reference */
	uint32_t n_parameter_refs;
	struct sp_otf2_class *classes; /* owned; numbered after those of the counters */
	uint32_t n_classes;
	struct sp_otf2_handle *handles;
	uint32_t *handle_order; /* the model's indices in the order of their references */
	uint32_t n_handles;
	bool posix_io, mpi_io;  /* the archive has I/O of this paradigm */
	struct sp_intern files; /* number in the table = OTF2 reference */
	uint32_t n_groups;      /* groups to which MPI events refer; they come first */
	uint32_t n_topologies, n_dimensions;
	/* for each communicator and window of the model; SP_NONE: no event refers to it, so it is not in the archive */
	uint32_t *comm_refs, *win_refs;
	uint32_t *comm_order, *win_order; /* the model's indices in the order of these numbers */
	uint32_t n_comm_refs, n_win_refs;
	OTF2_CommRef self;     /* one MPI_COMM_SELF for all processes; SP_NONE: not in the model */
	uint32_t *world_first; /* for each world: its rank 0 among all ranks; at the end the number of all */
	bool *rank_seen;       /* for each rank: an event refers to it */
	uint32_t *rank_places; /* for each rank: number in the group of those in the archive, or SP_NONE */
	uint32_t n_rank_places;
	struct sp_otf2_stranger *strangers; /* sorted by rank */
	uint32_t n_strangers;
	bool samples;              /* samples are written as samples: no process in the archive has exact calls */
	struct sp_intern contexts; /* (path, line, parent): number = OTF2 reference, as in the next table */
	struct sp_intern rates;    /* of interrupt generators: Hz, in decimal */
	uint32_t *chain,
	    *before; /* contexts of a sample and of the previous one, outermost first; with room for all paths */
	struct sp_heaps heaps;
	uint32_t *heap_refs;  /* for each process: its first memory metric, or SP_NONE */
	uint32_t first_class; /* reference; counters and memory metrics come before it */
	uint32_t off; /* the region of pauses, for call paths (events have MEASUREMENT_ON_OFF); SP_NONE: no pauses */
	uint64_t *events;           /* number of written events for each location */
	uint64_t done, total, last; /* last: the latest time written */
	bool failed;                /* e is set */
};

/* Both set the archive's error unless it has one, and return -1. */
int sp_otf2_fail(struct sp_otf2 *a, const char *what);
int sp_otf2_fail_memory(struct sp_otf2 *a);
/* Converts s to an OTF2 string, which ends at NUL: a NUL inside becomes \x00. A NUL must follow s. Returns NULL: no
 * memory. */
const char *sp_otf2_text(struct sp_otf2 *a, struct sp_str s);
/* The reference of a string, which is defined at its first use. */
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

/* The reference of a process in the archive: readers expect numbers without gaps. */
static inline OTF2_LocationGroupRef sp_otf2_process(const struct sp_otf2 *a, uint32_t process)
{
	return a->o->process == SP_NONE ? process : 0;
}

static inline uint32_t sp_otf2_processes(const struct sp_otf2 *a)
{
	return a->o->process == SP_NONE ? (uint32_t)a->m->n_processes : 1;
}

/* The communicator of the threads of a location's process. */
static inline OTF2_CommRef sp_otf2_team(const struct sp_otf2 *a, uint32_t location)
{
	return a->teams[a->m->locations[location].process];
}

/* The reference of a parameter with values of this kind (SP_EVENT_PARAMETER_…). */
uint32_t sp_otf2_parameter(struct sp_otf2 *a, uint32_t parameter, uint32_t kind);
/* The reference of the class of these metrics. SP_NONE: no memory, and the archive has failed. */
uint32_t sp_otf2_class(struct sp_otf2 *a, const uint32_t *metrics, uint8_t n);

/* The state of writing a location's samples. */
struct sp_otf2_sampling {
	uint32_t depth; /* number of contexts of the previous sample, in sp_otf2.before; 0: no previous sample */
	OTF2_InterruptGeneratorRef generator;
	uint32_t class; /* class of the metrics of each sample; SP_NONE: no metrics */
	uint8_t n;      /* number of these metrics */
	uint32_t metrics[2 + SP_SAMPLE_COUNTERS];
	uint8_t which[2 + SP_SAMPLE_COUNTERS]; /* indices into sums */
	uint64_t sums[2 + SP_SAMPLE_COUNTERS];
};
int sp_otf2_prepare_samples(struct sp_otf2 *a);
int sp_otf2_samples_begin(struct sp_otf2 *a, struct sp_otf2_sampling *s, uint32_t location,
                          const struct sp_events *events);
/* Writes a sample. events: the reader that has just returned the sample. Returns an OTF2_ErrorCode. */
int sp_otf2_sample(struct sp_otf2 *a, struct sp_otf2_sampling *s, OTF2_EvtWriter *w, const struct sp_sample *sample,
                   const struct sp_events *events);

/* Prepares memory over time; call before the first event. */
int sp_otf2_prepare_heaps(struct sp_otf2 *a);
/* Writes a value of memory. Returns an OTF2_ErrorCode. */
int sp_otf2_heap(struct sp_otf2 *a, OTF2_EvtWriter *w, uint32_t process, uint64_t time, const struct sp_heap_count *c);
/* first: the reference of the first memory member; all other members come before it. */
void sp_otf2_define_heap_members(struct sp_otf2 *a, OTF2_MetricMemberRef first);
void sp_otf2_define_heaps(struct sp_otf2 *a, OTF2_MetricMemberRef first);
void sp_otf2_define_peaks(struct sp_otf2 *a, uint32_t process); /* writes the properties of a process's peaks */

/* The program's region, which is only in call paths. */
static inline OTF2_RegionRef sp_otf2_program_region(const struct sp_otf2 *a)
{
	return (OTF2_RegionRef)a->m->n_regions;
}

/* Writes the events of a location. Returns 0, or -1: the archive has failed. */
int sp_otf2_events(struct sp_otf2 *a, uint32_t location);
/* Writes an event of file I/O. found: the handle was open before the current call. Returns an OTF2_ErrorCode. */
int sp_otf2_io(struct sp_otf2 *a, OTF2_EvtWriter *w, uint32_t location, const struct sp_event *ev, bool found);

/* Writes an event of MPI. Returns an OTF2_ErrorCode. */
int sp_otf2_mpi(struct sp_otf2 *a, OTF2_EvtWriter *w, const struct sp_event *ev);
/* Call before the first event. */
int sp_otf2_prepare_mpi(struct sp_otf2 *a);
static inline bool sp_otf2_has_mpi(const struct sp_model *m)
{
	return m->n_comms || m->n_groups || m->n_worlds;
}
/* References must be written in order, so sp_otf2_define_locations() calls these two functions at different points. */
void sp_otf2_define_ranks(struct sp_otf2 *a); /* all ranks, and groups of ranks */
void sp_otf2_define_comms(struct sp_otf2 *a); /* communicators, windows, topologies */
/* Call after the last event: finds the ranks that the archive needs. */
int sp_otf2_find_ranks(struct sp_otf2 *a);
/* Writes the ranks without events. host: for each process. */
void sp_otf2_define_strangers(struct sp_otf2 *a, const uint32_t *host);

/* Writes an event of threads and tasks, except the creation of a thread. before: time of the location's previous event.
 * Returns an OTF2_ErrorCode. */
int sp_otf2_task(struct sp_otf2 *a, OTF2_EvtWriter *w, uint32_t location, const struct sp_event *ev, uint64_t before);
/* The region of waits of a kind (enum sp_lock_kind); marks it as used. */
OTF2_RegionRef sp_otf2_wait_region(struct sp_otf2 *a, unsigned kind);
/* Writes an event of locks and waits. Returns an OTF2_ErrorCode. */
int sp_otf2_wait(struct sp_otf2 *a, OTF2_EvtWriter *w, const struct sp_event *ev);
int sp_otf2_prepare_waits(struct sp_otf2 *a); /* call before the first event */
void sp_otf2_define_waits(struct sp_otf2 *a); /* regions of waits, after those of the model */
void sp_otf2_define_locks(struct sp_otf2 *a); /* names of locks, after the processes */

/* Write global definitions; on an error the archive fails. */
void sp_otf2_define_locations(struct sp_otf2 *a); /* machines, processes, threads, and groups of them */
void sp_otf2_define_code(struct sp_otf2 *a);      /* regions, groups of regions, metrics, parameters, call paths */
void sp_otf2_define_mpi(struct sp_otf2 *a);       /* ranks, communicators, windows; after the places */
void sp_otf2_define_samples(struct sp_otf2 *a);   /* after the regions */
void sp_otf2_define_io(struct sp_otf2 *a);

#endif
