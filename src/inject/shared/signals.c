/* SPDX-License-Identifier: BSD-3-Clause */
/* Every handler that the program sets is called by handle(), which asks for quiet. The program sees its own handlers
 * only: sigaction() and signal() give back what they were given. Where two libraries have this file each calls the
 * other's functions as the real ones. */
#include "inject/shared/quiet.h"
#include "inject/shared/wrap.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

__thread uintptr_t sp_quiet __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* ---- the real functions ---- */

#define FUNCTIONS(X) X(sigaction) X(signal) X(ssignal) X(bsd_signal) X(sysv_signal) X(__sysv_signal) X(sigset)
#define ID(symbol)   F_##symbol,
#define NAME(symbol) #symbol,
enum { FUNCTIONS(ID) N_FUNCTIONS };
static void *reals[N_FUNCTIONS];
void *sp_signals_real_vfork; /* where assembler finds it */

/* Before the program: dlsym takes locks that a child of fork or a handler must not wait for. */
__attribute__((constructor(101))) static void resolve(void)
{
	static const char *const symbols[] = {FUNCTIONS(NAME)};
	for (int i = 0; i < N_FUNCTIONS; i++)
		if (!reals[i])
			reals[i] = dlsym(RTLD_NEXT, symbols[i]);
	if (!sp_signals_real_vfork)
		sp_signals_real_vfork = dlsym(RTLD_NEXT, "vfork");
}

/* Constructors of other libraries run before ours, and may call any. */
static void *real_of(int function)
{
	const int error = errno;
	if (SP_UNLIKELY(!reals[function]))
		resolve();
	errno = error;
	return reals[function];
}

#define REAL(name) ((__typeof__(&sp_wrap_##name))real_of(F_##name))

/* ---- handlers ---- */

typedef void (*handler)(int, siginfo_t *, void *);
typedef void (*simple)(int);

static simple handlers[NSIG];
static pid_t process; /* ours; a child of vfork has another */
static bool watching;

/* The second and third argument mean something only with SA_SIGINFO; a handler without it does not look at them. */
static void handle(int number, siginfo_t *info, void *context)
{
	handler h = (handler)(void (*)(void))__atomic_load_n(&handlers[number], __ATOMIC_RELAXED);
	/* what a handler before left by longjmp would not last */
	const uintptr_t before = sp_quiet && sp_is_quiet() ? sp_quiet : 0;
	const uintptr_t frame = before > SP_QUIET_VFORKED ? 0 : (uintptr_t)__builtin_frame_address(0);
	sp_quiet = before | frame | SP_QUIET_HANDLER;
	h(number, info, context);
	sp_quiet = before;
}

/* by way of a third type, because the two do not agree in their arguments */
#define HANDLE ((simple)(void (*)(void))handle)

static bool is_function(simple h)
{
	return h != SIG_DFL && h != SIG_IGN && h != SIG_ERR && h != SIG_HOLD && h != HANDLE;
}

/* In a child of vfork what is set is the parent's too. */
static bool in_vfork(void)
{
	return sp_quiet & SP_QUIET_VFORKED && sp_is_quiet() && sp_quiet & SP_QUIET_VFORKED;
}

static bool watched(int number)
{
	return watching && number > 0 && number < NSIG && !in_vfork();
}

SP_WRAP(int, sigaction, (int number, const struct sigaction *act, struct sigaction *old))
{
	int (*real)(int, const struct sigaction *, struct sigaction *) = REAL(sigaction);
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
		return set_simple(REAL(name), number, h);                                                              \
	}
SIMPLE(signal)
SIMPLE(ssignal)
SIMPLE(bsd_signal)
SIMPLE(sysv_signal)
SIMPLE(__sysv_signal)
SIMPLE(sigset)

static void forked(void)
{
	process = (pid_t)syscall(SYS_getpid);
}

/* Those that were set before. */
void sp_signals_watch(void)
{
	int error = errno;
	if (watching)
		return;
	watching = true;
	forked();
	pthread_atfork(NULL, NULL, forked);
	int (*real)(int, const struct sigaction *, struct sigaction *) = REAL(sigaction);
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

SP_COLD bool sp_is_quiet(void)
{
	const int error = errno;
	const uintptr_t quiet = sp_quiet, frame = quiet & ~(SP_QUIET_VFORKED | SP_QUIET_HANDLER);
	/* the caller of vfork goes on when its child has a memory of its own */
	const bool child = quiet & SP_QUIET_VFORKED && syscall(SYS_getpid) != process;
	if (!child)
		sp_quiet = frame && !frame_is_gone(frame) ? quiet & ~SP_QUIET_VFORKED : 0;
	errno = error;
	return child || sp_quiet;
}

/* vfork returns twice into its caller's frame, so that no function of C can call it: the flag is set, and the real one
 * takes our place. Where there is no such code, or the real one is not known yet, fork does what vfork may do. */
#if defined(__x86_64__)
__asm__(".text\n"
        ".globl vfork\n"
        ".type vfork, @function\n"
        "vfork:\n"
        "	endbr64\n"
        "	movq sp_quiet@gottpoff(%rip), %rax\n"
        "	orq $1, %fs:(%rax)\n"
        "	movq sp_signals_real_vfork(%rip), %rax\n"
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
        "	hint 34\n" /* bti c, which older assemblers do not know */
        "	mrs x9, tpidr_el0\n"
        "	adrp x10, :gottprel:sp_quiet\n"
        "	ldr x10, [x10, #:gottprel_lo12:sp_quiet]\n"
        "	ldr x11, [x9, x10]\n"
        "	orr x11, x11, #1\n"
        "	str x11, [x9, x10]\n"
        "	adrp x9, sp_signals_real_vfork\n"
        "	ldr x16, [x9, #:lo12:sp_signals_real_vfork]\n"
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
