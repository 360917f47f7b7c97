/* SPDX-License-Identifier: BSD-3-Clause */
/* Tasks of asyncio and the like, and their waits. */
#ifndef SP_MODEL_TASK_H
#define SP_MODEL_TASK_H

#include <stdbool.h>
#include <stdint.h>

#include "model/lock.h"
#include "model/str.h"

enum sp_task_state { /* as SP_RAW_TASK_… */
	             SP_TASK_WAITING,
	             SP_TASK_RUNNING,
	             SP_TASK_RETURNED,
	             SP_TASK_RAISED,
	             SP_TASK_CANCELLED,
	             SP_TASK_DROPPED,
	             SP_TASK_STATES
};
extern const char *const sp_task_state_names[SP_TASK_STATES];

/* Waits of a task. */
struct sp_task_wait {
	uint32_t region; /* region of the innermost coroutine; SP_NONE: unknown */
	uint32_t kind;   /* string: type of the awaited object; SP_NONE: not recorded */
	uint64_t count, ns;
};

/* A task of asyncio and the like. Only a limited number of tasks have records. */
struct sp_task {
	uint32_t process, number;     /* from 1 in each process */
	struct sp_str name;           /* may be empty */
	uint32_t region;              /* region of its outermost coroutine; SP_NONE: unknown */
	uint32_t location;            /* the location that ran it last */
	uint32_t creator;             /* the task that created it; SP_NONE: no task, or unknown */
	uint32_t by;                  /* the location in which it was created; SP_NONE: unknown */
	uint8_t state;                /* enum sp_task_state at the end of the recording */
	bool seen_created;            /* its creation was recorded; otherwise `created` equals its begin */
	uint64_t created, begin, end; /* ns since sp_model.begin_ns */
	uint64_t running, waiting;    /* ns, since its begin */
	uint64_t steps;               /* number of times it ran: its begin and resumptions */
	struct sp_task_wait *waits;   /* the longest waits */
	uint32_t n_waits;
};

/* The sums over the tasks of a region without records; region SP_NONE: tasks that were created but did not begin. */
struct sp_task_rest {
	uint32_t process, region;
	uint64_t tasks, steps, running, waiting;
	uint64_t ended[4]; /* number of ended tasks, by state from SP_TASK_RETURNED on */
};

/* The waits of all tasks of a region at one call path, with or without a record. */
struct sp_task_awaited {
	uint32_t process, region;
	struct sp_task_wait wait;
	uint64_t longest; /* ns */
	/* the call path, from the root of its thread to the innermost coroutine; empty: unknown */
	struct sp_stack stack;
};

/* Work items that were handed to the threads of pools. */
struct sp_handed {
	uint64_t given, taken;
	uint64_t ns, longest; /* ns from handing over to the start of the work */
};

#endif
