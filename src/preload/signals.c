/* SPDX-License-Identifier: BSD-3-Clause */
/* Where nothing may be recorded: in the handler of a signal, which may have interrupted an event of its own thread, and
 * between vfork and exec, where parent and child share their memory.
 *
 * Every handler that the program sets is called by handle(), which asks for quiet. The program sees its own handlers
 * only: sigaction() and signal() give back what they were given. */
#include "preload/preload.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef void (*handler)(int, siginfo_t *, void *);
typedef void (*simple)(int);

static simple handlers[NSIG];
static pid_t process; /* ours; a child of vfork has another */

/* The second and third argument mean something only with SA_SIGINFO; a handler without it does not look at them. */
static void handle(int number, siginfo_t *info, void *context)
{
	handler h = (handler)(void (*)(void))__atomic_load_n(&handlers[number], __ATOMIC_RELAXED);
	uintptr_t before = sp_preload_quiet;
	bool outermost = before <= SP_PRELOAD_VFORKED;
	if (outermost)
		sp_preload_quiet = (uintptr_t)__builtin_frame_address(0);
	h(number, info, context);
	if (outermost)
		sp_preload_quiet = before;
}

/* by way of a third type, because the two do not agree in their arguments */
#define HANDLE ((simple)(void (*)(void))handle)

static bool is_function(simple h)
{
	return h != SIG_DFL && h != SIG_IGN && h != SIG_ERR && h != HANDLE;
}

/* In a child of vfork what is set is the parent's too. */
static bool in_vfork(void)
{
	return sp_preload_quiet == SP_PRELOAD_VFORKED && sp_preload_is_quiet();
}

static bool watched(int number)
{
	return sp_preload_adapter && number > 0 && number < NSIG && !in_vfork();
}

SP_WRAP(int, sigaction, (int number, const struct sigaction *act, struct sigaction *old))
{
	int (*real)(int, const struct sigaction *, struct sigaction *) = SP_REAL(sigaction);
	simple before = number > 0 && number < NSIG ? __atomic_load_n(&handlers[number], __ATOMIC_RELAXED) : NULL;
	struct sigaction mine;
	bool replaced = act && watched(number) && is_function(act->sa_handler);
	if (replaced) {
		mine = *act;
		mine.sa_handler = HANDLE;
		__atomic_store_n(&handlers[number], act->sa_handler, __ATOMIC_RELAXED);
	}
	int r = real(number, replaced ? &mine : act, old);
	if (r && replaced)
		__atomic_store_n(&handlers[number], before, __ATOMIC_RELAXED);
	if (!r && old && old->sa_handler == HANDLE)
		old->sa_handler = before;
	return r;
}

static simple set_simple(simple (*real)(int, simple), int number, simple h)
{
	simple before = number > 0 && number < NSIG ? __atomic_load_n(&handlers[number], __ATOMIC_RELAXED) : NULL;
	bool replaced = watched(number) && is_function(h);
	if (replaced)
		__atomic_store_n(&handlers[number], h, __ATOMIC_RELAXED);
	simple old = real(number, replaced ? HANDLE : h);
	if (old == SIG_ERR && replaced)
		__atomic_store_n(&handlers[number], before, __ATOMIC_RELAXED);
	return old == HANDLE ? before : old;
}

#define SIMPLE(name)                                                                                                   \
	SP_WRAP(simple, name, (int number, simple h))                                                                  \
	{                                                                                                              \
		return set_simple(SP_REAL(name), number, h);                                                           \
	}
SIMPLE(signal)
SIMPLE(bsd_signal)
SIMPLE(sysv_signal)
SIMPLE(__sysv_signal)

static void forked(void)
{
	process = (pid_t)syscall(SYS_getpid);
}

/* Those that were set before. */
void sp_preload_watch_signals(void)
{
	int error = errno;
	forked();
	pthread_atfork(NULL, NULL, forked);
	int (*real)(int, const struct sigaction *, struct sigaction *) = SP_REAL(sigaction);
	for (int i = 1; i < NSIG; i++) {
		struct sigaction a;
		if (real(i, NULL, &a) || !is_function(a.sa_handler))
			continue;
		handlers[i] = a.sa_handler;
		a.sa_handler = HANDLE;
		real(i, &a, NULL);
	}
	errno = error;
}

/* Whoever left by longjmp took nothing back; his frame tells: it lies above the stack's end then. */
SP_COLD static bool frame_is_gone(uintptr_t frame)
{
	stack_t alternate;
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	if (sigaltstack(NULL, &alternate))
		return false;
	uintptr_t begin = (uintptr_t)alternate.ss_sp;
	bool was_there = !(alternate.ss_flags & SS_DISABLE) && frame - begin < alternate.ss_size;
	bool is_there = alternate.ss_flags & SS_ONSTACK;
	if (was_there != is_there)
		return was_there;
	return frame < here;
}

SP_COLD bool sp_preload_is_quiet(void)
{
	int error = errno;
	bool gone;
	if (sp_preload_quiet == SP_PRELOAD_VFORKED) {
		/* the caller of vfork goes on when its child has a memory of its own */
		gone = syscall(SYS_getpid) == process;
	} else {
		gone = frame_is_gone(sp_preload_quiet);
	}
	if (gone)
		sp_preload_quiet = 0;
	errno = error;
	return !gone;
}

/* vfork returns twice into its caller's frame, so that no function of C can call it: the flag is set, and the real one
 * takes our place. Where there is no such code, or the real one is not known yet, fork does what vfork may do. */
#if defined(__x86_64__)
__asm__(".text\n"
        ".globl vfork\n"
        ".type vfork, @function\n"
        "vfork:\n"
        "	endbr64\n"
        "	movq sp_preload_quiet@gottpoff(%rip), %rax\n"
        "	movq $1, %fs:(%rax)\n"
        "	movq sp_preload_real_vfork(%rip), %rax\n"
        "	testq %rax, %rax\n"
        "	jz 1f\n"
        "	jmp *%rax\n"
        "1:	jmp fork@PLT\n"
        ".size vfork, . - vfork\n");
#elif defined(__aarch64__)
__asm__(".text\n"
        ".globl vfork\n"
        ".type vfork, %function\n"
        "vfork:\n"
        "	bti c\n"
        "	mrs x9, tpidr_el0\n"
        "	adrp x10, :gottprel:sp_preload_quiet\n"
        "	ldr x10, [x10, #:gottprel_lo12:sp_preload_quiet]\n"
        "	mov x11, #1\n"
        "	str x11, [x9, x10]\n"
        "	adrp x9, sp_preload_real_vfork\n"
        "	ldr x16, [x9, #:lo12:sp_preload_real_vfork]\n"
        "	cbz x16, 1f\n"
        "	br x16\n"
        "1:	b fork\n"
        ".size vfork, . - vfork\n");
#else
SP_WRAP(pid_t, vfork, (void))
{
	return fork();
}
#endif
