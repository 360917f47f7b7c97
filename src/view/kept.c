/* SPDX-License-Identifier: BSD-3-Clause */
#include "view/kept.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/guard.h"
#include "model/model.h"
#include "model/mpi/messages.h"
#include "model/str.h"

struct sp_view_kept {
	const struct sp_model *m;
	pthread_mutex_t lock;
	struct sp_lod *lod; /* owned; NULL: not needed yet, or it could not be made, */
	struct sp_err why;  /* and then this has a text */
	struct sp_view_messages messages;
	bool has_messages;
	struct sp_view_samples *samples; /* owned; for each location; NULL: not needed yet */
};

static void free_messages(struct sp_view_messages *all)
{
	free(all->p);
	free(all->last);
	free(all->paired);
	*all = (struct sp_view_messages){.n = 0};
}

static void free_samples(struct sp_view_kept *k)
{
	size_t i;

	for (i = 0; i < k->m->n_locations && k->samples; i++)
		sp_view_samples_free(&k->samples[i]);
	free(k->samples);
}

struct sp_view_kept *sp_view_kept_new(const struct sp_model *m)
{
	struct sp_view_kept *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->m = m;
	pthread_mutex_init(&k->lock, NULL);
	return k;
}

void sp_view_kept_free(struct sp_view_kept *k)
{
	if (!k)
		return;
	sp_lod_close(k->lod);
	free_messages(&k->messages);
	free_samples(k);
	pthread_mutex_destroy(&k->lock);
	free(k);
}

/* Call with the lock held. */
static int find_lod(struct sp_view_kept *k, const struct sp_lod_options *o, struct sp_err *e)
{
	/* do not try again after a failure: it may take a minute and fail in the same way */
	if (!k->lod && !k->why.text[0])
		sp_lod_open(&k->lod, k->m, o, &k->why);
	if (k->lod)
		return 0;
	*e = k->why;
	if (e->code == ECANCELED)
		k->why = (struct sp_err){.code = 0};
	return -1;
}

int sp_view_lod(const struct sp_viewed *v, struct sp_lod **p, struct sp_err *e)
{
	struct sp_view_kept *k = v->kept;
	int rc;

	if (!v->m->traced)
		return sp_fail(e, EINVAL, "this needs a trace, and this experiment has none: measure with --trace");
	pthread_mutex_lock(&k->lock);
	rc = find_lod(k, NULL, e);
	*p = k->lod;
	pthread_mutex_unlock(&k->lock);
	return rc;
}

int sp_view_lod_if_any(const struct sp_viewed *v, struct sp_lod **p, struct sp_err *e)
{
	*p = NULL;
	return v->m->traced ? sp_view_lod(v, p, e) : 0;
}

int sp_view_lod_make(struct sp_view_kept *k, const struct sp_lod_options *o, bool *made, struct sp_err *e)
{
	int rc;

	pthread_mutex_lock(&k->lock);
	rc = find_lod(k, o, e);
	*made = rc == 0 && sp_lod_made(k->lod);
	pthread_mutex_unlock(&k->lock);
	return rc;
}

bool sp_view_lod_failed(struct sp_view_kept *k, struct sp_err *why)
{
	why->text[0] = 0;
	if (pthread_mutex_trylock(&k->lock) != 0)
		return false;
	*why = k->why;
	pthread_mutex_unlock(&k->lock);
	return why->text[0];
}

/* ---- messages ---- */

static int by_time(const void *a, const void *b)
{
	const struct sp_view_message *p = a, *q = b;

	if (p->sent != q->sent)
		return p->sent < q->sent ? -1 : 1;
	if (p->from != q->from)
		return p->from < q->from ? -1 : 1;
	return p->to < q->to ? -1 : p->to > q->to;
}

/* Compares indices. */
static int by_pair(const void *a, const void *b, void *kept)
{
	const uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct sp_view_kept *of = kept;
	const struct sp_view_message *p = &of->messages.p[i], *q = &of->messages.p[k];
	const uint32_t x = of->m->locations[p->from].process, y = of->m->locations[q->from].process;

	if (x != y)
		return x < y ? -1 : 1;
	if (p->to_process != q->to_process)
		return p->to_process < q->to_process ? -1 : 1;
	return i < k ? -1 : i > k;
}

static struct sp_view_message describe(const struct sp_messages *x, const struct sp_message *from)
{
	const struct sp_mpi_call *send = &x->calls[from->send];
	struct sp_view_message to = {.sent = send->enter,
	                             .received = UINT64_MAX,
	                             .bytes = from->bytes,
	                             .from = send->location,
	                             .to = SP_NONE,
	                             .to_process = from->to,
	                             .tag = from->tag,
	                             .comm = from->comm};

	if (from->received != SP_NONE) {
		to.to = x->calls[from->received].location;
		to.received = from->arrived > to.sent ? from->arrived : to.sent;
	} else if (from->to < x->m->n_processes && x->m->processes[from->to].locations) {
		to.to = x->m->processes[from->to].first_location;
	}
	return to;
}

static int keep_messages(struct sp_view_kept *k, const struct sp_messages *x)
{
	struct sp_view_messages *all = &k->messages;
	size_t i;

	*all = (struct sp_view_messages){.n = x->n_messages,
	                                 .unmatched_sends = x->unmatched_sends,
	                                 .unmatched_receives = x->unmatched_receives,
	                                 .unmeasured = x->unmeasured,
	                                 .cancelled = x->cancelled,
	                                 .early = x->early,
	                                 .early_worst = x->early_worst};
	all->p = malloc((all->n + 1) * sizeof(*all->p));
	all->paired = malloc((all->n + 1) * sizeof(*all->paired));
	all->last = calloc(all->n / SP_VIEW_MESSAGES + 1, sizeof(*all->last));
	if (!all->p || !all->paired || !all->last) {
		free_messages(all);
		return -1;
	}
	for (i = 0; i < all->n; i++) {
		all->p[i] = describe(x, &x->messages[i]);
		all->paired[i] = (uint32_t)i;
	}
	qsort(all->p, all->n, sizeof(*all->p), by_time);
	qsort_r(all->paired, all->n, sizeof(*all->paired), by_pair, k);
	for (i = 0; i < all->n; i++) {
		uint64_t *last = &all->last[i / SP_VIEW_MESSAGES];
		const uint64_t end = all->p[i].received == UINT64_MAX ? all->p[i].sent : all->p[i].received;

		*last = end > *last ? end : *last;
	}
	return 0;
}

struct reading {
	struct sp_view_kept *k;
	struct sp_err *e;
};

static int read_messages(void *arg)
{
	const struct reading *r = arg;
	struct sp_messages x;
	int rc = sp_messages_read(&x, r->k->m, r->e);

	if (rc == 0 && keep_messages(r->k, &x))
		rc = sp_fail(r->e, ENOMEM, "not enough memory");
	sp_messages_free(&x);
	return rc;
}

int sp_view_all_messages(const struct sp_viewed *v, const struct sp_view_messages **all, struct sp_err *e)
{
	struct sp_view_kept *k = v->kept;
	int rc = 0;

	pthread_mutex_lock(&k->lock);
	if (!k->has_messages && sp_messages_any(k->m))
		rc = sp_guarded(read_messages, &(struct reading){k, e}, e); /* guarded, because the lock is held */
	k->has_messages |= rc == 0;
	*all = &k->messages;
	pthread_mutex_unlock(&k->lock);
	return rc;
}

/* ---- samples ---- */

struct samples_query {
	struct sp_view_kept *k;
	uint32_t location;
	struct sp_err *e;
};

static int read_samples(void *arg)
{
	const struct samples_query *l = arg;

	return sp_view_samples_read(&l->k->samples[l->location], l->k->m, l->location, l->e);
}

int sp_view_samples_of(const struct sp_viewed *v, uint32_t location, const struct sp_view_samples **samples,
                       struct sp_err *e)
{
	struct sp_view_kept *k = v->kept;
	struct sp_view_samples *l;
	int rc = 0;

	pthread_mutex_lock(&k->lock);
	if (!k->samples)
		k->samples = calloc(k->m->n_locations + 1, sizeof(*k->samples));
	l = k->samples ? &k->samples[location] : NULL;
	if (!l) {
		rc = sp_fail(e, ENOMEM, "not enough memory");
	} else if (!l->known) {
		/* guarded, because the lock is held */
		rc = sp_guarded(read_samples, &(struct samples_query){k, location, e}, e);
		if (rc)
			sp_view_samples_free(l);
		l->failed = rc;
		l->known = true;
	} else if (l->failed) {
		rc = sp_fail(e, EIO, "the samples of location %u cannot be read", location);
	}
	pthread_mutex_unlock(&k->lock);
	*samples = l;
	return rc;
}
