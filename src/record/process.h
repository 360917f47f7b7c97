/* SPDX-License-Identifier: BSD-3-Clause */
/* The process: begin, pause and end of its measurement, and its children by fork. */
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

struct sp_segment {
	char *address;
	uint64_t offset, bytes, used;
	uint32_t live; /* chunks in use */
};

enum { SP_STREAM_STATE, SP_STREAM_EVENTS, SP_STREAMS };

struct sp_process {
	pthread_mutex_t lock;
	struct sp_settings settings;
	struct sp_filter *filter;
	struct sp_raw_header *header; /* mapped; NULL: nothing is measured */
	char *dir, *path;             /* owned, absolute */
	_Atomic pid_t pid;            /* of the process that made the file: this one, or see below */
	pid_t sampled;                /* the process that is recorded, by its samples; 0: this one */
	const char *sampled_file;     /* name of its raw file; NULL: it has none */
	uint64_t size;                /* of the file */
	struct sp_segment *segments;  /* owned */
	size_t n_segments;
	struct sp_past *past;    /* owned */
	int current[SP_STREAMS]; /* index of the segment being filled, or -1 */
	uint64_t next_segment[SP_STREAMS];
	uint64_t mapped, event_bytes;
	struct sp_raw_chunk **defs; /* owned: every DEFS chunk, for a child of fork */
	size_t n_defs;
	struct sp_thread *threads;
	uint32_t n_regions;
	uint32_t n_values;  /* of parameters, that have call paths of their own */
	uint32_t n_columns; /* of metrics; fixed once the first node is made */
	uint32_t n_sync;    /* the first of them: read at each enter and leave */
	bool disk_failed;
	_Atomic bool paused, instrumented;
	uint64_t paused_at, resumed_at, paused_ticks; /* ticks: last, last, in all */
	uint32_t off_region;                          /* 0: not defined yet */
	bool forked;                                  /* a child of fork that had no event yet, and has no file */
	_Atomic unsigned ending;                      /* threads whose end is being recorded, without the GIL */
};
extern struct sp_process sp_process;

/* Begins a measurement: takes over settings and filter. boot: the calling thread is in the interpreter's start-up. */
int sp_process_start(const char *dir, struct sp_settings *s, struct sp_filter *f, enum sp_raw_start how);
/* The same in a process that samples another one, `sampled`, which has a raw file of that name, or none (NULL). Threads
 * are made by sp_thread_of(). */
int sp_process_start_sampler(const char *dir, struct sp_settings *s, struct sp_filter *f, pid_t sampled,
                             const char *sampled_file);
/* Ends it. The mappings stay for as long as another thread may be in its last event: past.c. */
void sp_process_stop(enum sp_raw_ended how);
/* The process is about to become another program; false: that failed, and it goes on. */
void sp_process_exec(bool begins);
/* Both are taken over; functions whose names are decided already stay as they are. */
void sp_process_filter(struct sp_filter *f, char *items);
void sp_process_pause(void);
void sp_process_resume(void);
/* Every thread makes its stack agree with the interpreter's at its next enter. */
void sp_process_out_of_date(void);

/* User regions while recording is off. Whether it is, for a time; a child of fork has its file then. */
bool sp_pause_wanted(void);
void sp_pause_begin(uint32_t region);
bool sp_pause_end(uint32_t region); /* whether it was open */
/* Until when the open frames of t count if it ends now: during a pause, until that began. */
uint64_t sp_process_until(const struct sp_thread *t, uint64_t now);
/* In a child of fork that had no event yet: makes its file, and the location of the calling thread with its open
 * frames. Returns the thread's location, or NULL. */
struct sp_thread *sp_process_forked(void);
/* The calling process, of which nothing is recorded, made a child by fork, of which nothing will be either. Nothing,
 * where that is not so. */
void sp_process_forks_unrecorded(void);
/* Whether the file is another process's: this one is its child by a raw clone() or fork, past pthread_atfork, and goes
 * on in its parent's shared pages. From here on nothing is recorded here; the parent counts it. A system call: for rare
 * ways only. */
bool sp_process_is_foreign(void);
void sp_process_sync(void); /* renews header.last */
void sp_process_lost(enum sp_raw_reason reason, int error, uint64_t bytes);

#endif
