/* SPDX-License-Identifier: BSD-3-Clause */
/* The numbers of what is selected: of everything, a process, a location, a range of time. */
#ifndef SP_VIEW_SELECT_H
#define SP_VIEW_SELECT_H

#include "model/report.h"
#include "view/view.h"

struct sp_selected {
	const struct sp_model *m; /* whose paths and regions the values are of */
	struct sp_view view;      /* owned; a value for each path */
	size_t paths;             /* that were called or have time, without the root */
	bool resumed, labels;     /* some were resumed; some have values of parameters */
};

static inline bool sp_selected_has(const struct sp_selected *s, uint32_t path)
{
	const struct sp_value *v = &s->view.values[path];

	return v->visits + v->resumed > 0 || v->incl > 0;
}

/* 0, or -1 with e set; sp_selected_close() either way. */
int sp_select(struct sp_selected *s, const struct sp_viewed *v, const struct sp_view_query *q, struct sp_err *e);
void sp_selected_close(struct sp_selected *s);

/* What stands behind the names of paths whose calls have values of parameters: "n=3, case=small". Makes of n values of
 * parameters (or none) indices in the list meta.labels, which it writes. */
int sp_view_labels(const struct sp_selected *s, uint32_t *values, size_t n, struct sp_columns *out, struct sp_err *e);

#endif
