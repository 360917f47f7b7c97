/* SPDX-License-Identifier: BSD-3-Clause */
/* The raw file of samples: a call tree for each thread of the process. The numbers of a node count the samples. */
#ifndef SP_SAMPLE_CONTROL_SAMPLES_H
#define SP_SAMPLE_CONTROL_SAMPLES_H

#include "base/owner/owner.h"
#include "record/thread.h"
#include "sample/control/counters.h"
#include "sample/target.h"

/* A function that occurred in a sample. */
struct sp_sampled_region {
	uint32_t id;         /* 0: it could not be defined */
	bool left_out;       /* excluded by the filter: its time counts for its caller */
	uint64_t last_stack; /* number of the last stack that contained it */
};

struct sp_sampled_frame {
	struct sp_sampled_region *region;
	uint32_t line; /* line that is running; 0: not recorded */
};

struct sp_sampled_line; /* an entry of a thread's table */

/* A thread of the process. */
struct sp_sampled_thread {
	struct sp_thread *location;
	struct sp_raw_node **nodes; /* owned; the stack of the last sample, outermost first */
	struct sp_raw_line **lines; /* owned; its lines; NULL: not recorded */
	size_t depth, capacity;
	struct sp_sampled_line *table; /* owned */
	size_t table_size, table_used;
	struct sp_raw_chunk *line_chunk;
	uint32_t line_chunks;
	enum sp_thread_state state, reported_state;
	uint32_t node, line;                   /* of the innermost frame; 0: none */
	bool report;                           /* the last sample differs from what is in the trace */
	uint32_t *call_lines, *reported_lines; /* owned; lines at which frames call the next one: of the last sample,
	                                          and as in the trace */
	size_t reported;                       /* number of lines in the trace */
	uint32_t again;                        /* number of samples since the last one that is in the trace */
	uint64_t grown[SP_COUNTERS_MAX];       /* growth of counters since the previous sample */
	/* numbers of that stack and state that are not in the file yet; wall and cpu are ns */
	uint64_t wall, cpu, samples;
	uint64_t counted[SP_COUNTERS_MAX];
};

/* Columns of the file, from 0. Those of counters follow. */
enum sp_sample_column {
	SP_SAMPLE_COUNT,
	SP_SAMPLE_CPU,
	SP_SAMPLE_STATES,                                         /* and one for each state that there is */
	SP_SAMPLE_WITH_GIL = SP_SAMPLE_STATES + SP_STATES_OF_ALL, /* number of columns of a Python with the GIL */
	SP_SAMPLE_COLUMNS = SP_SAMPLE_STATES + SP_STATES
};

/* Begins the file of samples of process pid in the experiment dir. file: name of the process's own raw file, or NULL.
 * settings: alternating names and values, ending with NULL: memory, when_full, instrument and those of the filter.
 * owners: the directories that decide whose code a file is. without_gil: of its Python.
 * Returns 0 or a negative errno. */
int sp_samples_begin(const char *dir, const char *const *settings, const struct sp_owners *owners, pid_t pid,
                     const char *file, bool without_gil);
void sp_samples_end(uint64_t end);
/* Makes an entry for a function; NULL: no memory. Texts are UTF-8. */
struct sp_sampled_region *sp_samples_region(const char *module, const char *name, const char *file, uint32_t line,
                                            unsigned flags);
bool sp_samples_left_out(const char *module, const char *name, const char *file);

/* Begins a thread. begin: ticks of the monotonic clock, ns. Returns false if there is no memory. */
bool sp_samples_thread(struct sp_sampled_thread *t, pid_t tid, uint64_t begin);
void sp_samples_thread_end(struct sp_sampled_thread *t, uint64_t end);
/* Sets the stack (innermost frame first) and state of the current sample, after writing the numbers of the previous one
 * into the file. */
void sp_samples_found(struct sp_sampled_thread *t, const struct sp_sampled_frame *frames, size_t n,
                      enum sp_thread_state state);
/* Adds time (wall and cpu: ns) and samples to the last stack; writes a sample into the trace if it differs from the
 * previous one. now: ns. */
void sp_samples_add(struct sp_sampled_thread *t, uint64_t wall, uint64_t cpu, uint64_t samples, uint64_t now);
/* Adds counts of perf events to the last stack. */
void sp_samples_count(struct sp_sampled_thread *t, const uint64_t *counted);
void sp_samples_flush(struct sp_sampled_thread *t);

#endif
