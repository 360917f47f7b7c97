/* SPDX-License-Identifier: BSD-3-Clause */
/* A library linked without the C library, for tests/py/waits/test_waits_faults.py: its calls have no symbol version and
 * are bound to the oldest one, whose condition variables differ from the current ones. */
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition;
static int news;

static void *notify(void *none)
{
	usleep(20000);
	pthread_mutex_lock(&mutex);
	news = 1;
	pthread_cond_signal(&condition);
	pthread_mutex_unlock(&mutex);
	return none;
}

int wait_for_news(void)
{
	const struct timespec long_ago = {1, 0};
	pthread_t t;
	news = 0;
	pthread_cond_init(&condition, NULL);
	pthread_create(&t, NULL, notify, NULL);
	pthread_mutex_lock(&mutex);
	while (!news)
		pthread_cond_wait(&condition, &mutex);
	const int late = pthread_cond_timedwait(&condition, &mutex, &long_ago);
	pthread_mutex_unlock(&mutex);
	pthread_join(t, NULL);
	return pthread_cond_destroy(&condition) ? -1 : late;
}
