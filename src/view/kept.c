/* SPDX-License-Identifier: BSD-3-Clause */
#include "view/kept.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "model/messages.h"

struct sp_view_kept {
	const struct sp_model *m;
	pthread_mutex_t lock;
	struct sp_pyramid *pyramid; /* owned; NULL: nobody needed it so far, or it could not be made */
	struct sp_view_messages messages;
	bool has_messages;
};

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
	sp_pyramid_close(k->pyramid);
	free(k->messages.p);
	free(k->messages.last);
	pthread_mutex_destroy(&k->lock);
	free(k);
}

int sp_view_pyramid(const struct sp_viewed *v, struct sp_pyramid **p, struct sp_err *e)
{
	struct sp_view_kept *k = v->kept;
	int rc = 0;

	pthread_mutex_lock(&k->lock);
	if (!k->pyramid)
		rc = sp_pyramid_open(&k->pyramid, k->m, NULL, e);
	*p = k->pyramid;
	pthread_mutex_unlock(&k->lock);
	return rc;
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

/* A receiver that was not measured has no place in a picture. */
static bool describe(struct sp_view_message *to, const struct sp_messages *x, const struct sp_message *from)
{
	const struct sp_mpi_call *send = &x->calls[from->send];

	*to = (struct sp_view_message){.sent = send->enter,
	                               .received = UINT64_MAX,
	                               .bytes = from->bytes,
	                               .from = send->location,
	                               .tag = from->tag,
	                               .comm = from->comm};
	if (from->received != SP_NONE) {
		to->to = x->calls[from->received].location;
		to->received = from->arrived > to->sent ? from->arrived : to->sent;
		return true;
	}
	if (from->to >= x->m->n_processes || x->m->processes[from->to].locations == 0)
		return false;
	to->to = x->m->processes[from->to].first_location;
	return true;
}

static int keep_messages(struct sp_view_messages *all, const struct sp_messages *x)
{
	size_t i;

	all->n = 0;
	all->p = malloc((x->n_messages + 1) * sizeof(*all->p));
	all->last = calloc(x->n_messages / SP_VIEW_MESSAGES + 1, sizeof(*all->last));
	if (!all->p || !all->last) {
		free(all->p);
		free(all->last);
		*all = (struct sp_view_messages){.n = 0};
		return -1;
	}
	for (i = 0; i < x->n_messages; i++)
		all->n += describe(&all->p[all->n], x, &x->messages[i]);
	qsort(all->p, all->n, sizeof(*all->p), by_time);
	for (i = 0; i < all->n; i++) {
		uint64_t *last = &all->last[i / SP_VIEW_MESSAGES];
		const uint64_t end = all->p[i].received == UINT64_MAX ? all->p[i].sent : all->p[i].received;

		*last = end > *last ? end : *last;
	}
	return 0;
}

int sp_view_all_messages(const struct sp_viewed *v, const struct sp_view_messages **all, struct sp_err *e)
{
	struct sp_view_kept *k = v->kept;
	struct sp_messages x;
	int rc = 0;

	pthread_mutex_lock(&k->lock);
	if (!k->has_messages && sp_messages_any(k->m)) {
		rc = sp_messages_read(&x, k->m, e);
		if (rc == 0 && keep_messages(&k->messages, &x))
			rc = sp_fail(e, ENOMEM, "not enough memory");
		sp_messages_free(&x);
	}
	k->has_messages |= rc == 0;
	*all = &k->messages;
	pthread_mutex_unlock(&k->lock);
	return rc;
}
