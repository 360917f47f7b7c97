/* SPDX-License-Identifier: BSD-3-Clause */
/* Tasks of several processes: the results of their records and events, and the same in a merged experiment. */
#include "check.h"
#include "model/builder/source.h"
#include "model/event.h"
#include "model/merge/merge.h"
#include "model/model.h"
#include "model/process.h"
#include "model/region.h"
#include "model/str.h"
#include "model/task.h"
#include "scratch.h"

enum { PROCESSES = 5, BEGIN = 1000, END = 9000 };

static void record(struct rg_process *p, uint32_t what, uint32_t a, uint32_t b, const void *bytes, size_t n,
                   const char *name)
{
	rg_record(p, SP_RAW_DEF_TASK, what, a, b, (struct rg_bytes[4]){{bytes, n}, {name, strlen(name)}});
}

/* Each process has different numbers for regions and strings, and one of each that others do not have. */
static void define(struct rg_process *p, uint32_t k)
{
	char own[16];

	snprintf(own, sizeof(own), "only_%u", k);
	rg_region(p, 1 + k, SP_RAW_REGION_COROUTINE, "m", "main", "/m.py", 1);
	rg_region(p, 10 + k, SP_RAW_REGION_COROUTINE, "m", own, "/m.py", 20 + k);
	rg_region(p, 20 + k, SP_RAW_REGION_COROUTINE, "asyncio", "sleep", "/asyncio.py", 5);
	rg_define(p, SP_RAW_DEF_STRING, 3 + k, own);
	rg_define(p, SP_RAW_DEF_STRING, 9 + k, "Future");
}

static void add_records(struct rg_process *p, uint32_t k)
{
	struct sp_raw_task t = {.created = 1100,
	                        .begun = 1200,
	                        .since = 5000,
	                        .running = 300 + k,
	                        .waiting = 2000,
	                        .steps = 4,
	                        .by = 0,
	                        .location = 0,
	                        .state = SP_RAW_TASK_RETURNED,
	                        .waits = {{20 + k, 9 + k, 3, 1500}, {10 + k, 3 + k, 1, 500}}};
	struct sp_raw_tasks rest = {.tasks = 10 + k, .ended = {5, 1, 2, 0}, .running = 70, .waiting = 700, .steps = 30};
	struct sp_raw_awaited awaited = {.count = 6, .ticks = 4000 + k, .longest = 900, .kind = 9 + k};
	struct sp_raw_handed handed = {.given = 4 + k, .taken = 4, .ticks = 80, .longest = 10 * k};

	record(p, SP_RAW_TASK_ONE, 1, 1 + k, &t, sizeof(t), "first");
	/* begun before it was recorded, created by a task without a record, and waiting until the end */
	t = (struct sp_raw_task){.begun = 1300,
	                         .since = 6000,
	                         .running = 10,
	                         .waiting = 20,
	                         .steps = 1,
	                         .creator = 2,
	                         .by = SP_RAW_NONE,
	                         .location = 1};
	record(p, SP_RAW_TASK_ONE, 4, 10 + k, &t, sizeof(t), "");
	/* no time can be so long */
	t = (struct sp_raw_task){.created = 1,
	                         .begun = 1400,
	                         .since = 2000,
	                         .running = UINT64_MAX,
	                         .creator = 1,
	                         .state = SP_RAW_TASK_RAISED,
	                         .location = 7};
	record(p, SP_RAW_TASK_ONE, 3, 99, &t, sizeof(t), "damaged");
	record(p, SP_RAW_TASK_REST, 0, 10 + k, &rest, sizeof(rest), "");
	record(p, SP_RAW_TASK_REST, 0, 0, &rest, sizeof(rest), "");
	record(p, SP_RAW_TASK_AWAITED, 1 + k, 20 + k, &awaited, sizeof(awaited), "");
	record(p, SP_RAW_TASK_HANDED, 0, 0, &handed, sizeof(handed), "");
}

static void add_events(struct rg_thread *t, uint32_t k)
{
	rg_enter(t, 1050, 1 + k);
	rg_extra(t, 1060, SP_RAW_X_THREAD_CREATE, (uint64_t[]){1}, 1);
	rg_extra(t, 1100, SP_RAW_X_TASK_CREATE, (uint64_t[]){1}, 1);
	rg_extra(t, 1200, SP_RAW_X_TASK_SWITCH, (uint64_t[]){1}, 1);
	rg_extra(t, 1300, SP_RAW_X_TASK_SWITCH, (uint64_t[]){4}, 1);
	rg_extra(t, 1400, SP_RAW_X_TASK_AWAITS, (uint64_t[]){4 | UINT64_C(1) << 32, (20 + k) | (uint64_t)(9 + k) << 32},
	         2);
	rg_extra(t, 5000, SP_RAW_X_TASK_END, (uint64_t[]){1, SP_RAW_TASK_RETURNED}, 2);
	rg_extra(t, 5100, SP_RAW_X_HANDOVER, (uint64_t[]){7, 0}, 2);
	rg_extra(t, 5200, SP_RAW_X_GIL_WAIT, (uint64_t[]){UINT64_MAX}, 1);
	rg_extra(t, 8000, SP_RAW_X_THREAD_JOIN, (uint64_t[]){200 + k, 1000}, 2);
	rg_leave(t, 8500);
}

static const char *experiment(void)
{
	const char *dir = scratch_experiment();
	uint32_t k;

	for (k = 0; k < PROCESSES; k++) {
		const char name[] = {(char)('a' + k), '.', 'r', 'a', 'w', 0};
		struct sp_raw_child child = {.begin = 2000, .end = 3000, .status = (int32_t)k << 8};
		struct rg_process *p = rg_process(50 + (int32_t)k, 1, BEGIN, true);
		struct rg_thread *t;

		define(p, k);
		if (k != 2) /* this process has no tasks */
			add_records(p, k);
		rg_record(p, SP_RAW_DEF_CHILD, SP_RAW_CHILD_ENDED, 900 + k, 0,
		          (struct rg_bytes[4]){{"ls", 2}, {&child, sizeof(child)}});
		rg_record(p, SP_RAW_DEF_LOCATION_NAME, 0, 1, 1, (struct rg_bytes[4]){{"worker", 6}});
		t = rg_thread(p, "MainThread", 100 + k, SP_RAW_NONE, BEGIN);
		if (k != 2)
			add_events(t, k);
		rg_thread(p, "worker", 200 + k, 0, 1060);
		scratch_add(dir, p, name, SP_RAW_ENDED_NORMAL, END);
	}
	return dir;
}

static bool same_text(struct sp_str a, struct sp_str b)
{
	return a.n == b.n && memcmp(a.p, b.p, a.n) == 0;
}

static bool same_wait(const struct sp_task_wait *a, const struct sp_task_wait *b)
{
	return a->region == b->region && a->kind == b->kind && a->count == b->count && a->ns == b->ns;
}

static void compare(const struct sp_model *a, const struct sp_model *b)
{
	size_t i, k;

	MUST(a->n_tasks == b->n_tasks && a->n_task_rests == b->n_task_rests && a->n_task_awaited == b->n_task_awaited &&
	     a->n_children == b->n_children && a->n_regions == b->n_regions && a->n_strings == b->n_strings);
	for (i = 0; i < a->n_tasks; i++) {
		const struct sp_task *p = &a->tasks[i], *q = &b->tasks[i];

		CHECK(p->process == q->process && p->number == q->number && same_text(p->name, q->name) &&
		      p->region == q->region && p->location == q->location && p->creator == q->creator &&
		      p->by == q->by && p->state == q->state && p->seen_created == q->seen_created &&
		      p->created == q->created && p->begin == q->begin && p->end == q->end &&
		      p->running == q->running && p->waiting == q->waiting && p->steps == q->steps);
		MUST(p->n_waits == q->n_waits);
		for (k = 0; k < p->n_waits; k++)
			CHECK(same_wait(&p->waits[k], &q->waits[k]));
	}
	for (i = 0; i < a->n_task_rests; i++) {
		const struct sp_task_rest *p = &a->task_rests[i], *q = &b->task_rests[i];

		CHECK(p->process == q->process && p->region == q->region && p->tasks == q->tasks &&
		      p->steps == q->steps && p->running == q->running && p->waiting == q->waiting &&
		      memcmp(p->ended, q->ended, sizeof(p->ended)) == 0);
	}
	for (i = 0; i < a->n_task_awaited; i++) {
		const struct sp_task_awaited *p = &a->task_awaited[i], *q = &b->task_awaited[i];

		CHECK(p->process == q->process && p->region == q->region && p->longest == q->longest &&
		      same_wait(&p->wait, &q->wait));
	}
	CHECK(memcmp(&a->handed, &b->handed, sizeof(a->handed)) == 0);
	for (i = 0; i < a->n_children; i++) {
		const struct sp_child *p = &a->children[i], *q = &b->children[i];

		CHECK(p->parent == q->parent && p->process == q->process && p->pid == q->pid &&
		      same_text(p->command, q->command) && p->begin == q->begin && p->end == q->end &&
		      p->status == q->status);
	}
}

static void compare_events(const struct sp_model *a, const struct sp_model *b)
{
	struct sp_event ev[2][64];
	struct sp_events *s, *t;
	struct sp_err e;
	uint32_t l;
	long n, m, i;

	for (l = 0; l < a->n_locations; l++) {
		MUST(sp_events_open(&s, a, l, &e) == 0 && sp_events_open(&t, b, l, &e) == 0);
		n = sp_events_read(s, ev[0], 64, &e);
		m = sp_events_read(t, ev[1], 64, &e);
		MUST(n == m && n >= 0 && n < 64);
		for (i = 0; i < n; i++)
			CHECK(ev[0][i].time == ev[1][i].time && ev[0][i].kind == ev[1][i].kind &&
			      ev[0][i].id == ev[1][i].id && ev[0][i].u.uint == ev[1][i].u.uint);
		sp_events_close(s);
		sp_events_close(t);
	}
}

static bool is_named(const struct sp_model *m, uint32_t region, const char *name)
{
	return region < m->n_regions && strcmp(m->regions[region].qualname.p, name) == 0;
}

static void check_records(const struct sp_model *m)
{
	const struct sp_task *t = m->tasks;

	MUST(m->n_tasks == 3 * (PROCESSES - 1) && m->n_task_rests == 2 * (PROCESSES - 1) &&
	     m->n_task_awaited == PROCESSES - 1 && m->n_children == PROCESSES);
	t += 3; /* of the second process, where k is 1 */
	CHECK(t->process == 1 && t->number == 1 && strcmp(t->name.p, "first") == 0 && is_named(m, t->region, "main"));
	CHECK(t->seen_created && t->created == 100 && t->begin == 200 && t->end == 4000 && t->running == 301);
	MUST(t->n_waits == 2);
	CHECK(is_named(m, t->waits[0].region, "sleep") && strcmp(m->strings[t->waits[0].kind].p, "Future") == 0);
	CHECK(is_named(m, t->waits[1].region, "only_1") && strcmp(m->strings[t->waits[1].kind].p, "only_1") == 0);
	t++;
	CHECK(t->number == 4 && !t->seen_created && t->created == t->begin && t->creator == SP_NONE &&
	      t->by == SP_NONE && t->location == 3 && t->state == SP_TASK_WAITING && t->end == END - BEGIN &&
	      t->waiting == 20 + END - 6000);
	t++;
	CHECK(t->number == 3 && t->region == SP_NONE && t->creator == 3 && t->location == SP_NONE && t->created == 0 &&
	      t->running == UINT64_C(1) << 63);
	CHECK(m->task_rests[1].region == SP_NONE && is_named(m, m->task_rests[0].region, "only_0"));
	CHECK(m->handed.given == 4 + 5 + 7 + 8 && m->handed.taken == 16 && m->handed.ns == 320 &&
	      m->handed.longest == 40);
}

static void check_events(const struct sp_model *m)
{
	static const uint32_t kinds[] = {SP_EVENT_ENTER,       SP_EVENT_THREAD_CREATE, SP_EVENT_TASK_CREATE,
	                                 SP_EVENT_TASK_SWITCH, SP_EVENT_TASK_SWITCH,   SP_EVENT_TASK_AWAITS,
	                                 SP_EVENT_TASK_SWITCH, SP_EVENT_TASK_END,      SP_EVENT_TASK_SWITCH,
	                                 SP_EVENT_HANDOVER,    SP_EVENT_GIL_WAIT,      SP_EVENT_THREAD_JOIN,
	                                 SP_EVENT_LEAVE};
	static const uint32_t ids[] = {0, 3, 3, 3, 4, 4, 3, 3, SP_NONE, 0, 0, 3};
	struct sp_event ev[64];
	struct sp_events *s;
	struct sp_err e;
	size_t i;

	MUST(sp_events_open(&s, m, m->processes[1].first_location, &e) == 0);
	MUST(sp_events_read(s, ev, 64, &e) == sizeof(kinds) / sizeof(*kinds));
	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		CHECK(ev[i].kind == kinds[i]);
	for (i = 1; i < sizeof(ids) / sizeof(*ids); i++)
		CHECK(ev[i].id == ids[i]);
	CHECK(is_named(m, ev[5].u.pair.first, "sleep") && strcmp(m->strings[ev[5].u.pair.second].p, "Future") == 0);
	CHECK(ev[7].u.uint == SP_TASK_RETURNED && ev[10].u.uint == UINT64_C(1) << 63 && ev[11].u.uint == 1000);
	sp_events_close(s);
}

int main(void)
{
	const char *dir = experiment();
	struct sp_model *raw = scratch_load(dir, SP_MODEL_RAW), *m;
	struct sp_merge_result r;
	struct sp_err e;
	int n;

	check_records(raw);
	check_events(raw);
	for (n = 1; n <= PROCESSES; n++) {
		MUST(sp_merge_here(dir, &(struct sp_merge_options){.force = true}, n, &r, &e) == 0);
		m = scratch_load(dir, 0);
		CHECK(m->priv->image != NULL && m->n_problems == raw->n_problems);
		compare(raw, m);
		compare_events(raw, m);
		sp_model_free(m);
	}
	sp_model_free(raw);
	return check_failures != 0;
}
