/* SPDX-License-Identifier: BSD-3-Clause */
#include "record/events/task.h"
#include "record/clock.h"
#include "record/definitions.h"
#include "record/hot.h"
#include "record/process.h"
#include "record/stack.h"
#include "record/thread.h"
#include "record/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The sums of what all tasks of a region waited for at one call path. */
struct sp_task_wait {
	struct sp_task_wait *next;
	uint32_t region, what, kind;
	uint64_t node;              /* the call path, a node of one thread */
	struct sp_raw_awaited *raw; /* in the file; NULL: no space */
};

/* The sums of the tasks without a record, for one region. Without the GIL several threads add to them at once:
 * sp_process_count(). */
struct rest {
	struct rest *next;
	uint32_t region;
	struct sp_raw_tasks *raw;
};

/* Work that was handed over and has not begun; given: ticks. */
struct handed {
	struct handed *next;
	uint64_t key, number, given;
};

/* Chains of any of the structs above, by a hash; the link is their first member. */
struct table {
	void **chains;
	uint32_t size, n;
};

enum { MAX_WAITS = 50000, MAX_HANDED = 1 << 20 };

/* Needed besides the GIL, because each interpreter may have its own GIL. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct table tasks, waits, rests, given;
static uint32_t last_number, last_thread;
static uint64_t last_handover;
static bool waits_missing;           /* the META record is written */
static struct sp_raw_handed *handed; /* in the file; NULL: no work was handed over yet, or no space */

/* ---- tables ---- */

static uint64_t hash_of(uint64_t key)
{
	return key * UINT64_C(0x9e3779b97f4a7c15) >> 32;
}

/* Returns the begin of the chain of a hash; NULL without memory. h: hashes an entry when the table grows. */
static void **chain_of(struct table *t, uint64_t hash, uint64_t (*h)(const void *))
{
	if (t->n >= t->size) {
		uint32_t size = t->size ? t->size * 2 : 64;
		void **more = calloc(size, sizeof *more);
		for (uint32_t i = 0; more && i < t->size; i++)
			for (void **one = t->chains[i], **next; one; one = next) {
				next = *one;
				*one = more[h(one) & (size - 1)];
				more[h(one) & (size - 1)] = one;
			}
		if (more) {
			free(t->chains);
			t->chains = more;
			t->size = size;
		}
	}
	return t->size ? &t->chains[hash & (t->size - 1)] : NULL;
}

static void *table_add(struct table *t, size_t bytes, uint64_t hash, uint64_t (*h)(const void *))
{
	void **chain = chain_of(t, hash, h), **one = chain ? calloc(1, bytes) : NULL;
	if (one) {
		*one = *chain;
		*chain = one;
		t->n++;
	}
	return one;
}

static void table_free(struct table *t)
{
	for (uint32_t i = 0; i < t->size; i++)
		for (void **one = t->chains[i], **next; one; one = next) {
			next = *one;
			free(one);
		}
	free(t->chains);
	*t = (struct table){0};
}

static uint64_t task_hash(const void *p)
{
	return hash_of(((const struct sp_task *)p)->key);
}

static uint64_t handed_hash(const void *p)
{
	return hash_of(((const struct handed *)p)->key);
}

static uint64_t wait_key(uint32_t region, uint64_t node, uint32_t kind)
{
	return hash_of((uint64_t)region << 40 ^ node >> 6 ^ (uint64_t)kind << 20);
}

static uint64_t wait_hash(const void *p)
{
	const struct sp_task_wait *w = p;
	return wait_key(w->region, w->node, w->kind);
}

static uint64_t rest_hash(const void *p)
{
	return hash_of(((const struct rest *)p)->region);
}

static struct sp_task *find_locked(uint64_t key)
{
	struct sp_task *k = tasks.size ? tasks.chains[hash_of(key) & (tasks.size - 1)] : NULL;
	while (k && k->key != key)
		k = k->next;
	return k;
}

struct sp_task *sp_task_find(uint64_t key)
{
	pthread_mutex_lock(&lock);
	struct sp_task *k = find_locked(key);
	pthread_mutex_unlock(&lock);
	return k;
}

static void task_free(struct sp_task *k)
{
	pthread_mutex_lock(&lock);
	struct sp_task **p = (struct sp_task **)&tasks.chains[hash_of(k->key) & (tasks.size - 1)];
	while (*p && *p != k)
		p = &(*p)->next;
	if (*p) {
		*p = k->next;
		tasks.n--;
	}
	pthread_mutex_unlock(&lock);
	free(k);
}

static struct sp_raw_tasks *rest_of(uint32_t region)
{
	const struct sp_raw_tasks none = {0};
	const struct sp_text text = {(const char *)&none, sizeof none};
	pthread_mutex_lock(&lock);
	struct rest *r = rests.size ? rests.chains[hash_of(region) & (rests.size - 1)] : NULL;
	while (r && r->region != region)
		r = r->next;
	if (!r && (r = table_add(&rests, sizeof *r, hash_of(region), rest_hash))) {
		r->region = region;
		r->raw = sp_define_live(SP_RAW_DEF_TASK, SP_RAW_TASK_REST, 0, region, &text, 1);
	}
	pthread_mutex_unlock(&lock);
	return r ? r->raw : NULL;
}

static struct sp_task_wait *wait_of(const struct sp_thread *t, const struct sp_task *k)
{
	const uint64_t hash = wait_key(k->region, k->await_node, k->kind);
	pthread_mutex_lock(&lock);
	struct sp_task_wait *w = waits.size ? waits.chains[hash & (waits.size - 1)] : NULL;
	while (w && (w->region != k->region || w->node != k->await_node || w->kind != k->kind || w->what != k->what))
		w = w->next;
	if (!w && waits.n < MAX_WAITS && (w = table_add(&waits, sizeof *w, hash, wait_hash))) {
		const struct sp_raw_awaited none = {.kind = k->kind, .location = t->loc.id, .node = k->await_node};
		const struct sp_text text = {(const char *)&none, sizeof none};
		w->region = k->region;
		w->what = k->what;
		w->kind = k->kind;
		w->node = k->await_node;
		w->raw = sp_define_live(SP_RAW_DEF_TASK, SP_RAW_TASK_AWAITED, k->region, k->what, &text, 1);
	}
	const bool missing = !w && !waits_missing;
	waits_missing |= missing;
	pthread_mutex_unlock(&lock);
	static const char why[] = "what tasks waited for at some places, because there were too many places";
	if (missing)
		sp_define_meta("missing_awaits", why, sizeof why - 1);
	return w;
}

/* ---- states of a task ---- */

static void event(struct sp_thread *t, enum sp_raw_extra what, uint64_t first, uint64_t second, unsigned n, uint64_t at)
{
	const uint64_t payload[2] = {first, second};
	if (t->traced)
		sp_extra_at(t, what, payload, n, at);
}

/* Called before an event that depends on the running task: ends a step that is over but would only be noticed at the
 * next enter. */
static void notice(struct sp_thread *t)
{
	if (t->epoch == sp_epoch && !t->marked)
		sp_stack_unmark(t, sp_ticks());
}

static struct sp_task *task_new(struct sp_thread *t, uint64_t key)
{
	pthread_mutex_lock(&lock);
	struct sp_task *k = table_add(&tasks, sizeof *k, hash_of(key), task_hash);
	if (k && last_number < sp_process.settings.task_limit)
		k->number = ++last_number;
	pthread_mutex_unlock(&lock);
	if (!k) {
		t->loc.lost_events++;
		return NULL;
	}
	k->key = key;
	k->raw = &k->own;
	k->own.creator = t->task ? t->task->number : 0;
	k->own.by = t->loc.id;
	k->own.location = SP_RAW_NONE;
	if (k->number)
		event(t, SP_RAW_X_TASK_CREATE, k->number, 0, 1, sp_ticks());
	return k;
}

void sp_task_created(struct sp_thread *t, uint64_t key)
{
	notice(t);
	struct sp_task *k = sp_task_find(key);
	if (k && k->begun)
		sp_task_dropped(t, k);
	else if (k)
		task_free(k); /* the earlier task at this address never began */
	k = task_new(t, key);
	if (!k)
		return;
	k->own.created = k->own.since = k->since = sp_ticks();
	struct sp_raw_tasks *never = rest_of(0);
	if (never)
		sp_process_count(&never->tasks, 1);
}

struct sp_task *sp_task_begun(struct sp_thread *t, uint64_t key, uint32_t region, struct sp_text name)
{
	struct sp_task *k = sp_task_find(key);
	struct sp_raw_tasks *never = k ? rest_of(0) : NULL;
	if (never)
		sp_process_count(&never->tasks, UINT64_MAX); /* subtracts 1 */
	if (!k)
		k = task_new(t, key);
	if (!k)
		return NULL;
	k->begun = true;
	k->region = region;
	k->own.begun = k->since = sp_ticks();
	if (k->number) {
		const struct sp_text text[2] = {{(const char *)&k->own, sizeof k->own}, name};
		k->raw = sp_define_live(SP_RAW_DEF_TASK, SP_RAW_TASK_ONE, k->number, region, text, 2);
	}
	if (k->number && k->raw)
		return k;
	/* beyond task_limit, or no space */
	k->raw = &k->own;
	k->number = 0;
	k->rest = rest_of(region);
	if (k->rest)
		sp_process_count(&k->rest->tasks, 1);
	return k;
}

static void count_wait(struct sp_task *k, uint64_t ticks)
{
	struct sp_raw_task *raw = k->raw;
	size_t least = 0, i;
	raw->waiting += ticks;
	if (k->rest)
		sp_process_count(&k->rest->waiting, ticks);
	if (!k->wait)
		return;
	if (k->wait->raw) {
		k->wait->raw->count++;
		k->wait->raw->ticks += ticks;
		if (ticks > k->wait->raw->longest)
			k->wait->raw->longest = ticks;
	}
	for (i = 0; i < SP_RAW_TASK_WAITS; i++) {
		if (!raw->waits[i].count || (raw->waits[i].region == k->what && raw->waits[i].kind == k->kind))
			break;
		if (raw->waits[i].ticks < raw->waits[least].ticks)
			least = i;
	}
	if (i == SP_RAW_TASK_WAITS) {
		if (raw->waits[least].ticks >= ticks)
			return;
		i = least;
		raw->waits[i].count = raw->waits[i].ticks = 0;
	}
	raw->waits[i].region = k->what;
	raw->waits[i].kind = k->kind;
	raw->waits[i].count++;
	raw->waits[i].ticks += ticks;
}

static void count_running(struct sp_task *k, uint64_t now)
{
	uint64_t ticks = sp_ticks_between(k->since, now);
	k->raw->running += ticks;
	if (k->rest)
		sp_process_count(&k->rest->running, ticks);
	k->raw->since = k->since = now;
}

static uint32_t number_of(const struct sp_task *k)
{
	return k ? k->number : 0;
}

void sp_task_step(struct sp_thread *t, struct sp_task *k, uint32_t region, uint64_t key, uint64_t now, unsigned kind)
{
	if (k->running || !sp_stack_mark(t, (uint64_t)k, true, now)) {
		sp_enter(t, region, key, now, kind);
		return;
	}
	k->depth = sp_stack_depth(t) + 1;
	if (k->raw->steps)
		count_wait(k, sp_ticks_between(k->since, now));
	else
		k->raw->begun = now;
	k->outer = t->task;
	if (k->outer)
		count_running(k->outer, now);
	t->task = k;
	k->running = true;
	k->suspended = false;
	k->raised = 0;
	k->wait = NULL;
	k->await_depth = 0;
	k->since = k->raw->since = now;
	k->raw->steps++;
	k->raw->location = t->loc.id;
	k->raw->state = SP_RAW_TASK_RUNNING;
	if (k->rest)
		sp_process_count(&k->rest->steps, 1);
	if (k->number)
		event(t, SP_RAW_X_TASK_SWITCH, k->number, 0, 1, now);
	sp_enter_slow(t, region, key, now, kind);
}

void sp_task_suspends(struct sp_thread *t, uint32_t kind)
{
	struct sp_task *k = t->task;
	k->suspended = true;
	k->kind = kind;
	k->wait = wait_of(t, k);
}

/* The step ended at the time `at` (ticks); the task that ran before continues. */
static void step_over(struct sp_thread *t, struct sp_task *k, uint64_t at)
{
	count_running(k, at);
	k->running = false;
	k->raw->state = SP_RAW_TASK_WAITING;
	/* nested steps end with the innermost first */
	if (t->task == k)
		t->task = k->outer;
	if (k->outer)
		k->outer->since = k->outer->raw->since = at;
}

static void task_end(struct sp_thread *t, struct sp_task *k, uint32_t how, uint64_t at)
{
	const uint64_t first_word = k->number | (uint64_t)number_of(t->task) << 32;
	k->raw->state = how;
	k->raw->since = at;
	if (k->rest)
		sp_process_count(&k->rest->ended[how - SP_RAW_TASK_RETURNED], 1);
	if (k->number)
		event(t, SP_RAW_X_TASK_END, first_word, how, 2, at);
	task_free(k);
}

void sp_task_dropped(struct sp_thread *t, struct sp_task *k)
{
	/* a running task is on a stack: it stays there */
	if (!k->running)
		task_end(t, k, SP_RAW_TASK_DROPPED, sp_ticks());
}

static void goes_waiting(struct sp_thread *t, const struct sp_task *k, uint64_t what, uint64_t at)
{
	if (k->number)
		event(t, SP_RAW_X_TASK_AWAITS, k->number | (uint64_t)number_of(t->task) << 32, what, 2, at);
}

static void task_over(struct sp_thread *t, struct sp_task *k, uint64_t at)
{
	step_over(t, k, at);
	if (!k->suspended && !k->open)
		task_end(t, k, k->raised ? k->raised : SP_RAW_TASK_RETURNED, at);
	else
		goes_waiting(t, k, k->suspended ? k->what | (uint64_t)k->kind << 32 : 0, at);
}

/* ---- marks: the address of a task, or a thread id with MARK_JOIN; MARK_UNTIL_NOW: it ends at the current event
 * ---- */

enum { MARK_JOIN = 1, MARK_UNTIL_NOW = 2 };

void sp_mark_over(struct sp_thread *t, struct sp_raw_frame *f, uint64_t now)
{
	/* if the clock went back, the last event is later than now, because times in a trace never decrease */
	uint64_t value = f->frame, at = value & MARK_UNTIL_NOW || t->loc.last > now ? now : t->loc.last;
	f->frame = 0;
	if (value & MARK_JOIN)
		event(t, SP_RAW_X_THREAD_JOIN, value >> 2, sp_ticks_between(f->enter, at), 2, at);
	else if (value)
		task_over(t, (struct sp_task *)value, at);
}

void sp_mark_off(struct sp_thread *t, struct sp_raw_frame *f, uint64_t now)
{
	uint64_t value = f->frame;
	f->frame = 0;
	if (value & MARK_JOIN) {
		event(t, SP_RAW_X_THREAD_JOIN, value >> 2, sp_ticks_between(f->enter, now), 2, now);
	} else if (value) {
		step_over(t, (struct sp_task *)value, now);
		goes_waiting(t, (const struct sp_task *)value, 0, now);
	}
}

void sp_mark_paused(const struct sp_raw_frame *f, uint64_t off)
{
	struct sp_task *k = f->flags & SP_RAW_FRAME_MARK && !(f->frame & MARK_JOIN) ? (struct sp_task *)f->frame : NULL;
	if (k) {
		k->since += off;
		k->raw->since = k->since;
	}
}

uint32_t sp_thread_number(void)
{
	return __atomic_add_fetch(&last_thread, 1, __ATOMIC_RELAXED);
}

void sp_thread_created(struct sp_thread *t, uint32_t number, uint64_t then)
{
	event(t, SP_RAW_X_THREAD_CREATE, number, 0, 1, then);
}

void sp_task_joins(struct sp_thread *t, uint64_t tid, bool recorded)
{
	sp_stack_mark(t, tid << 2 | MARK_JOIN | (recorded ? 0 : MARK_UNTIL_NOW), recorded, sp_ticks());
}

/* ---- work handed over ---- */

static struct handed **handed_at(uint64_t key)
{
	struct handed **p = (struct handed **)&given.chains[hash_of(key) & (given.size - 1)];
	while (*p && (*p)->key != key)
		p = &(*p)->next;
	return p;
}

static uint64_t give(uint64_t key, uint64_t now)
{
	static const struct sp_raw_handed none;
	static const struct sp_text text = {(const char *)&none, sizeof none};
	struct handed **p = given.size ? handed_at(key) : NULL, *h = p ? *p : NULL;
	if (!h && given.n < MAX_HANDED)
		h = table_add(&given, sizeof *h, hash_of(key), handed_hash);
	if (!h)
		return 0;
	h->key = key;
	h->given = now;
	h->number = ++last_handover;
	if (!handed)
		handed = sp_define_live(SP_RAW_DEF_TASK, SP_RAW_TASK_HANDED, 0, 0, &text, 1);
	if (handed)
		handed->given++;
	return h->number;
}

static uint64_t take(uint64_t key, uint64_t now)
{
	struct handed **p = given.size ? handed_at(key) : NULL, *h = p ? *p : NULL;
	if (!h)
		return 0;
	const uint64_t number = h->number, waited = sp_ticks_between(h->given, now);
	*p = h->next;
	given.n--;
	free(h);
	if (handed) {
		handed->taken++;
		handed->ticks += waited;
		if (waited > handed->longest)
			handed->longest = waited;
	}
	return number;
}

void sp_task_handover(struct sp_thread *t, uint64_t key, bool taken)
{
	if (!sp_process.header || sp_process.header->ended != SP_RAW_RUNNING)
		return; /* the sums in the file are covered by a checksum */
	notice(t);
	const uint64_t now = sp_ticks();
	pthread_mutex_lock(&lock);
	uint64_t number = taken ? take(key, now) : give(key, now);
	pthread_mutex_unlock(&lock);
	if (number)
		event(t, SP_RAW_X_HANDOVER, number, taken, 2, now);
}

void sp_task_forget(bool forked)
{
	struct table *const all[] = {&tasks, &waits, &rests, &given};
	/* in a child of fork the lock's holder may not exist, and a table may be half changed: the memory is not
	 * freed, which would also copy its pages */
	pthread_mutex_init(&lock, NULL);
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (forked)
			*all[i] = (struct table){0};
		else
			table_free(all[i]);
	last_number = last_thread = 0;
	last_handover = 0;
	handed = NULL;
	waits_missing = false;
}
