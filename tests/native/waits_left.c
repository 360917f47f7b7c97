/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits that do not end by returning, for tests/py/waits/test_waits_faults.py. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- a signal handler that leaves a wait by siglongjmp ---- */

static sigjmp_buf back;

static void leave(int number)
{
	(void)number;
	siglongjmp(back, 1);
}

static __attribute__((noinline)) int wait_deep(int depth, int ms)
{
	volatile char capacity[200];
	memset((char *)capacity, depth, sizeof capacity);
	const int r = depth ? wait_deep(depth - 1, ms) : poll(NULL, 0, ms);
	return r + capacity[7] - depth;
}

/* overwrites the stack below the caller */
static __attribute__((noinline)) void overwrite(int with)
{
	volatile char capacity[16 << 10];
	memset((char *)capacity, with, sizeof capacity);
	__asm__ volatile("" : : "r"(capacity) : "memory");
}

/* The number of waits that were left. */
int left_by_longjmp(int times)
{
	struct sigaction mine = {.sa_handler = leave}, before;
	volatile int left = 0;
	sigaction(SIGALRM, &mine, &before);
	for (volatile int i = 0; i < times; i++) {
		const struct itimerval soon = {.it_value = {.tv_usec = 20000}};
		if (sigsetjmp(back, 1)) {
			left++;
		} else {
			setitimer(ITIMER_REAL, &soon, NULL);
			wait_deep(3, 10000);
		}
		overwrite(i % 2 ? 0x41 : 0xff);
		poll(NULL, 0, 1);
	}
	sigaction(SIGALRM, &before, NULL);
	return left;
}

/* ---- a thread with a pending cancellation, which waits with cancellation disabled ---- */

enum { MUTEXES = 3000 };
pthread_mutex_t mutexes[MUTEXES];
static int waited;

static void *wait_for_all(void *none)
{
	const struct timespec now = {0, 0};
	pthread_cancel(pthread_self());
	for (int i = 0; i < MUTEXES; i++)
		waited += pthread_mutex_timedlock(&mutexes[i], &now) == ETIMEDOUT;
	pthread_testcancel();
	return none;
}

/* The number of mutexes it waited for before it was cancelled. */
int cancelled_late(void)
{
	pthread_t t;
	void *end;
	waited = 0;
	for (int i = 0; i < MUTEXES; i++) {
		pthread_mutex_init(&mutexes[i], NULL);
		pthread_mutex_lock(&mutexes[i]);
	}
	pthread_create(&t, NULL, wait_for_all, NULL);
	pthread_join(t, &end);
	for (int i = 0; i < MUTEXES; i++)
		pthread_mutex_unlock(&mutexes[i]);
	return end == PTHREAD_CANCELED ? waited : -1;
}

/* ---- a signal handler that waits while the heap is corrupt and the allocator holds its lock ---- */

static void wait_and_end(int number)
{
	(void)number;
	_exit(poll(NULL, 0, 10) ? 1 : 7);
}

static void *stay(void *none)
{
	for (;;)
		sched_yield();
	return none;
}

/* does not return */
void abort_in_malloc(void)
{
	enum { BYTES = 100000 }; /* from the end of the heap, whose size follows them */
	const struct sigaction mine = {.sa_handler = wait_and_end};
	pthread_t t;
	sigaction(SIGABRT, &mine, NULL);
	pthread_create(&t, NULL, stay, NULL); /* malloc() locks only in processes with threads */
	for (int i = 0; i < 100; i++) {
		char *volatile p = malloc(BYTES);
		memset(p, 0xff, malloc_usable_size(p) + sizeof(size_t));
	}
}

/* ---- a signal handler that waits, and may have interrupted malloc() ---- */

static volatile int alarms;

static void wait_a_while(int number)
{
	(void)number;
	usleep(10);
	alarms++;
}

static __attribute__((noinline)) int spin_deep(int depth)
{
	volatile char capacity[500];
	memset((char *)capacity, depth, sizeof capacity);
	while (!depth)
		;
	return spin_deep(depth - 1) + capacity[7];
}

/* Allocates until a signal interrupts it; returns the number of signals so far. left: before that, a handler leaves
 * deeper frames by siglongjmp, which the recorder has not noticed yet. */
int alarm_in_malloc(int left)
{
	static pthread_t t; /* malloc() locks only in processes with threads */
	const struct sigaction mine = {.sa_handler = wait_a_while}, leaves = {.sa_handler = leave};
	const struct itimerval soon = {.it_value = {.tv_usec = 200}};
	const int before = alarms;
	if (!t)
		pthread_create(&t, NULL, stay, NULL);
	if (left) {
		sigaction(SIGALRM, &leaves, NULL);
		if (!sigsetjmp(back, 1)) {
			setitimer(ITIMER_REAL, &soon, NULL);
			spin_deep(50);
		}
	}
	sigaction(SIGALRM, &mine, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	while (alarms == before) {
		char *volatile p = malloc(2000); /* larger than the blocks of a thread's cache */
		free(p);
	}
	return alarms;
}

/* ---- threads that create mutexes and wait, while others fork ---- */

enum { WORKERS = 4 };
static pthread_t workers[WORKERS];
static int over;
static long turns;

static void *make_and_wait(void *number)
{
	const struct timespec now = {0, 0};
	while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
		pthread_mutex_t *m = malloc(sizeof *m);
		pthread_mutex_init(m, NULL);
		pthread_mutex_lock(m);
		pthread_mutex_timedlock(m, &now);
		pthread_mutex_unlock(m);
		pthread_mutex_destroy(m);
		free(m);
		pthread_mutex_lock(&mutexes[0]);
		poll(NULL, 0, number ? 0 : 1);
		pthread_mutex_unlock(&mutexes[0]);
		__atomic_fetch_add(&turns, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

void workers_begin(void)
{
	over = 0;
	pthread_mutex_init(&mutexes[0], NULL);
	for (long i = 0; i < WORKERS; i++)
		pthread_create(&workers[i], NULL, make_and_wait, (void *)i);
}

/* Returns when one of the threads has done all of that at least once. */
void workers_turn(void)
{
	const long before = __atomic_load_n(&turns, __ATOMIC_RELAXED);
	while (__atomic_load_n(&turns, __ATOMIC_RELAXED) <= before + WORKERS)
		usleep(1000);
}

void workers_end(void)
{
	__atomic_store_n(&over, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
}

/* The number of children that cannot load the library. */
int children_that_load(const char *library, int times)
{
	int bad = 0, status;
	for (int i = 0; i < times; i++) {
		const pid_t child = fork();
		if (!child) {
			alarm(100);
			_exit(!dlopen(library, RTLD_NOW));
		}
		bad += waitpid(child, &status, 0) != child || status;
	}
	return bad;
}
