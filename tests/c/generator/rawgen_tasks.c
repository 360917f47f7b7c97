/* SPDX-License-Identifier: BSD-3-Clause */
/* Everything that can be recorded of tasks, of starts and joins of threads, and of children. */
#include "rawgen.h"

enum { COLLAPSED = 1, MAIN, OUTER, INNER };
enum { FUTURE = 1, EVENT };
enum { NEVER_BEGAN = 4 };

static const struct sp_raw_task tasks[] = {
    {.created = 1010,
     .begun = 1100,
     .since = 2000,
     .running = 310,
     .waiting = 590,
     .steps = 3,
     .by = 0,
     .location = 0,
     .state = SP_RAW_TASK_RETURNED,
     .waits = {{INNER, FUTURE, 1, 400}, {OUTER, 0, 1, 190}}},
    {.begun = 1150,
     .since = 1800,
     .running = 50,
     .waiting = 600,
     .steps = 2,
     .creator = 1,
     .by = 1,
     .location = 1,
     .state = SP_RAW_TASK_CANCELLED,
     .waits = {{OUTER, EVENT, 1, 600}}},
    {.created = 1750,
     .begun = 1900,
     .since = 1950,
     .running = 50,
     .steps = 1,
     .creator = 1,
     .by = 0,
     .location = 0,
     .state = SP_RAW_TASK_WAITING},
};

static void define(struct rg_process *p)
{
	static const struct sp_raw_tasks never = {.tasks = 1};
	static const struct sp_raw_tasks rest = {5, {1, 1, 1, 1}, 70, 80, 9};
	static const struct sp_raw_awaited awaited = {2, 1000, 600, FUTURE, 0, 0};
	static const struct sp_raw_handed handed = {2, 1, 25, 25};
	static const struct sp_raw_child child = {1300, 1700, 256, 0};
	uint32_t i;

	rg_region(p, COLLAPSED, SP_RAW_REGION_COLLAPSED, "", "<collapsed>", "", 0);
	rg_region(p, MAIN, 0, "__main__", "main", "/tasks.py", 3);
	rg_region(p, OUTER, SP_RAW_REGION_GENERATOR, "__main__", "outer", "/tasks.py", 9);
	rg_region(p, INNER, SP_RAW_REGION_GENERATOR, "__main__", "inner", "/tasks.py", 20);
	rg_define(p, SP_RAW_DEF_STRING, FUTURE, "Future");
	rg_define(p, SP_RAW_DEF_STRING, EVENT, "Event");
	for (i = 0; i < sizeof(tasks) / sizeof(*tasks); i++)
		rg_record(p, SP_RAW_DEF_TASK, SP_RAW_TASK_ONE, i + 1, OUTER,
		          (struct rg_bytes[4]){{&tasks[i], sizeof(*tasks)}, {"Task-1", i ? 6 : 0}});
	rg_record(p, SP_RAW_DEF_TASK, SP_RAW_TASK_REST, 0, 0, (struct rg_bytes[4]){{&never, sizeof(never)}});
	rg_record(p, SP_RAW_DEF_TASK, SP_RAW_TASK_REST, 0, INNER, (struct rg_bytes[4]){{&rest, sizeof(rest)}});
	rg_record(p, SP_RAW_DEF_TASK, SP_RAW_TASK_AWAITED, OUTER, INNER,
	          (struct rg_bytes[4]){{&awaited, sizeof(awaited)}});
	rg_record(p, SP_RAW_DEF_TASK, SP_RAW_TASK_HANDED, 0, 0, (struct rg_bytes[4]){{&handed, sizeof(handed)}});
	rg_record(p, SP_RAW_DEF_CHILD, 0, 12, 0, (struct rg_bytes[4]){{"ls -l", 5}, {&child, sizeof(child)}});
	rg_record(p, SP_RAW_DEF_LOCATION_NAME, 0, 1, 1, (struct rg_bytes[4]){{"worker", 6}});
}

static void put_extra(struct rg_thread *t, uint64_t at, enum sp_raw_extra what, uint64_t first, uint64_t second)
{
	const bool one = what == SP_RAW_X_THREAD_CREATE || what == SP_RAW_X_TASK_CREATE ||
	                 what == SP_RAW_X_TASK_SWITCH || what == SP_RAW_X_GIL_WAIT;

	rg_extra(t, at, what, (uint64_t[]){first, second}, one ? 1 : 2);
}

/* combines the low and the high half of a word */
static uint64_t pair(uint32_t low, uint32_t high)
{
	return (uint64_t)high << 32 | low;
}

static void first_thread(struct rg_thread *t)
{
	rg_enter(t, 1000, MAIN);
	put_extra(t, 1010, SP_RAW_X_TASK_CREATE, 1, 0);
	put_extra(t, 1020, SP_RAW_X_TASK_CREATE, NEVER_BEGAN, 0);
	put_extra(t, 1030, SP_RAW_X_THREAD_CREATE, 1, 0);
	put_extra(t, 1100, SP_RAW_X_TASK_SWITCH, 1, 0);
	rg_enter(t, 1100, OUTER);
	rg_enter(t, 1110, INNER);
	put_extra(t, 1200, SP_RAW_X_HANDOVER, 1, 0);
	put_extra(t, 1210, SP_RAW_X_GIL_WAIT, 8, 0);
	rg_suspend(t, 1300);
	rg_suspend(t, 1300);
	put_extra(t, 1300, SP_RAW_X_TASK_AWAITS, 1, pair(INNER, FUTURE));
	put_extra(t, 1700, SP_RAW_X_TASK_SWITCH, 1, 0);
	rg_resume(t, 1700, OUTER);
	put_extra(t, 1750, SP_RAW_X_TASK_CREATE, 3, 0);
	/* one call inside the other */
	put_extra(t, 1900, SP_RAW_X_TASK_SWITCH, 3, 0);
	rg_enter(t, 1900, OUTER);
	rg_suspend(t, 1950);
	put_extra(t, 1950, SP_RAW_X_TASK_AWAITS, pair(3, 1), 0);
	rg_leave(t, 2000);
	put_extra(t, 2000, SP_RAW_X_TASK_END, 1, SP_RAW_TASK_RETURNED);
	put_extra(t, 2100, SP_RAW_X_THREAD_JOIN, 8, 90);
	rg_leave(t, 2200);
}

static void second_thread(struct rg_thread *t)
{
	rg_enter(t, 1050, MAIN);
	put_extra(t, 1150, SP_RAW_X_TASK_SWITCH, 2, 0);
	rg_enter(t, 1150, OUTER);
	put_extra(t, 1160, SP_RAW_X_HANDOVER, 1, 1);
	rg_suspend(t, 1180);
	put_extra(t, 1180, SP_RAW_X_TASK_AWAITS, 2, pair(OUTER, EVENT));
	put_extra(t, 1780, SP_RAW_X_TASK_SWITCH, 2, 0);
	rg_resume(t, 1780, OUTER);
	rg_leave(t, 1800);
	put_extra(t, 1800, SP_RAW_X_TASK_END, 2, SP_RAW_TASK_CANCELLED);
	rg_leave(t, 2050);
}

struct rg_process *rg_tasks(bool trace)
{
	struct rg_process *p = rg_process(7, 1, 900, trace);

	first_thread(rg_thread(p, "MainThread", 7, SP_RAW_NONE, 900));
	second_thread(rg_thread(p, "", 8, 0, 1040));
	define(p);
	return p;
}
