/* SPDX-License-Identifier: BSD-3-Clause */
/* The cost of measuring, measured: a loop of empty calls without and with the hook.
 *
 * In all a call costs (with - without) / calls more. Of that, what lies between the two stamps of the callee is in its
 * own interval: the mean recorded duration in the same round, less what an empty call takes without us, of which about
 * half lies between the stamps. The rest is in the caller's. */
#include "hook/calibrate.h"
#include "hook/chain.h"
#include "hook/hook.h"
#include "hook/task.h"
#include "record/process.h"
#include "record/stack.h"
#include "record/thread.h"
#include "record/trace.h"

#include <signal.h>

/* Many short rounds: on a busy machine one that nobody interrupts is among them. */
enum { CALLS = 125, ROUNDS = 16 };

/* CALLS calls, in ticks. */
struct round {
	uint64_t all, inside; /* inside: the recorded durations of `empty` */
};

static PyObject *loop;       /* owned: compiled code, while calibrating */
static struct round without; /* all 0: it cannot be measured here */

/* What was found last: a notebook's kernel measures again and again, each time in the same way. */
static struct known {
	const struct sp_hook *hook;
	bool traced;
	uint64_t in_ps, out_ps;
} known;

static const char source[] = "def empty():\n"
                             "    pass\n"
                             "def calls():\n"
                             "    for _ in R:\n"
                             "        empty()\n"
                             "calls()\n";

/* The recorded durations of `empty` together: the node with that many visits. */
static uint64_t recorded(const struct sp_thread *t)
{
	for (const struct sp_raw_chunk *c = t->node_chunk; c; c = (const struct sp_raw_chunk *)c->reserved[0]) {
		const struct sp_raw_node *n = (const struct sp_raw_node *)(c + 1);
		for (uint64_t i = 0; i < c->used; i++)
			if (n[i].parent != SP_RAW_NONE && n[i].visits >= CALLS) /* else it holds values of metrics */
				return n[i].incl;
	}
	return 0;
}

/* The shortest of the rounds; all 0: it cannot be measured here. */
static struct round rounds(PyObject *globals, struct sp_thread *t)
{
	struct round best = {UINT64_MAX, 0};
	uint64_t before = 0;
	for (int i = 0; i < ROUNDS; i++) {
		if (t && t->traced)
			sp_thread_events_rewind(t);
		uint64_t start = sp_ticks();
		PyObject *r = PyEval_EvalCode(loop, globals, globals);
		uint64_t all = sp_ticks() - start;
		if (!r)
			return (struct round){0};
		Py_DECREF(r);
		uint64_t inside = t ? recorded(t) : 0;
		if (all < best.all)
			best = (struct round){all, inside - before};
		before = inside;
	}
	return best;
}

/* Signals wait meanwhile: an exception of the program's handler would end in our loop. One that came before, or that
 * another thread takes, does so all the same: the exception is the caller's. */
static struct round run(struct sp_thread *t)
{
	struct round best = {0};
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	PyObject *globals = PyDict_New(), *range = NULL, *name = PyUnicode_FromString("(calibration)");
	if (globals && name)
		range = PyObject_CallFunction((PyObject *)&PyRange_Type, "i", CALLS);
	if (range && !PyDict_SetItemString(globals, "R", range) && !PyDict_SetItemString(globals, "__name__", name) &&
	    !PyDict_SetItemString(globals, "__builtins__", PyEval_GetBuiltins()))
		best = rounds(globals, t);
	Py_XDECREF(range);
	Py_XDECREF(name);
	Py_XDECREF(globals);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return best;
}

/* Metrics are read at each event, by sources of which a second start may find others. */
static bool is_known(const struct sp_hook *h)
{
	return known.hook == h && known.traced == sp_process.settings.trace && !sp_process.n_sync;
}

void sp_calibrate_before(const struct sp_hook *h)
{
	Py_CLEAR(loop);
	without = (struct round){0};
	if (is_known(h)) {
		sp_process.header->cost_in_ps = known.in_ps;
		sp_process.header->cost_out_ps = known.out_ps;
		return;
	}
	loop = Py_CompileString(source, "(calibration)", Py_file_input);
	if (loop)
		without = run(NULL);
}

/* What the calibration traces is thrown away with the chunk it is in. A small memory limit may leave too small a one.
 */
static bool fits(const struct sp_thread *t)
{
	uint64_t words = 2 * (CALLS + 4) * (sp_process.n_sync ? 2 + sp_process.n_sync : 1);
	return (uint64_t)t->ev_end - t->loc.next >= words * sizeof(uint64_t);
}

void sp_calibrate_after(struct sp_thread *t)
{
	if (!loop)
		return;
	if (t->traced && !fits(t))
		sp_thread_events_hold(t);
	const struct round with = run(t);
	if (with.all > without.all && without.all) {
		double pair = (double)(with.all - without.all) / CALLS, empty = (double)without.all / CALLS / 2;
		double in = (double)with.inside / CALLS - empty;
		in = in < 0 ? 0 : in > pair ? pair : in;
		sp_process_sync();
		const struct sp_raw_header *h = sp_process.header;
		double ticks = (double)(h->last.ticks - h->first.ticks);
		double ps = ticks > 0 ? (double)(h->last.mono_ns - h->first.mono_ns) * 1000 / ticks : 0;
		known = (struct known){sp_process.n_sync ? NULL : sp_hook_used, sp_process.settings.trace,
		                       (uint64_t)(in * ps), (uint64_t)((pair - in) * ps)};
		sp_process.header->cost_in_ps = known.in_ps;
		sp_process.header->cost_out_ps = known.out_ps;
	}
	Py_CLEAR(loop);
	sp_stack_clear(t, sp_ticks());
	sp_thread_restart(t);
}
