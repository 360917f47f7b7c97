/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI: arrows from the calls that send messages to the events that receive them, and notes of calls. Memory grows with
 * the number of messages, not with that of other events. */
#include <errno.h>
#include <stdlib.h>

#include "model/comm.h"
#include "model/event.h"
#include "model/model.h"
#include "model/region.h"
#include "model/str.h"
#include "write/timeline/timeline.h"

/* One end of a message that was sent and received. */
struct sp_timeline_flow {
	uint32_t location, message; /* message: index */
	uint64_t time;              /* begin of the call that sends; or time of the event that receives */
	uint32_t used;              /* of the first one of equal receives: number of those that were already shown */
	bool in;
};

/* ---- matching ---- */

static const struct sp_message *message_of(const struct sp_messages *x, const struct sp_timeline_flow *f)
{
	return &x->messages[f->message];
}

#define COMPARE(a, b)                                                                                                  \
	do {                                                                                                           \
		if ((a) != (b))                                                                                        \
			return (a) < (b) ? -1 : 1;                                                                     \
	} while (0)

/* Ends are equal if an event cannot distinguish them. */
static int compare(const struct sp_messages *x, const struct sp_timeline_flow *a, const struct sp_timeline_flow *b)
{
	const struct sp_message *p = message_of(x, a), *q = message_of(x, b);

	COMPARE(a->location, b->location);
	COMPARE(a->time, b->time);
	COMPARE(a->in, b->in);
	if (!a->in)
		return 0;
	COMPARE(p->from, q->from);
	COMPARE(p->comm, q->comm);
	COMPARE(p->tag, q->tag);
	return 0;
}

static int by_place(const void *a, const void *b, void *arg)
{
	const struct sp_timeline_flow *p = a, *q = b;
	const int c = compare(arg, p, q);

	if (c)
		return c;
	COMPARE(p->message, q->message);
	return 0;
}

static bool shown(const struct sp_timeline *t, uint32_t call)
{
	return sp_timeline_picked(t, t->m->locations[t->messages.calls[call].location].process);
}

int sp_timeline_match(struct sp_timeline *t)
{
	struct sp_messages *x = &t->messages;

	if (!sp_messages_any(t->m))
		return 0;
	if (sp_messages_read(x, t->m, t->e))
		return -1;
	t->flows = malloc((2 * x->n_messages + 1) * sizeof *t->flows);
	if (!t->flows)
		return sp_fail(t->e, ENOMEM, "out of memory");
	for (uint32_t i = 0; i < x->n_messages; i++) {
		const struct sp_message *m = &x->messages[i];
		if (m->received == SP_NONE || !shown(t, m->send) || !shown(t, m->received))
			continue;
		t->flows[t->n_flows++] = (struct sp_timeline_flow){
		    .location = x->calls[m->send].location, .message = i, .time = x->calls[m->send].enter};
		t->flows[t->n_flows++] = (struct sp_timeline_flow){
		    .location = x->calls[m->received].location, .message = i, .time = m->arrived, .in = true};
	}
	qsort_r(t->flows, t->n_flows, sizeof *t->flows, by_place, x);
	return 0;
}

void sp_timeline_unmatch(struct sp_timeline *t)
{
	free(t->flows);
	sp_messages_free(&t->messages);
}

/* The number of ends at a time of the current location. Moves next_flow to the first of them. */
static size_t ends_at(struct sp_timeline *t, uint64_t time)
{
	size_t i = t->next_flow, n = 0;

	while (i < t->n_flows &&
	       (t->flows[i].location < t->location || (t->flows[i].location == t->location && t->flows[i].time < time)))
		i++;
	t->next_flow = i;
	while (i + n < t->n_flows && t->flows[i + n].location == t->location && t->flows[i + n].time == time)
		n++;
	return n;
}

/* The ends of the messages sent by the call that began at this time, without duplicates. To be freed with free(); NULL:
 * no messages, or no memory. */
static struct sp_flow *sent_at(struct sp_timeline *t, uint64_t time, size_t *n)
{
	const size_t ends = ends_at(t, time);
	struct sp_timeline_flow *f;
	struct sp_flow *flows;

	*n = 0;
	if (ends == 0)
		return NULL;
	f = t->flows + t->next_flow;
	if (f->in || f->used)
		return NULL;
	flows = malloc(ends * sizeof *flows);
	for (; flows && *n < ends && !f[*n].in; (*n)++)
		flows[*n] = (struct sp_flow){.id = sp_flow_id(SP_FLOW_MESSAGE, f[*n].message)};
	f->used = 1;
	return flows;
}

bool sp_timeline_mpi_enter(struct sp_timeline *t, const struct sp_event *ev)
{
	size_t n;
	struct sp_flow *flows = sent_at(t, ev->time, &n);

	if (!flows)
		return false;
	t->sink->mark(t->to, &(struct sp_mark){.time = ev->time,
	                                       .kind = SP_MARK_BEGIN,
	                                       .region = ev->id,
	                                       .category = sp_region_kind_names[SP_REGION_MPI],
	                                       .flows = flows,
	                                       .n_flows = n});
	free(flows);
	return true;
}

/* The message that an event received; NULL: unknown sender. */
static const struct sp_timeline_flow *received(struct sp_timeline *t, const struct sp_event *ev)
{
	const struct sp_mpi *x = ev->u.mpi;
	const uint32_t from = x->peers && x->peer < x->peers->n ? x->peers->processes[x->peer] : SP_NONE;
	size_t low = 0, high = ends_at(t, ev->time);
	const size_t n = high;
	struct sp_timeline_flow *f;

	if (n == 0)
		return NULL;
	f = t->flows + t->next_flow;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const struct sp_message *m = message_of(&t->messages, &f[middle]);
		const bool before = !f[middle].in || m->from < from ||
		                    (m->from == from && (m->comm < ev->id || (m->comm == ev->id && m->tag < x->tag)));
		low = before ? middle + 1 : low;
		high = before ? high : middle;
	}
	if (low == n)
		return NULL;
	const struct sp_timeline_flow *found = &f[low + f[low].used];
	const struct sp_message *m = found < f + n ? message_of(&t->messages, found) : NULL;
	if (!m || m->from != from || m->comm != ev->id || m->tag != x->tag)
		return NULL;
	f[low].used++;
	return found;
}

/* ---- notes of calls ---- */

static struct sp_str comm_name(const struct sp_model *m, uint32_t comm)
{
	const struct sp_comm *c = &m->comms[comm];

	return c->name.n ? c->name : sp_text(c->self ? "MPI_COMM_SELF" : c->world ? "MPI_COMM_WORLD" : "(no name)");
}

static struct sp_str win_name(const struct sp_model *m, uint32_t win)
{
	return m->wins[win].name.n ? m->wins[win].name : sp_text("(no name)");
}

static void say_message(struct sp_timeline *t, const struct sp_event *ev)
{
	const struct sp_mpi *x = ev->u.mpi;
	const bool in = ev->kind == SP_EVENT_MPI_RECV || ev->kind == SP_EVENT_MPI_IRECV;
	struct sp_notes n = {.n = 0};
	struct sp_flow *flows;
	size_t n_flows;

	sp_notes_uint(&n, in ? "from rank" : "to rank", x->peer);
	sp_notes_uint(&n, "bytes", x->bytes);
	sp_notes_int(&n, "tag", x->tag);
	sp_notes_text(&n, "communicator", comm_name(t->m, ev->id));
	if (ev->kind == SP_EVENT_MPI_ISEND || ev->kind == SP_EVENT_MPI_IRECV)
		sp_notes_uint(&n, "request", x->request);
	if (in) {
		const struct sp_timeline_flow *f = received(t, ev);
		struct sp_flow flow = {.in = true};
		if (f) {
			const struct sp_message *m = message_of(&t->messages, f);
			flow.id = sp_flow_id(SP_FLOW_MESSAGE, f->message);
			flow.last = m->arrived > t->messages.calls[m->send].enter;
		}
		sp_timeline_instant(t, ev->time, "message received", "mpi", &n, &flow, f != NULL);
		return;
	}
	flows = sent_at(t, ev->time, &n_flows); /* outside of all calls of MPI */
	if (flows)
		sp_timeline_instant(t, ev->time, "message sent", "mpi", &n, flows, n_flows);
	else
		sp_timeline_note(t, ev->time, "message sent", "mpi", &n);
	free(flows);
}

static void say_root(struct sp_notes *n, const struct sp_mpi *x)
{
	if (x->root >= 0)
		sp_notes_uint(n, "root", (uint64_t)x->root);
	else if (x->root == SP_ROOT_SELF)
		sp_notes_text(n, "root", sp_text("self"));
	else if (x->root == SP_ROOT_GROUP)
		sp_notes_text(n, "root", sp_text("another of the group"));
}

static void say_collective(struct sp_timeline *t, const struct sp_event *ev)
{
	const struct sp_mpi *x = ev->u.mpi;
	struct sp_notes n = {.n = 0};

	if (ev->kind == SP_EVENT_RMA_COLLECTIVE_END)
		sp_notes_text(&n, "window", win_name(t->m, ev->id));
	else
		sp_notes_text(&n, "communicator", comm_name(t->m, ev->id));
	say_root(&n, x);
	sp_notes_uint(&n, "bytes sent", x->sent);
	sp_notes_uint(&n, "bytes received", x->received);
	if (ev->kind == SP_EVENT_NBC_COMPLETE)
		sp_notes_uint(&n, "request completed", x->request);
	sp_timeline_note(t, ev->time, "collective operation", "mpi", &n);
}

static void say_request(struct sp_timeline *t, const struct sp_event *ev)
{
	const char *name = ev->kind == SP_EVENT_MPI_ISEND_COMPLETE      ? "request completed"
	                   : ev->kind == SP_EVENT_MPI_REQUEST_TEST      ? "request tested"
	                   : ev->kind == SP_EVENT_MPI_REQUEST_CANCELLED ? "request cancelled"
	                                                                : "request";
	struct sp_notes n = {.n = 0};

	sp_notes_uint(&n, name, ev->u.mpi->request);
	sp_timeline_note(t, ev->time, name, "mpi", &n);
}

static void say_one_sided(struct sp_timeline *t, const struct sp_event *ev)
{
	static const char *const locks[] = {"lock requested", "lock acquired", "lock tried", "lock released"};
	const struct sp_mpi *x = ev->u.mpi;
	struct sp_notes n = {.n = 0};
	const char *name = "one-sided";

	switch (ev->kind) {
	case SP_EVENT_RMA_PUT:
	case SP_EVENT_RMA_GET:
		name = ev->kind == SP_EVENT_RMA_PUT ? "put to rank" : "get from rank";
		sp_notes_uint(&n, name, x->peer);
		sp_notes_uint(&n, "bytes", x->bytes);
		break;
	case SP_EVENT_RMA_ATOMIC:
		name = "atomic at rank";
		sp_notes_uint(&n, name, x->peer);
		sp_notes_uint(&n, "bytes sent", x->sent);
		sp_notes_uint(&n, "bytes received", x->received);
		break;
	case SP_EVENT_RMA_LOCK:
		name = locks[x->what < 4 ? x->what : 0];
		if (x->peer == SP_NONE)
			sp_notes_text(&n, name, sp_text("all ranks"));
		else
			sp_notes_uint(&n, name, x->peer);
		break;
	case SP_EVENT_RMA_COMPLETE:
		name = "operation complete";
		sp_notes_uint(&n, name, x->matching);
		break;
	default:
		name = "synchronised ranks";
		sp_notes_uint(&n, name, t->m->groups[x->group].n);
	}
	sp_notes_text(&n, "window", win_name(t->m, ev->id));
	sp_timeline_note(t, ev->time, name, "mpi", &n);
}

static void put_name(struct sp_timeline *t, const struct sp_event *ev, const char *name, struct sp_str of)
{
	struct sp_notes n = {.n = 0};

	sp_notes_text(&n, name, of);
	sp_timeline_note(t, ev->time, name, "mpi", &n);
}

void sp_timeline_mpi(struct sp_timeline *t, const struct sp_event *ev)
{
	switch (ev->kind) {
	case SP_EVENT_MPI_SEND:
	case SP_EVENT_MPI_RECV:
	case SP_EVENT_MPI_ISEND:
	case SP_EVENT_MPI_IRECV:
		say_message(t, ev);
		break;
	case SP_EVENT_COLLECTIVE_END:
	case SP_EVENT_NBC_COMPLETE:
	case SP_EVENT_RMA_COLLECTIVE_END:
		say_collective(t, ev);
		break;
	case SP_EVENT_COLLECTIVE_BEGIN: /* these events add nothing to the call's name */
	case SP_EVENT_RMA_COLLECTIVE_BEGIN:
		break;
	case SP_EVENT_COMM_CREATE:
		put_name(t, ev, "communicator made", comm_name(t->m, ev->id));
		break;
	case SP_EVENT_COMM_DESTROY:
		put_name(t, ev, "communicator freed", comm_name(t->m, ev->id));
		break;
	case SP_EVENT_WIN_CREATE:
		put_name(t, ev, "window made", win_name(t->m, ev->id));
		break;
	case SP_EVENT_WIN_DESTROY:
		put_name(t, ev, "window freed", win_name(t->m, ev->id));
		break;
	default:
		if (ev->kind >= SP_EVENT_RMA_PUT)
			say_one_sided(t, ev);
		else
			say_request(t, ev);
	}
}
