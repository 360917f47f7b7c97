/* SPDX-License-Identifier: BSD-3-Clause */
/* Tasks for a report: by their outermost coroutine, and the ones that waited longest. */
#ifndef SP_MODEL_REPORT_TASKS_H
#define SP_MODEL_REPORT_TASKS_H

#include "base/err.h"
#include "model/task.h"

struct sp_task_group {
	uint32_t region;                  /* SP_NONE: not known */
	uint64_t tasks, unlisted;         /* of these without a record */
	uint64_t states[SP_TASK_STATES];  /* of unlisted ones that have not ended: SP_TASK_WAITING */
	uint64_t steps, running, waiting; /* ns */
	uint64_t longest;                 /* ns waited by one task that has a record */
	struct sp_task_awaited *waits;    /* those of this region, longest sum first */
	size_t n_waits;
};

struct sp_tasks {
	struct sp_task_group *groups; /* most time first, running and waiting */
	size_t n_groups;
	uint32_t *order;                 /* tasks with a record, longest waiting first */
	uint64_t tasks, unlisted, never; /* never: created, and not begun */
	struct sp_task_awaited *waits;   /* owned by this; the groups' are parts of it */
};

/* Fills out; 0, or -1 without memory. */
int sp_tasks_find(struct sp_tasks *out, const struct sp_model *m, struct sp_err *e);
void sp_tasks_free(struct sp_tasks *t);

#endif
