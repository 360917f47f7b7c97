/* SPDX-License-Identifier: BSD-3-Clause */
#include "view/view.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static const struct sp_view_kind kinds[] = {
    {"flat", SP_VIEW_SELECTION | SP_VIEW_LIMIT, sp_view_flat},
    {"overview", SP_VIEW_SELECTION | SP_VIEW_PIXELS | SP_VIEW_ROWS, sp_view_overview},
    {"regions", 0, sp_view_regions},
    {"timeline", SP_VIEW_LOCATION | SP_VIEW_BEGIN | SP_VIEW_END | SP_VIEW_PIXELS | SP_VIEW_LEVELS, sp_view_timeline},
    {"tree", SP_VIEW_SELECTION | SP_VIEW_LIMIT, sp_view_tree},
    {NULL, 0, NULL},
};

void sp_view_query_init(struct sp_view_query *q)
{
	*q = (struct sp_view_query){.process = SP_NONE, .location = SP_NONE, .begin = NAN, .end = NAN};
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
	if (ranged && !m->traced)
		return sp_fail(e, EINVAL,
		               "a range of time needs a trace, and this experiment has none: measure with "
		               "--trace");
	if (!isnan(q->begin) && !isnan(q->end) && q->end < q->begin)
		return sp_fail(e, EINVAL, "the range ends before it begins");
	return 0;
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
	return k->answer(v, q, *out, e);
}
