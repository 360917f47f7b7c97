/* SPDX-License-Identifier: BSD-3-Clause */
#include "view/view.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/guard.h"
#include "model/event.h"
#include "model/model.h"
#include "model/str.h"
#include "view/against.h"

static const struct sp_view_kind kinds[] = {
    {"balance", SP_VIEW_SELECTION | SP_VIEW_REGION | SP_VIEW_REGIONS | SP_VIEW_OVER, SP_VIEW_NEEDS_ROWS,
     sp_view_balance},
    {"counters", SP_VIEW_SELECTION | SP_VIEW_PIXELS | SP_VIEW_NAME, 0, sp_view_counters},
    {"flat", SP_VIEW_SELECTION | SP_VIEW_LIMIT, SP_VIEW_NEEDS_SELECTED, sp_view_flat},
    {"markers", SP_VIEW_SELECTION | SP_VIEW_LIMIT, 0, sp_view_markers},
    {"matrix", SP_VIEW_SELECTION, SP_VIEW_NEEDS_ALONE, sp_view_matrix},
    {"messages", SP_VIEW_SELECTION | SP_VIEW_LIMIT, SP_VIEW_NEEDS_ALONE, sp_view_messages},
    {"metrics", SP_VIEW_SELECTION | SP_VIEW_PIXELS | SP_VIEW_ROWS | SP_VIEW_NAME | SP_VIEW_OVER, 0, sp_view_metrics},
    {"overview", SP_VIEW_SELECTION | SP_VIEW_PIXELS | SP_VIEW_ROWS | SP_VIEW_LIMIT, 0, sp_view_overview},
    {"regions", 0, 0, sp_view_regions},
    {"states", SP_VIEW_SELECTION | SP_VIEW_PIXELS | SP_VIEW_ROWS | SP_VIEW_LIMIT, 0, sp_view_states},
    {"steps", SP_VIEW_SELECTION | SP_VIEW_PIXELS | SP_VIEW_ROWS, 0, sp_view_steps},
    {"timeline", SP_VIEW_LOCATION | SP_VIEW_BEGIN | SP_VIEW_END | SP_VIEW_PIXELS | SP_VIEW_LEVELS, 0, sp_view_timeline},
    {"tree", SP_VIEW_SELECTION | SP_VIEW_LIMIT | SP_VIEW_METRIC, SP_VIEW_NEEDS_SELECTED, sp_view_tree},
    {NULL, 0, 0, NULL},
};

const struct sp_model *sp_viewed_all(const struct sp_viewed *v)
{
	return v->against ? &v->against->all : v->m;
}

void sp_view_query_init(struct sp_view_query *q)
{
	*q = (struct sp_view_query){
	    .process = SP_NONE, .location = SP_NONE, .begin = NAN, .end = NAN, .region = SP_NONE};
}

bool sp_view_needs_rows(const struct sp_view_kind *k, const struct sp_view_query *q)
{
	return (k->needs & SP_VIEW_NEEDS_ROWS) ||
	       ((k->needs & SP_VIEW_NEEDS_SELECTED) && (q->process != SP_NONE || q->location != SP_NONE));
}

const struct sp_view_kind *sp_view_kind_find(const char *name)
{
	const struct sp_view_kind *k;

	for (k = kinds; k->name; k++)
		if (strcmp(k->name, name) == 0)
			return k;
	return NULL;
}

const struct sp_view_kind *sp_view_kind_next(const struct sp_view_kind *k)
{
	k = k ? k + 1 : kinds;
	return k->name ? k : NULL;
}

static int check(const struct sp_model *m, const struct sp_view_query *q, struct sp_err *e)
{
	const bool ranged = !isnan(q->begin) || !isnan(q->end);

	if (q->process != SP_NONE && q->process >= m->n_processes)
		return sp_fail(e, EINVAL, "there is no process %u; the last is %zu", q->process, m->n_processes - 1);
	if (q->location != SP_NONE && q->location >= m->n_locations)
		return sp_fail(e, EINVAL, "there is no location %u; there are %zu", q->location, m->n_locations);
	if (q->region != SP_NONE && q->region >= m->n_regions)
		return sp_fail(e, EINVAL, "there is no region %u; there are %zu", q->region, m->n_regions);
	if (ranged && !sp_model_has_events(m))
		return sp_fail(e, EINVAL,
		               "a range of time needs a trace or samples, and this experiment has none: measure with "
		               "--trace or --sample");
	if (!isnan(q->begin) && !isnan(q->end) && q->end < q->begin)
		return sp_fail(e, EINVAL, "the range ends before it begins");
	return 0;
}

struct answering {
	const struct sp_viewed *v;
	const struct sp_view_kind *k;
	const struct sp_view_query *q;
	struct sp_columns *out;
	struct sp_err *e;
};

static int answer(void *arg)
{
	const struct answering *a = arg;

	return a->k->answer(a->v, a->q, a->out, a->e);
}

int sp_view_answer(const struct sp_viewed *v, const struct sp_view_kind *k, const struct sp_view_query *q,
                   struct sp_columns **out, struct sp_err *e)
{
	*out = NULL;
	if (check(v->m, q, e))
		return -1;
	*out = sp_columns_new();
	if (!*out)
		return sp_fail(e, ENOMEM, "not enough memory");
	const int rc = sp_guarded(answer, &(struct answering){v, k, q, *out, e}, e);
	sp_model_settle(v->m);
	if (v->against)
		sp_model_settle(v->against->base);
	return rc;
}
