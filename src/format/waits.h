/* SPDX-License-Identifier: BSD-3-Clause */
/* The structs of locks and waits; a part of format.h. */
#ifndef SP_FORMAT_WAITS_H
#define SP_FORMAT_WAITS_H

#include <stdint.h>

/* For what a thread waits, and what an object is that it waits for. */
enum sp_raw_wait_kind {
	SP_RAW_WAIT_OTHER = 0,
	SP_RAW_WAIT_LOCK = 1,
	SP_RAW_WAIT_RLOCK = 2,
	SP_RAW_WAIT_CONDITION = 3,
	SP_RAW_WAIT_SEMAPHORE = 4,
	SP_RAW_WAIT_EVENT = 5,
	SP_RAW_WAIT_BARRIER = 6,
	SP_RAW_WAIT_QUEUE = 7,
	SP_RAW_WAIT_THREAD = 8, /* its end */
	SP_RAW_WAIT_FUTURE = 9,
	SP_RAW_WAIT_PROCESS_LOCK = 10, /* a semaphore that processes share */
	SP_RAW_WAIT_PROCESS = 11,      /* its end */
	SP_RAW_WAIT_PIPE = 12,
	SP_RAW_WAIT_SLEEP = 13,
	SP_RAW_WAIT_SELECT = 14, /* select, poll, epoll */
	SP_RAW_WAIT_SOCKET = 15,
	SP_RAW_WAIT_FILE_LOCK = 16,
	SP_RAW_WAIT_GIL = 17,
	SP_RAW_WAIT_MUTEX = 18, /* this and the next ones: of the C library */
	SP_RAW_WAIT_COND = 19,
	SP_RAW_WAIT_SEM = 20,
	SP_RAW_WAIT_RWLOCK = 21,
	SP_RAW_WAIT_PTHREAD_BARRIER = 22,
	SP_RAW_WAIT_KINDS
};

/* flags of a wait */
enum {
	SP_RAW_WAIT_TIMED = 1,   /* the one that goes on ends by itself */
	SP_RAW_WAIT_FOR_NEWS = 2 /* nobody holds what it waits for: somebody has to notify, release, put … */
};
/* What a WAIT_END says: without what it was for, with it, or that it was no wait after all, which nobody counts. */
enum { SP_RAW_WAIT_FAILED = 0, SP_RAW_WAIT_GOT = 1, SP_RAW_WAIT_NONE = 2 };
/* In the place of a location: a thread that held it at a fork, and is not there in the child. */
#define SP_RAW_HOLDER_GONE (SP_RAW_NONE - 1)

/* Waits of a thread at one place for one object with one holder. Sums are of waits that are over. */
struct sp_raw_wait {
	uint64_t node;        /* writer's pointer */
	uint32_t object;      /* of an OBJECTS chunk; 0: none */
	uint16_t kind;        /* enum sp_raw_wait_kind */
	uint16_t flags;       /* SP_RAW_WAIT_… */
	uint32_t file;        /* string: where the program's own function waits; 0: not known */
	uint32_t line;        /* of it; 0: not known */
	uint32_t holder;      /* location that held it when they began; SP_RAW_NONE: none, or not known */
	uint32_t number;      /* of the thread's rows, from 1: by which a trace refers to it; 0: not told */
	uint64_t holder_node; /* writer's pointer among those of that location: where it got it; 0: not known */
	uint64_t count;
	uint64_t ticks;
	uint64_t longest; /* ticks */
	uint64_t since;   /* ticks: of the one that goes on; 0: none */
};
_Static_assert(sizeof(struct sp_raw_wait) == 72, "raw wait");

/* What threads waited for. */
struct sp_raw_object {
	uint32_t id;        /* from 1 */
	uint16_t kind;      /* enum sp_raw_wait_kind */
	uint16_t freed;     /* 1: it is no more */
	uint64_t address;   /* in the process; 0: it has none */
	uint32_t type;      /* string: the name of its type, or of the file */
	uint32_t user;      /* the object of the program that it is a part of; 0: none */
	uint32_t made_file; /* string: where it was made; 0: not known */
	uint32_t made_line;
	uint32_t made_by;     /* location; SP_RAW_NONE: not known */
	uint32_t holder;      /* location that holds it now; SP_RAW_NONE: none */
	uint64_t holder_node; /* writer's pointer among that location's: where it got it; 0: not known */
	uint64_t since;       /* ticks: since when; 0: not known */
	uint64_t count;       /* how often it was got */
	uint64_t contended;   /* how often somebody had to wait for it */
	uint64_t waited;      /* ticks, all waits that are over together */
	uint64_t held;        /* ticks, since the first of these waits */
};
_Static_assert(sizeof(struct sp_raw_object) == 88, "raw object");

/* Of the array in a DEADLOCK record: each waits for what the next one holds, the last one for what the first holds. */
struct sp_raw_deadlock {
	uint32_t location;
	uint32_t object;
	uint64_t since; /* ticks */
	uint64_t node;  /* writer's pointer: where it waits */
};
_Static_assert(sizeof(struct sp_raw_deadlock) == 24, "raw deadlock");

#endif
