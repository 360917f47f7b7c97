/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/report/lines.h"
#include "model/line.h"
#include "model/model.h"
#include "model/process.h"
#include "model/region.h"
#include "model/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int by_source(const void *a, const void *b, void *arg)
{
	const struct sp_model *m = arg;
	const struct sp_line *x = a, *y = b;
	const struct sp_region *p = &m->regions[x->region], *q = &m->regions[y->region];
	int by;

	if (x->region != y->region) {
		by = strcmp(p->file.p, q->file.p);
		if (by == 0 && p->line != q->line)
			by = p->line < q->line ? -1 : 1;
		if (by == 0)
			by = strcmp(p->name.p, q->name.p);
		return by ? by : x->region < y->region ? -1 : 1;
	}
	return x->line < y->line ? -1 : x->line > y->line;
}

int sp_lines_sum(struct sp_line **out, size_t *n, const struct sp_model *m, uint32_t process, uint32_t location,
                 struct sp_err *e)
{
	struct sp_line *v = malloc((m->n_lines + 1) * sizeof(*v));
	size_t i, some = 0, k = 0;

	*out = v;
	*n = 0;
	if (!v)
		return sp_fail(e, ENOMEM, "not enough memory");
	for (i = 0; i < m->n_lines; i++) {
		const struct sp_line *x = &m->lines[i];

		if ((process == SP_NONE || m->locations[x->location].process == process) &&
		    (location == SP_NONE || x->location == location))
			v[some++] = *x;
	}
	qsort_r(v, some, sizeof(*v), by_source, (void *)m);
	for (i = 0; i < some; i++) {
		if (k && v[k - 1].region == v[i].region && v[k - 1].line == v[i].line) {
			v[k - 1].hits += v[i].hits;
			v[k - 1].own += v[i].own;
			v[k - 1].callees += v[i].callees;
		} else {
			v[k++] = v[i];
		}
		v[k - 1].location = SP_NONE;
	}
	*n = k;
	return 0;
}
