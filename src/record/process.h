/* SPDX-License-Identifier: BSD-3-Clause */
/* The measurement of a process: its begin, pauses and end, and the process's children by fork. */
#ifndef SP_RECORD_PROCESS_H
#define SP_RECORD_PROCESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "format/format.h"
#include "record/settings.h"

struct sp_thread;

/* One mapped part of the file, from which chunks are taken. Sizes and offsets are in bytes. */
struct sp_segment {
	char *address;
	uint64_t offset, bytes, used;
	uint32_t live; /* chunks in use */
};

/* Chunks of the trace and all other chunks are in separate segments. */
enum { SP_STREAM_STATE, SP_STREAM_EVENTS, SP_STREAMS };

/* The measurement of this process. There is one instance, sp_process. */
struct sp_process {
	pthread_mutex_t lock;
	struct sp_settings settings;
	struct sp_filter *filter;
	struct sp_raw_header *_Atomic header; /* mapped; NULL: nothing is measured */
	char *dir, *path;                     /* owned, absolute */
	_Atomic pid_t pid;           /* of the process that made the file; another one: see sp_process_is_foreign() */
	pid_t sampled;               /* the process whose samples are recorded; 0: this process records itself */
	const char *sampled_file;    /* name of the sampled process's raw file; NULL: no such file */
	uint64_t size;               /* of the file, bytes */
	struct sp_segment *segments; /* owned */
	size_t n_segments;
	struct sp_retired *past; /* owned; the retired measurements */
	int current[SP_STREAMS]; /* index of the segment that is being filled, or -1 */
	uint64_t next_segment[SP_STREAMS];
	uint64_t mapped, event_bytes;
	struct sp_raw_chunk **defs; /* owned; all DEFS chunks, for a child of fork */
	size_t n_defs;
	struct sp_thread *threads;
	uint32_t n_regions;
	uint32_t n_values;  /* values of parameters that have separate call paths */
	uint32_t n_columns; /* columns of metrics; constant after the first node is made */
	uint32_t n_sync;    /* the first n_sync columns are read at each enter and leave */
	_Atomic bool disk_failed;
	bool unsealed; /* a chunk is only on disk and has no checksum, because an exec began that failed later */
	_Atomic bool paused, instrumented;
	_Atomic uint64_t paused_at, resumed_at, paused_ticks; /* ticks: last pause, last resume, total */
	uint32_t off_region;                                  /* the region MEASUREMENT OFF; 0: not defined yet */
	bool forked;             /* a child of fork before its first event; it has no file yet */
	_Atomic unsigned ending; /* threads whose end is being recorded, without the GIL */
};
extern struct sp_process sp_process;

/* Begins a measurement in the directory dir; takes over the settings and the filter. Returns 0 or a negative errno;
 * -EALREADY if one is running. */
int sp_process_start(const char *dir, struct sp_settings *s, struct sp_filter *f, enum sp_raw_start how);
/* Begins a measurement of another process, `sampled`, by sampling. sampled_file: the name of that process's raw file,
 * or NULL. The caller makes locations with sp_thread_of(). Returns as sp_process_start(). */
int sp_process_start_sampler(const char *dir, struct sp_settings *s, struct sp_filter *f, pid_t sampled,
                             const char *sampled_file);
/* Ends the measurement. Its mappings stay as long as another thread may be in its last event: retired.c. */
void sp_process_stop(enum sp_raw_ended how);
/* begins: the process is about to become another program. Otherwise exec failed, and recording continues. */
void sp_process_exec(bool begins);
/* Replaces the filter; takes over both arguments. Decided slots keep the earlier decision until the hook begins a new
 * generation of slots. */
void sp_process_filter(struct sp_filter *f, char *items);
/* Pause and resume recording in all threads. */
void sp_process_pause(void);
void sp_process_resume(void);
/* Each thread compares its stack with the interpreter's at its next enter. */
void sp_process_out_of_date(void);

/* User regions during a pause. sp_pause_wanted(): whether recording is paused; makes the file of a child of fork. */
bool sp_pause_wanted(void);
void sp_pause_begin(uint32_t region);
bool sp_pause_end(uint32_t region); /* Returns whether the region was open. */
/* Returns the time (ticks) until which open frames of t count if the measurement ends now: during a pause, the pause's
 * begin. */
uint64_t sp_process_until(const struct sp_thread *t, uint64_t now);
/* In a child of fork before its first event: makes the child's file and the location of the calling thread with its
 * open frames. Returns the location, or NULL. */
struct sp_thread *sp_process_forked(void);
/* The calling process, which is not recorded, forked a child that will not be recorded either: counts it. Does nothing
 * in a process that is recorded. */
void sp_process_forks_unrecorded(void);
/* Whether the file belongs to another process. Then this process is a child of that one, by a raw clone() or by a
 * fork that ran no handler of pthread_atfork, and has shared pages of its parent. After a true result this process
 * records nothing, and the parent's file counts it. Costs a system call: only for rare paths. */
bool sp_process_is_foreign(void);
void sp_process_sync(void); /* updates header.last */
/* Counts lost bytes of the trace and keeps the first reason with its errno (0: none). */
void sp_process_lost(enum sp_raw_reason reason, int error, uint64_t bytes);
/* Adds to a count in the file. Relaxed: several threads count at the same time, and no other data depends on it. */
static inline void sp_process_count(uint64_t *count, uint64_t more)
{
	__atomic_fetch_add(count, more, __ATOMIC_RELAXED);
}

#endif
