/* SPDX-License-Identifier: BSD-3-Clause */
/* The numbers of a selection: everything, a process, a location, a range of time. */
#ifndef SP_VIEW_SELECT_H
#define SP_VIEW_SELECT_H

#include "model/metric.h"
#include "model/model.h"
#include "model/path.h"
#include "model/report/report.h"
#include "view/samples.h"
#include "view/view.h"

struct sp_selected {
	const struct sp_model *m;      /* has the regions and paths of the values; its rows must not be used */
	const struct sp_model *own;    /* the experiment without the base */
	struct sp_view view;           /* owned; view of `own`; unused within a range of time */
	const struct sp_value *values; /* for each path of m */
	const double *each;            /* the same, as sp_model.each */
	struct sp_value *base;         /* owned; the base's values; NULL: no values to compare with */
	struct sp_value *owned_values; /* owned; NULL: values are those of the view */
	double *owned_each;            /* owned; NULL: each is that of the view */
	struct sp_off_cpu
	    *off; /* owned; for each path of own, of its exclusive time; NULL: not known for the selection */
	double preempted, base_preempted; /* ns that were left out of the times, if they are compared */
	bool compared;                    /* there is a base, even without values */
	bool clipped;                     /* limited to a range of time */
	/* owned; for each path of own, whether a metric was counted there; NULL: no metric was counted */
	bool *counted;
	bool resumed, labels; /* some paths have resumptions; some have values of parameters */
};

static inline bool sp_selected_ran(const struct sp_value *v)
{
	return v->visits + v->resumed > 0 || v->incl > 0;
}

/* Whether a path has numbers. A path without calls may still have counts: of memory, or of events that no sample
 * found. */
static inline bool sp_selected_has(const struct sp_selected *s, uint32_t path)
{
	return sp_selected_ran(&s->values[path]) || (s->base && sp_selected_ran(&s->base[path])) ||
	       (s->counted && path < s->own->n_paths && s->counted[path]);
}

/* Computes the numbers of the selection in q. Returns 0, or -1 with e set; call sp_selected_close() in both cases. */
int sp_select(struct sp_selected *s, const struct sp_viewed *v, const struct sp_view_query *q, struct sp_err *e);
void sp_selected_close(struct sp_selected *s);
/* Writes meta.total, and the base's. */
void sp_selected_meta(const struct sp_selected *s, struct sp_columns *out);

/* Writes meta.labels: texts that follow the names of paths with parameter values, such as "n=3, case=small". Replaces n
 * parameter values (or SP_NONE) by indices into that list. Returns 0, or -1 with e set. */
int sp_view_labels(const struct sp_selected *s, uint32_t *values, size_t n, struct sp_columns *out, struct sp_err *e);
/* The counts of the metrics in each path of s->own, sp_model.n_metrics for each path, as from sp_metric_paths(); within
 * a range of time, only the metrics that are known there. The caller frees *sums with free(), also on failure. */
struct sp_counted {
	double incl, excl;
};
int sp_selected_metrics(const struct sp_selected *s, const struct sp_viewed *v, const struct sp_view_query *q,
                        struct sp_counted **sums, struct sp_err *e);
/* Whether the metric is known for the selection. */
static inline bool sp_selected_counts(const struct sp_selected *s, const struct sp_metric *x)
{
	return !s->clipped || !x->own || sp_view_samples_metric_of(x) != SP_VIEW_SAMPLES_NONE ||
	       (x->kind == SP_METRIC_OFF_CPU && sp_off_cpu_in_trace(s->own));
}
/* Writes meta.unranged: the names of the metrics that are not known for the selection. */
void sp_selected_unranged(const struct sp_selected *s, struct sp_columns *out);
/* Adds a column "metric:NAME:which" of n numbers; NULL: no memory. */
double *sp_view_metric(struct sp_columns *out, const struct sp_metric *x, const char *which, size_t n);

#endif
