/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks the viewer's answers for a model of any data. */
#include "check.h"

#include <stdlib.h>

#include "model/model.h"
#include "view/against.h"
#include "view/kept.h"

static void ask(const struct sp_viewed *v, const char *kind, const struct sp_view_query *q)
{
	struct sp_columns *c;
	struct sp_err e = {.code = 0};
	size_t n = 0;
	char *to;

	if (sp_view_answer(v, sp_view_kind_find(kind), q, &c, &e) == 0 && sp_columns_seal(c, &n, &e) == 0) {
		to = malloc(n);
		if (to)
			sp_columns_write(c, to);
		free(to);
	}
	sp_columns_free(c);
}

static void ask_all(const struct sp_viewed *v)
{
	struct sp_view_query q;

	sp_view_query_init(&q);
	ask(v, "regions", &q);
	ask(v, "flat", &q);
	ask(v, "tree", &q);
	ask(v, "balance", &q);
	ask(v, "matrix", &q);
	q.limit = 3;
	q.regions = 2;
	q.location = 0;
	if (v->m->n_metrics)
		q.metric = v->m->metrics[0].name.p;
	ask(v, "tree", &q);
	ask(v, "balance", &q);
}

void check_view(const struct sp_model *m)
{
	struct sp_viewed v = {.m = m};
	struct sp_against *against;
	struct sp_err e = {.code = 0};

	if (sp_model_rows(m, &e))
		return;
	v.kept = sp_view_kept_new(m);
	if (!v.kept)
		return;
	ask_all(&v);
	if (sp_against_open(&against, m, m, &e) == 0) {
		v.against = against;
		ask_all(&v);
		sp_against_close(against);
	}
	sp_view_kept_free(v.kept);
}
