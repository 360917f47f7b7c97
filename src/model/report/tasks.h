/* SPDX-License-Identifier: BSD-3-Clause */
/* Tasks for a report: grouped by their outermost coroutine, and the tasks that waited longest. */
#ifndef SP_MODEL_REPORT_TASKS_H
#define SP_MODEL_REPORT_TASKS_H

#include "base/err.h"
#include "model/task.h"

struct sp_task_group {
	uint32_t region;                  /* SP_NONE: unknown */
	uint64_t tasks, unlisted;         /* unlisted: of these, without a record */
	uint64_t states[SP_TASK_STATES];  /* of unlisted tasks that have not ended: SP_TASK_WAITING */
	uint64_t steps, running, waiting; /* ns */
	uint64_t longest;                 /* ns that one task with a record waited */
	struct sp_task_awaited *waits;    /* part of sp_tasks.waits with this region, sorted by decreasing sum */
	size_t n_waits;
};

struct sp_tasks {
	struct sp_task_group *groups; /* sorted by decreasing running + waiting time */
	size_t n_groups;
	uint32_t *order;                 /* tasks with a record, sorted by decreasing waiting time */
	uint64_t tasks, unlisted, never; /* never: created, but did not begin */
	struct sp_task_awaited *waits;   /* owned; the groups' arrays are parts of it */
};

/* Fills *out. Returns 0, or -1 with e set (no memory). */
int sp_tasks_find(struct sp_tasks *out, const struct sp_model *m, struct sp_err *e);
void sp_tasks_free(struct sp_tasks *t);

#endif
