/* SPDX-License-Identifier: BSD-3-Clause */
#include "view/kept.h"

#include <pthread.h>
#include <stdlib.h>

struct sp_view_kept {
	const struct sp_model *m;
	pthread_mutex_t lock;
	struct sp_pyramid *pyramid; /* owned; NULL: nobody needed it so far, or it could not be made */
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
