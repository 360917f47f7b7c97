/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits of known number and length between C threads, for tests/py/waits/test_waits_clib.py. Times are in
 * milliseconds. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

pthread_mutex_t global_lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t ready;

/* Relative to the time of the call. */
static void pause_for(int ms)
{
	const struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
	clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

static bool sleeps(int thread)
{
	char name[40], text[200];
	snprintf(name, sizeof name, "/proc/self/task/%d/stat", thread);
	const int fd = open(name, O_RDONLY);
	const ssize_t n = read(fd, text, sizeof text - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	const char *behind = strrchr(text, ')'); /* behind its name, which may contain any character */
	return behind && !strncmp(behind, ") S", 3);
}

/* A waiting thread stores its id just before the wait; its partner continues when that thread sleeps, even on a busy
 * machine. */
static int wanted;

static void want(void)
{
	__atomic_store_n(&wanted, (int)syscall(SYS_gettid), __ATOMIC_SEQ_CST);
}

static void until_wanted(void)
{
	int who;
	while (!(who = __atomic_exchange_n(&wanted, 0, __ATOMIC_SEQ_CST)))
		sched_yield();
	while (!sleeps(who))
		sched_yield();
}

static void pause_when_wanted(int ms)
{
	until_wanted();
	pause_for(ms);
}

static long microseconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static struct timespec in(int ms, clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	t.tv_nsec += ms % 1000 * 1000000L;
	t.tv_sec += ms / 1000 + t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

/* ---- a mutex that another thread holds ---- */

struct held {
	pthread_mutex_t *mutex;
	int ms;
};

static void *hold(void *arg)
{
	struct held *h = arg;
	pthread_mutex_lock(h->mutex);
	sem_post(&ready);
	pause_when_wanted(h->ms);
	pthread_mutex_unlock(h->mutex);
	return NULL;
}

/* The time it took in microseconds, by this program's clock. */
long wait_for(pthread_mutex_t *m, int times, int ms)
{
	long took = 0;
	sem_init(&ready, 0, 0);
	for (int i = 0; i < times; i++) {
		struct held h = {m, ms};
		pthread_t t;
		pthread_create(&t, NULL, hold, &h);
		sem_wait(&ready);
		took -= microseconds();
		want();
		pthread_mutex_lock(m);
		took += microseconds();
		pthread_mutex_unlock(m);
		pthread_join(t, NULL);
	}
	sem_destroy(&ready);
	return took;
}

long wait_for_global(int times, int ms)
{
	return wait_for(&global_lock, times, ms);
}

long wait_for_made(int times, int ms)
{
	pthread_mutex_t *m = malloc(sizeof *m);
	pthread_mutex_init(m, NULL);
	const long took = wait_for(m, times, ms);
	pthread_mutex_destroy(m);
	free(m);
	return took;
}

pthread_mutex_t *mutex_new(void)
{
	pthread_mutex_t *m = malloc(sizeof *m);
	pthread_mutex_init(m, NULL);
	return m;
}

void mutex_lock(pthread_mutex_t *m)
{
	pthread_mutex_lock(m);
}

void mutex_unlock(pthread_mutex_t *m)
{
	pthread_mutex_unlock(m);
}

/* ---- other waits: each waits once for about `ms`, and returns 0 if it behaves as without Spartito ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int news;

static void *notify(void *ms)
{
	pause_when_wanted((int)(long)ms);
	pthread_mutex_lock(&mutex);
	news = 1;
	pthread_cond_signal(&condition);
	pthread_mutex_unlock(&mutex);
	return NULL;
}

int cond_wait(int ms)
{
	pthread_t t;
	pthread_mutex_lock(&mutex);
	news = 0;
	pthread_create(&t, NULL, notify, (void *)(long)ms);
	want(); /* the other thread cannot notify before this one waits */
	while (!news)
		pthread_cond_wait(&condition, &mutex);
	pthread_mutex_unlock(&mutex);
	return pthread_join(t, NULL);
}

int cond_timedwait(int ms)
{
	pthread_condattr_t how;
	pthread_cond_t c;
	pthread_condattr_init(&how);
	pthread_condattr_setclock(&how, CLOCK_MONOTONIC);
	pthread_cond_init(&c, &how);
	struct timespec until = in(ms, CLOCK_MONOTONIC);
	pthread_mutex_lock(&mutex);
	const int e = pthread_cond_timedwait(&c, &mutex, &until);
	pthread_mutex_unlock(&mutex);
	pthread_cond_destroy(&c);
	return e != ETIMEDOUT;
}

static sem_t given;

static void *give(void *ms)
{
	pause_when_wanted((int)(long)ms);
	sem_post(&given);
	return NULL;
}

int semaphore_wait(int ms)
{
	pthread_t t;
	sem_init(&given, 0, 1);
	sem_wait(&given); /* available already */
	pthread_create(&t, NULL, give, (void *)(long)ms);
	want();
	const int e = sem_wait(&given);
	pthread_join(t, NULL);
	struct timespec until = in(ms, CLOCK_REALTIME);
	return e || sem_timedwait(&given, &until) != -1 || errno != ETIMEDOUT;
}

static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;

static void *write_for(void *ms)
{
	pthread_rwlock_wrlock(&rwlock);
	sem_post(&ready);
	pause_when_wanted((int)(long)ms);
	pthread_rwlock_unlock(&rwlock);
	return NULL;
}

int rwlock_wait(int ms)
{
	pthread_t t;
	sem_init(&ready, 0, 0);
	pthread_create(&t, NULL, write_for, (void *)(long)ms);
	sem_wait(&ready);
	want();
	const int e = pthread_rwlock_rdlock(&rwlock);
	pthread_rwlock_unlock(&rwlock);
	return e || pthread_join(t, NULL);
}

static pthread_barrier_t barrier;

static void *come(void *ms)
{
	pause_when_wanted((int)(long)ms);
	pthread_barrier_wait(&barrier);
	return NULL;
}

int barrier_wait(int ms)
{
	pthread_t t;
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&t, NULL, come, (void *)(long)ms);
	want();
	const int e = pthread_barrier_wait(&barrier);
	pthread_join(t, NULL);
	return (e && e != PTHREAD_BARRIER_SERIAL_THREAD) || pthread_barrier_destroy(&barrier);
}

static void *sleep_for(void *ms)
{
	pause_when_wanted((int)(long)ms);
	return ms;
}

int join(int ms)
{
	pthread_t t;
	void *value;
	pthread_create(&t, NULL, sleep_for, (void *)(long)ms);
	want();
	return pthread_join(t, &value) || value != (void *)(long)ms;
}

int sleep_of_each_kind(int ms)
{
	const struct timespec t = {0, ms * 1000000L};
	return nanosleep(&t, NULL) || clock_nanosleep(CLOCK_REALTIME, 0, &t, NULL) || usleep((useconds_t)ms * 1000);
}

int descriptors(int ms)
{
	struct timeval t = {0, ms * 1000};
	const struct timespec none = {0, 0};
	struct epoll_event event;
	const int fd = epoll_create1(0);
	int e = poll(NULL, 0, ms) || select(0, NULL, NULL, NULL, &t) || epoll_wait(fd, &event, 1, ms);
	e = e || poll(NULL, 0, 0) || epoll_wait(fd, &event, 1, 0) || ppoll(NULL, 0, &none, NULL);
	close(fd);
	return e;
}

int file_locks(const char *path)
{
	struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	const int fd = open(path, O_RDWR | O_CREAT, 0600);
	int e = flock(fd, LOCK_EX) || flock(fd, LOCK_UN) || fcntl(fd, F_SETLKW, &all) || lockf(fd, F_ULOCK, 0);
	e = e || flock(fd, LOCK_EX | LOCK_NB) || fcntl(fd, F_GETFD) < 0 || lockf(fd, F_LOCK, 0);
	close(fd);
	return e;
}

/* ---- behaviour that must not change ---- */

static void *locks_of_each_kind(void *none)
{
	pthread_mutexattr_t how;
	pthread_mutex_t m;
	(void)none;
	pthread_mutexattr_init(&how);
	pthread_mutexattr_settype(&how, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutex_init(&m, &how);
	if (pthread_mutex_unlock(&m) != EPERM || pthread_mutex_lock(&m) || pthread_mutex_lock(&m) != EDEADLK ||
	    pthread_mutex_trylock(&m) != EBUSY || pthread_mutex_unlock(&m) || pthread_mutex_destroy(&m))
		return (void *)1L;
	pthread_mutexattr_settype(&how, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&m, &how);
	for (int i = 0; i < 3; i++)
		if (pthread_mutex_lock(&m))
			return (void *)2L;
	for (int i = 0; i < 3; i++)
		if (pthread_mutex_unlock(&m))
			return (void *)3L;
	if (pthread_mutex_unlock(&m) != EPERM || pthread_mutex_destroy(&m))
		return (void *)4L;
	return NULL;
}

static pthread_mutex_t robust;

static void *die_with(void *m)
{
	pthread_mutex_lock(m);
	return NULL;
}

static int owner_is_dead(void)
{
	pthread_mutexattr_t how;
	pthread_t t;
	pthread_mutexattr_init(&how);
	pthread_mutexattr_setrobust(&how, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&robust, &how);
	pthread_create(&t, NULL, die_with, &robust);
	pthread_join(t, NULL);
	return pthread_mutex_lock(&robust) != EOWNERDEAD || pthread_mutex_consistent(&robust) ||
	       pthread_mutex_unlock(&robust) || pthread_mutex_lock(&robust) || pthread_mutex_unlock(&robust);
}

static int cleaned;

static void clean(void *arg)
{
	(void)arg;
	cleaned += pthread_mutex_unlock(&mutex) == 0;
}

static void *wait_to_be_cancelled(void *arg)
{
	pthread_mutex_lock(&mutex);
	pthread_cleanup_push(clean, NULL);
	sem_post(&ready);
	for (;;)
		pthread_cond_wait(&condition, &mutex);
	pthread_cleanup_pop(0);
	return arg;
}

static void *wait_for_semaphore(void *arg)
{
	sem_post(&ready);
	sem_wait(&given);
	return arg;
}

static int cancelled(void *(*function)(void *))
{
	pthread_t t;
	void *value;
	pthread_create(&t, NULL, function, NULL);
	sem_wait(&ready);
	pause_for(20);
	pthread_cancel(t);
	return pthread_join(t, &value) || value != PTHREAD_CANCELED;
}

/* 0, or the number of the part that behaves differently. */
int semantics(void)
{
	const long locks = (long)locks_of_each_kind(NULL);
	sem_init(&ready, 0, 0);
	sem_init(&given, 0, 0);
	if (locks)
		return (int)locks;
	if (owner_is_dead())
		return 10;
	if (cancelled(wait_to_be_cancelled) || cleaned != 1 || pthread_mutex_lock(&mutex) ||
	    pthread_mutex_unlock(&mutex))
		return 11;
	return cancelled(wait_for_semaphore) ? 12 : 0;
}

/* ---- a library with fork handlers, as many have ---- */

static void before_fork(void)
{
	pthread_mutex_lock(&global_lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&global_lock);
}

int prepare_for_forks(void)
{
	return pthread_atfork(before_fork, after_fork, after_fork);
}

/* ---- C threads: each locks the mutex `times` times for a short time; the first one, which has slept and so is
 * registered, holds it until another thread waits for it ---- */

static long counted;
static int begun, held;

static void *work(void *times)
{
	const bool first = !__atomic_fetch_add(&begun, 1, __ATOMIC_SEQ_CST);
	if (!first) {
		while (!__atomic_load_n(&held, __ATOMIC_SEQ_CST))
			sched_yield();
		want();
	}
	for (long i = 0; i < (long)times; i++) {
		pthread_mutex_lock(&global_lock);
		counted++;
		if (first && i == 1) {
			__atomic_store_n(&held, 1, __ATOMIC_SEQ_CST);
			until_wanted();
		}
		if (i % 100 == 0)
			pause_for(1);
		pthread_mutex_unlock(&global_lock);
	}
	return NULL;
}

long threads(int n, int times)
{
	pthread_t t[16];
	counted = begun = held = wanted = 0;
	for (int i = 0; i < n; i++)
		pthread_create(&t[i], NULL, work, (void *)(long)times);
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	return counted;
}
