/* SPDX-License-Identifier: BSD-3-Clause */
#include "record/off_cpu.h"
#include "record/clock.h"
#include "record/definitions.h"
#include "record/process.h"
#include "record/rows.h"
#include "record/stack.h"
#include "record/trace.h"
#include "record/waits/waits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* The shortest gap, about. */
enum { GAP_NS = 40000 };
/* A thread that lost its processor gets one again after some time slices of others, of a few milliseconds each. */
enum { SLICE_NS = 10000000 };

/* How often a thread gave up its processor, and how often it lost it to another one. */
struct switches {
	long given_up, lost;
};

struct sp_off_cpu {
	struct sp_raw_thread_cpu *cpu; /* the first element of the first chunk */
	struct sp_node_rows rows;
	struct switches switches; /* when they were read last */
	uint64_t waited;          /* ticks of the recorded waits since the clock was read */
};

static _Atomic uint64_t gap; /* ticks; 0: not measured */

void sp_off_cpu_start(void)
{
	char text[24];
	gap = sp_process.header->start != SP_RAW_STARTED_SAMPLER && sp_process.settings.instrument
	          ? sp_clock_about(GAP_NS)
	          : 0;
	if (!gap)
		return;
	sp_define_meta(SP_META_OFF_CPU, text, (size_t)snprintf(text, sizeof text, "%llu", (unsigned long long)gap));
	sp_define_meta(SP_META_OFF_CPU_TRACE, "1", 1);
}

static struct switches read_switches(void)
{
	struct rusage u;
	return getrusage(RUSAGE_THREAD, &u) ? (struct switches){0, 0} : (struct switches){u.ru_nvcsw, u.ru_nivcsw};
}

/* ---- gaps ---- */

/* Returns the node of the function that was innermost during the gap before an event, which has already changed the
 * stack. */
static const struct sp_raw_node *innermost(const struct sp_thread *t, unsigned kind, uint32_t id)
{
	const struct sp_raw_frame *f = (const struct sp_raw_frame *)t->loc.top;
	const bool ends = kind == SP_RAW_LEAVE || kind == SP_RAW_SUSPEND, is_root = (uint64_t)f == t->loc.base;
	if (ends && sp_stack_region(f + 1) == id)
		f++;
	else if (!ends && kind != SP_RAW_EXTRA && !is_root && sp_stack_region(f) == id)
		f--;
	return (const struct sp_raw_node *)f->node;
}

/* The processor clock of a thread of this process with this id: see clock_getcpuclockid(3). */
static clockid_t clock_of(uint64_t tid)
{
	enum { PER_THREAD = 4, SCHEDULER = 2 };
	return (clockid_t)(~(unsigned)tid << 3 | PER_THREAD | SCHEDULER);
}

/* paused: ticks of the gap during which recording was paused. How much of the time off the processor was then is not
 * known: as much as in the rest of the gap. Returns as sp_off_cpu_count(). */
static uint64_t count_gap(struct sp_thread *t, uint64_t now, uint64_t paused, unsigned kind, uint32_t id)
{
	struct sp_off_cpu *o = t->off_cpu;
	uint64_t record = 0;
	if (!o || !sp_recording)
		return 0;
	const uint64_t since = t->loc.last > o->cpu->ticks ? t->loc.last : o->cpu->ticks;
	const uint64_t length = sp_ticks_between(since, now);
	if (length <= t->quiet)
		return 0;
	const int error = errno;
	const uint64_t cpu = sp_clock_nanoseconds(CLOCK_THREAD_CPUTIME_ID), ran = cpu - o->cpu->cpu;
	const uint64_t wall = sp_waits_ns(now - o->cpu->ticks, now), gap_ns = sp_waits_ns(length, now);
	const uint64_t waited_ns = sp_waits_ns(o->waited, now);
	o->cpu->ticks = now;
	o->cpu->cpu = cpu;
	o->waited = 0;
	uint64_t off = wall > ran ? wall - ran : 0;
	if (off > gap_ns)
		off = gap_ns;
	if (paused)
		off = paused < length ? (uint64_t)((double)off * (double)(length - paused) / (double)length) : 0;
	const struct sp_raw_node *node = innermost(t, kind, id);
	/* the clocks are read one after the other */
	if (off > gap_ns / 64 && node != t->root) {
		const struct switches before = o->switches, after = read_switches();
		const long lost = after.lost - before.lost;
		const long given_up = after.given_up - before.given_up;
		/* a thread that did not give its processor up waited for nothing, however long others had it; if
		 * neither changed, this system does not count them */
		const bool known = given_up || after.given_up || after.lost;
		const uint64_t waited = waited_ns < off ? waited_ns : off, rest = off - waited;
		/* recorded waits explain why it gave its processor up */
		const bool lost_more = lost && (waited || given_up < lost) && rest <= (uint64_t)lost * SLICE_NS;
		const bool preempted = known && (!given_up || lost_more);
		o->switches = after;
		struct sp_raw_off_cpu *row = sp_node_row(&o->rows, t, SP_RAW_OFF_CPU, sizeof *row, node, 0);
		if (row) {
			row->count++;
			row->waiting += preempted ? waited : off;
			row->preempted += preempted ? rest : 0;
		}
		if (!paused) /* where in a gap with a pause it was is not known */
			record =
			    off << SP_RAW_OFF_CPU_SHIFT | (preempted && rest > waited ? SP_RAW_OFF_CPU_PREEMPTED : 0);
	}
	errno = error;
	return record;
}

void sp_off_cpu_waited(struct sp_thread *t, uint64_t ticks)
{
	if (t->off_cpu && ticks > t->quiet) /* shorter ones count as running */
		t->off_cpu->waited += ticks;
}

uint64_t sp_off_cpu_count(struct sp_thread *t, uint64_t now, unsigned kind, uint32_t id)
{
	return count_gap(t, now, 0, kind, id);
}

void sp_off_cpu_gap(struct sp_thread *t, uint64_t now, unsigned kind, uint32_t id)
{
	sp_event_off_cpu(t, sp_off_cpu_count(t, now, kind, id), now);
}

/* ---- begin and end ---- */

static void read_clock(struct sp_off_cpu *o)
{
	o->cpu->ticks = sp_ticks();
	o->cpu->cpu = sp_clock_nanoseconds(CLOCK_THREAD_CPUTIME_ID);
	o->switches = read_switches();
	o->waited = 0;
}

void sp_off_cpu_thread(struct sp_thread *t)
{
	struct sp_off_cpu *o = gap ? calloc(1, sizeof *o) : NULL;
	t->quiet = SP_RAW_DELTA_MAX; /* also without a trace: it may only be held */
	if (o)
		o->cpu = sp_rows_next(t, SP_RAW_OFF_CPU, sizeof *o->cpu, &o->rows.chunk);
	if (o && o->cpu) {
		read_clock(o);
		o->cpu->begin = o->cpu->cpu;
		o->cpu->end = 0;
		sp_rows_added(o->rows.chunk);
		t->quiet = gap;
	} else {
		free(o);
		o = NULL;
	}
	/* release order: a thread that ends the measurement sees it complete */
	__atomic_store_n(&t->off_cpu, o, __ATOMIC_RELEASE);
}

void sp_off_cpu_resumed(struct sp_thread *t, uint64_t paused)
{
	if (!t->off_cpu)
		return;
	const uint64_t now = sp_ticks();
	if (!t->off)
		sp_event_off_cpu(t, count_gap(t, now, paused, SP_RAW_EXTRA, 0), now);
	read_clock(t->off_cpu);
}

void sp_off_cpu_end(struct sp_thread *t)
{
	struct sp_off_cpu *o = __atomic_load_n(&t->off_cpu, __ATOMIC_ACQUIRE);
	struct timespec ts;
	if (!o || clock_gettime(clock_of(t->loc.tid), &ts))
		return;
	o->cpu->end = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void sp_off_cpu_restart(struct sp_thread *t)
{
	struct sp_off_cpu *o = t->off_cpu;
	pthread_mutex_lock(&sp_process.lock);
	sp_rows_discard(o ? o->rows.chunk : NULL);
	sp_off_cpu_free(t, false);
	pthread_mutex_unlock(&sp_process.lock);
	sp_off_cpu_thread(t);
}

void sp_off_cpu_free(struct sp_thread *t, bool done)
{
	struct sp_off_cpu *o = t->off_cpu;
	t->off_cpu = NULL;
	if (!o)
		return;
	if (done)
		sp_rows_done(o->rows.chunk);
	sp_node_rows_free(&o->rows);
	free(o);
}
