/* SPDX-License-Identifier: BSD-3-Clause */
/* The numbers of what is selected: of everything, a process, a location, a range of time. */
#ifndef SP_VIEW_SELECT_H
#define SP_VIEW_SELECT_H

#include "model/metric.h"
#include "model/model.h"
#include "model/path.h"
#include "model/report/report.h"
#include "view/looks.h"
#include "view/view.h"

struct sp_selected {
	const struct sp_model *m;      /* whose regions and paths the values are of; its rows are not to be looked at */
	const struct sp_model *own;    /* the experiment alone */
	struct sp_view view;           /* owned; of that; nothing within a range of time */
	const struct sp_value *values; /* for each path of m */
	const double *each;            /* the same, as sp_model.each */
	struct sp_value *base;         /* owned; the base's values; NULL: nothing to compare with */
	struct sp_value *owned_values; /* owned; NULL: those of the view */
	double *owned_each;            /* owned; the same */
	bool compared;                 /* there is a base, if no values */
	bool clipped;                  /* to a range of time */
	bool *counted;        /* owned; of each path of own, whether a metric was counted there; NULL: none was */
	bool resumed, labels; /* some paths were resumed; some have values of parameters */
};

static inline bool sp_selected_ran(const struct sp_value *v)
{
	return v->visits + v->resumed > 0 || v->incl > 0;
}

/* Where no call was recorded, something may have been counted: memory alone, or by what was not sampled. */
static inline bool sp_selected_has(const struct sp_selected *s, uint32_t path)
{
	return sp_selected_ran(&s->values[path]) || (s->base && sp_selected_ran(&s->base[path])) ||
	       (s->counted && path < s->own->n_paths && s->counted[path]);
}

/* 0, or -1 with e set; sp_selected_close() either way. */
int sp_select(struct sp_selected *s, const struct sp_viewed *v, const struct sp_view_query *q, struct sp_err *e);
void sp_selected_close(struct sp_selected *s);
/* total, and of what it is compared with. */
void sp_selected_meta(const struct sp_selected *s, struct sp_columns *out);

/* What stands behind the names of paths whose calls have values of parameters: "n=3, case=small". Makes of n values of
 * parameters (or none) indices in the list meta.labels, which it writes. */
int sp_view_labels(const struct sp_selected *s, uint32_t *values, size_t n, struct sp_columns *out, struct sp_err *e);
/* What the calls of each path counted, sp_model.n_metrics for each path of s->own, as sp_metric_paths() has it; within
 * a range of time as far as it is known there. *sums is for free(), also where this fails. */
struct sp_counted {
	double incl, excl;
};
int sp_selected_metrics(const struct sp_selected *s, const struct sp_viewed *v, const struct sp_view_query *q,
                        struct sp_counted **sums, struct sp_err *e);
/* Whether it is known of what is selected. */
static inline bool sp_selected_counts(const struct sp_selected *s, const struct sp_metric *x)
{
	return !s->clipped || !x->own || sp_looks_metric_of(x) != SP_LOOKS_NOT;
}
/* meta.unranged: the names of the metrics that are not. */
void sp_selected_unranged(const struct sp_selected *s, struct sp_columns *out);
/* A column "metric:NAME:which" of n numbers; NULL: no memory. */
double *sp_view_metric(struct sp_columns *out, const struct sp_metric *x, const char *which, size_t n);

#endif
