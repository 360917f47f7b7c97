/* SPDX-License-Identifier: BSD-3-Clause */
/* Locks and waits of processes: the contents of records, events with the same contents, and damaged ones. */
#include "check.h"
#include "model/event.h"
#include "model/merge/merge.h"
#include "model/model.h"
#include "model/str.h"
#include "scratch.h"
#include "model/region.h"
#include "base/arena.h"

enum { END = 4000 };

/* old: the same process in a file of version 5 */
static struct sp_model *load_sample(bool old)
{
	const char *dir = scratch_experiment();

	if (old)
		scratch_old(dir, "v5-waits.raw");
	else
		scratch_add(dir, rg_waits(true), "a.raw", SP_RAW_RUNNING, END);
	return scratch_load(dir, 0);
}

static const char *last_of(const struct sp_model *m, const struct sp_stack *s)
{
	return s->n ? m->regions[s->regions[s->n - 1]].qualname.p : "";
}

static void test_records(bool old)
{
	struct sp_model *m = load_sample(old);
	const struct sp_lock_wait *w = m->lock_waits;
	const struct sp_lock_cycle *c = m->lock_cycles;

	MUST(m->n_locks == 5 && m->n_lock_waits == 5 && m->n_lock_cycles == 2);
	CHECK(m->locks[0].kind == SP_LOCK_LOCK && m->locks[0].made_line == 1 && m->locks[0].holder == 1);
	CHECK(strcmp(last_of(m, &m->locks[0].holder_stack), "hold") == 0);
	CHECK(m->locks[2].user == 1 && m->locks[2].freed && m->locks[2].made_file == SP_NONE);
	CHECK(w[0].location == 0 && w[0].number == 1 && w[0].lock == 0 && w[0].open && w[0].since == 3000 - 900);
	CHECK(strcmp(last_of(m, &w[0].stack), "work") == 0 && w[0].stack.n == 2);
	CHECK(strcmp(last_of(m, &w[0].holder_stack), "hold") == 0);
	CHECK_NUMBER(w[0].count, 2); /* the outstanding wait is counted */
	CHECK(w[1].timed && w[1].lock == SP_NONE && w[1].count == 2 && w[1].ns == 250);
	CHECK(w[3].location == 1 && w[3].kind == SP_LOCK_QUEUE && w[3].news);
	CHECK(c[0].interrupted && c[0].n == 2 && c[0].links[0].lock == 0 && c[0].links[1].lock == 3);
	CHECK(!c[1].interrupted && c[1].n == 2 && c[1].links[0].location == 0 && c[1].links[1].location == 1);
	sp_model_free(m);
}

static void test_names(void)
{
	struct sp_model *m = load_sample(false);
	struct sp_arena arena = {.blocks = NULL};
	struct sp_str *names;

	MUST(sp_lock_names(&names, m, &arena) == 0);
	CHECK(strcmp(names[0].p, "Lock made at waits.py:1 #1") == 0);
	CHECK(strcmp(names[1].p, "queue.Queue made at waits.py:2") == 0);
	CHECK(strcmp(names[2].p, names[1].p) == 0);
	CHECK(strcmp(names[3].p, "Lock made at waits.py:1 #2") == 0);
	CHECK(strcmp(names[4].p, "the GIL") == 0 && names[4].n == strlen(names[4].p));
	sp_arena_free(&arena);
	sp_model_free(m);
}

struct seen {
	uint64_t count[8], ns[8]; /* for each row */
	uint64_t how[5];
	unsigned acquired, released, gil;
};

/* Adds up the waits of a location from its events, in small batches, so that no event depends on being read together
 * with others. */
static void add_up(const struct sp_model *m, uint32_t location, size_t batch, struct seen *seen)
{
	struct {
		uint64_t begin, inner;
		uint32_t row;
	} open[16];
	struct sp_event ev[8];
	struct sp_events *s;
	struct sp_err e = {.code = 0};
	size_t depth = 0;
	long n, i;

	MUST(sp_events_open(&s, m, location, &e) == 0);
	while ((n = sp_events_read(s, ev, batch, &e)) > 0)
		for (i = 0; i < n; i++) {
			if (ev[i].kind == SP_EVENT_WAIT_BEGIN) {
				open[depth].begin = ev[i].time;
				open[depth].inner = 0;
				open[depth++].row = ev[i].u.pair.second;
			} else if (ev[i].kind == SP_EVENT_WAIT_END) {
				uint64_t took;

				MUST(depth > 0);
				took = ev[i].time - open[--depth].begin;
				seen->how[ev[i].u.pair.second]++;
				if (ev[i].u.pair.second == SP_WAIT_NONE)
					continue;
				MUST(open[depth].row < m->n_lock_waits);
				seen->count[open[depth].row]++;
				seen->ns[open[depth].row] += took - open[depth].inner;
				if (depth)
					open[depth - 1].inner += took;
			}
			seen->acquired += ev[i].kind == SP_EVENT_LOCK_ACQUIRE;
			seen->released += ev[i].kind == SP_EVENT_LOCK_RELEASE;
			seen->gil += ev[i].kind == SP_EVENT_GIL_WAIT;
		}
	CHECK(n == 0 && depth == 0);
	sp_events_close(s);
}

/* The counts and times of events equal those of the rows, except for a wait that a pause interrupted, and for an object
 * that was available at once. */
static void test_events(size_t batch)
{
	struct sp_model *m = load_sample(false);
	struct seen seen = {.gil = 0};
	size_t i;

	add_up(m, 0, batch, &seen);
	add_up(m, 1, batch, &seen);
	for (i = 0; i < m->n_lock_waits; i++) {
		CHECK_NUMBER(seen.count[i], m->lock_waits[i].count);
		CHECK_NUMBER(seen.ns[i], i == 1 ? 150 : m->lock_waits[i].ns);
	}
	CHECK(seen.how[SP_WAIT_ACQUIRED] == 3 && seen.how[SP_WAIT_FAILED] == 1 && seen.how[SP_WAIT_UNSEEN] == 1 &&
	      seen.how[SP_WAIT_OPEN] == 2 && seen.how[SP_WAIT_NONE] == 1);
	CHECK(seen.acquired == 3 && seen.released == 2 && seen.gil == 0);
	CHECK(m->n_problems == 0);
	sp_model_free(m);
}

/* Everything is the same in a merged experiment. */
static void test_merged(void)
{
	const char *dir = scratch_experiment();
	struct seen raw = {.gil = 0}, merged = {.gil = 0};
	struct sp_merge_result r;
	struct sp_err e = {.code = 0};
	struct sp_model *m;

	scratch_add(dir, rg_waits(true), "a.raw", SP_RAW_ENDED_NORMAL, END);
	m = scratch_load(dir, 0);
	add_up(m, 0, 8, &raw);
	add_up(m, 1, 8, &raw);
	sp_model_free(m);
	MUST(sp_merge_here(dir, &(struct sp_merge_options){.force = true}, 1, &r, &e) == 0);
	m = scratch_load(dir, 0);
	MUST(m->n_lock_waits == 5 && m->lock_waits[2].number == 3);
	add_up(m, 0, 8, &merged);
	add_up(m, 1, 8, &merged);
	CHECK(memcmp(&raw, &merged, sizeof(raw)) == 0);
	sp_model_free(m);
}

/* Waits that end in the wrong order, that never end, or that never began, with calls around them. */
static void test_unbalanced(void)
{
	const char *dir = scratch_experiment();
	struct rg_process *p = rg_process(7, 1, 900, true);
	struct rg_thread *t = rg_thread(p, "MainThread", 7, SP_RAW_NONE, 900);
	const uint64_t lock = UINT64_C(1) << 32, sleep = UINT64_C(13) << 32;
	static const uint8_t want[] = {
	    SP_EVENT_ENTER,      SP_EVENT_WAIT_BEGIN, SP_EVENT_WAIT_BEGIN,  SP_EVENT_WAIT_END, SP_EVENT_WAIT_END,
	    SP_EVENT_ENTER,      SP_EVENT_WAIT_BEGIN, SP_EVENT_WAIT_END,    SP_EVENT_LEAVE,    SP_EVENT_LEAVE,
	    SP_EVENT_WAIT_BEGIN, SP_EVENT_WAIT_END,   SP_EVENT_LOCK_ACQUIRE};
	struct sp_event ev[64];
	struct sp_events *s;
	struct sp_err e = {.code = 0};
	struct sp_model *m;
	size_t i;
	long n;

	rg_region(p, 2, 0, "m", "f", "/m.py", 3);
	rg_object(p, &(struct sp_raw_object){.kind = SP_RAW_WAIT_LOCK, .holder = SP_RAW_NONE, .made_by = SP_RAW_NONE});
	rg_enter(t, 1000, 2);
	rg_extra(t, 1010, SP_RAW_X_WAIT_END, (uint64_t[]){lock, 1}, 2);
	rg_extra(t, 1020, SP_RAW_X_WAIT_BEGIN, (uint64_t[]){lock}, 1);
	rg_extra(t, 1030, SP_RAW_X_WAIT_BEGIN, (uint64_t[]){sleep}, 1);
	rg_extra(t, 1040, SP_RAW_X_WAIT_END, (uint64_t[]){lock, 1}, 2);
	rg_enter(t, 1050, 2);
	rg_extra(t, 1060, SP_RAW_X_WAIT_BEGIN, (uint64_t[]){sleep}, 1);
	rg_leave(t, 1070);
	rg_leave(t, 1080);
	rg_extra(t, 1090, SP_RAW_X_WAIT_BEGIN, (uint64_t[]){sleep}, 1);
	rg_extra(t, 1095, SP_RAW_X_WAIT_END, (uint64_t[]){sleep, 0}, 2);
	rg_extra(t, 1100, SP_RAW_X_LOCK_ACQUIRE, (uint64_t[]){1}, 1);
	rg_extra(t, 1110, SP_RAW_X_LOCK_ACQUIRE, (uint64_t[]){2}, 1); /* a lock that does not exist */
	rg_extra(t, 1120, SP_RAW_X_LOCK_ACQUIRE, (uint64_t[]){1}, 1);
	scratch_add(dir, p, "a.raw", SP_RAW_ENDED_NORMAL, END);
	m = scratch_load(dir, 0);
	MUST(sp_events_open(&s, m, 0, &e) == 0);
	n = sp_events_read(s, ev, 64, &e);
	MUST(n == (long)sizeof(want));
	for (i = 0; i < sizeof(want); i++)
		CHECK(ev[i].kind == want[i]);
	CHECK(ev[3].u.pair.first == SP_LOCK_SLEEP && ev[3].u.pair.second == SP_WAIT_UNSEEN);
	CHECK(ev[4].u.pair.first == SP_LOCK_LOCK && ev[4].u.pair.second == SP_WAIT_ACQUIRED);
	CHECK(ev[7].u.pair.second == SP_WAIT_UNSEEN && ev[11].u.pair.second == SP_WAIT_FAILED);
	CHECK(m->n_problems == 2 && strstr(m->problems[0].text.p, "names what is not defined") &&
	      strstr(m->problems[1].text.p, "1 never entered")); /* the first end */
	sp_events_close(s);
	sp_model_free(m);
}

/* Many waits at one deep call path would require far more memory than the file has. */
static void test_amplified(void)
{
	enum { DEEP = 4000, WAITS = 10000 };
	const char *dir = scratch_experiment();
	struct rg_process *p = rg_process(7, 1, 900, false);
	struct rg_thread *t = rg_thread(p, "MainThread", 7, SP_RAW_NONE, 900);
	struct sp_model *m;
	uint64_t all = 0, limit;
	uint32_t node = 0;
	struct stat st;
	char path[4200];
	size_t i;

	rg_region(p, 2, 0, "m", "f", "/m.py", 3);
	for (i = 0; i < DEEP; i++) {
		node = rg_node(t, node, 2);
		rg_node_at(t, node)->visits = 1;
	}
	for (i = 0; i < WAITS; i++)
		rg_wait(t, &(struct sp_raw_wait){
		               .node = node, .holder = 0, .holder_node = node, .kind = SP_RAW_WAIT_LOCK, .count = 1});
	scratch_add(dir, p, "a.raw", SP_RAW_ENDED_NORMAL, END);
	snprintf(path, sizeof(path), "%s/raw/a.raw", dir);
	MUST(stat(path, &st) == 0);
	limit = (uint64_t)st.st_size * 4 + (1 << 16);
	m = scratch_load(dir, 0);
	CHECK(m->n_lock_waits == WAITS);
	CHECK(m->lock_waits[0].stack.n == DEEP && m->lock_waits[WAITS - 1].stack.n == 0);
	for (i = 0; i < m->n_lock_waits; i++)
		all += m->lock_waits[i].stack.n + m->lock_waits[i].holder_stack.n;
	CHECK(all <= limit && all > limit / 2);
	CHECK(m->n_problems == 1 && strstr(m->problems[0].text.p, "call paths of some waits are left out"));
	sp_model_free(m);
}

/* A long chain that does not end in a cycle, and one that leads into a cycle. */
static void test_chains(void)
{
	enum { THREADS = 300, CYCLE = 5 };
	const char *dir = scratch_experiment();
	struct rg_process *p = rg_process(7, 1, 900, false);
	struct rg_thread *t;
	struct sp_model *m;
	uint32_t i;

	for (i = 0; i < THREADS; i++) {
		/* each waits for the next one; the last for one within the chain */
		const uint32_t next = i + 1 < THREADS ? i + 1 : THREADS - CYCLE;

		t = rg_thread(p, "T", 10 + i, SP_RAW_NONE, 900);
		rg_object(p, &(struct sp_raw_object){
		                 .kind = SP_RAW_WAIT_LOCK, .holder = next, .made_by = SP_RAW_NONE, .since = 950});
		rg_wait(t,
		        &(struct sp_raw_wait){
		            .object = i + 1, .kind = SP_RAW_WAIT_LOCK, .holder = next, .number = 1, .since = 1000 + i});
	}
	scratch_add(dir, p, "a.raw", SP_RAW_RUNNING, END);
	m = scratch_load(dir, 0);
	MUST(m->n_lock_cycles == 1);
	CHECK(m->lock_cycles[0].n == CYCLE && m->lock_cycles[0].links[0].location == THREADS - CYCLE);
	CHECK(m->lock_cycles[0].links[CYCLE - 1].lock == THREADS - 1);
	sp_model_free(m);
}

int main(void)
{
	test_records(false);
	test_records(true);
	test_names();
	test_events(1);
	test_events(8);
	test_merged();
	test_unbalanced();
	test_amplified();
	test_chains();
	return check_failures != 0;
}
