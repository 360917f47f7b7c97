/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/guard.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>

struct guard {
	sigjmp_buf back;
	struct guard *outer;
};

static _Thread_local struct guard *innermost;
static struct sigaction before;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void on_sigbus(int number, siginfo_t *info, void *context)
{
	struct guard *g = innermost;

	(void)context;
	/* synchronous: of an access in this thread, not sent by somebody */
	if (g && info->si_code > 0)
		siglongjmp(g->back, 1);
	sigaction(number, &before, NULL);
	if (info->si_code <= 0)
		raise(number); /* an access is repeated when this returns */
}

static void install(void)
{
	/* SA_NODEFER: the mask of signals stays as it is, so that nothing has to be put back, nor saved for each guard
	 */
	struct sigaction a = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};

	sigemptyset(&a.sa_mask);
	sigaction(SIGBUS, &a, &before);
}

int sp_guarded(int (*run)(void *arg), void *arg, struct sp_err *e)
{
	struct guard g = {.outer = innermost};
	int rc;

	pthread_once(&once, install);
	if (sigsetjmp(g.back, 0)) {
		innermost = g.outer;
		return sp_fail(e, EIO, "a file of the experiment was cut, or cannot be read any more");
	}
	innermost = &g;
	rc = run(arg);
	innermost = g.outer;
	return rc;
}
