/* SPDX-License-Identifier: BSD-3-Clause */
#include "view/select.h"

#include <math.h>

int sp_select(struct sp_selected *s, const struct sp_viewed *v, const struct sp_view_query *q, struct sp_err *e)
{
	uint32_t i;

	*s = (struct sp_selected){.m = v->m};
	if (!isnan(q->begin) || !isnan(q->end))
		return sp_fail(e, 0, "a range of time cannot be selected here");
	if (sp_view_open(&s->view, v->m, q->process, q->location, e))
		return -1;
	for (i = 1; i < v->m->n_paths; i++) {
		if (!sp_selected_has(s, i))
			continue;
		s->paths++;
		s->resumed |= s->view.values[i].resumed > 0;
		s->labels |= v->m->paths[i].parameter != SP_NONE;
	}
	return 0;
}

void sp_selected_close(struct sp_selected *s)
{
	sp_view_close(&s->view);
}
