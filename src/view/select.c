/* SPDX-License-Identifier: BSD-3-Clause */
#include "view/select.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "view/against.h"

static const double S = 1e-9;

/* The values with those of all paths that only the base has. */
static int widen(struct sp_selected *s, const struct sp_model *m)
{
	s->owned_values = calloc(s->m->n_paths, sizeof(*s->owned_values));
	s->owned_each = calloc(s->m->n_paths, sizeof(*s->owned_each));
	if (!s->owned_values || !s->owned_each)
		return -1;
	memcpy(s->owned_values, s->view.values, m->n_paths * sizeof(*s->owned_values));
	memcpy(s->owned_each, s->view.each, m->n_paths * sizeof(*s->owned_each));
	s->values = s->owned_values;
	s->each = s->owned_each;
	return 0;
}

static int select_base(struct sp_selected *s, const struct sp_viewed *v, const struct sp_view_query *q,
                       struct sp_err *e)
{
	struct sp_view view = {.m = NULL};
	uint32_t process = q->process, location = q->location;
	int rc;

	s->compared = true;
	if (widen(s, v->m))
		return sp_fail(e, ENOMEM, "not enough memory");
	if (!isnan(q->begin) || !isnan(q->end) || !sp_against_selection(v->against, v->m, &process, &location))
		return 0;
	s->base = calloc(s->m->n_paths, sizeof(*s->base));
	if (!s->base)
		return sp_fail(e, ENOMEM, "not enough memory");
	rc = sp_view_open(&view, v->against->base, process, location, e);
	if (rc == 0)
		sp_compare_paths(&v->against->compare, 1, view.values, s->base);
	sp_view_close(&view);
	return rc;
}

int sp_select(struct sp_selected *s, const struct sp_viewed *v, const struct sp_view_query *q, struct sp_err *e)
{
	uint32_t i;

	*s = (struct sp_selected){.m = sp_viewed_all(v)};
	if (!isnan(q->begin) || !isnan(q->end))
		return sp_fail(e, 0, "a range of time cannot be selected here");
	if (sp_view_open(&s->view, v->m, q->process, q->location, e))
		return -1;
	s->values = s->view.values;
	s->each = s->view.each;
	if (v->against && select_base(s, v, q, e))
		return -1;
	for (i = 1; i < s->m->n_paths; i++) {
		if (!sp_selected_has(s, i))
			continue;
		s->resumed |= s->values[i].resumed > 0;
		s->labels |= s->m->paths[i].parameter != SP_NONE;
	}
	return 0;
}

void sp_selected_close(struct sp_selected *s)
{
	sp_view_close(&s->view);
	free(s->base);
	free(s->owned_values);
	free(s->owned_each);
}

void sp_selected_meta(const struct sp_selected *s, struct sp_columns *out)
{
	sp_meta_real(out, "total", s->values[0].incl * S);
	if (s->base)
		sp_meta_real(out, "base_total", s->base[0].incl * S);
	else if (s->compared)
		sp_meta_text(out, "base_none", sp_literal("the other run has no counterpart of what is selected"));
}
