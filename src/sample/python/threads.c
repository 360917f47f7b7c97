/* SPDX-License-Identifier: BSD-3-Clause */
/* The threads of all interpreters of a process, and their thread ids in the kernel. */
#include "sample/python/private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_INTERPRETERS = 1024, MAX_THREADS = 1 << 16, PTHREAD_BYTES = 1024 };

/* ---- thread ids ---- */

static void list_tasks(struct sp_python *p)
{
	int n = sp_target_threads(p->t, NULL, 0);
	pid_t *ids = n > 0 ? malloc((size_t)n * sizeof *ids) : NULL;
	struct sp_task *tasks = ids ? malloc((size_t)n * sizeof *tasks) : NULL;
	int now = tasks ? sp_target_threads(p->t, ids, (size_t)n) : 0;
	if (now > 0) {
		free(p->tasks);
		p->tasks = tasks;
		p->n_tasks = (size_t)(now < n ? now : n);
		for (size_t i = 0; i < p->n_tasks; i++)
			tasks[i] = (struct sp_task){ids[i], p->nested ? sp_target_inner(p->t, ids[i]) : ids[i]};
	} else {
		free(tasks);
	}
	free(ids);
}

/* The thread with this id in the process's namespace; 0: not found. */
static pid_t known_task(const struct sp_python *p, uint64_t inner)
{
	for (size_t i = 0; i < p->n_tasks; i++)
		if ((uint64_t)p->tasks[i].inner == inner)
			return p->tasks[i].id;
	return 0;
}

/* Reads the thread id from the C library's struct pthread, at an offset that depends on the library. */
static pid_t task_of_pthread(struct sp_python *p, uint64_t pthread)
{
	static const uint32_t glibc[] = {0x2d0, 0xd0}; /* x86_64, aarch64 */
	char bytes[PTHREAD_BYTES];
	pid_t id = 0;
	if (p->ident_tid || !sp_target_read(p->t, pthread, bytes, sizeof bytes)) {
		uint32_t tid = 0;
		if (p->ident_tid && sp_target_read(p->t, pthread + p->ident_tid, &tid, sizeof tid))
			id = known_task(p, tid);
		return id;
	}
	for (size_t i = 0; i < sizeof glibc / sizeof *glibc && !id; i++)
		if ((id = known_task(p, sp_u32(bytes, glibc[i]))))
			p->ident_tid = glibc[i];
	/* a small number may be something else */
	for (uint32_t at = 0; at < sizeof bytes && !id; at += 4)
		if (sp_u32(bytes, at) > 300 && (id = known_task(p, sp_u32(bytes, at))))
			p->ident_tid = at;
	return id;
}

static pid_t find_task(struct sp_python *p, uint64_t ident, uint64_t native)
{
	pid_t id = native ? known_task(p, native) : 0;
	/* after fork() some versions keep the parent's thread id in the child; the C library does not */
	return id ? id : task_of_pthread(p, ident);
}

static pid_t task_of(struct sp_python *p, uint64_t ident, uint64_t native, bool *listed)
{
	pid_t id = find_task(p, ident, native);
	if (!id && !*listed) {
		list_tasks(p);
		*listed = true;
		id = find_task(p, ident, native);
	}
	return id;
}

/* ---- interpreters ---- */

/* The thread state that holds the lock; 0: no holder. */
static uint64_t holder_of(struct sp_python *p, uint64_t interpreter)
{
	uint64_t gil = p->runtime + p->at.runtime_gil, holder;
	uint32_t locked;
	if (p->at.runtime_gil == SP_NO_OFFSET) {
		if (!sp_target_read(p->t, interpreter + p->at.interpreter_gil, &gil, sizeof gil))
			return 0;
		if (p->n_locks < LOCKS)
			p->locks[p->n_locks++] = gil;
	}
	int32_t enabled = 0;
	if (p->without_gil && sp_target_read(p->t, gil + p->at.gil_enabled, &enabled, sizeof enabled))
		p->gil_is_on |= enabled > 0;
	struct iovec to[] = {{&locked, 4}, {&holder, 8}}, from[] = {{(void *)(uintptr_t)(gil + p->at.gil_locked), 4},
	                                                            {(void *)(uintptr_t)(gil + p->at.gil_holder), 8}};
	return sp_target_read_many(p->t, to, from, 2) == 2 && locked == 1 ? holder : 0;
}

/* Adds the threads of one interpreter. Returns the new number of threads, or a negative errno. */
static int threads_of(struct sp_python *p, uint64_t interpreter, uint64_t state, struct sp_python_thread *out,
                      size_t capacity, size_t n, bool *listed)
{
	char bytes[STATE_BYTES];
	uint64_t holder = state ? holder_of(p, interpreter) : 0;
	for (; state; state = sp_u64(bytes, p->at.thread_next), n++) {
		if (n > MAX_THREADS || !sp_target_read(p->t, state, bytes, p->state_bytes) ||
		    sp_u64(bytes, p->at.thread_interpreter) != interpreter)
			return -EAGAIN;
		if (n >= capacity)
			continue;
		uint64_t native = p->version >= 0x030b ? sp_u64(bytes, p->at.thread_native) : 0;
		out[n] = (struct sp_python_thread){
		    .state = state,
		    .tid = task_of(p, sp_u64(bytes, p->at.thread_ident), native, listed),
		    .holds_gil = state == holder,
		};
	}
	return (int)n;
}

int sp_python_threads(struct sp_python *p, struct sp_python_thread *out, size_t capacity)
{
	uint64_t interpreter, next = 0, state = 0;
	bool listed = false;
	int n = 0;
	p->n_locks = 0;
	p->gil_is_on = false;
	if (!sp_target_read(p->t, p->runtime + p->at.runtime_interpreters, &interpreter, 8) || !interpreter)
		return -ESRCH;
	for (int i = 0; interpreter && n >= 0; interpreter = next, i++) {
		struct iovec to[] = {{&next, 8}, {&state, 8}},
		             from[] = {{(void *)(uintptr_t)(interpreter + p->at.interpreter_next), 8},
		                       {(void *)(uintptr_t)(interpreter + p->at.interpreter_threads), 8}};
		if (i > MAX_INTERPRETERS || sp_target_read_many(p->t, to, from, 2) != 2)
			return sp_target_alive(p->t) ? -EAGAIN : -ESRCH;
		n = threads_of(p, interpreter, state, out, capacity, (size_t)n, &listed);
	}
	return n;
}

uint64_t sp_python_state_of(const struct sp_python_thread *threads, size_t n, pid_t tid)
{
	for (size_t i = 0; i < n; i++)
		if (threads[i].tid == tid)
			return threads[i].state;
	return 0;
}

/* ---- waits of a build without the GIL ---- */

/* All its locks park a thread at a semaphore in a struct wait_entry on the thread's stack (Python/parking_lot.c),
 * behind the address that the thread waits at: of the thread's `state` if all threads are stopped, otherwise of a lock.
 * A thread that waits for an object's lock has begun a critical section that has no mutex yet
 * (Python/critical_section.c). */
enum sp_python_park sp_python_parked(const struct sp_python *p, uint64_t state, uint64_t futex)
{
	enum { SUSPENDED = 2 };          /* _Py_THREAD_SUSPENDED */
	static const uint64_t flags = 3; /* in the low bits of a critical section's address */
	struct {
		uint64_t previous, mutex;
	} section; /* PyCriticalSection */
	uint64_t at, innermost;
	int32_t attached;
	if (!p->without_gil || !state)
		return SP_PARK_ELSE;
	struct iovec to[] = {{&at, 8}, {&attached, 4}, {&innermost, 8}},
	             from[] = {{(void *)(uintptr_t)(futex - 8), 8},
	                       {(void *)(uintptr_t)(state + p->at.thread_attached), 4},
	                       {(void *)(uintptr_t)(state + p->at.thread_section), 8}};
	if (sp_target_read_many(p->t, to, from, 3) != 3)
		return SP_PARK_ELSE;
	if (at == state + p->at.thread_attached)
		return attached == SUSPENDED ? SP_PARK_STOPPED : SP_PARK_ELSE;
	if (!(innermost & ~flags) || !sp_target_read(p->t, innermost & ~flags, &section, sizeof section))
		return SP_PARK_ELSE;
	return section.mutex ? SP_PARK_ELSE : SP_PARK_OBJECT;
}

int sp_python_stack_of(struct sp_python *p, const struct sp_python_thread *threads, size_t n, pid_t tid,
                       struct sp_python_frame *out, size_t capacity)
{
	int found = 0;
	/* the newest interpreter comes first: the one that runs another is older */
	for (size_t i = 0; i < n; i++) {
		if (threads[i].tid != tid)
			continue;
		const size_t used = (size_t)found < capacity ? (size_t)found : capacity;
		int more = sp_python_stack(p, &threads[i], out + used, capacity - used);
		if (more < 0)
			return more;
		found += more;
	}
	return found;
}
