/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of the interpreter or of the process. */
#include "hook/control.h"
#include "hook/hook.h"
#include "record/adapter.h"
#include "record/process.h"

#include <stdlib.h>
#include <sys/time.h>

/* Stops the timers of the program. The interpreter has already removed the program's signal handlers, so a timer that
 * expires before the exit would end the process. The work here must not make that more likely. */
struct timers {
	struct itimerval left[3];
};
static const int timer_kinds[] = {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF};

static void timers_hold(struct timers *t)
{
	static const struct itimerval off;
	for (int i = 0; i < 3; i++)
		if (setitimer(timer_kinds[i], &off, &t->left[i]))
			t->left[i] = off;
}

static void timers_go_on(const struct timers *t)
{
	for (int i = 0; i < 3; i++)
		if (t->left[i].it_value.tv_sec || t->left[i].it_value.tv_usec)
			setitimer(timer_kinds[i], &t->left[i], NULL);
}

static void at_end(void)
{
	struct timers t;
	timers_hold(&t);
	sp_process_forked();
	if (sp_hook_used && sp_process.instrumented && sp_hook_used->taken && sp_hook_used->taken())
		sp_process_lost(SP_RAW_REASON_HOOK, 0, 0);
	sp_process_stop(SP_RAW_ENDED_NORMAL);
	timers_go_on(&t);
}

static int ended(void)
{
	return !Py_IsInitialized();
}

/* The interpreter's end has two handlers: Py_AtExit runs before a signal that ends the process is raised again; atexit
 * is for a program that embeds Python and never finalizes it. */
void sp_hook_end_handlers(void)
{
	static bool done;
	if (done)
		return;
	done = true;
	sp_adapter_ended = ended;
	sp_adapter_finish = at_end;
	Py_AtExit(at_end);
	atexit(at_end);
}
