/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads wait, acquire and release objects without the GIL, and begin and end, while another thread searches for
 * deadlock cycles. ThreadSanitizer checks the ordering of shared data. */
#include <pthread.h>
#include <sys/stat.h>

#include "check.h"
#include "record/adapter.h"
#include "record/clock.h"
#include "record/hot.h"
#include "record/process.h"
#include "record/settings.h"
#include "record/stack.h"
#include "record/thread.h"
#include "record/waits/waits.h"

enum { THREADS = 2, WAITS = 2000, SAMPLES = 2000 };

static char dir[] = "/tmp/spartito-test-XXXXXX";
/* For each thread an object that only it acquires, with a lock as for objects of the C library. */
static struct sp_raw_object *objects[THREADS];
static pthread_mutex_t locks[THREADS] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_barrier_t turn;

static void begin(struct sp_wait *w, struct sp_thread *t, const struct sp_raw_object *o, uint32_t holder,
                  unsigned flags)
{
	uint64_t unnamed = 0;
	const struct sp_wait_key key = {
	    .node = (uint64_t)sp_stack_node(t, &unnamed), .object = o->id, .holder = holder, .kind = SP_RAW_WAIT_MUTEX};
	struct sp_raw_wait *row = sp_waits_find(t, &key);
	row = row ? row : sp_waits_add(t, &key, 0, 0);
	MUST(row);
	sp_wait_begin(w, t, key.node, row, sp_object_of(o->id), flags);
}

/* Holds its object, and waits for the other thread's object. */
static void *waits(void *arg)
{
	const size_t me = (size_t)arg, other = (me + 1) % THREADS;
	struct sp_thread *t = sp_adapter_v1.thread();
	MUST(t);
	pthread_barrier_wait(&turn);
	for (int i = 0; i < WAITS; i++) {
		struct sp_wait w;
		pthread_mutex_lock(&locks[me]);
		sp_object_acquired(t, objects[me], 0, sp_ticks());
		pthread_mutex_unlock(&locks[me]);
		begin(&w, t, objects[other], SP_RAW_NONE, i % 3 ? 0 : SP_RAW_WAIT_TIMED);
		CHECK(sp_wait_end(&w, true));
		pthread_mutex_lock(&locks[me]);
		sp_object_released(t, objects[me]);
		pthread_mutex_unlock(&locks[me]);
	}
	return NULL;
}

/* In a thread that ends, because its end frees its memory. */
static void *samples(void *unused)
{
	pthread_t threads[THREADS];
	struct sp_wait mine;
	struct sp_thread *t = sp_adapter_v1.thread();
	(void)unused;
	MUST(t && sp_waits_wanted);
	for (int i = 0; i < THREADS; i++)
		MUST((objects[i] = sp_object_new(SP_RAW_WAIT_MUTEX, &locks[i], 0)));
	MUST(pthread_barrier_init(&turn, NULL, THREADS + 1) == 0);
	for (size_t i = 0; i < THREADS; i++)
		MUST(pthread_create(&threads[i], NULL, waits, (void *)i) == 0);
	pthread_barrier_wait(&turn);
	begin(&mine, t, objects[0], SP_RAW_NONE, 0);
	for (int i = 0; i < SAMPLES; i++)
		sp_waits_find_cycle(&mine);
	for (int i = 0; i < THREADS; i++)
		MUST(pthread_join(threads[i], NULL) == 0);
	CHECK(sp_wait_end(&mine, false));
	for (int i = 0; i < THREADS; i++) {
		CHECK(sp_object_holder(objects[i]) == SP_RAW_NONE);
		CHECK(objects[i]->contended == WAITS + (i == 0));
	}
	return NULL;
}

int main(void)
{
	char raw[sizeof dir + 4];
	struct sp_settings s;
	pthread_t thread;
	MUST(mkdtemp(dir));
	snprintf(raw, sizeof raw, "%s/raw", dir);
	MUST(mkdir(raw, 0700) == 0);
	sp_settings_init(&s);
	s.waits = true;
	MUST(sp_process_start(dir, &s, NULL, SP_RAW_STARTED_API) == 0);
	MUST(pthread_create(&thread, NULL, samples, NULL) == 0);
	MUST(pthread_join(thread, NULL) == 0);
	sp_process_stop(SP_RAW_ENDED_STOPPED);
	unlink(sp_process.path);
	rmdir(raw);
	rmdir(dir);
	return check_failures != 0;
}
