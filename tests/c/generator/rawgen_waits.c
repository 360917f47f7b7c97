/* SPDX-License-Identifier: BSD-3-Clause */
/* Locks and waits: two threads that wait for each other's locks, first for a time and finally in a deadlock cycle. */
#include "rawgen.h"

enum { COLLAPSED = 1, MAIN, WORK, HOLD };
enum { FILE_NAME = 1, LOCK_TYPE, QUEUE_TYPE };
enum { ORDINARY = 1, QUEUE, PART, OTHER, GIL };

static uint64_t word(uint32_t object, uint32_t kind)
{
	return (uint64_t)kind << 32 | object;
}

static void define(struct rg_process *p)
{
	rg_region(p, COLLAPSED, SP_RAW_REGION_COLLAPSED, "", "<collapsed>", "", 0);
	rg_region(p, MAIN, 0, "__main__", "main", "/waits.py", 3);
	rg_region(p, WORK, 0, "__main__", "work", "/waits.py", 9);
	rg_region(p, HOLD, 0, "__main__", "hold", "/waits.py", 20);
	rg_define(p, SP_RAW_DEF_STRING, FILE_NAME, "/waits.py");
	rg_define(p, SP_RAW_DEF_STRING, LOCK_TYPE, "_thread.lock");
	rg_define(p, SP_RAW_DEF_STRING, QUEUE_TYPE, "queue.Queue");
	rg_metric(p, 0, SP_RAW_METRIC_WAIT | SP_RAW_METRIC_EXCLUSIVE, "wait_time", "s", -9);
	rg_metric(p, 1, SP_RAW_METRIC_WAIT | SP_RAW_METRIC_EXCLUSIVE, "waits", "#", 0);
}

static void begin(struct rg_thread *t, uint64_t at, uint32_t object, uint32_t kind, uint64_t row)
{
	rg_extra(t, at, SP_RAW_X_WAIT_BEGIN, (uint64_t[]){word(object, kind), row}, 2);
}

static void end(struct rg_thread *t, uint64_t at, uint32_t object, uint32_t kind, bool got)
{
	rg_extra(t, at, SP_RAW_X_WAIT_END, (uint64_t[]){word(object, kind), got}, 2);
}

static void lock(struct rg_thread *t, uint64_t at, enum sp_raw_extra what, uint32_t object, uint64_t n)
{
	rg_extra(t, at, what, (uint64_t[]){object, n}, 2);
}

/* Holds OTHER at the end, and waits for ORDINARY. */
static void first_thread(struct rg_thread *t)
{
	uint32_t work;

	rg_enter(t, 1000, MAIN);
	rg_enter(t, 1100, WORK);
	work = rg_top(t);
	begin(t, 1200, ORDINARY, SP_RAW_WAIT_LOCK, 1);
	begin(t, 1250, GIL, SP_RAW_WAIT_GIL, 3);
	end(t, 1280, GIL, SP_RAW_WAIT_GIL, true);
	rg_extra(t, 1280, SP_RAW_X_GIL_WAIT, (uint64_t[]){30}, 1);
	end(t, 1300, ORDINARY, SP_RAW_WAIT_LOCK, true);
	lock(t, 1301, SP_RAW_X_LOCK_ACQUIRE, ORDINARY, 8);
	lock(t, 1320, SP_RAW_X_LOCK_RELEASE, ORDINARY, 8);
	begin(t, 1400, 0, SP_RAW_WAIT_SLEEP, 2);
	end(t, 1500, 0, SP_RAW_WAIT_SLEEP, true);
	begin(t, 1520, ORDINARY, SP_RAW_WAIT_LOCK, 1);
	rg_extra(t, 1521, SP_RAW_X_WAIT_END, (uint64_t[]){word(ORDINARY, SP_RAW_WAIT_LOCK), SP_RAW_WAIT_NONE}, 2);
	/* recording is off when the second one ends */
	begin(t, 1600, 0, SP_RAW_WAIT_SLEEP, 2);
	rg_extra(t, 1650, SP_RAW_X_OFF, NULL, 0);
	rg_extra(t, 1700, SP_RAW_X_ON, NULL, 0);
	lock(t, 1800, SP_RAW_X_LOCK_ACQUIRE, OTHER, 1);
	begin(t, 3000, ORDINARY, SP_RAW_WAIT_LOCK, 1);
	rg_wait(t, &(struct sp_raw_wait){.node = work,
	                                 .object = ORDINARY,
	                                 .kind = SP_RAW_WAIT_LOCK,
	                                 .file = FILE_NAME,
	                                 .line = 11,
	                                 .holder = 1,
	                                 .number = 1,
	                                 .holder_node = 2,
	                                 .count = 1,
	                                 .ticks = 70,
	                                 .longest = 70,
	                                 .since = 3000});
	rg_wait(t, &(struct sp_raw_wait){.node = work,
	                                 .kind = SP_RAW_WAIT_SLEEP,
	                                 .flags = SP_RAW_WAIT_TIMED,
	                                 .file = FILE_NAME,
	                                 .line = 12,
	                                 .holder = SP_RAW_NONE,
	                                 .number = 2,
	                                 .count = 2,
	                                 .ticks = 250,
	                                 .longest = 150});
	rg_wait(t, &(struct sp_raw_wait){.node = work,
	                                 .object = GIL,
	                                 .kind = SP_RAW_WAIT_GIL,
	                                 .flags = SP_RAW_WAIT_TIMED | SP_RAW_WAIT_FOR_NEWS,
	                                 .holder = SP_RAW_NONE,
	                                 .number = 3,
	                                 .count = 1,
	                                 .ticks = 30,
	                                 .longest = 30});
}

/* Holds ORDINARY at the end, and waits for OTHER. */
static void second_thread(struct rg_thread *t)
{
	uint32_t hold;

	rg_enter(t, 1010, MAIN);
	rg_enter(t, 1020, HOLD);
	hold = rg_top(t);
	lock(t, 1290, SP_RAW_X_LOCK_RELEASE, ORDINARY, 7);
	begin(t, 1350, PART, SP_RAW_WAIT_QUEUE, 1);
	end(t, 1450, PART, SP_RAW_WAIT_QUEUE, false);
	lock(t, 2000, SP_RAW_X_LOCK_ACQUIRE, ORDINARY, 9);
	begin(t, 2500, OTHER, SP_RAW_WAIT_LOCK, 2);
	rg_wait(t, &(struct sp_raw_wait){.node = hold,
	                                 .object = PART,
	                                 .kind = SP_RAW_WAIT_QUEUE,
	                                 .flags = SP_RAW_WAIT_FOR_NEWS,
	                                 .file = FILE_NAME,
	                                 .line = 22,
	                                 .holder = SP_RAW_NONE,
	                                 .number = 1,
	                                 .count = 1,
	                                 .ticks = 100,
	                                 .longest = 100});
	rg_wait(t, &(struct sp_raw_wait){.node = hold,
	                                 .object = OTHER,
	                                 .kind = SP_RAW_WAIT_LOCK,
	                                 .file = FILE_NAME,
	                                 .line = 23,
	                                 .holder = 0,
	                                 .number = 2,
	                                 .holder_node = 2,
	                                 .since = 2500});
}

static void objects(struct rg_process *p)
{
	static const struct sp_raw_object all[] = {
	    {.kind = SP_RAW_WAIT_LOCK,
	     .address = 0x1000,
	     .type = LOCK_TYPE,
	     .made_file = FILE_NAME,
	     .made_line = 1,
	     .made_by = 0,
	     .holder = 1,
	     .holder_node = 2,
	     .since = 2000,
	     .count = 9,
	     .contended = 2,
	     .waited = 70,
	     .held = 25},
	    {.kind = SP_RAW_WAIT_QUEUE,
	     .address = 0x2000,
	     .type = QUEUE_TYPE,
	     .made_file = FILE_NAME,
	     .made_line = 2,
	     .made_by = 0,
	     .holder = SP_RAW_NONE},
	    {.kind = SP_RAW_WAIT_LOCK,
	     .freed = 1,
	     .address = 0x2100,
	     .type = LOCK_TYPE,
	     .user = QUEUE,
	     .made_by = SP_RAW_NONE,
	     .holder = SP_RAW_NONE,
	     .contended = 1,
	     .waited = 100},
	    {.kind = SP_RAW_WAIT_LOCK,
	     .address = 0x3000,
	     .type = LOCK_TYPE,
	     .made_file = FILE_NAME,
	     .made_line = 1,
	     .made_by = 0,
	     .holder = 0,
	     .holder_node = 2,
	     .since = 1800,
	     .count = 1,
	     .contended = 1},
	    {.kind = SP_RAW_WAIT_GIL, .made_by = SP_RAW_NONE, .holder = SP_RAW_NONE, .contended = 1, .waited = 30},
	};
	static const struct sp_raw_deadlock cycle[] = {{0, ORDINARY, 1650, 0}, {1, OTHER, 1640, 0}};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		rg_object(p, &all[i]);
	rg_record(p, SP_RAW_DEF_DEADLOCK, 0, 0, 0, (const struct rg_bytes[4]){{cycle, sizeof(cycle)}});
}

struct rg_process *rg_waits(bool trace)
{
	struct rg_process *p = rg_process(7, 1, 900, trace);

	define(p);
	first_thread(rg_thread(p, "MainThread", 7, SP_RAW_NONE, 900));
	second_thread(rg_thread(p, "holder", 8, 0, 1000));
	objects(p);
	return p;
}
