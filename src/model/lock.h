/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits of threads, and the lock holders (run --waits): a part of the model. Indices and times are as in model.h. */
#ifndef SP_MODEL_LOCK_H
#define SP_MODEL_LOCK_H

#include <stdbool.h>
#include <stdint.h>

enum sp_lock_kind { /* as SP_RAW_WAIT_… */
	            SP_LOCK_OTHER,
	            SP_LOCK_LOCK,
	            SP_LOCK_RLOCK,
	            SP_LOCK_CONDITION,
	            SP_LOCK_SEMAPHORE,
	            SP_LOCK_EVENT,
	            SP_LOCK_BARRIER,
	            SP_LOCK_QUEUE,
	            SP_LOCK_THREAD,
	            SP_LOCK_FUTURE,
	            SP_LOCK_PROCESS_LOCK,
	            SP_LOCK_PROCESS,
	            SP_LOCK_PIPE,
	            SP_LOCK_SLEEP,
	            SP_LOCK_SELECT,
	            SP_LOCK_SOCKET,
	            SP_LOCK_FILE_LOCK,
	            SP_LOCK_GIL,
	            SP_LOCK_MUTEX,
	            SP_LOCK_COND,
	            SP_LOCK_SEM,
	            SP_LOCK_RWLOCK,
	            SP_LOCK_PTHREAD_BARRIER,
	            SP_LOCK_KINDS
};
extern const char *const sp_lock_kind_names[SP_LOCK_KINDS]; /* "other", "lock", … */

/* How a wait ended, as its event reports. */
enum sp_wait_end {
	SP_WAIT_FAILED, /* without success: timeout or interruption */
	SP_WAIT_ACQUIRED,
	SP_WAIT_UNSEEN, /* recording was off when it ended */
	SP_WAIT_OPEN,   /* the location ended first */
	SP_WAIT_NONE    /* the object was available at once: not counted as a wait */
};

/* Regions of a call path, outermost first. */
struct sp_stack {
	uint32_t *regions;
	uint32_t n;
};

/* An object that threads waited for: a lock, a queue, … */
struct sp_lock {
	uint32_t process, number; /* from 1 in each process */
	uint8_t kind;             /* enum sp_lock_kind */
	bool freed;               /* it was destroyed before the end */
	bool gone;                /* held by a thread of the parent process that does not exist after the fork */
	uint64_t address;         /* 0: no address */
	uint32_t type;            /* string: name of its type, or of the file; SP_NONE: unknown */
	uint32_t user;            /* index of the lock that this one is a part of; SP_NONE: not a part */
	uint32_t made_file;       /* string; SP_NONE: unknown */
	uint32_t made_line;
	uint32_t made_by;             /* location; SP_NONE: unknown */
	uint32_t holder;              /* location that held it at the end; SP_NONE: no holder */
	struct sp_stack holder_stack; /* call path at which the holder acquired it; empty: unknown */
	uint64_t since;               /* time of that acquisition, ns since sp_model.begin_ns; 0: unknown */
	uint64_t count, contended;    /* number of acquisitions; number of acquisitions with contention */
	uint64_t waited, held;        /* ns; held: since the first wait for it */
};

/* All waits of a location at one call path and line, for one object, with one holder. */
struct sp_lock_wait {
	uint32_t location;
	uint32_t number; /* number by which the location's trace refers to it; 0: not recorded */
	struct sp_stack stack;
	uint8_t kind;  /* enum sp_lock_kind */
	uint32_t lock; /* index; SP_NONE: no known object */
	uint32_t file; /* string: source location of the wait in the program's own code; SP_NONE: unknown */
	uint32_t line;
	uint32_t holder; /* location that held the object when the waits began; SP_NONE: no holder, or unknown */
	struct sp_stack holder_stack;
	/* count 0: only the trace refers to this row, because its waits count in another one */
	uint64_t count, ns, longest;
	bool open;      /* the last wait was outstanding at the location's end; the numbers include it up to there */
	bool timed;     /* it has a timeout */
	bool news;      /* it waits for a notification: the object has no holder */
	uint64_t since; /* of an open wait: ns since sp_model.begin_ns */
};

/* A deadlock cycle: each thread waits for what the next one holds, and the last thread for what the first one holds. */
struct sp_lock_cycle {
	uint32_t process;
	bool interrupted; /* the program continued after that */
	struct sp_lock_link {
		uint32_t location, lock;
		uint64_t since; /* ns since sp_model.begin_ns */
	} * links;
	uint32_t n;
};

struct sp_model;
struct sp_arena;
struct sp_str;

/* What reports call a wait for an object without a name, by kind: "sleeping", "waiting for a lock". */
extern const char *const sp_lock_wait_words[SP_LOCK_KINDS];
/* Indexed by enum sp_wait_end; NULL for a wait that acquired its object. */
extern const char *const sp_lock_end_words[];
/* Makes the names of the locks for reports, one for each of sp_model.locks, with file names without directories: "Lock
 * made at app.py:12 #2", "the GIL", "the end of worker". A part of another object has the name of that object. Texts
 * are in the arena or the model. Returns 0, or -1: no memory. */
int sp_lock_names(struct sp_str **names, const struct sp_model *m, struct sp_arena *arena);

#endif
