/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes raw files as the recorder would, with known contents: for the tests and benchmarks of the analysis half. As a
 * tool of tests it does not return errors: it prints them and exits. */
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
/* The header, which may be changed before rg_write(). */
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
/* Makes the process a rank of an MPI_COMM_WORLD. */
void rg_rank(struct rg_process *p, uint64_t world, uint32_t rank, uint32_t size);
/* Adds an intracommunicator; flags: SP_RAW_COMM_…; n may be 0. */
void rg_comm(struct rg_process *p, uint32_t comm, uint32_t flags, const char *name, const struct sp_raw_comm *c,
             const struct sp_raw_ranks *members, size_t n);

/* Adds a metric's column; call before the first thread. flags: enum sp_raw_metric_kind, SP_RAW_METRIC_EXCLUSIVE. */
void rg_metric(struct rg_process *p, uint32_t column, uint32_t flags, const char *name, const char *unit, int exponent);

struct rg_thread *rg_thread(struct rg_process *p, const char *name, uint64_t tid, uint32_t creator, uint64_t begin);
/* The thread's state (losses, end), which may be changed before rg_write(). */
struct sp_raw_location *rg_location(struct rg_thread *t);

/* Events; at: ticks, never decreasing. Each one adds to the profile, and to the trace if the process has one. */
void rg_enter(struct rg_thread *t, uint64_t at, uint32_t region);
void rg_leave(struct rg_thread *t, uint64_t at);
void rg_resume(struct rg_thread *t, uint64_t at, uint32_t region);
void rg_suspend(struct rg_thread *t, uint64_t at);
void rg_inherit(struct rg_thread *t, uint64_t at, uint32_t region);
void rg_extra(struct rg_thread *t, uint64_t at, enum sp_raw_extra what, const uint64_t *payload, unsigned words);
void rg_counter(struct rg_thread *t, uint64_t at, uint32_t counter, double value);
/* Adds a word unchanged, for damaged traces. */
void rg_word(struct rg_thread *t, uint64_t word);
/* Adds lines first to last of a region. Returns the index of the first one, for rg_line(). */
size_t rg_lines(struct rg_thread *t, uint32_t region, uint32_t first, uint32_t last);
/* The n-th line of the thread, which may be changed; valid until the next rg_lines(). */
struct sp_raw_line *rg_line(struct rg_thread *t, size_t n);
/* Adds an open call whose line is the n-th (SIZE_MAX: no line yet), inside those added before; below: 0 or as in
 * FORMAT.md. */
void rg_line_frame(struct rg_thread *t, size_t line, uint64_t since, uint64_t begin, bool calls, uint64_t below);
/* The number of open frames. */
unsigned rg_depth(const struct rg_thread *t);
/* Finds or makes the node of a child of `parent`, for profiles without events; the root is 0. */
uint32_t rg_node(struct rg_thread *t, uint32_t parent, uint32_t region);
struct sp_raw_node *rg_node_at(struct rg_thread *t, uint32_t node);
/* The value of a metric of a node (not of the root); change it before the next node is made. */
uint64_t *rg_value(struct rg_thread *t, uint32_t node, uint32_t column);
/* Gives the innermost call the value of a region of kind PARAMETER from now on. */
void rg_parameter(struct rg_thread *t, uint32_t region);
/* Add a row of waits, and an object (its number is its position, from 1). Until the layout, nodes in them are numbers
 * of nodes, of the thread or the location `holder`. */
void rg_wait(struct rg_thread *t, const struct sp_raw_wait *w);
void rg_object(struct rg_process *p, const struct sp_raw_object *o);
/* Adds a row to the chunks of SITES, OFF_CPU or TALLIES; its first member is a node as above. */
void rg_row(struct rg_thread *t, enum sp_raw_chunk_type type, const void *row);
/* Instead of the number of a node: the thread's root. */
#define RG_ROOT UINT64_MAX
/* Adds the heap of the process. Its node is as above, of its passed_location. */
void rg_heap(struct rg_process *p, const struct sp_raw_heap *h, const struct sp_raw_point *points, size_t n);
/* Adds a chunk of any type unchanged; location: its number, or SP_RAW_NONE. */
void rg_chunk(struct rg_process *p, enum sp_raw_chunk_type type, uint32_t location, uint64_t used, const void *payload,
              size_t n);
/* The number of the innermost call's node. */
uint32_t rg_top(const struct rg_thread *t);

/* Lays out and writes the file, and frees the process. ended: enum sp_raw_ended; open frames stay open. */
void rg_write(struct rg_process *p, const char *path, enum sp_raw_ended ended, uint64_t last);
/* The same in memory; the caller frees it with free(). */
unsigned char *rg_bytes(struct rg_process *p, enum sp_raw_ended ended, uint64_t last, size_t *n);

/* A process with two threads that contains everything the format can record, ends at tick 9000 and has an open
 * frame. */
struct rg_process *rg_sample(bool trace);

/* A rank of an MPI program with all kinds of MPI events. Communicators: 1 MPI_COMM_WORLD, 2 MPI_COMM_SELF, 3 the ranks
 * with the same parity as this one, 4 a ring of all, 5 a copy of 2; ends by tick 1950. thread, if not NULL: receives
 * its thread, in which the outermost region, 2, is still open. */
struct rg_process *rg_mpi_rank(uint64_t world, uint32_t rank, uint32_t size, bool trace, struct rg_thread **thread);
/* A process with tasks as in asyncio, in two threads; ends by tick 2200. */
struct rg_process *rg_tasks(bool trace);
/* A process with two threads that wait for locks, a queue, the GIL and time, and for each other at tick 4000, when it
 * was killed. */
struct rg_process *rg_waits(bool trace);
/* A process with recorded memory; ends by tick 4000. */
struct rg_process *rg_memory(void);
/* A process with off-CPU time and tallies; ends by tick 4000. */
struct rg_process *rg_rare(void);
/* The file of a sampler of such a process, which may have its own file. */
struct rg_process *rg_samples(void);

/* Makes the experiment DIR with all ranks of such a program. */
void rg_mpi_experiment(const char *dir, uint32_t ranks);

struct rg_options {
	unsigned processes, threads; /* threads: of each process */
	unsigned regions;            /* 0: 50 */
	unsigned paths;              /* call paths of each thread; 0: those of the events */
	bool same_paths;             /* all threads have the same call paths, so that the experiment has no more */
	uint64_t events;             /* number of enters and leaves of each thread */
	/* below the fifth call a function calls only one other function: some thousand call paths */
	bool narrow;
	bool trace, extras; /* extras: counters, parameters, markers, pauses, suspensions */
	bool open;          /* leave frames open at the end */
	bool abrupt;        /* the last process was killed */
	uint64_t seed;
};

/* Makes DIR, DIR/raw, DIR/experiment.json and one file for each process. */
void rg_experiment(const char *dir, const struct rg_options *o);

#endif
