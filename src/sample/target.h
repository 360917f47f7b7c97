/* SPDX-License-Identifier: BSD-3-Clause */
/* Another process, read from outside: its memory, threads, and objects in memory. Nothing is written into it, and its
 * threads are not stopped except while registers are read (native.h). All data may be inconsistent or wrong: each read
 * can fail, and values are checked before they are used. */
#ifndef SP_SAMPLE_TARGET_H
#define SP_SAMPLE_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

struct sp_target {
	pid_t pid;
	int memory; /* /proc/PID/mem, if process_vm_readv() is forbidden; -1: not open */
	uint64_t
	    /* clock ticks since boot (field 22 of /proc/PID/stat): distinguishes processes with a reused pid */
	    started;
};

/* Opens pid. Returns 0, or a negative errno with a sentence in why[n] that says what to do: -ESRCH (no such process),
 * -EPERM (not allowed; the sentence names the limit: ptrace_scope, another user, a container), -ENOSYS. */
int sp_target_open(struct sp_target *t, pid_t pid, char *why, size_t n);
void sp_target_close(struct sp_target *t);
/* Copies n bytes from address `at`. Returns false if not all of them are readable. */
bool sp_target_read(const struct sp_target *t, uint64_t at, void *to, size_t n);
/* Copies several pieces with one system call, from[i] to to[i] of the same size, in this order. Returns the number of
 * pieces that were copied, from the first on. n: at most IOV_MAX. */
size_t sp_target_read_many(const struct sp_target *t, const struct iovec *to, const struct iovec *from, size_t n);
/* Whether the process that was opened is still running. */
bool sp_target_alive(const struct sp_target *t);

/* A mapping of its memory (/proc/PID/maps); sorted by address. */
struct sp_mapping {
	uint64_t begin, end, offset; /* offset: of begin in the file */
	bool readable, writable, executable;
	const char *path; /* path in the process's root, for sp_target_file(); "": no file; "[vdso]" and the like */
};
struct sp_mappings {
	struct sp_mapping *all; /* owned */
	size_t n;
	char *text; /* owned: the text that contains the paths */
};
int sp_target_mappings(const struct sp_target *t, struct sp_mappings *out); /* Returns 0 or a negative errno. */
void sp_mappings_free(struct sp_mappings *m);
/* NULL: nothing is mapped there */
const struct sp_mapping *sp_mappings_at(const struct sp_mappings *m, uint64_t address);
/* A path by which the file of a mapping can be opened from here: in the process's root, or the link to the executable,
 * which may be deleted. Returns false if path[n] is too small or there is no such file. */
bool sp_target_file(const struct sp_target *t, const struct sp_mapping *m, char *path, size_t n);

/* Lists its threads. Fills ids[room] and returns the number of threads (may be more than room), or a negative errno. */
int sp_target_threads(const struct sp_target *t, pid_t *ids, size_t capacity);

/* The id of one of its threads inside the process: a different number if the process has a separate pid namespace. */
pid_t sp_target_inner(const struct sp_target *t, pid_t thread);

/* The name that the system has for a thread. Returns false if the thread has only inherited the name of the main
 * thread. */
enum { SP_THREAD_NAME = 16 };
bool sp_target_thread_name(const struct sp_target *t, pid_t thread, char name[SP_THREAD_NAME]);

/* The state of a thread, from /proc, without stopping it. */
enum sp_thread_state {
	SP_STATE_RUNNING,                   /* running, or ready to run */
	SP_STATE_GIL,                       /* waits for the interpreter's lock */
	SP_STATE_SYSCALL,                   /* in a system call that does work: disk, network, files */
	SP_STATE_IDLE,                      /* waits for an event: sleep, lock, select */
	SP_STATES_OF_ALL,                   /* number of these; the others are only in a Python without the GIL */
	SP_STATE_OBJECT = SP_STATES_OF_ALL, /* waits for the lock of an object */
	SP_STATE_STOPPED,                   /* another thread stopped all threads */
	SP_STATES
};
struct sp_thread_times {
	uint64_t cpu;                  /* ns on a processor so far (schedstat) */
	uint64_t ready;                /* ns ready to run but without a processor */
	char letter;                   /* of /proc/…/stat: R S D T Z X */
	int32_t syscall;               /* number; -1: not in a system call, -2: unknown */
	uint64_t arguments[6], sp, pc; /* of the current system call; 0: unknown */
};
/* Reads them. Returns 0, or a negative errno: the thread has ended. */
int sp_target_times(const struct sp_target *t, pid_t thread, struct sp_thread_times *out);

#endif
