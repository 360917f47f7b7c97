/* SPDX-License-Identifier: BSD-3-Clause */
/* TAU's user events, counted from a thread's trace, and its metadata. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/intern.h"
#include "model/event.h"
#include "model/model.h"
#include "model/process.h"
#include "model/str.h"
#include "write/common/scorep.h"
#include "write/tau/tau.h"

/* Counters come first, then these, then one for each node to which messages are sent. */
enum { SENT, RECEIVED, COLLECTIVE_SENT, COLLECTIVE_RECEIVED, PUT, GOT, READ, WRITTEN, FIXED };
static const char *const fixed[FIXED] = {
    "Message size sent to all nodes",
    "Message size received from all nodes",
    "Message size sent in collectives",
    "Message size received in collectives",
    "Message size put (one-sided)",
    "Message size got (one-sided)",
    "Bytes Read",
    "Bytes Written",
};
enum { BATCH = 1024, IO_READ = 0, IO_WRITE = 1 }; /* modes in struct sp_io */

static struct sp_str name_of(struct sp_tau *t, size_t i)
{
	const size_t counters = t->m->n_counters;
	char text[SP_TAU_NUMBER + 32];

	if (i < counters)
		return sp_tau_text(&t->arena, t->m->counters[i]);
	if (i < counters + FIXED)
		return sp_text(fixed[i - counters]);
	snprintf(text, sizeof text, "Message size sent to node %zu", i - counters - FIXED);
	return sp_tau_text(&t->arena, sp_text(text));
}

/* Counters with the same name in TAU are one event. */
static int number_names(struct sp_tau_events *v, struct sp_tau *t, size_t n)
{
	struct sp_intern known = {.arena = &t->arena};
	int rc = v->names && v->events && v->seen && v->number ? 0 : -1;

	for (size_t i = 0; rc == 0 && i < n; i++) {
		const struct sp_str name = name_of(t, i);
		v->number[i] = name.p ? sp_intern(&known, name.p, name.n) : SP_INTERN_FAILED;
		if (v->number[i] == SP_INTERN_FAILED)
			rc = -1;
		else if (v->number[i] == v->n_names)
			v->names[v->n_names++] = name;
	}
	sp_intern_free(&known);
	return rc;
}

int sp_tau_events_open(struct sp_tau_events *v, struct sp_tau *t, struct sp_err *e)
{
	const struct sp_model *m = t->m;
	const size_t n = m->n_counters + FIXED + (m->n_comms ? t->n_nodes : 0);

	*v = (struct sp_tau_events){.names = sp_arena_zalloc(&t->arena, n, sizeof *v->names),
	                            .events = calloc(n, sizeof *v->events),
	                            .number = calloc(n, sizeof *v->number),
	                            .seen = calloc(n, sizeof *v->seen)};
	if (number_names(v, t, n) == 0)
		return 0;
	sp_tau_events_close(v);
	return sp_fail(e, ENOMEM, "out of memory");
}

void sp_tau_events_close(struct sp_tau_events *v)
{
	free(v->events);
	free(v->number);
	free(v->seen);
	*v = (struct sp_tau_events){0};
}

static void trigger(struct sp_tau_events *v, size_t what, double value)
{
	const uint32_t name = v->number[what];
	struct sp_tau_event *to = &v->events[name];

	if (to->n++ == 0) {
		v->seen[v->n++] = name;
		*to = (struct sp_tau_event){.n = 1, .min = value, .max = value};
	}
	to->min = value < to->min ? value : to->min;
	to->max = value > to->max ? value : to->max;
	to->sum += value;
	to->sumsq += value * value;
}

/* The node of the other process of a message, or SP_NONE. */
static uint32_t node_of(const struct sp_tau *t, const struct sp_mpi *x)
{
	const uint32_t process = x->peers && x->peer < x->peers->n ? x->peers->processes[x->peer] : SP_NONE;

	return process == SP_NONE ? SP_NONE : t->node[process];
}

static void sent(struct sp_tau_events *v, const struct sp_tau *t, const struct sp_event *ev)
{
	const size_t first = t->m->n_counters;
	const uint32_t node = node_of(t, ev->u.mpi);

	trigger(v, first + SENT, (double)ev->u.mpi->bytes);
	if (node != SP_NONE)
		trigger(v, first + FIXED + node, (double)ev->u.mpi->bytes);
}

static void moved(struct sp_tau_events *v, size_t first, const struct sp_event *ev)
{
	if (ev->kind == SP_EVENT_IO_BEGIN) {
		v->io_handle = ev->id;
		v->io_mode = ev->u.io->mode;
	} else if (v->io_handle == ev->id && ev->u.io->bytes != UINT64_MAX && v->io_mode <= IO_WRITE) {
		trigger(v, first + (v->io_mode == IO_READ ? READ : WRITTEN), (double)ev->u.io->bytes);
	}
}

static void see(struct sp_tau_events *v, const struct sp_tau *t, const struct sp_event *ev)
{
	const size_t first = t->m->n_counters;

	switch (ev->kind) {
	case SP_EVENT_COUNTER:
		trigger(v, ev->id, ev->u.real);
		break;
	case SP_EVENT_MPI_SEND:
	case SP_EVENT_MPI_ISEND:
		sent(v, t, ev);
		break;
	case SP_EVENT_MPI_RECV:
	case SP_EVENT_MPI_IRECV:
		trigger(v, first + RECEIVED, (double)ev->u.mpi->bytes);
		break;
	case SP_EVENT_COLLECTIVE_END:
	case SP_EVENT_NBC_COMPLETE:
		if (ev->u.mpi->sent)
			trigger(v, first + COLLECTIVE_SENT, (double)ev->u.mpi->sent);
		if (ev->u.mpi->received)
			trigger(v, first + COLLECTIVE_RECEIVED, (double)ev->u.mpi->received);
		break;
	case SP_EVENT_RMA_PUT:
		trigger(v, first + PUT, (double)ev->u.mpi->bytes);
		break;
	case SP_EVENT_RMA_GET:
		trigger(v, first + GOT, (double)ev->u.mpi->bytes);
		break;
	case SP_EVENT_IO_BEGIN:
	case SP_EVENT_IO_COMPLETE:
		moved(v, first, ev);
		break;
	default:
		break;
	}
}

static int by_number(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

int sp_tau_events_read(struct sp_tau_events *v, const struct sp_tau *t, uint32_t location, struct sp_err *e)
{
	const uint32_t process = t->m->locations[location].process;
	struct sp_event batch[BATCH];
	struct sp_events *events;
	long n;

	for (uint32_t i = 0; i < v->n; i++)
		v->events[v->seen[i]].n = 0;
	v->n = 0;
	v->io_handle = SP_NONE;
	if (!t->m->processes[process].traced)
		return 0;
	if (sp_events_open(&events, t->m, location, e))
		return -1;
	while ((n = sp_events_read(events, batch, BATCH, e)) > 0)
		for (long i = 0; i < n; i++)
			see(v, t, &batch[i]);
	sp_events_close(events);
	qsort(v->seen, v->n, sizeof *v->seen, by_number);
	return n < 0 ? -1 : 0;
}

/* ---- metadata ---- */

static void put_text(struct sp_tau_metadata *d, const char *name, struct sp_str value)
{
	if (value.n) {
		d->rows[d->n].name = name;
		d->rows[d->n++].value = value;
	}
}

static void put_number(struct sp_tau_metadata *d, const char *name, uint64_t value)
{
	char *text = d->numbers[d->n_numbers++];

	snprintf(text, SP_TAU_NUMBER, "%" PRIu64, value);
	put_text(d, name, sp_text(text));
}

void sp_tau_metadata(struct sp_tau_metadata *d, const struct sp_tau *t, uint32_t location)
{
	const struct sp_model *m = t->m;
	const struct sp_location *l = &m->locations[location];
	const struct sp_process *p = &m->processes[l->process];

	d->n = d->n_numbers = 0;
	put_text(d, "Hostname", p->host);
	put_text(d, "Node Name", p->host);
	put_number(d, "pid", (uint64_t)p->pid);
	put_number(d, "tid", l->tid);
	put_text(d, "Thread Name", l->name);
	put_text(d, "CWD", sp_scorep_meta(p, "cwd"));
	put_text(d, "Executable", sp_scorep_meta(p, "executable"));
	put_text(d, "Command Line", p->command);
	put_text(d, "CPU Type", sp_scorep_meta(p, "cpu"));
	put_text(d, "OS Name", sp_scorep_meta(p, "os"));
	put_text(d, "OS Machine", sp_scorep_meta(p, "processor"));
	put_text(d, "Python Version", sp_scorep_meta(p, "python"));
	put_text(d, "Job", sp_scorep_meta(p, "job"));
	if (p->rank != SP_NONE) {
		put_number(d, "MPI Rank", p->rank);
		put_number(d, "MPI Size", p->ranks);
	}
	/* microseconds since the epoch */
	put_number(d, "Starting Timestamp", (m->begin_ns + l->begin) / 1000);
	put_number(d, "Ending Timestamp", (m->begin_ns + l->end) / 1000);
	put_text(d, "Lost", p->lost_reason ? sp_text(p->lost_reason) : sp_text(""));
}
