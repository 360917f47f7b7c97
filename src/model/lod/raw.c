/* SPDX-License-Identifier: BSD-3-Clause */
/* The raw files that queries read: each file is open once, for any number of readers. */
#include "base/guard.h"
#include "model/builder/source.h"
#include "model/lod/opened.h"
#include "model/model.h"
#include "reader/reader.h"

#include <stdio.h>

enum { MAX_OPEN = 256 }; /* maximum number of unused open files */

/* Damage of the file was reported when the model was made. */
static void known(void *arg, const char *text)
{
	(void)arg;
	(void)text;
}

struct opening {
	struct sp_lod *p;
	uint32_t location;
	struct sp_raw_file **raw;
	struct sp_err *e;
};

static int open_raw(void *arg)
{
	const struct opening *x = arg;
	const struct sp_model *m = x->p->m;
	const char *name = m->processes[m->locations[x->location].process].file.p;
	char path[4400], shown[300];

	snprintf(path, sizeof(path), "%s/raw/%s", m->dir.p, name);
	snprintf(shown, sizeof(shown), "raw/%s", name);
	if (sp_raw_open(x->raw, path, shown, known, NULL, x->e))
		return -1;
	x->p->open_raws++;
	return 0;
}

int sp_lod_raw_take(struct sp_lod *p, uint32_t location, struct sp_raw_file **raw, struct sp_err *e)
{
	const uint32_t i = p->m->priv->places[location].source;
	struct sp_lod_raw *r = &p->raws[i];
	int rc = 0;

	*raw = NULL;
	if (!p->m->priv->sources[i].closed) {
		*raw = p->m->priv->sources[i].raw;
		return 0;
	}
	pthread_mutex_lock(&p->lock);
	if (!r->raw) /* guarded, because the lock is held */
		rc = sp_guarded(open_raw, &(struct opening){p, location, &r->raw, e}, e);
	if (rc == 0) {
		r->users++;
		*raw = r->raw;
	}
	pthread_mutex_unlock(&p->lock);
	return rc;
}

void sp_lod_raw_give(struct sp_lod *p, uint32_t location)
{
	const uint32_t i = p->m->priv->places[location].source;
	struct sp_lod_raw *r = &p->raws[i];

	if (!p->m->priv->sources[i].closed)
		return;
	pthread_mutex_lock(&p->lock);
	if (--r->users == 0 && p->open_raws > MAX_OPEN) {
		sp_raw_close(r->raw);
		r->raw = NULL;
		p->open_raws--;
	}
	pthread_mutex_unlock(&p->lock);
}
