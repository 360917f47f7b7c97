/* SPDX-License-Identifier: BSD-3-Clause */
/* What the recorder writes at the edges of its chunks, and at the ends of measurements. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/stat.h>

#include "check.h"
#include "record/adapter.h"
#include "record/hot.h"

static char dir[] = "/tmp/spartito-test-XXXXXX";

static void start(void)
{
	struct sp_settings s;
	sp_settings_init(&s);
	s.trace = true;
	MUST(sp_process_start(dir, &s, NULL, SP_RAW_STARTED_API) == 0);
}

static void stop(void)
{
	sp_process_stop(SP_RAW_ENDED_STOPPED);
	unlink(sp_process.path);
}

/* An event with the most words of payload there is, after a time that does not fit into one, in a chunk with little
 * room: whatever that is, nothing is written past its end. */
static void *last_words(void *unused)
{
	(void)unused;
	struct sp_thread *t = sp_thread_new();
	MUST(t && t->traced);
	const uint64_t payload[4] = {1, 2, 3, 4};
	for (int room = 0; room < 16; room++) {
		const uint64_t *end = t->ev_end;
		t->loc.next = (uint64_t)(end - room);
		sp_extra_at(t, SP_RAW_X_IO_SEEK, payload, 4, t->loc.last + SP_RAW_DELTA_MAX + 1);
		CHECK(t->loc.next <= (uint64_t)t->ev_end);
		CHECK(t->loc.lost_events == 0);
	}
	return NULL;
}

/* ---- another measurement begins while a thread is within an event ---- */

static pthread_barrier_t turn;

/* Whether a file of the directory is mapped that is not that of the measurement of now. */
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

/* As a wrapper that is preempted behind thread(), and has more to say than its chunk has room for. */
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

/* ---- a thread ends when its measurement is over, and no other one has begun ---- */

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
	/* nothing that the next start looks at has an address of its memory */
	CHECK(!sp_process.threads);
	start();
	CHECK(!old_is_mapped());
	stop();
}

/* ---- measurements begin and end while threads record, without a word between them ---- */

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
		locations += sp_process.header->locations;
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

/* false: it had ended before anybody saw it. The frames that it leaves are in the file by the time stop() returns. */
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
	start();
	/* in a thread that ends, for its end frees what it holds */
	pthread_t thread;
	MUST(pthread_create(&thread, NULL, last_words, NULL) == 0);
	MUST(pthread_join(thread, NULL) == 0);
	stop();
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
