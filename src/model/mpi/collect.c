/* SPDX-License-Identifier: BSD-3-Clause */
/* Collects messages and collective operations from the traces. */
#include "model/mpi/collect.h"
#include "format/format.h"
#include "model/builder/problem.h"
#include "model/event.h"
#include "model/model.h"
#include "model/region.h"
#include "model/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What an MPI function may do to a message that another call completes. */
enum { PLAIN, POLLS, PROBES, MATCHED_PROBES };

struct open_call {
	size_t depth; /* depth of the call path */
	uint64_t enter;
	uint32_t path, region;
	uint32_t call; /* SP_NONE: nothing relevant in it yet */
};

/* The state of reading one location. */
struct reading {
	struct sp_collected *c;
	struct sp_follow follow;
	uint32_t location, process;
	struct sp_list open;   /* struct open_call */
	struct sp_list probed; /* calls of MPI_Mprobe whose message was not received yet, */
	size_t next_probed;    /* from this index on */
	uint32_t probe;        /* the first MPI_Probe since the last receive, or SP_NONE */
};

void *sp_list_add(struct sp_list *l, size_t size)
{
	char *larger;

	if (l->n == l->capacity) {
		size_t capacity = l->capacity ? l->capacity * 2 : 64;

		larger = l->n < UINT32_MAX - 1 ? realloc(l->p, capacity * size) : NULL;
		if (!larger)
			return NULL;
		l->p = larger;
		l->capacity = capacity;
	}
	larger = (char *)l->p + l->n++ * size;
	return memset(larger, 0, size);
}

static uint8_t kind_of(const struct sp_region *r)
{
	const char *name = r->qualname.p;

	if (r->kind != SP_REGION_MPI)
		return PLAIN;
	if (strncmp(name, "MPI_Test", 8) == 0 || strncmp(name, "MPI_Request_get_status", 22) == 0)
		return POLLS;
	return strcmp(name, "MPI_Probe") == 0 ? PROBES : strcmp(name, "MPI_Mprobe") == 0 ? MATCHED_PROBES : PLAIN;
}

/* The open call, added if it is new; an event outside of all calls gets a separate call. SP_NONE: no memory. */
static uint32_t call_of(struct reading *r, const struct sp_event *ev)
{
	struct open_call *o = r->open.n ? (struct open_call *)r->open.p + r->open.n - 1 : NULL;
	struct sp_mpi_call *call;
	uint32_t index = (uint32_t)r->c->calls.n;

	if (o && o->call != SP_NONE)
		return o->call;
	call = sp_list_add(&r->c->calls, sizeof(*call));
	if (!call)
		return SP_NONE;
	*call = (struct sp_mpi_call){ev->time, ev->time, r->location, sp_follow_path(&r->follow), false};
	if (o) {
		call->enter = o->enter;
		call->path = o->path;
		call->polls = r->c->waits[o->region] == POLLS;
		o->call = index;
	}
	return index;
}

static int enter_call(struct reading *r, const struct sp_event *ev)
{
	struct open_call *o = sp_list_add(&r->open, sizeof(*o));
	uint32_t call;

	if (!o)
		return -1;
	*o = (struct open_call){r->follow.depth, ev->time, sp_follow_path(&r->follow), ev->id, SP_NONE};
	if (r->c->waits[ev->id] < PROBES)
		return 0;
	call = call_of(r, ev);
	if (call == SP_NONE)
		return -1;
	if (r->c->waits[ev->id] == MATCHED_PROBES) {
		uint32_t *p = sp_list_add(&r->probed, sizeof(*p));

		if (!p)
			return -1;
		*p = call;
	} else if (r->probe == SP_NONE) {
		r->probe = call;
	}
	return 0;
}

static void leave_call(struct reading *r, const struct sp_event *ev)
{
	struct open_call *o;

	while (r->open.n) {
		o = (struct open_call *)r->open.p + r->open.n - 1;
		if (o->depth <= r->follow.depth)
			return;
		if (o->call != SP_NONE)
			((struct sp_mpi_call *)r->c->calls.p)[o->call].leave = ev->time;
		r->open.n--;
	}
}

/* The probe that matched the message that is received now; SP_NONE: no probe. */
static uint32_t take_probe(struct reading *r)
{
	const struct open_call *o = r->open.n ? (struct open_call *)r->open.p + r->open.n - 1 : NULL;
	const char *name = o ? r->c->m->regions[o->region].qualname.p : "";
	uint32_t probe = SP_NONE;

	if (strcmp(name, "MPI_Mrecv") == 0 || strcmp(name, "MPI_Imrecv") == 0) {
		if (r->next_probed < r->probed.n)
			probe = ((uint32_t *)r->probed.p)[r->next_probed++];
	} else {
		probe = r->probe;
		r->probe = SP_NONE;
	}
	return probe;
}

static uint32_t process_of(const struct sp_mpi *x, uint32_t rank)
{
	return x->peers && rank < x->peers->n ? x->peers->processes[rank] : SP_NONE;
}

static int add_send(struct reading *r, const struct sp_event *ev, uint32_t call)
{
	const struct sp_mpi *x = ev->u.mpi;
	uint32_t index = (uint32_t)r->c->sends.n;
	struct sp_sending *s = sp_list_add(&r->c->sends, sizeof(*s));
	struct sp_posted *p;

	if (!s)
		return -1;
	*s =
	    (struct sp_sending){x->bytes, r->process, process_of(x, x->peer), ev->id, x->tag, call, call, index, false};
	if (ev->kind == SP_EVENT_MPI_SEND)
		return 0;
	s->done = SP_NONE;
	p = sp_list_add(&r->c->posted, sizeof(*p));
	if (!p)
		return -1;
	*p = (struct sp_posted){x->request, call, index, SP_NONE};
	return 0;
}

static int add_receive(struct reading *r, const struct sp_event *ev, uint32_t call)
{
	const struct sp_mpi *x = ev->u.mpi;
	struct sp_receiving *s = sp_list_add(&r->c->receives, sizeof(*s));
	struct sp_ended *end;

	if (!s)
		return -1;
	*s = (struct sp_receiving){x->bytes, ev->time, process_of(x, x->peer), r->process, ev->id, x->tag, call,
	                           call,     SP_NONE,  (uint32_t)x->request};
	if (ev->kind == SP_EVENT_MPI_RECV) {
		s->probe = take_probe(r);
		return 0;
	}
	end = sp_list_add(&r->c->ended, sizeof(*end));
	if (!end)
		return -1;
	*end = (struct sp_ended){x->request, call, (uint32_t)r->c->receives.n - 1, SP_EVENT_MPI_IRECV};
	return 0;
}

static int add_part(struct reading *r, const struct sp_event *ev, uint32_t call)
{
	const struct sp_mpi *x = ev->u.mpi;
	struct sp_participation *p = sp_list_add(&r->c->parts, sizeof(*p));
	struct sp_ended *end;

	if (!p)
		return -1;
	*p = (struct sp_participation){x->sent,
	                               x->received,
	                               ev->id,
	                               r->process,
	                               SP_NONE,
	                               call,
	                               call,
	                               0,
	                               (uint8_t)x->what,
	                               ev->kind == SP_EVENT_RMA_COLLECTIVE_END,
	                               ev->kind == SP_EVENT_NBC_COMPLETE};
	p->root = x->root == SP_RAW_ROOT_SELF ? r->process : x->root < 0 ? SP_NONE : process_of(x, (uint32_t)x->root);
	if (!p->nonblocking)
		return 0;
	end = sp_list_add(&r->c->ended, sizeof(*end));
	if (!end)
		return -1;
	*end = (struct sp_ended){x->request, call, (uint32_t)r->c->parts.n - 1, SP_EVENT_NBC_COMPLETE};
	return 0;
}

static int add_request(struct reading *r, const struct sp_event *ev, uint32_t call)
{
	struct sp_posted *p;
	struct sp_ended *end;

	if (ev->kind == SP_EVENT_MPI_IRECV_REQUEST || ev->kind == SP_EVENT_NBC_REQUEST) {
		p = sp_list_add(&r->c->posted, sizeof(*p));
		if (p)
			*p = (struct sp_posted){ev->u.mpi->request, call, SP_NONE,
			                        ev->kind == SP_EVENT_NBC_REQUEST ? SP_NONE : take_probe(r)};
		return p ? 0 : -1;
	}
	end = sp_list_add(&r->c->ended, sizeof(*end));
	if (end)
		*end = (struct sp_ended){ev->u.mpi->request, call, SP_NONE, (uint8_t)ev->kind};
	return end ? 0 : -1;
}

/* Processes an event. Returns 0, or -1: no memory. */
static int take(struct reading *r, const struct sp_event *ev)
{
	uint32_t call;
	int (*add)(struct reading *, const struct sp_event *, uint32_t);

	switch (ev->kind) {
	case SP_EVENT_MPI_SEND:
	case SP_EVENT_MPI_ISEND:
		add = add_send;
		break;
	case SP_EVENT_MPI_RECV:
	case SP_EVENT_MPI_IRECV:
		add = add_receive;
		break;
	case SP_EVENT_COLLECTIVE_END:
	case SP_EVENT_NBC_COMPLETE:
	case SP_EVENT_RMA_COLLECTIVE_END:
		add = add_part;
		break;
	case SP_EVENT_MPI_ISEND_COMPLETE:
	case SP_EVENT_MPI_IRECV_REQUEST:
	case SP_EVENT_MPI_REQUEST_CANCELLED:
	case SP_EVENT_NBC_REQUEST:
		add = add_request;
		break;
	default:
		return 0;
	}
	call = call_of(r, ev);
	return call == SP_NONE ? -1 : add(r, ev, call);
}

static int follow(struct reading *r, const struct sp_event *ev)
{
	const bool enters = ev->kind == SP_EVENT_ENTER || ev->kind == SP_EVENT_RESUME || ev->kind == SP_EVENT_INHERIT;

	if (sp_follow_event(&r->follow, ev))
		return -1;
	if (enters && r->c->m->regions[ev->id].kind == SP_REGION_MPI)
		return enter_call(r, ev);
	if (ev->kind == SP_EVENT_LEAVE || ev->kind == SP_EVENT_SUSPEND)
		leave_call(r, ev);
	return take(r, ev);
}

static int read_location(struct sp_collected *c, uint32_t location, struct sp_err *e)
{
	enum { BATCH = 1024 };
	struct reading r = {
	    .c = c, .location = location, .process = c->m->locations[location].process, .probe = SP_NONE};
	struct sp_event *batch = malloc(BATCH * sizeof(*batch));
	struct sp_events *events = NULL;
	long n = -1, i;

	if (!batch || sp_follow_init(&r.follow, &c->index)) {
		free(batch);
		return sp_model_no_memory(e);
	}
	if (sp_events_open(&events, c->m, location, e) == 0)
		while ((n = sp_events_read(events, batch, BATCH, e)) > 0)
			for (i = 0; i < n; i++)
				if (follow(&r, &batch[i])) {
					n = sp_model_no_memory(e);
					goto out;
				}
out:
	sp_events_close(events);
	sp_follow_free(&r.follow);
	free(r.open.p);
	free(r.probed.p);
	free(batch);
	return n < 0 ? -1 : 0;
}

static int by_request(const void *a, const void *b)
{
	const struct sp_posted *p = a, *q = b;

	return p->request < q->request ? -1 : p->request > q->request;
}

/* Connects the begins and ends of requests, after all are known: another thread may end a request. */
static void join_requests(struct sp_collected *c)
{
	struct sp_sending *sends = c->sends.p;
	const struct sp_ended *end = c->ended.p;
	size_t i;

	if (c->posted.n)
		qsort(c->posted.p, c->posted.n, sizeof(struct sp_posted), by_request);
	for (i = 0; i < c->ended.n; i++) {
		const struct sp_posted key = {.request = end[i].request}, *p = NULL;

		if (c->posted.n)
			p = bsearch(&key, c->posted.p, c->posted.n, sizeof(key), by_request);
		if (!p)
			continue;
		if (end[i].what == SP_EVENT_MPI_IRECV) {
			((struct sp_receiving *)c->receives.p)[end[i].index].posted = p->call;
			((struct sp_receiving *)c->receives.p)[end[i].index].probe = p->probe;
		} else if (end[i].what == SP_EVENT_NBC_COMPLETE) {
			((struct sp_participation *)c->parts.p)[end[i].index].begin = p->call;
		} else if (p->sending != SP_NONE && end[i].what == SP_EVENT_MPI_REQUEST_CANCELLED) {
			sends[p->sending].cancelled = true;
		} else if (p->sending != SP_NONE) {
			sends[p->sending].done = end[i].call;
		}
	}
	c->posted.n = c->ended.n = 0;
}

int sp_collect(struct sp_collected *c, const struct sp_model *m, struct sp_err *e)
{
	uint32_t i, l;

	*c = (struct sp_collected){.m = m};
	c->waits = calloc(m->n_regions + 1, sizeof(*c->waits));
	c->first_call = calloc(m->n_locations + 1, sizeof(*c->first_call));
	if (sp_path_index_init(&c->index, m) || !c->waits || !c->first_call)
		return sp_model_no_memory(e);
	for (i = 0; i < m->n_regions; i++)
		c->waits[i] = kind_of(&m->regions[i]);
	for (l = 0; l < m->n_locations; l++) {
		if (l && m->locations[l].process != m->locations[l - 1].process)
			join_requests(c);
		c->first_call[l] = (uint32_t)c->calls.n;
		if (m->processes[m->locations[l].process].traced && read_location(c, l, e))
			return -1;
	}
	join_requests(c);
	c->first_call[m->n_locations] = (uint32_t)c->calls.n;
	return 0;
}

void sp_collected_free(struct sp_collected *c)
{
	sp_path_index_free(&c->index);
	free(c->waits);
	free(c->first_call);
	free(c->calls.p);
	free(c->sends.p);
	free(c->receives.p);
	free(c->parts.p);
	free(c->posted.p);
	free(c->ended.p);
}
