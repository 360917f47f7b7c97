/* SPDX-License-Identifier: BSD-3-Clause */
/* The raw file that is made of samples: a call tree for each thread of the process, whose numbers are those of the
 * times at which it was looked at. */
#ifndef SP_SAMPLE_CONTROL_SAMPLES_H
#define SP_SAMPLE_CONTROL_SAMPLES_H

#include "record/thread.h"
#include "sample/control/counters.h"
#include "sample/target.h"

/* A function that was seen. */
struct sp_sampled_region {
	uint32_t id;     /* 0: it could not be defined */
	bool left_out;   /* by the filter: what it does is its caller's */
	uint64_t looked; /* number of the stack in which it was met last */
};

struct sp_sampled_frame {
	struct sp_sampled_region *region;
	uint32_t line; /* that runs; 0: none to be told */
};

struct sp_sampled_line; /* of a thread's table */

/* A thread of the process. */
struct sp_sampled_thread {
	struct sp_thread *location;
	struct sp_raw_node **nodes; /* owned; the stack seen last, outermost first */
	struct sp_raw_line **lines; /* owned; its lines, NULL: none */
	size_t depth, room;
	struct sp_sampled_line *table; /* owned */
	size_t table_size, table_used;
	struct sp_raw_chunk *line_chunk;
	uint32_t line_chunks;
	enum sp_thread_state state, told_state;
	uint32_t node, line; /* of the innermost frame; 0: none */
	bool tell;           /* something of it is not in the trace yet */
	uint32_t *call_lines,
	    *told_lines; /* owned; from which line frames call the next one: now, and as the trace has it */
	size_t told;     /* lines that it has */
	uint32_t again;  /* looks since the last one that is in the trace */
	uint64_t grown[SP_COUNTERS_MOST]; /* counters, since the look before */
	/* what was seen of that stack and state and is not in the file yet; wall and cpu are ns */
	uint64_t wall, cpu, samples;
	uint64_t counted[SP_COUNTERS_MOST];
};

/* The file's columns, from 0. */
enum sp_sample_column {
	SP_SAMPLE_COUNT,
	SP_SAMPLE_CPU,
	SP_SAMPLE_STATES, /* and one for each state */
	SP_SAMPLE_COLUMNS = SP_SAMPLE_STATES + SP_STATES
};

/* Begins the file of process pid in the experiment dir; file: the name of the process's own raw file, or NULL.
 * settings: name and value in turns, ending with NULL: memory, when_full, instrument and those of the filter. 0 or a
 * negative errno. */
int sp_samples_begin(const char *dir, const char *const *settings, const char *library, pid_t pid, const char *file);
void sp_samples_end(uint64_t end);
/* A place for a function; NULL: no memory. Texts are UTF-8. */
struct sp_sampled_region *sp_samples_region(const char *module, const char *name, const char *file, uint32_t line,
                                            unsigned flags);
bool sp_samples_left_out(const char *module, const char *name, const char *file);

/* Times are ticks of the monotonic clock, ns. false: no room. */
bool sp_samples_thread(struct sp_sampled_thread *t, pid_t tid, uint64_t begin);
void sp_samples_thread_end(struct sp_sampled_thread *t, uint64_t end);
/* The thread was found like this, innermost frame first. What was known of it before goes into the file. */
void sp_samples_found(struct sp_sampled_thread *t, const struct sp_sampled_frame *frames, size_t n,
                      enum sp_thread_state state);
/* Adds to the stack found last, and tells in the trace what of it is new. */
void sp_samples_add(struct sp_sampled_thread *t, uint64_t wall, uint64_t cpu, uint64_t samples, uint64_t now);
/* The same of perf events. */
void sp_samples_count(struct sp_sampled_thread *t, const uint64_t *counted);
void sp_samples_flush(struct sp_sampled_thread *t);

#endif
