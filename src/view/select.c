/* SPDX-License-Identifier: BSD-3-Clause */
#include "view/select.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"
#include "model/str.h"
#include "view/against.h"
#include "view/kept.h"
#include "view/ranged.h"
#include "view/span.h"

static const double S = 1e-9;

/* Extends the values to the paths that only the base has. */
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
	const bool both = sp_against_selection(v->against, v->m, &process, &location);
	int rc;

	s->compared = true;
	if (both && v->against->without_preempted && sp_view_leave_out_preempted(&s->view, &s->preempted, e))
		return -1;
	if (widen(s, v->m))
		return sp_fail(e, ENOMEM, "not enough memory");
	if (!both)
		return 0;
	s->base = calloc(s->m->n_paths, sizeof(*s->base));
	if (!s->base)
		return sp_fail(e, ENOMEM, "not enough memory");
	rc = sp_view_open(&view, v->against->base, process, location, e);
	if (rc == 0 && v->against->without_preempted)
		rc = sp_view_leave_out_preempted(&view, &s->base_preempted, e);
	if (rc == 0)
		sp_compare_paths(&v->against->compare, 1, view.values, s->base);
	sp_view_close(&view);
	return rc;
}

/* Computes the numbers of a range of time; inclusive times are those within it. */
static int select_range(struct sp_selected *s, const struct sp_viewed *v, const struct sp_view_query *q,
                        struct sp_err *e)
{
	struct sp_ranged r = {.m = NULL};
	struct sp_lod *p;
	struct sp_span span;
	uint32_t i;
	int rc = sp_span_of(&span, v->m, q, e) || sp_view_lod_if_any(v, &p, e) ? -1 : 0;

	s->compared = v->against;
	s->values = s->owned_values = calloc(s->m->n_paths, sizeof(*s->owned_values));
	s->each = s->owned_each = calloc(s->m->n_paths, sizeof(*s->owned_each));
	if (rc == 0 && (!s->values || !s->each || sp_ranged_init(&r, v, p, span.begin, span.end)))
		rc = sp_fail(e, ENOMEM, "not enough memory");
	for (i = 0; i < v->m->n_locations && rc == 0; i++)
		if (sp_span_asks(v->m, q, i))
			rc = sp_ranged_add(&r, i, s->owned_values, s->owned_each, e);
	if (rc == 0)
		sp_ranged_rest(&r, s->owned_values, s->owned_each);
	if (rc == 0 && r.off) {
		s->off = malloc(v->m->n_paths * sizeof(*s->off));
		rc = s->off ? 0 : sp_fail(e, ENOMEM, "not enough memory");
		for (i = 0; i < v->m->n_paths && s->off; i++)
			s->off[i] = sp_ranged_off_cpu(&r, i, s->owned_values[i].excl);
	}
	sp_ranged_free(&r);
	if (rc == 0)
		sp_lod_inclusive(v->m, s->owned_values);
	return rc;
}

/* Finds the paths with counts of metrics. */
static int find_counted(struct sp_selected *s)
{
	const size_t n = s->own->n_metrics;
	size_t i;

	if (!n || !s->view.metrics)
		return 0;
	s->counted = calloc(s->own->n_paths, sizeof(*s->counted));
	for (i = n; i < s->own->n_paths * n && s->counted; i++)
		s->counted[i / n] |= s->view.metrics[i] > 0;
	return s->counted ? 0 : -1;
}

/* Finds the time off the processor in each path. */
static int find_off_cpu(struct sp_selected *s)
{
	uint32_t i;

	if (!sp_off_cpu_split(&s->view.off))
		return 0;
	s->off = malloc(s->own->n_paths * sizeof(*s->off));
	for (i = 0; i < s->own->n_paths && s->off; i++)
		s->off[i] = sp_view_off_cpu(&s->view, i);
	return s->off ? 0 : -1;
}

/* Computes the numbers of the whole run. */
static int select_whole(struct sp_selected *s, const struct sp_viewed *v, const struct sp_view_query *q,
                        struct sp_err *e)
{
	if (sp_view_open(&s->view, v->m, q->process, q->location, e))
		return -1;
	s->values = s->view.values;
	s->each = s->view.each;
	if (v->against && select_base(s, v, q, e))
		return -1;
	return find_counted(s) || find_off_cpu(s) ? sp_fail(e, ENOMEM, "not enough memory") : 0;
}

int sp_select(struct sp_selected *s, const struct sp_viewed *v, const struct sp_view_query *q, struct sp_err *e)
{
	uint32_t i;

	*s = (struct sp_selected){.m = sp_viewed_all(v), .own = v->m};
	s->clipped = !isnan(q->begin) || !isnan(q->end);
	if (s->clipped ? select_range(s, v, q, e) : select_whole(s, v, q, e))
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
	free(s->counted);
	free(s->off);
}

void sp_selected_meta(const struct sp_selected *s, struct sp_columns *out)
{
	sp_meta_real(out, "total", s->values[0].incl * S);
	sp_meta_bool(out, "clipped", s->clipped);
	if (s->base && (s->preempted > 0 || s->base_preempted > 0)) {
		sp_meta_real(out, "preempted", s->preempted * S);
		sp_meta_real(out, "base_preempted", s->base_preempted * S);
	}
	if (s->base)
		sp_meta_real(out, "base_total", s->base[0].incl * S);
	else if (s->compared)
		sp_meta_text(out, "base_none", sp_literal("the other run has no counterpart of what is selected"));
}
