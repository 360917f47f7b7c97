/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/guard.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

struct guard {
	sigjmp_buf back;
	struct guard *outer;
};

static _Thread_local struct guard *innermost;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects the installation of the handler */
static struct sigaction before;
static volatile sig_atomic_t passed_on;

static void on_sigbus(int number, siginfo_t *info, void *context)
{
	static const struct sigaction end = {.sa_handler = SIG_DFL};
	struct guard *g = innermost;

	(void)context;
	/* raised by an access of this thread, not sent by another process */
	if (g && info->si_code > 0)
		siglongjmp(g->back, 1);
	/* a handler that was installed later, such as Python's faulthandler, restores this one */
	sigaction(number, passed_on ? &end : &before, NULL);
	passed_on = 1;
	if (info->si_code <= 0)
		raise(number); /* a failed access is repeated after this function returns */
}

static bool is_in_place(struct sigaction *now)
{
	return sigaction(SIGBUS, NULL, now) != 0 || (now->sa_flags & SA_SIGINFO && now->sa_sigaction == on_sigbus);
}

/* Installs the handler. Another one may have replaced it since the last call: faulthandler.enable(). */
static void install(void)
{
	/* SA_NODEFER: the signal mask does not change, so no guard has to save and restore it */
	struct sigaction a = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER}, now;

	if (is_in_place(&now))
		return;
	sigemptyset(&a.sa_mask);
	pthread_mutex_lock(&lock);
	if (!is_in_place(&now)) {
		before = now;
		passed_on = 0;
		sigaction(SIGBUS, &a, NULL);
	}
	pthread_mutex_unlock(&lock);
}

int sp_guarded(int (*run)(void *arg), void *arg, struct sp_err *e)
{
	struct guard g = {.outer = innermost};
	int rc;

	if (!innermost)
		install();
	if (sigsetjmp(g.back, 0)) {
		innermost = g.outer;
		return sp_fail(e, EIO, "a file of the experiment was cut, or cannot be read any more");
	}
	innermost = &g;
	rc = run(arg);
	innermost = g.outer;
	return rc;
}

void sp_mapped_forget(const void *bytes, size_t n)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	const uintptr_t from = (uintptr_t)bytes / page * page, to = ((uintptr_t)bytes + n) / page * page;

	if (to > from)
		madvise((void *)from, to - from, MADV_DONTNEED);
}
