/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures the cost of measuring with a loop of empty calls, without and with the hook.
 *
 * Other programs change the speed of a processor by a factor of two, for milliseconds or for seconds. So several
 * batches measure both loops directly after one another. The result is the median batch: a change of speed between two
 * loops spoils one batch only. The other batches give the uncertainty.
 *
 * A process does not measure again at its end: recording ends after the interpreter, when no Python code can run.
 * Before that, the measurement would have to remove the hook while threads and handlers of the program may run, and to
 * take back what the loop adds to the profile. Instead the launcher measures when the program has ended
 * (spartito/run/costagain.py). All results of a host are shared by sp_cost_shared().
 *
 * In total a call costs (with - without) / calls more. A part of this cost is between the two timestamps of the
 * callee, in its own interval. This part is the mean recorded duration in the same round, minus what an empty call
 * takes between the timestamps without the hook: about half of its time. The rest of the cost is in the caller's
 * interval. */
#include "hook/calibrate.h"
#include "hook/chain.h"
#include "hook/hook.h"
#include "hook/serial.h"
#include "hook/stacks.h"
#include "hook/task.h"
#include "record/definitions.h"
#include "record/process.h"
#include "record/stack.h"
#include "record/thread.h"
#include "record/trace.h"

#include <alloca.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

/* Short rounds: on a busy machine at least one of a batch is not interrupted. If the hook cannot be removed between
 * them, all rounds are one batch. Each round uses another part of the C stack: with some addresses of the C stack and
 * of the interpreter's frames, the loop takes three times as long without the hook (measured on AMD Zen 3, in one of
 * 4,000 processes, for as long as the process ran), and the hook seemed to cost nothing. */
enum { CALLS = 125, BATCHES = 7, ROUNDS = 3, ROUNDS_AT_ONCE = 16, SHIFT = 832 };

/* Results of processes that give an uncertainty. */
enum { ENOUGH = 5 };

/* The time of CALLS calls, in ticks. */
struct round {
	uint64_t all, inside; /* the recorded durations of `empty` */
};

/* The cost of one call, in ticks. */
struct batch {
	double in, out;
};

static PyObject *loop;     /* owned; compiled code, during the calibration */
static struct round first; /* without the hook, before it is installed; all 0: it cannot be measured */
static int n_rounds, n_batches;

/* The latest result: a kernel of a notebook measures again and again, each time in the same way. */
static struct known {
	const struct sp_hook *hook;
	bool traced;
	struct sp_cost cost;
	int64_t error_ps; /* -1: unknown */
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
	uint64_t before = t ? recorded(t) : 0;
	for (int i = 0; i < n_rounds; i++) {
		if (t && t->traced)
			sp_thread_events_rewind(t);
		*(volatile char *)alloca(SHIFT) = 0;
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
	PyObject *globals = PyDict_New(), *range = NULL, *name = PyUnicode_FromString(SP_CALIBRATION);
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

/* Whether the hook may be disabled and enabled again: no other thread misses events, and the program has no profile
 * function, which would be called less often. */
static bool may_switch(void)
{
	PyThreadState *ts = PyThreadState_Get();
	sp_world_stop(); /* without the GIL another thread may just start one */
	const bool alone = PyInterpreterState_ThreadHead(ts->interp) == ts && !PyThreadState_Next(ts);
	sp_world_start();
	return alone && !ts->c_profilefunc && !sp_chain_used();
}

static void set_cost(void)
{
	char error[32];
	sp_process.header->cost_in_ps = known.cost.in_ps;
	sp_process.header->cost_out_ps = known.cost.out_ps;
	if (known.error_ps >= 0) /* in a fixed width: sp_raw_take_cost() replaces it in the file */
		sp_define_meta("cost_error", error,
		               (size_t)snprintf(error, sizeof error, "%012" PRId64, known.error_ps));
}

void sp_calibrate_before(const struct sp_hook *h)
{
	Py_CLEAR(loop);
	if (is_known(h)) {
		set_cost();
		return;
	}
	const bool switched = may_switch();
	n_rounds = switched ? ROUNDS : ROUNDS_AT_ONCE;
	n_batches = switched ? BATCHES : 1;
	first = (struct round){0};
	/* no name of a file: coverage, which traces the loop too, would report its source as missing */
	loop = Py_CompileString(source, "<calibration>", Py_file_input);
	if (loop)
		first = run(NULL);
}

/* Whether the calibration's events fit into the current chunk, with which they are discarded. With a small memory
 * limit the chunk may be too small. */
static bool fits(const struct sp_thread *t)
{
	uint64_t words = 2 * (CALLS + 4) * (sp_process.n_sync ? 2 + sp_process.n_sync : 1);
	return (uint64_t)t->ev_end - t->loc.next >= words * sizeof(uint64_t);
}

static struct batch batch_of(struct round without, struct round with)
{
	const double pair = with.all > without.all ? (double)(with.all - without.all) / CALLS : 0;
	const double in = (double)with.inside / CALLS - (double)without.all / CALLS / 2;
	const double inside = in < 0 ? 0 : in > pair ? pair : in;
	return (struct batch){inside, pair - inside};
}

/* Measures without the hook, and enables it again. Returns all 0 if it cannot be measured. */
static struct round run_without(void)
{
	sp_hook_off();
	struct round r = run(NULL);
	SP_SAVE_EXCEPTION;
	if (sp_hook_on()) {
		PyErr_Clear();
		r.all = 0;
		sp_process_lost(SP_RAW_REASON_HOOK, 0, 0);
	}
	SP_RESTORE_EXCEPTION;
	return r;
}

/* Returns the number of batches. */
static int batches(struct batch *b, struct sp_thread *t)
{
	struct round without = first;
	int n = 0;
	while (without.all) {
		const struct round with = run(t);
		if (!with.all)
			return 0;
		b[n++] = batch_of(without, with);
		if (n == n_batches)
			return n;
		without = run_without();
	}
	return 0;
}

static int64_t ps_of(struct sp_cost c)
{
	return (int64_t)(c.in_ps + c.out_ps);
}

static int by_cost(const void *a, const void *b)
{
	const int64_t x = ps_of(*(const struct sp_cost *)a), y = ps_of(*(const struct sp_cost *)b);
	return (x > y) - (x < y);
}

/* Sorts n > 0 costs and returns their median. Of two in the middle it is the lower one, because most disturbances make
 * a result too high. */
static struct sp_cost median(struct sp_cost *c, int n)
{
	qsort(c, (size_t)n, sizeof *c, by_cost);
	return c[(n - 1) / 2];
}

/* Returns the largest difference between a cost and n > 2 others, which are sorted, without the lowest and the
 * highest. */
static int64_t spread(struct sp_cost middle, const struct sp_cost *c, int n)
{
	const int64_t low = ps_of(middle) - ps_of(c[1]), high = ps_of(c[n - 2]) - ps_of(middle);
	return low > high ? low : high;
}

/* The result is the median of what this and other processes found, or of the batches if nothing is shared. The
 * uncertainty is the spread of what the processes found, or that of the batches if they are too few. A single batch can
 * be spoilt by a change of speed: it is not shared, is used only if nothing is shared, and has no uncertainty. ps:
 * picoseconds in a tick. */
static void conclude(const struct batch *b, int n, double ps)
{
	struct sp_cost cost[BATCHES], shared[SP_COSTS];
	for (int i = 0; i < n; i++)
		cost[i] = (struct sp_cost){(uint64_t)(b[i].in * ps), (uint64_t)(b[i].out * ps)};
	known = (struct known){sp_hook_used, sp_process.settings.trace, median(cost, n), -1};
	const struct sp_cost mine = n > 1 ? known.cost : (struct sp_cost){0, 0};
	const int m = sp_process.n_sync ? 0 : sp_cost_shared(known.hook, known.traced, mine, shared);
	if (m)
		known.cost = median(shared, m);
	if (m >= ENOUGH)
		known.error_ps = spread(known.cost, shared, m);
	else if (n > 1)
		known.error_ps = spread(known.cost, cost, n);
	set_cost();
}

void sp_calibrate_after(struct sp_thread *t)
{
	struct batch all[BATCHES];
	if (!loop)
		return;
	if (t->traced && !fits(t))
		sp_thread_events_hold(t);
	const int n = batches(all, t);
	sp_process_sync();
	const struct sp_raw_header *h = sp_process.header;
	const double ticks = (double)(h->last.ticks - h->first.ticks);
	if (n && ticks > 0)
		conclude(all, n, (double)(h->last.mono_ns - h->first.mono_ns) * 1000 / ticks);
	Py_CLEAR(loop);
	sp_stack_clear(t, sp_ticks());
	sp_thread_restart(t);
}
