/* SPDX-License-Identifier: BSD-3-Clause */
/* Another process, looked at from outside: its memory, its threads, its objects in memory. Nothing is written into it
 * and nothing of it is stopped, but for the moment in which registers are read (native.h). All that comes from it may
 * be torn or wrong: each read can fail, and nothing read is trusted before it is checked. */
#ifndef SP_SAMPLE_TARGET_H
#define SP_SAMPLE_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

struct sp_target {
	pid_t pid;
	int memory; /* /proc/PID/mem, where process_vm_readv is forbidden; -1: not open */
	uint64_t
	    started; /* clock ticks since boot (field 22 of /proc/PID/stat): a pid that came again is another one */
};

/* Opens pid. 0, or a negative errno with a sentence in why[n] that says the way out: -ESRCH (no such process), -EPERM
 * (not allowed: which limit forbids it, ptrace_scope, another user, a container), -ENOSYS. */
int sp_target_open(struct sp_target *t, pid_t pid, char *why, size_t n);
void sp_target_close(struct sp_target *t);
/* Copies n bytes at the address `at`; false: not all are there. */
bool sp_target_read(const struct sp_target *t, uint64_t at, void *to, size_t n);
/* Several pieces with one call, to[i] from from[i], of the same size each, in this order: how many, from the first on,
 * were there. n: IOV_MAX at most. */
size_t sp_target_read_many(const struct sp_target *t, const struct iovec *to, const struct iovec *from, size_t n);
/* Is it still the process that was opened, and running? */
bool sp_target_alive(const struct sp_target *t);

/* What its memory is made of (/proc/PID/maps), by address. */
struct sp_mapping {
	uint64_t begin, end, offset; /* offset: of begin in the file */
	bool readable, writable, executable;
	const char *path; /* "": none; as the process sees it, sp_target_file() opens it; "[vdso]" and the like */
};
struct sp_mappings {
	struct sp_mapping *all; /* owned */
	size_t n;
	char *text; /* owned: what the paths stand in */
};
int sp_target_mappings(const struct sp_target *t, struct sp_mappings *out); /* 0 or a negative errno */
void sp_mappings_free(struct sp_mappings *m);
const struct sp_mapping *sp_mappings_at(const struct sp_mappings *m, uint64_t address); /* NULL: nothing is there */
/* The file of a mapping, to be opened from here: in the process's own root, or through the link of the executable,
 * which may be deleted. false: path[n] has no room, or there is no file. */
bool sp_target_file(const struct sp_target *t, const struct sp_mapping *m, char *path, size_t n);

/* Its threads: fills ids[room], returns how many there are (may be more than room), or a negative errno. */
int sp_target_threads(const struct sp_target *t, pid_t *ids, size_t room);

/* What the process itself calls one of its threads: another number, where it has a pid namespace of its own. */
pid_t sp_target_inner(const struct sp_target *t, pid_t thread);

/* The name that the system has for a thread, where it has one of its own: otherwise it is the main thread's, which all
 * inherit. false: it has none. */
enum { SP_THREAD_NAME = 16 };
bool sp_target_thread_name(const struct sp_target *t, pid_t thread, char name[SP_THREAD_NAME]);

/* What a thread does, from /proc, without stopping it. */
enum sp_thread_state {
	SP_STATE_RUNNING, /* on a processor, or ready for one */
	SP_STATE_GIL,     /* waits for the interpreter's lock */
	SP_STATE_SYSCALL, /* in a system call that does work: the disk, the network, a file */
	SP_STATE_IDLE,    /* waits for something that has not happened: sleep, lock, select */
	SP_STATES
};
struct sp_thread_times {
	uint64_t cpu;                  /* ns on a processor so far (schedstat) */
	uint64_t ready;                /* ns that it was ready but had no processor */
	char letter;                   /* of /proc/…/stat: R S D T Z X */
	int32_t syscall;               /* number; -1: in none, -2: not told */
	uint64_t arguments[6], sp, pc; /* of the system call that it is in; 0: not told */
};
/* 0, or a negative errno: the thread has ended. */
int sp_target_times(const struct sp_target *t, pid_t thread, struct sp_thread_times *out);

#endif
