/* SPDX-License-Identifier: BSD-3-Clause */
/* Events of MPI. All indices in them are checked here, so that later code can rely on them. */
#include "model/comm.h"
#include "model/event.h"
#include "model/events/events.h"
#include "model/model.h"
#include "model/str.h"

_Static_assert(SP_EVENT_RMA_LOCK - SP_EVENT_MPI_SEND == SP_RAW_X_RMA_LOCK - SP_RAW_X_MPI_SEND, "the same order");

_Static_assert((int)SP_ROOT_NONE == SP_RAW_ROOT_NONE && (int)SP_ROOT_SELF == SP_RAW_ROOT_SELF &&
                   (int)SP_ROOT_GROUP == SP_RAW_ROOT_GROUP && (int)SP_RMA_REMOTE == (int)SP_RAW_RMA_REMOTE &&
                   (int)SP_LOCK_RELEASE == (int)SP_RAW_LOCK_RELEASE,
               "the same numbers");

enum subject { NOTHING, REQUEST, COMM, WIN };

/* For each kind: number of words, and what the first word refers to. */
static const struct {
	uint8_t words, subject;
} kinds[] = {
    [SP_RAW_X_MPI_SEND - SP_RAW_X_MPI_SEND] = {3, COMM},
    [SP_RAW_X_MPI_RECV - SP_RAW_X_MPI_SEND] = {3, COMM},
    [SP_RAW_X_MPI_ISEND - SP_RAW_X_MPI_SEND] = {4, COMM},
    [SP_RAW_X_MPI_ISEND_COMPLETE - SP_RAW_X_MPI_SEND] = {1, REQUEST},
    [SP_RAW_X_MPI_IRECV_REQUEST - SP_RAW_X_MPI_SEND] = {1, REQUEST},
    [SP_RAW_X_MPI_IRECV - SP_RAW_X_MPI_SEND] = {4, COMM},
    [SP_RAW_X_MPI_REQUEST_TEST - SP_RAW_X_MPI_SEND] = {1, REQUEST},
    [SP_RAW_X_MPI_REQUEST_CANCELLED - SP_RAW_X_MPI_SEND] = {1, REQUEST},
    [SP_RAW_X_COLLECTIVE_BEGIN - SP_RAW_X_MPI_SEND] = {0, NOTHING},
    [SP_RAW_X_COLLECTIVE_END - SP_RAW_X_MPI_SEND] = {4, COMM},
    [SP_RAW_X_NBC_REQUEST - SP_RAW_X_MPI_SEND] = {1, REQUEST},
    [SP_RAW_X_NBC_COMPLETE - SP_RAW_X_MPI_SEND] = {5, COMM},
    [SP_RAW_X_COMM_CREATE - SP_RAW_X_MPI_SEND] = {1, COMM},
    [SP_RAW_X_COMM_DESTROY - SP_RAW_X_MPI_SEND] = {1, COMM},
    [SP_RAW_X_WIN_CREATE - SP_RAW_X_MPI_SEND] = {1, WIN},
    [SP_RAW_X_WIN_DESTROY - SP_RAW_X_MPI_SEND] = {1, WIN},
    [SP_RAW_X_RMA_PUT - SP_RAW_X_MPI_SEND] = {3, WIN},
    [SP_RAW_X_RMA_GET - SP_RAW_X_MPI_SEND] = {3, WIN},
    [SP_RAW_X_RMA_ATOMIC - SP_RAW_X_MPI_SEND] = {5, WIN},
    [SP_RAW_X_RMA_COMPLETE - SP_RAW_X_MPI_SEND] = {2, WIN},
    [SP_RAW_X_RMA_GROUP_SYNC - SP_RAW_X_MPI_SEND] = {2, WIN},
    [SP_RAW_X_RMA_COLLECTIVE_BEGIN - SP_RAW_X_MPI_SEND] = {0, NOTHING},
    [SP_RAW_X_RMA_COLLECTIVE_END - SP_RAW_X_MPI_SEND] = {5, WIN},
    [SP_RAW_X_RMA_LOCK - SP_RAW_X_MPI_SEND] = {3, WIN},
};

static uint32_t high(uint64_t word)
{
	return (uint32_t)(word >> 32);
}

/* Finds the communicator or window, and the group in which the event's ranks count. */
static int find_subject(const struct sp_events *s, enum subject subject, uint64_t word, struct sp_event *out,
                        struct sp_mpi *x)
{
	const struct sp_model *m = s->m;
	const struct sp_comm *c;
	const uint32_t id = (uint32_t)word;

	if (subject == COMM) {
		out->id = sp_events_id(&s->source->comms, id) - 1;
		if (out->id == SP_NONE)
			return -1;
		c = &m->comms[out->id];
		x->peers = c->inter && !s->source->sides[id] ? &c->remote : &c->group;
	} else if (subject == WIN) {
		out->id = sp_events_id(&s->source->wins, id) - 1;
		if (out->id == SP_NONE)
			return -1;
		x->peers = &m->comms[m->wins[out->id].comm].group;
	}
	return 0;
}

static int with_root(struct sp_mpi *x, uint64_t root)
{
	x->root = (int32_t)(uint32_t)root;
	return x->root < 0 ? x->root >= SP_RAW_ROOT_GROUP : (uint32_t)x->root < x->peers->n;
}

static int with_peer(struct sp_mpi *x, uint64_t word)
{
	x->peer = high(word);
	return x->peer < x->peers->n;
}

/* Decodes point-to-point and collective communication; false: damage. */
static bool of_comm(struct sp_mpi *x, uint32_t what, const uint64_t *p)
{
	switch (what) {
	case SP_RAW_X_MPI_SEND:
	case SP_RAW_X_MPI_RECV:
	case SP_RAW_X_MPI_ISEND:
	case SP_RAW_X_MPI_IRECV:
		x->tag = (int32_t)(uint32_t)p[1];
		x->bytes = p[2];
		x->request = what == SP_RAW_X_MPI_ISEND || what == SP_RAW_X_MPI_IRECV ? p[3] : 0;
		return with_peer(x, p[0]);
	case SP_RAW_X_COLLECTIVE_END:
	case SP_RAW_X_NBC_COMPLETE:
		x->what = high(p[0]);
		x->sent = p[2];
		x->received = p[3];
		x->request = what == SP_RAW_X_NBC_COMPLETE ? p[4] : 0;
		return with_root(x, p[1]);
	default:
		x->peers = NULL;
		return true;
	}
}

/* Decodes one-sided communication; false: damage. */
static bool of_win(const struct sp_events *s, struct sp_mpi *x, uint32_t what, const uint64_t *p)
{
	switch (what) {
	case SP_RAW_X_RMA_PUT:
	case SP_RAW_X_RMA_GET:
		x->bytes = p[1];
		x->matching = p[2];
		return with_peer(x, p[0]);
	case SP_RAW_X_RMA_ATOMIC:
		x->what = (uint32_t)p[1];
		x->sent = p[2];
		x->received = p[3];
		x->matching = p[4];
		return with_peer(x, p[0]);
	case SP_RAW_X_RMA_LOCK:
		x->what = (uint32_t)p[1];
		x->type = high(p[1]);
		x->matching = p[2];
		return (with_peer(x, p[0]) || x->peer == SP_NONE) && x->what <= SP_RAW_LOCK_RELEASE;
	case SP_RAW_X_RMA_COMPLETE:
		x->what = high(p[0]);
		x->matching = p[1];
		break;
	case SP_RAW_X_RMA_GROUP_SYNC:
		x->level = high(p[0]);
		x->group = sp_events_id(&s->source->groups, p[1]) - 1;
		x->peers = NULL;
		return x->group != SP_NONE;
	case SP_RAW_X_RMA_COLLECTIVE_END:
		x->what = high(p[0]);
		x->level = (uint32_t)p[1];
		x->sent = p[3];
		x->received = p[4];
		return with_root(x, p[2]);
	}
	x->peers = NULL;
	return x->what <= SP_RAW_RMA_REMOTE;
}

int sp_events_mpi(struct sp_events *s, uint32_t what, uint32_t words, const uint64_t *payload, struct sp_event *out)
{
	const enum subject subject = kinds[what - SP_RAW_X_MPI_SEND].subject;
	struct sp_mpi *x;

	if (words < kinds[what - SP_RAW_X_MPI_SEND].words || s->mpi_capacity == 0)
		return -1;
	out->u.mpi = x = &s->mpi[s->n_mpi];
	*x = (struct sp_mpi){.peers = NULL};
	if (subject >= COMM && find_subject(s, subject, payload[0], out, x))
		return -1;
	if (subject == REQUEST)
		x->request = payload[0];
	else if (!(subject == WIN ? of_win(s, x, what, payload) : of_comm(x, what, payload)))
		return -1;
	out->kind = SP_EVENT_MPI_SEND + (what - SP_RAW_X_MPI_SEND);
	s->n_mpi++;
	return 1;
}
