/* SPDX-License-Identifier: BSD-3-Clause */
/* The structs of locks and waits; a part of format.h. */
#ifndef SP_FORMAT_WAITS_H
#define SP_FORMAT_WAITS_H

#include <stdint.h>

/* The kind of a wait, and of the object that a thread waits for. */
enum sp_raw_wait_kind {
	SP_RAW_WAIT_OTHER = 0,
	SP_RAW_WAIT_LOCK = 1,
	SP_RAW_WAIT_RLOCK = 2,
	SP_RAW_WAIT_CONDITION = 3,
	SP_RAW_WAIT_SEMAPHORE = 4,
	SP_RAW_WAIT_EVENT = 5,
	SP_RAW_WAIT_BARRIER = 6,
	SP_RAW_WAIT_QUEUE = 7,
	SP_RAW_WAIT_THREAD = 8, /* join */
	SP_RAW_WAIT_FUTURE = 9,
	SP_RAW_WAIT_PROCESS_LOCK = 10, /* a semaphore that processes share */
	SP_RAW_WAIT_PROCESS = 11,      /* end of a child process */
	SP_RAW_WAIT_PIPE = 12,
	SP_RAW_WAIT_SLEEP = 13,
	SP_RAW_WAIT_SELECT = 14, /* select, poll, epoll */
	SP_RAW_WAIT_SOCKET = 15,
	SP_RAW_WAIT_FILE_LOCK = 16,
	SP_RAW_WAIT_GIL = 17,
	SP_RAW_WAIT_MUTEX = 18, /* this and the next ones: objects of the C library */
	SP_RAW_WAIT_COND = 19,
	SP_RAW_WAIT_SEM = 20,
	SP_RAW_WAIT_RWLOCK = 21,
	SP_RAW_WAIT_PTHREAD_BARRIER = 22,
	SP_RAW_WAIT_KINDS
};

/* flags of a wait */
enum {
	SP_RAW_WAIT_TIMED = 1,   /* the outstanding wait has a timeout */
	SP_RAW_WAIT_FOR_NEWS = 2 /* the object has no holder: a notification, release, put … ends the wait */
};
/* The outcome in a WAIT_END: it failed, it succeeded, or the object was available at once, so it is not counted. */
enum { SP_RAW_WAIT_FAILED = 0, SP_RAW_WAIT_GOT = 1, SP_RAW_WAIT_NONE = 2 };
/* Instead of a location: a thread that held the object at a fork and does not exist in the child. */
#define SP_RAW_HOLDER_GONE (SP_RAW_NONE - 1)

/* All waits of a thread at one call path and line for one object with one holder. Sums are of waits that have ended. */
struct sp_raw_wait {
	uint64_t node;   /* writer's pointer */
	uint32_t object; /* id in an OBJECTS chunk; 0: no object */
	uint16_t kind;   /* enum sp_raw_wait_kind */
	uint16_t flags;  /* SP_RAW_WAIT_… */
	uint32_t file;   /* string: source location of the wait in the program's own code; 0: unknown */
	uint32_t line;   /* line in it; 0: unknown */
	/* location that held the object when the waits began; SP_RAW_NONE: no holder, or unknown */
	uint32_t holder;
	/* number among the thread's rows, from 1, by which a trace refers to it; 0: not recorded */
	uint32_t number;
	/* writer's pointer in that location: call path at which it acquired the object; 0: unknown */
	uint64_t holder_node;
	uint64_t count;
	uint64_t ticks;
	uint64_t longest; /* ticks */
	uint64_t since;   /* ticks; begin of the outstanding wait; 0: no outstanding wait */
};
_Static_assert(sizeof(struct sp_raw_wait) == 72, "raw wait");

/* The META record that says that off-CPU time was measured; its value: ticks of the shortest gap. */
#define SP_META_OFF_CPU "off_cpu_gap"
/* The META record that says that a trace of the process has OFF_CPU records. */
#define SP_META_OFF_CPU_TRACE "off_cpu_trace"

/* The time in which a thread did not run, at one call path. */
struct sp_raw_off_cpu {
	uint64_t node;      /* writer's pointer */
	uint64_t waiting;   /* ns */
	uint64_t preempted; /* ns; the thread could run, but others had the processor */
	uint64_t count;     /* number of times */
};
_Static_assert(sizeof(struct sp_raw_off_cpu) == 32, "raw off-cpu");

/* The word of an OFF_CPU record in the trace: ns of the time since the event before, shifted; the bit: preempted. */
enum { SP_RAW_OFF_CPU_SHIFT = 1, SP_RAW_OFF_CPU_PREEMPTED = 1 };

/* Instead of the first element of a thread's first chunk of these: the thread's processor clock. */
struct sp_raw_thread_cpu {
	uint64_t ticks; /* the last reading */
	uint64_t cpu;   /* ns; the processor clock then */
	uint64_t begin; /* ns; at the thread's begin */
	uint64_t end;   /* ns; when recording ended; 0: not read */
};
_Static_assert(sizeof(struct sp_raw_thread_cpu) == sizeof(struct sp_raw_off_cpu), "one element");

/* An object that threads waited for. */
struct sp_raw_object {
	uint32_t id;        /* from 1 */
	uint16_t kind;      /* enum sp_raw_wait_kind */
	uint16_t freed;     /* 1: it was destroyed */
	uint64_t address;   /* in the process; 0: no address */
	uint32_t type;      /* string: the name of its type, or of the file */
	uint32_t user;      /* id of the object of the program that it is a part of; 0: not a part */
	uint32_t made_file; /* string: source location of its creation; 0: unknown */
	uint32_t made_line;
	uint32_t made_by; /* location; SP_RAW_NONE: unknown */
	uint32_t holder;  /* location that holds it now; SP_RAW_NONE: no holder */
	/* writer's pointer in that location: call path at which it acquired the object; 0: unknown */
	uint64_t holder_node;
	uint64_t since;     /* ticks; time of that acquisition; 0: unknown */
	uint64_t count;     /* number of acquisitions */
	uint64_t contended; /* number of acquisitions with contention */
	uint64_t waited;    /* ticks; sum of all waits that have ended */
	uint64_t held;      /* ticks; hold time since the first of these waits */
};
_Static_assert(sizeof(struct sp_raw_object) == 88, "raw object");

/* An element of the array in a DEADLOCK record: each thread waits for what the next one holds, the last thread for what
 * the first one holds. */
struct sp_raw_deadlock {
	uint32_t location;
	uint32_t object;
	uint64_t since; /* ticks */
	uint64_t node;  /* writer's pointer to the call path of the wait */
};
_Static_assert(sizeof(struct sp_raw_deadlock) == 24, "raw deadlock");

#endif
