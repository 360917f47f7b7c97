/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures the cost of measuring with a loop of empty calls, without and with the hook.
 *
 * In total a call costs (with - without) / calls more. A part of this cost is between the two timestamps of the
 * callee, in its own interval. This part is the mean recorded duration in the same round, minus what an empty call
 * takes between the timestamps without the hook: about half of its time. The rest of the cost is in the caller's
 * interval. */
#include "hook/calibrate.h"
#include "hook/chain.h"
#include "hook/hook.h"
#include "hook/task.h"
#include "record/process.h"
#include "record/stack.h"
#include "record/thread.h"
#include "record/trace.h"

#include <signal.h>

/* Many short rounds: on a busy machine at least one of them is not interrupted. */
enum { CALLS = 125, ROUNDS = 16 };

/* The time of CALLS calls, in ticks. */
struct round {
	uint64_t all, inside; /* the recorded durations of `empty` */
};

static PyObject *loop;       /* owned; compiled code, during the calibration */
static struct round without; /* all 0: it cannot be measured */

/* The latest result: a kernel of a notebook measures again and again, each time in the same way. */
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

/* Returns the sum of the recorded durations of `empty`: the node with that number of visits. */
static uint64_t recorded(const struct sp_thread *t)
{
	for (const struct sp_raw_chunk *c = t->node_chunk; c; c = (const struct sp_raw_chunk *)c->reserved[0]) {
		const struct sp_raw_node *n = (const struct sp_raw_node *)(c + 1);
		for (uint64_t i = 0; i < c->used; i++)
			if (n[i].parent != SP_RAW_NONE &&
			    n[i].visits >= CALLS) /* otherwise the node contains values of metrics */
				return n[i].incl;
	}
	return 0;
}

/* Returns the shortest of the rounds; all 0 if it cannot be measured. */
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

/* Blocks signals: otherwise an exception of the program's handler would end in the loop. A signal that arrived before,
 * or that another thread handles, can still do this: the exception is passed to the caller. */
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

/* With metrics the result is not reused: each event reads them, and a second start may find other sources. */
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

/* Whether the calibration's events fit into the current chunk, with which they are discarded. With a small memory
 * limit the chunk may be too small. */
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
