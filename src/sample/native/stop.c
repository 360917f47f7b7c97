/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread is seized, stopped and released for each sample. Keeping it seized would save two system calls, but its
 * signals and its end would then wait for the sampler, and no debugger could attach. */
#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sample/native/private.h"

enum {
	LONGEST_NS = 100000000, /* ns; limit for waiting: a thread that waits for the disk stops only afterwards */
	TURN_NS = 100000,       /* ns; the minimum of Linux */
	SPIN_NS = 30000,
	SLICE_NS = 1000000 /* ns; SIGCHLD may arrive for another reason */
};

/* ---- stopping ---- */

static bool is_ours(pid_t process)
{
	char path[64], text[1024];
	int parent = 0;
	snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
	const char *p = sp_stop_text(path, text, sizeof text) > 0 ? strrchr(text, ')') : NULL;
	return p && sscanf(p, ") %*c %d", &parent) == 1 && parent == getpid();
}

/* Whether the thread has stopped. Returns 1: yes, 0: not yet; -ESRCH: it has ended. The kernel reports its end first to
 * the tracer, and to its parent only after the tracer has collected it, unless both are the same process. */
static int stopped(struct sp_stop *s)
{
	siginfo_t i = {0};
	const int any = WSTOPPED | WEXITED | __WALL | WNOHANG;
	if (waitid(P_PID, (id_t)s->thread, &i, any | WNOWAIT))
		return errno == EINTR ? 0 : -ESRCH;
	if (!i.si_pid)
		return 0;
	if (i.si_code != CLD_TRAPPED && i.si_code != CLD_STOPPED) {
		if (s->thread != s->t->pid || !is_ours(s->t->pid))
			waitid(P_PID, (id_t)s->thread, &i, any);
		return -ESRCH;
	}
	waitid(P_PID, (id_t)s->thread, &i, WSTOPPED | __WALL | WNOHANG);
	/* a signal may have arrived first: it is delivered when the thread continues */
	s->in_call = i.si_status == (SIGTRAP | 0x80);
	s->signal = i.si_status >> 8 == PTRACE_EVENT_STOP || s->in_call ? 0 : i.si_status & 0x7f;
	s->asked = i.si_status == (SIGTRAP | PTRACE_EVENT_STOP << 8);
	return 1;
}

/* Waits until the thread has stopped. A running thread stops within microseconds: sleeping meanwhile would mean waiting
 * for a processor again, and the thread would stay stopped that long. For one that is not running, wait for the SIGCHLD
 * that the kernel sends when it stops, and which is blocked here. */
static int wait_for(struct sp_stop *s)
{
	sigset_t child;
	uint64_t begin = sp_native_now(), until = begin + LONGEST_NS;
	struct timespec slice = {0, SLICE_NS};
	int r;
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	for (uint64_t now = begin; !(r = stopped(s)) && now < until; now = sp_native_now())
		if (now - begin > SPIN_NS)
			sigtimedwait(&child, NULL, &slice);
	return r;
}

static void let_go(const struct sp_stop *s)
{
	ptrace(PTRACE_DETACH, s->thread, NULL, (void *)(uintptr_t)s->signal);
}

static bool get_registers(pid_t thread, struct user_regs_struct *u)
{
	struct iovec all = {u, sizeof *u};
	/* a 32-bit program has fewer registers */
	return !ptrace(PTRACE_GETREGSET, thread, (void *)NT_PRSTATUS, &all) && all.iov_len == sizeof *u;
}

static bool set_registers(pid_t thread, const struct user_regs_struct *u)
{
	struct iovec all = {(void *)(uintptr_t)u, sizeof *u}; /* the kernel only reads it */
	return !ptrace(PTRACE_SETREGSET, thread, (void *)NT_PRSTATUS, &all);
}

/* ---- system calls that a stop shortens ---- */

/* Handles a stop of a thread that has to enter its call again; r: from stopped(). Returns true if it has entered it, or
 * has not run yet; false if something else happened first: then it is stopped at the end of the call. */
static bool entered(struct sp_stop *s, int r)
{
	s->entering = r == 0;
	if (r > 0 && s->in_call)
		return !ptrace(PTRACE_SYSCALL, s->thread, NULL, NULL);
	if (r > 0)
		set_registers(s->thread, &s->before);
	return r == 0;
}

/* Makes the thread enter the call again for the rest. Returns false if that is not possible; nothing has changed
 * then. */
static bool go_on(struct sp_stop *s, const struct user_regs_struct *now)
{
	struct user_regs_struct rest = *now;
	s->before = *now;
	s->piece = sp_call_rest(s, &rest);
	if (!s->piece || !set_registers(s->thread, &rest) || ptrace(PTRACE_SYSCALL, s->thread, NULL, NULL))
		return false;
	return entered(s, wait_for(s));
}

/* Handles the end of a part of the call. Returns true if the next part was started; otherwise the thread gets the total
 * as its result. */
static bool piece_ended(struct sp_stop *s, bool now)
{
	struct user_regs_struct u;
	if (!s->in_call || !get_registers(s->thread, &u))
		return false;
	const uint64_t got = (int64_t)u.rax > 0 ? u.rax : 0;
	s->call.done += got;
	sp_call_set_registers(&s->call, &u);
	if (got == s->piece && !now && go_on(s, &u))
		return true;
	set_registers(s->thread, &u);
	return false;
}

/* ---- one sample ---- */

/* Finds the system call in which the thread stopped, and prepares to restart or continue it. Returns false if that is
 * unknown. */
static bool find_call(struct sp_stop *s, struct user_regs_struct *u)
{
	if (!get_registers(s->thread, u))
		return false;
	if (s->asked && sp_call_failed(s, u)) {
		struct user_regs_struct changed = *u;
		sp_call_again(&changed);
		s->repeated = set_registers(s->thread, &changed);
	}
	s->shortened = s->asked && sp_call_shortened(s, u);
	return true;
}

static bool read_registers(struct sp_stop *s, struct sp_registers *r)
{
	struct user_regs_struct u;
	if (!find_call(s, &u))
		return false;
	const uint64_t values[SP_REGS] = {u.rax, u.rdx, u.rcx, u.rbx, u.rsi, u.rdi, u.rbp, u.rsp, u.r8,
	                                  u.r9,  u.r10, u.r11, u.r12, u.r13, u.r14, u.r15, u.rip};
	memcpy(r->value, values, sizeof values);
	r->known = (1u << SP_REGS) - 1;
	return true;
}

/* Requests short time slices, which Linux schedules sooner since 6.12: on a busy machine the stopped thread waits for
 * this one. Older versions ignore it. */
void sp_stop_prepare(void)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} a = {0};
	if (syscall(SYS_sched_getattr, 0, &a, sizeof a, 0) || a.policy)
		return;
	a.size = sizeof a;
	a.runtime = TURN_NS;
	syscall(SYS_sched_setattr, 0, &a, 0);
}

int sp_stop(struct sp_stop *s, struct sp_registers *r)
{
	sigset_t child;
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	pthread_sigmask(SIG_BLOCK, &child, NULL);
	if (ptrace(PTRACE_SEIZE, s->thread, NULL, (void *)(uintptr_t)PTRACE_O_TRACESYSGOOD))
		return errno == EPERM ? -EBUSY : -errno; /* its memory is readable, so another tracer must have it */
	if (ptrace(PTRACE_INTERRUPT, s->thread, NULL, NULL)) {
		stopped(s); /* it is ending */
		return -ESRCH;
	}
	int got = wait_for(s);
	if (!got)
		return -ETIMEDOUT;
	if (got > 0 && !read_registers(s, r)) {
		let_go(s);
		return -ESRCH;
	}
	return got < 0 ? got : 0;
}

bool sp_stop_end(struct sp_stop *s)
{
	struct user_regs_struct u;
	if (s->shortened && get_registers(s->thread, &u) && go_on(s, &u))
		return false;
	s->shortened = false;
	let_go(s);
	return true;
}

bool sp_stop_settle(struct sp_stop *s, bool now)
{
	struct user_regs_struct u;
	int r = stopped(s);
	if (!r && now && !ptrace(PTRACE_INTERRUPT, s->thread, NULL, NULL))
		r = wait_for(s);
	if (r > 0 && s->entering && entered(s, r))
		return now && sp_stop_settle(s, true);
	if (r > 0 && s->shortened && piece_ended(s, now))
		return false;
	/* a thread that stopped only after its sample */
	if (r > 0 && !s->shortened && find_call(s, &u) && !now)
		return sp_stop_end(s);
	if (r > 0)
		let_go(s);
	return r;
}
