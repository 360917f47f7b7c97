/* SPDX-License-Identifier: BSD-3-Clause */
/* What the recorder writes at the edges of its chunks, and at the ends of measurements. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "record/adapter.h"
#include "record/buffer.h"
#include "record/callpath.h"
#include "record/definitions.h"
#include "record/events/task.h"
#include "record/hot.h"
#include "record/lines/lines.h"
#include "record/off_cpu.h"
#include "record/process.h"
#include "record/rewind.h"
#include "record/settings.h"
#include "record/stack.h"
#include "record/thread.h"
#include "record/trace.h"
#include "record/user.h"

enum { LARGE_PAGE = 64 << 10 };

static char dir[] = "/tmp/spartito-test-XXXXXX";

/* memory: limit in bytes, which makes chunks small; 0: no limit */
static void start_with(uint64_t memory)
{
	struct sp_settings s;
	sp_settings_init(&s);
	s.trace = true;
	s.trace_memory = memory ? memory : s.trace_memory;
	MUST(sp_process_start(dir, &s, NULL, SP_RAW_STARTED_API) == 0);
}

static void start(void)
{
	start_with(0);
}

static void stop(void)
{
	sp_process_stop(SP_RAW_ENDED_STOPPED);
	unlink(sp_process.path);
}

/* Records of every length, after times that do and do not fit into them, in chunks with every number of remaining
 * words: nothing is written past the end of a chunk, and nothing is lost. Assertions in hot.h check each word. */
static void *last_words(void *unused)
{
	static const unsigned lengths[] = {0, 1, 2, 3, 4, 7, 8, 9, 50, 200, 201, SP_PAYLOAD_MAX - 1, SP_PAYLOAD_MAX};
	static uint64_t payload[SP_PAYLOAD_MAX];
	(void)unused;
	struct sp_thread *t = sp_thread_new();
	MUST(t && t->traced);
	for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
		for (int capacity = 0; capacity < (int)lengths[i] + 6; capacity++)
			for (int is_long = 0; is_long < 2; is_long++) {
				const uint64_t now = t->loc.last + (is_long ? SP_RAW_DELTA_MAX + 1 : 1);
				t->loc.next = (uint64_t)(t->ev_end - capacity);
				if (lengths[i])
					sp_extra_at(t, SP_RAW_X_SAMPLE_LINES, payload, lengths[i], now);
				else
					sp_event(t, now, SP_RAW_ENTER, 1);
				MUST(t->loc.next <= (uint64_t)t->ev_end);
				MUST(t->loc.last == now && t->loc.lost_events == 0);
			}
	return NULL;
}

/* A clock that goes back: no time is negative, in the profile or in the trace, and later times are correct again. */
static void *backward_step(void *unused)
{
	enum { STEP = 1000000 };
	(void)unused;
	struct sp_thread *t = sp_thread_new();
	MUST(t && t->traced);
	const uint32_t region = sp_user_region((struct sp_text){"stepped", 7}, (struct sp_text){"stepped", 7},
	                                       &(struct sp_user_location){.line = 1});
	const uint64_t before = sp_ticks();
	for (int back = 1; back >= 0; back--) {
		sp_enter(t, region, 4, before + STEP, SP_RAW_ENTER);
		sp_leave(t, 4, before + (back ? 0 : STEP + 7), SP_RAW_LEAVE);
		CHECK(t->loc.last >= before + STEP);
	}
	const struct sp_raw_node *n = sp_callpath_child(t, t->root, region);
	CHECK(n && n->visits == 2 && n->incl == 7 && n->max == 7 && n->min == 0);
	CHECK(t->loc.lost_events == 0);
	return NULL;
}

/* The same for times that are not in the profile: those of lines, and of steps of tasks, whose ends are recorded
 * late. */
static void *backward_step_beside_calls(void *unused)
{
	enum { STEP = 1000000, LINE = 5 };
	(void)unused;
	struct sp_thread *t = sp_thread_new();
	MUST(t && t->traced);
	const uint32_t region = sp_user_region((struct sp_text){"aside", 5}, (struct sp_text){"aside", 5},
	                                       &(struct sp_user_location){.line = 1});
	const uint64_t later = sp_ticks() + (1ull << 40);
	struct sp_line_function *f = sp_lines_of(t) ? sp_lines_add(t, 4, region, LINE, 2) : NULL;
	MUST(f);
	sp_lines_enter(t, f, 1, LINE, later);
	const struct sp_raw_line *line = (const struct sp_raw_line *)t->lines->top->table;
	MUST(sp_lines_next(t->lines->top, LINE + 1));
	CHECK(line[0].own == 0 && line[1].hits == 1);
	sp_lines_close(t, sp_ticks());
	CHECK(line[1].own < STEP * 1000ull);

	struct sp_task *k = sp_task_begun(t, 8, region, (struct sp_text){"task", 4});
	MUST(k && k->number);
	sp_enter(t, region, 4, later, SP_RAW_ENTER);
	sp_leave(t, 4, later, SP_RAW_LEAVE);
	sp_task_step(t, k, region, 4, later - 2 * STEP, SP_RAW_ENTER);
	sp_task_suspends(t, 0);
	sp_leave(t, 4, later - STEP, SP_RAW_SUSPEND);
	CHECK(t->loc.last == later);
	sp_stack_unmark(t, later - STEP);
	CHECK(k->raw->steps == 1 && k->raw->running == STEP);
	sp_task_dropped(t, k);
	return NULL;
}

/* A trace that was held while the cost of an event was measured: afterwards a time that does not fit into an event has
 * a separate record, also where off-CPU time is not measured. */
static void *long_time_after_a_restart(void *unused)
{
	(void)unused;
	struct sp_thread *t = sp_thread_new();
	MUST(t && t->traced);
	sp_process.settings.instrument = false; /* as without functions */
	sp_off_cpu_start();
	sp_thread_events_hold(t);
	sp_thread_restart(t);
	MUST(t->traced && !t->off_cpu);
	sp_event(t, t->loc.last + SP_RAW_DELTA_MAX + 1, SP_RAW_ENTER, 1);
	CHECK((((uint64_t *)(t->ev_chunk + 1))[0] & 7) == SP_RAW_EXTRA);
	return NULL;
}

/* The end of a rewindable region, after a wait: it has no frame, and the slot above the top was never used. */
static void *rewinding_after_a_wait(void *unused)
{
	(void)unused;
	struct sp_thread *t = sp_thread_new();
	MUST(t && t->traced && t->off_cpu);
	const uint32_t region = sp_user_region((struct sp_text){"rewound", 7}, (struct sp_text){"rewound", 7},
	                                       &(struct sp_user_location){.line = 1});
	sp_rewind_begin(t, region);
	usleep(2000);
	CHECK(sp_rewind_end(t, region, false));
	CHECK(t->loc.lost_events == 0);
	return NULL;
}

/* The same over several chunks, which are changed in the file. */
static void *rewinding_over_chunks(void *unused)
{
	(void)unused;
	struct sp_thread *t = sp_thread_new();
	MUST(t && t->traced);
	const uint32_t region = sp_user_region((struct sp_text){"rewound", 7}, (struct sp_text){"rewound", 7},
	                                       &(struct sp_user_location){.line = 1});
	sp_rewind_begin(t, region);
	for (const uint32_t chunks = t->ev_chunks + 3; t->ev_chunks < chunks;)
		sp_event(t, sp_ticks(), SP_RAW_ENTER, region);
	CHECK(sp_rewind_end(t, region, true));
	CHECK(t->loc.lost_events == 0 && sp_process.header->lost_reason == SP_RAW_REASON_NONE);
	return NULL;
}

/* Random walks in a call tree: a call path has one node in whatever order its children are called, and each call is in
 * the node of its path. A chain of only children takes no slot in the table of children. */
static void *call_paths(void *unused)
{
	enum { REGIONS = 7, LEVELS = 5, WALKS = 20000, DEEP = 5000 };
	/* index: the path as a number to the base 8, of at most REGIONS digits */
	static struct sp_raw_node *known[1 << 15];
	static uint32_t visits[1 << 15];
	(void)unused;
	struct sp_thread *t = sp_thread_new();
	MUST(t);
	const uint32_t first = sp_user_region((struct sp_text){"first", 5}, (struct sp_text){"first", 5},
	                                      &(struct sp_user_location){.line = 1});
	for (uint32_t i = 0; i < DEEP; i++)
		sp_enter(t, first, 4, sp_ticks(), SP_RAW_ENTER);
	CHECK(t->table_used == 0 && t->loc.nodes >= DEEP);
	for (uint32_t i = 0; i < DEEP; i++)
		MUST(sp_leave(t, 4, sp_ticks(), SP_RAW_LEAVE));
	uint32_t chance = 1;
	for (int walk = 0; walk < WALKS; walk++) {
		uint32_t path = 0;
		for (int level = 0; level < LEVELS; level++) {
			chance = chance * 1664525 + 1013904223;
			const uint32_t region = (chance >> 16) % REGIONS + 1;
			path = path << 3 | region;
			sp_enter(t, first + region, 4, sp_ticks(), SP_RAW_ENTER);
			struct sp_raw_node *n = (struct sp_raw_node *)((struct sp_raw_frame *)t->loc.top)->node;
			MUST(n->region == first + region && (!known[path] || known[path] == n));
			known[path] = n;
			visits[path]++;
		}
		for (int level = 0; level < LEVELS; level++)
			MUST(sp_leave(t, 4, sp_ticks(), SP_RAW_LEAVE));
	}
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		CHECK(!known[i] || known[i]->visits == visits[i]);
	CHECK(t->table_used <= t->table_mask / 2);
	return NULL;
}

/* A child created by a raw clone() shares the thread's pages with its parent, but has separate memory otherwise: its
 * allocations are in no page of the thread. */
static void *raw_clone(void *unused)
{
	enum { REGIONS = 1000 };
	(void)unused;
	struct sp_thread *t = sp_thread_new();
	MUST(t);
	const struct sp_path_entry *before = t->table;
	const pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	MUST(pid >= 0);
	for (uint32_t i = 1; pid == 0 && i < REGIONS; i++)
		sp_callpath_child(t, t->root, i);
	if (pid == 0)
		_exit(0);
	int status = -1;
	MUST(waitpid(pid, &status, 0) == pid && status == 0);
	MUST(t->table == before);
	CHECK(sp_callpath_child(t, t->root, REGIONS));
	return NULL;
}

static void in_a_thread(void *(*run)(void *), uint64_t memory)
{
	pthread_t thread;
	start_with(memory);
	/* a thread that ends, because its end frees its memory */
	MUST(pthread_create(&thread, NULL, run, NULL) == 0);
	MUST(pthread_join(thread, NULL) == 0);
	stop();
}

/* Whether a file of the directory is mapped that does not belong to the current measurement. */
static bool old_is_mapped(void)
{
	char line[4400];
	bool found = false;
	FILE *f = fopen("/proc/self/maps", "r");
	MUST(f);
	while (fgets(line, sizeof line, f))
		found = found || (strstr(line, dir) && !strstr(line, sp_process.path));
	fclose(f);
	return found;
}

/* As with pages that are larger than this system's: chunks need not begin where a mapping can begin. In a child,
 * because nothing may be mapped when the size changes. */
static void large_pages(void)
{
	int status = -1;
	const pid_t pid = fork();
	MUST(pid >= 0);
	if (!pid) {
		sp_buffer_page = LARGE_PAGE;
		in_a_thread(last_words, 256 << 10);
		in_a_thread(rewinding_over_chunks, 1 << 20);
		start();
		CHECK(!old_is_mapped());
		stop();
		_exit(check_failures != 0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

static bool trusted_tsc(bool invariant, const char *current, const char *available, bool host_stable)
{
	return sp_clock_counter_trusted(SP_RAW_CLOCK_TSC, invariant, current, available, host_stable);
}

static void trusted_clocks(void)
{
	CHECK(trusted_tsc(true, "tsc\n", "tsc kvm-clock\n", false));
	CHECK(trusted_tsc(true, "hyperv_clocksource_tsc_page\n", "hyperv_clocksource_tsc_page\n", false));
	CHECK(trusted_tsc(true, "kvm-clock\n", "kvm-clock tsc\n", true));
	CHECK(!trusted_tsc(true, "kvm-clock\n", "kvm-clock tsc\n", false));
	CHECK(!trusted_tsc(true, "kvm-clock\n", "kvm-clock acpi_pm\n", true));
	CHECK(!trusted_tsc(false, "tsc\n", "tsc\n", true));
	CHECK(!trusted_tsc(true, "hpet\n", "tsc hpet\n", true));
	CHECK(!trusted_tsc(true, "", "", true));
	CHECK(sp_clock_counter_trusted(SP_RAW_CLOCK_CNTVCT, true, "arch_sys_counter\n", "arch_sys_counter\n", true));
	CHECK(!sp_clock_counter_trusted(SP_RAW_CLOCK_CNTVCT, true, "jiffies\n", "arch_sys_counter jiffies\n", true));
	CHECK(!sp_clock_counter_trusted(SP_RAW_CLOCK_CNTVCT, true, "tsc\n", "tsc\n", true));
}

/* The counter of processors that say its rate has this rate: its ticks lie between those of a shorter and a longer time
 * of the system's clock, whatever happens between two readings. The system may steer its own clock by 1 in 1000. */
static void rate_of_counter(void)
{
	const uint64_t hertz = sp_counter_hertz(), steered = 998, least = 20000000;
	if (!hertz)
		return;
	const uint64_t outer_begin = sp_clock_nanoseconds(CLOCK_MONOTONIC), begin = sp_counter();
	const uint64_t inner_begin = sp_clock_nanoseconds(CLOCK_MONOTONIC);
	while (sp_clock_nanoseconds(CLOCK_MONOTONIC) - inner_begin < least)
		;
	const uint64_t inner_end = sp_clock_nanoseconds(CLOCK_MONOTONIC), end = sp_counter();
	const uint64_t outer_end = sp_clock_nanoseconds(CLOCK_MONOTONIC);
	const double ns = (double)(end - begin) * 1e9 / (double)hertz;
	CHECK(ns >= (double)(inner_end - inner_begin) * (double)steered / 1000);
	CHECK(ns <= (double)(outer_end - outer_begin) * 1000 / (double)steered);
}

/* ---- another measurement begins while a thread is inside an event ---- */

static pthread_barrier_t turn;

/* Like a wrapper that is preempted after thread(), and then records more than its chunk has room for. */
static void *preempted(void *unused)
{
	(void)unused;
	const struct sp_adapter *a = &sp_adapter_v1;
	struct sp_thread *t = a->thread();
	MUST(t && t->traced);
	const uint32_t region = a->region(SP_RAW_REGION_IO, NULL, "read", NULL, 0);
	const uint64_t payload[4] = {1, 2, 3, 4};
	pthread_barrier_wait(&turn);
	pthread_barrier_wait(&turn);
	a->enter(t, region);
	for (int i = 0; i < 1000; i++)
		a->extra(t, SP_RAW_X_IO_SEEK, payload, 4, a->now());
	a->leave(t, region);
	CHECK(t->loc.lost_events > 0);
	/* nothing of it is in the other measurement, which still has no location */
	CHECK(sp_process.event_bytes == 0 && sp_process.header->locations == 0);
	CHECK(old_is_mapped());
	const struct sp_thread *after = a->thread();
	CHECK(after && after != t && sp_process.header->locations == 1);
	CHECK(!old_is_mapped());
	return NULL;
}

static void restart(void)
{
	pthread_t thread;
	MUST(pthread_barrier_init(&turn, NULL, 2) == 0);
	start();
	MUST(pthread_create(&thread, NULL, preempted, NULL) == 0);
	pthread_barrier_wait(&turn);
	stop();
	start();
	pthread_barrier_wait(&turn);
	MUST(pthread_join(thread, NULL) == 0);
	stop();
	start();
	CHECK(!old_is_mapped());
	stop();
}

/* ---- a thread ends after its measurement, before another one begins ---- */

static void *outlives(void *unused)
{
	(void)unused;
	MUST(sp_adapter_v1.thread());
	pthread_barrier_wait(&turn);
	pthread_barrier_wait(&turn);
	CHECK(!sp_self);
	return NULL;
}

static void end_after_stop(void)
{
	pthread_t thread;
	start();
	MUST(pthread_create(&thread, NULL, outlives, NULL) == 0);
	pthread_barrier_wait(&turn);
	CHECK(sp_process.threads);
	stop();
	pthread_barrier_wait(&turn);
	MUST(pthread_join(thread, NULL) == 0);
	/* nothing that the next start reads has an address in its memory */
	CHECK(!sp_process.threads);
	start();
	CHECK(!old_is_mapped());
	stop();
}

/* ---- measurements begin and end while threads record, without synchronization ---- */

enum { LATE = 4, TURNS = 100 };
static bool over;

static void *records(void *number)
{
	const struct sp_adapter *a = &sp_adapter_v1;
	char name[40];
	for (unsigned i = 0; !__atomic_load_n(&over, __ATOMIC_RELAXED); i++) {
		struct sp_thread *t = a->thread();
		const int n = snprintf(name, sizeof name, "%d of %d", i % 100, *(const int *)number);
		a->string(name, (size_t)n);
		const uint32_t region = a->region(SP_RAW_REGION_IO, NULL, name, NULL, 0);
		if (t && region) {
			a->enter(t, region);
			a->leave(t, region);
		}
	}
	return NULL;
}

static void turns(void)
{
	pthread_t threads[LATE];
	int numbers[LATE];
	uint64_t locations = 0;
	for (int i = 0; i < LATE; i++) {
		numbers[i] = i;
		MUST(pthread_create(&threads[i], NULL, records, &numbers[i]) == 0);
	}
	for (int i = 0; i < TURNS; i++) {
		start();
		for (int k = 0; k < i % 4; k++)
			sched_yield();
		pthread_mutex_lock(&sp_process.lock);
		locations += sp_process.header->locations;
		pthread_mutex_unlock(&sp_process.lock);
		stop();
	}
	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	for (int i = 0; i < LATE; i++)
		MUST(pthread_join(threads[i], NULL) == 0);
	CHECK(locations > 0);
	CHECK(!sp_process.threads);
	start();
	CHECK(!old_is_mapped());
	stop();
}

/* ---- a measurement ends while a thread does ---- */

enum { DEEP = 50000, ROUNDS = 50 };

static void *deep(void *unused)
{
	(void)unused;
	struct sp_thread *t = sp_thread_new();
	MUST(t);
	for (int i = 0; i < DEEP; i++)
		sp_enter(t, 1, 1, sp_ticks(), SP_RAW_ENTER);
	return NULL;
}

static char *contents(size_t *n)
{
	struct stat st;
	int fd = open(sp_process.path, O_RDONLY);
	MUST(fd >= 0 && fstat(fd, &st) == 0);
	char *p = malloc((size_t)st.st_size);
	*n = (size_t)st.st_size;
	MUST(p && read(fd, p, *n) == (ssize_t)*n);
	close(fd);
	return p;
}

/* Returns false if the thread had ended before its end could be observed. The frames that it leaves are in the file
 * when stop() returns. */
static bool seen_ending(void)
{
	pthread_t thread;
	bool seen = false, gone = false;
	start();
	MUST(pthread_create(&thread, NULL, deep, NULL) == 0);
	while (!seen && !gone) {
		seen = __atomic_load_n(&sp_process.ending, __ATOMIC_SEQ_CST);
		gone = !seen && pthread_tryjoin_np(thread, NULL) == 0;
	}
	sp_process_stop(SP_RAW_ENDED_STOPPED);
	if (seen) {
		size_t before, after;
		char *first = contents(&before);
		MUST(pthread_join(thread, NULL) == 0);
		char *then = contents(&after);
		CHECK(before == after && !memcmp(first, then, after));
		free(first);
		free(then);
	}
	unlink(sp_process.path);
	return seen;
}

int main(void)
{
	char raw[sizeof dir + 4];
	MUST(mkdtemp(dir));
	snprintf(raw, sizeof raw, "%s/raw", dir);
	MUST(mkdir(raw, 0700) == 0);
	large_pages();
	in_a_thread(last_words, 256 << 10);
	in_a_thread(rewinding_over_chunks, 1 << 20);
	in_a_thread(backward_step, 0);
	in_a_thread(backward_step_beside_calls, 0);
	in_a_thread(long_time_after_a_restart, 0);
	in_a_thread(rewinding_after_a_wait, 0);
	in_a_thread(call_paths, 0);
	in_a_thread(raw_clone, 0);
	trusted_clocks();
	rate_of_counter();
	restart();
	end_after_stop();
	turns();
	int n = 0;
	while (n < ROUNDS && !seen_ending())
		n++;
	MUST(n < ROUNDS);
	rmdir(raw);
	rmdir(dir);
	return check_failures != 0;
}
