/* SPDX-License-Identifier: BSD-3-Clause */
/* handle() calls every handler that the program sets, and disables recording meanwhile. The program sees only its own
 * handlers: sigaction() and signal() return what the program has set. If two libraries contain this file, each one
 * calls the other's functions as the real ones. */
#include "inject/shared/quiet.h"
#include "inject/shared/wrap.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

__thread uintptr_t sp_quiet SP_TLS_MODEL __attribute__((visibility("hidden")));

/* ---- the real functions ---- */

#define FUNCTIONS(X) X(sigaction) X(signal) X(ssignal) X(bsd_signal) X(sysv_signal) X(__sysv_signal) X(sigset)
#define ID(symbol)   F_##symbol,
#define NAME(symbol) #symbol,
enum { FUNCTIONS(ID) N_FUNCTIONS };
static void *reals[N_FUNCTIONS];
void *sp_signals_real_vfork; /* for the assembler code */

/* Runs before the program: dlsym() takes locks for which a forked child or a handler must not wait. */
__attribute__((constructor(101))) static void resolve(void)
{
	static const char *const symbols[] = {FUNCTIONS(NAME)};
	for (int i = 0; i < N_FUNCTIONS; i++)
		if (!reals[i])
			reals[i] = dlsym(RTLD_NEXT, symbols[i]);
	if (!sp_signals_real_vfork)
		sp_signals_real_vfork = dlsym(RTLD_NEXT, "vfork");
}

/* Constructors of other libraries run before this one's, and may call any wrapper. */
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
static pid_t process; /* this process's id; a child of vfork has another one */
static bool watching;

/* The second and third argument are valid only with SA_SIGINFO; a handler without it ignores them. */
static void handle(int number, siginfo_t *info, void *context)
{
	handler h = (handler)(void (*)(void))__atomic_load_n(&handlers[number], __ATOMIC_RELAXED);
	/* a state that an earlier handler left by longjmp is not valid any more */
	const uintptr_t before = sp_quiet && sp_is_quiet() ? sp_quiet : 0;
	const uintptr_t frame = before > SP_QUIET_VFORKED ? 0 : (uintptr_t)__builtin_frame_address(0);
	sp_quiet = before | frame | SP_QUIET_HANDLER;
	h(number, info, context);
	sp_quiet = before;
}

/* cast through a third type, because the argument types differ */
#define HANDLE ((simple)(void (*)(void))handle)

static bool is_function(simple h)
{
	return h != SIG_DFL && h != SIG_IGN && h != SIG_ERR && h != SIG_HOLD && h != HANDLE;
}

/* Whether this is a child of vfork: what it sets is also set in the parent. */
static bool in_vfork(void)
{
	return sp_quiet & SP_QUIET_VFORKED && sp_is_quiet() && sp_quiet & SP_QUIET_VFORKED;
}

static bool watched(int number)
{
	return __atomic_load_n(&watching, __ATOMIC_RELAXED) && number > 0 && number < NSIG && !in_vfork();
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

/* Wraps the handlers that were set before. */
void sp_signals_watch(void)
{
	int error = errno;
	if (watching)
		return;
	forked();
	__atomic_store_n(&watching, true, __ATOMIC_RELEASE);
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

/* Whether the frame does not exist any more: code that is left by longjmp cannot reset its state, but its frame is then
 * beyond the stack's end. */
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
	/* the caller of vfork continues when its child has separate memory */
	const bool child = quiet & SP_QUIET_VFORKED && syscall(SYS_getpid) != process;
	if (!child)
		sp_quiet = frame && !frame_is_gone(frame) ? quiet & ~SP_QUIET_VFORKED : 0;
	errno = error;
	return child || sp_quiet;
}

/* vfork returns twice into its caller's frame, so no C function can call it: this code sets the flag and jumps to the
 * real function. On processors without such code, or if the real function is unknown, fork is used, which may replace
 * vfork. */
#if defined(__x86_64__)
#if defined(__GLIBC__)
#define ADDRESS_OF_QUIET "	movq sp_quiet@gottpoff(%rip), %rax\n"
#else /* as in SP_TLS_MODEL; this call changes no other register */
#define ADDRESS_OF_QUIET                                                                                               \
	"	leaq sp_quiet@tlsdesc(%rip), %rax\n"                                                                         \
	"	call *sp_quiet@tlscall(%rax)\n"
#endif
__asm__(".text\n"
        ".globl vfork\n"
        ".type vfork, @function\n"
        "vfork:\n"
        "	endbr64\n"
        /* clang-format off */
        ADDRESS_OF_QUIET
        /* clang-format on */
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
