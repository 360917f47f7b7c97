/* SPDX-License-Identifier: BSD-3-Clause */
/* Tasks of asyncio and the like, and what they waited for. */
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

/* What tasks waited for. */
struct sp_task_wait {
	uint32_t region; /* of the innermost coroutine; SP_NONE: not known */
	uint32_t kind;   /* string: the type of what it awaited; SP_NONE: not told */
	uint64_t count, ns;
};

/* A task of asyncio and the like, of which no more than so many have records of their own. */
struct sp_task {
	uint32_t process, number;     /* from 1 in each process */
	struct sp_str name;           /* may be empty */
	uint32_t region;              /* of its outermost coroutine; SP_NONE: not known */
	uint32_t location;            /* that ran it last */
	uint32_t creator;             /* a task; SP_NONE: none, or not known */
	uint32_t by;                  /* the location in which it was created; SP_NONE: not known */
	uint8_t state;                /* enum sp_task_state, at the end of the recording */
	bool seen_created;            /* otherwise `created` is its begin */
	uint64_t created, begin, end; /* ns since sp_model.begin_ns */
	uint64_t running, waiting;    /* ns, since its begin */
	uint64_t steps;               /* begin and resumptions */
	struct sp_task_wait *waits;   /* those that took longest */
	uint32_t n_waits;
};

/* The sums over tasks without a record, by region; SP_NONE: those that were created and never began. */
struct sp_task_rest {
	uint32_t process, region;
	uint64_t tasks, steps, running, waiting;
	uint64_t ended[4]; /* from SP_TASK_RETURNED on */
};

/* What all tasks of a region waited for at one call path, with record or without. */
struct sp_task_awaited {
	uint32_t process, region;
	struct sp_task_wait wait;
	uint64_t longest;      /* ns */
	struct sp_stack stack; /* where, from the root of its thread to the innermost coroutine; empty: not known */
};

/* Work given to the threads of pools. */
struct sp_handed {
	uint64_t given, taken;
	uint64_t ns, longest; /* from one to the other */
};

#endif
