/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes raw files as the recorder would, with contents known exactly: for the tests and benchmarks of the analysis
 * half. Being a test's tool it does not return errors: it prints one and exits. */
#ifndef SP_TESTS_RAWGEN_H
#define SP_TESTS_RAWGEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/format.h"

struct rg_process;
struct rg_thread;

/* A process whose clock is MONOTONIC (a tick is 1 ns) unless the header is changed; its first sync is at tick `begin`.
 */
struct rg_process *rg_process(int32_t pid, int32_t ppid, uint64_t begin, bool trace);
/* The header, to be changed freely before rg_write(). */
struct sp_raw_header *rg_header(struct rg_process *p);
void rg_meta(struct rg_process *p, const char *key, const char *value);
void rg_region(struct rg_process *p, uint32_t id, uint32_t flags, const char *module, const char *qualname,
               const char *file, uint32_t line);
/* A definition with one string: COUNTER, PARAMETER, STRING. */
void rg_define(struct rg_process *p, enum sp_raw_def_kind kind, uint32_t id, const char *text);

/* A definition of any kind. */
struct rg_bytes {
	const void *p;
	size_t n;
};
void rg_record(struct rg_process *p, enum sp_raw_def_kind kind, uint32_t flags, uint32_t a, uint32_t b,
               const struct rg_bytes text[4]);
/* The process is that rank of an MPI_COMM_WORLD. */
void rg_rank(struct rg_process *p, uint64_t world, uint32_t rank, uint32_t size);
/* A communicator that is none between groups; flags: SP_RAW_COMM_…; n may be 0. */
void rg_comm(struct rg_process *p, uint32_t comm, uint32_t flags, const char *name, const struct sp_raw_comm *c,
             const struct sp_raw_ranks *members, size_t n);

/* A metric's column; before the first thread. flags: enum sp_raw_metric_kind, SP_RAW_METRIC_OWN. */
void rg_metric(struct rg_process *p, uint32_t column, uint32_t flags, const char *name, const char *unit, int exponent);

struct rg_thread *rg_thread(struct rg_process *p, const char *name, uint64_t tid, uint32_t creator, uint64_t begin);
/* Its state, to be changed freely before rg_write(): losses, end. */
struct sp_raw_location *rg_location(struct rg_thread *t);

/* Events: `at` in ticks, never going back. Each feeds the profile, and the trace when the process has one. */
void rg_enter(struct rg_thread *t, uint64_t at, uint32_t region);
void rg_leave(struct rg_thread *t, uint64_t at);
void rg_resume(struct rg_thread *t, uint64_t at, uint32_t region);
void rg_suspend(struct rg_thread *t, uint64_t at);
void rg_inherit(struct rg_thread *t, uint64_t at, uint32_t region);
void rg_extra(struct rg_thread *t, uint64_t at, enum sp_raw_extra what, const uint64_t *payload, unsigned words);
void rg_counter(struct rg_thread *t, uint64_t at, uint32_t counter, double value);
/* A word as it is, for damaged traces. */
void rg_word(struct rg_thread *t, uint64_t word);
/* Lines first to last of a region, for rg_line(); an index. */
size_t rg_lines(struct rg_thread *t, uint32_t region, uint32_t first, uint32_t last);
/* The n-th line of all that the thread has, to be changed freely; until the next rg_lines(). */
struct sp_raw_line *rg_line(struct rg_thread *t, size_t n);
/* An open call whose line is the n-th (SIZE_MAX: none yet), inside those before; below: 0 or as FORMAT.md says. */
void rg_line_frame(struct rg_thread *t, size_t line, uint64_t since, uint64_t begin, bool calls, uint64_t below);
/* The number of frames open now. */
unsigned rg_depth(const struct rg_thread *t);
/* The node of a child of `parent`, made when it is new, for profiles without events; the root is 0. */
uint32_t rg_node(struct rg_thread *t, uint32_t parent, uint32_t region);
struct sp_raw_node *rg_node_at(struct rg_thread *t, uint32_t node);
/* The value of a metric of a node (not of the root), to be changed before the next node is made. */
uint64_t *rg_value(struct rg_thread *t, uint32_t node, uint32_t column);
/* The innermost call is from now on one with the value that a region of kind PARAMETER stands for. */
void rg_parameter(struct rg_thread *t, uint32_t region);
/* A row of waits, and an object (numbered by its place from 1); nodes in them are numbers of nodes, of the thread or
 * the location `holder`, until the layout. */
void rg_wait(struct rg_thread *t, const struct sp_raw_wait *w);
void rg_object(struct rg_process *p, const struct sp_raw_object *o);
/* What was allocated at one place; and of the whole process. Nodes as above, of the heap's passed_location. */
/* In the place of the number of a site's node: the one of the thread itself, which is damage. */
#define RG_ROOT UINT64_MAX
void rg_site(struct rg_thread *t, const struct sp_raw_site *s);
void rg_heap(struct rg_process *p, const struct sp_raw_heap *h, const struct sp_raw_point *points, size_t n);
/* A chunk of any type, as it is; location: its number, or SP_RAW_NONE. */
void rg_chunk(struct rg_process *p, enum sp_raw_chunk_type type, uint32_t location, uint64_t used, const void *payload,
              size_t n);
/* The node of the innermost call. */
uint32_t rg_top(const struct rg_thread *t);

/* Lays the file out and frees the process. ended: enum sp_raw_ended; frames still open stay so. */
void rg_write(struct rg_process *p, const char *path, enum sp_raw_ended ended, uint64_t last);
/* The same into memory, to be freed by the caller. */
unsigned char *rg_bytes(struct rg_process *p, enum sp_raw_ended ended, uint64_t last, size_t *n);

/* A process with two threads that has something of everything the format knows, ends at tick 9000 and has a frame open.
 */
struct rg_process *rg_sample(bool trace);

/* A rank of an MPI program that does something of everything: communicators 1 MPI_COMM_WORLD, 2 MPI_COMM_SELF, 3 the
 * ranks that are even or odd as this one, 4 a ring of all, 5 a copy of 2; ends by tick 1950. thread, where not NULL:
 * its thread, in which the outermost region, 2, is still open. */
struct rg_process *rg_mpi_rank(uint64_t world, uint32_t rank, uint32_t size, bool trace, struct rg_thread **thread);
/* A process with tasks, of asyncio as it were, in two threads; ends by tick 2200. */
struct rg_process *rg_tasks(bool trace);
/* A process of which two threads wait for locks, a queue, the GIL and time, and for each other when it was killed at
 * tick 4000. */
struct rg_process *rg_waits(bool trace);
/* A process whose memory was recorded; ends by tick 4000. */
struct rg_process *rg_memory(void);
/* What a sampler wrote of such a process, which may have a file of its own beside it. */
struct rg_process *rg_samples(void);

/* Makes DIR with all ranks of such a program. */
void rg_mpi_experiment(const char *dir, uint32_t ranks);

struct rg_options {
	unsigned processes, threads; /* threads of each process */
	unsigned regions;            /* 0: 50 */
	unsigned paths;              /* call paths of each thread; 0: as the events make them */
	bool same_paths;             /* of all threads, so that they are the experiment's */
	uint64_t events;             /* enters and leaves of each thread */
	bool narrow;        /* below the fifth call a function calls one other only: some thousand call paths */
	bool trace, extras; /* extras: counters, parameters, markers, pauses, suspensions */
	bool open;          /* leave frames open at the end */
	bool abrupt;        /* the last process was killed */
	uint64_t seed;
};

/* Makes DIR, DIR/raw, DIR/experiment.json and one file for each process. */
void rg_experiment(const char *dir, const struct rg_options *o);

#endif
