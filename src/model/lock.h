/* SPDX-License-Identifier: BSD-3-Clause */
/* What threads waited for, and who held it (run --waits): a part of the model. Indices and times are as there. */
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

/* How a wait ended, as its event says. */
enum sp_wait_end {
	SP_WAIT_FAILED, /* it ended without what it waited for: its time was over, or it was interrupted */
	SP_WAIT_GOT,
	SP_WAIT_UNSEEN, /* recording was off when it ended */
	SP_WAIT_OPEN,   /* it had not ended when the location did */
	SP_WAIT_NONE    /* there was nothing to wait for: it counts as none */
};

/* Regions of a call path, outermost first. */
struct sp_stack {
	uint32_t *regions;
	uint32_t n;
};

/* Something that threads waited for: a lock, a queue, … */
struct sp_lock {
	uint32_t process, number; /* from 1 in each process */
	uint8_t kind;             /* enum sp_lock_kind */
	bool freed;               /* it was no more at the end */
	bool gone;                /* a thread that the fork did not take along holds it */
	uint64_t address;         /* 0: it has none */
	uint32_t type;            /* string: name of its type, or of the file; SP_NONE: not known */
	uint32_t user;            /* the lock of this table that it is a part of; SP_NONE: none */
	uint32_t made_file;       /* string; SP_NONE: not known */
	uint32_t made_line;
	uint32_t made_by;             /* location; SP_NONE: not known */
	uint32_t holder;              /* location, at the end; SP_NONE: none */
	struct sp_stack holder_stack; /* where it got it; empty: not known */
	uint64_t since;               /* ns since sp_model.begin_ns: when; 0: not known */
	uint64_t count, contended;    /* how often it was got; how often somebody waited for it */
	uint64_t waited, held;        /* ns; held: since the first wait for it */
};

/* What a location waited for at one place, with one holder. */
struct sp_lock_wait {
	uint32_t location;
	uint32_t number; /* of the location's, by which its trace refers to it; 0: not told */
	struct sp_stack stack;
	uint8_t kind;  /* enum sp_lock_kind */
	uint32_t lock; /* index; SP_NONE: nothing that is told apart */
	uint32_t file; /* string; SP_NONE: not known: where the program's function waits */
	uint32_t line;
	uint32_t holder; /* location that held it when they began; SP_NONE: none, or not known */
	struct sp_stack holder_stack;
	uint64_t count, ns, longest;
	bool open;      /* the last one had not ended; the numbers hold it up to the location's end */
	bool timed;     /* it ends by itself */
	bool news;      /* somebody has to notify it: nobody holds anything */
	uint64_t since; /* open: ns since sp_model.begin_ns */
};

/* Threads of which each waits for what the next one holds, and the last one for what the first one holds. */
struct sp_lock_circle {
	uint32_t process;
	bool interrupted; /* the program went on after that */
	struct sp_lock_link {
		uint32_t location, lock;
		uint64_t since; /* ns since sp_model.begin_ns */
	} * links;
	uint32_t n;
};

struct sp_model;
struct sp_arena;
struct sp_str;

/* What a wait for something of that kind is called where the thing itself has no name: "sleeping", "waiting for a
 * lock".
 */
extern const char *const sp_lock_wait_words[SP_LOCK_KINDS];
/* Of each enum sp_wait_end; NULL: of one that got what it waited for. */
extern const char *const sp_lock_end_words[];
/* What the report calls the locks, with files without their directories: "Lock made at app.py:12 #2", "the GIL", "the
 * end of worker"; a part of another object has the name of that. Makes names, one for each of sp_model.locks; texts in
 * the arena or the model. -1: no memory. */
int sp_lock_names(struct sp_str **names, const struct sp_model *m, struct sp_arena *arena);

#endif
