/* SPDX-License-Identifier: BSD-3-Clause */
/* One line for each call path: the names from the outermost in, separated by `;`, a space, exclusive microseconds (or
 * bytes, see sp_stacks_metric()). */
#include <errno.h>
#include <stdlib.h>

#include "base/arena.h"
#include "model/model.h"
#include "model/path.h"
#include "model/process.h"
#include "model/region.h"
#include "model/str.h"
#include "write/common/formats.h"
#include "write/common/out.h"
#include "write/common/stacks.h"

enum { MAX_VALUES = 6 };

struct folded {
	struct sp_out out;
	struct sp_arena arena;
	const struct sp_model *m;
	struct sp_str *names; /* names of the regions without line breaks and separators */
	double unit;          /* factor from the model's unit to that of a line */
	double carry;         /* the rounding error of a line is added to the next one, so that the sum is correct */
};

static void put_text(struct sp_out *out, struct sp_str s)
{
	sp_out_line(out, s, ";:");
}

/* Writes " [n=3, case=small]"; only the last few values if a parameter was set repeatedly in one call */
static void put_values(struct folded *f, uint32_t value)
{
	uint32_t set[MAX_VALUES];
	size_t n = 0;

	for (; value != SP_NONE && n < MAX_VALUES; value = f->m->parameter_values[value].before)
		set[n++] = value;
	sp_out_text(&f->out, value == SP_NONE ? " [" : " […, ");
	while (n-- > 0) {
		const struct sp_parameter_value *v = &f->m->parameter_values[set[n]];
		put_text(&f->out, f->m->parameters[v->parameter]);
		sp_out_byte(&f->out, '=');
		put_text(&f->out, v->text);
		sp_out_text(&f->out, n ? ", " : "]");
	}
}

static void write_stack(void *arg, const uint32_t *paths, size_t n, bool deeper, const double *excl)
{
	struct folded *f = arg;
	double value = *excl * f->unit + f->carry;
	uint64_t whole = value > 0 ? (uint64_t)value : 0;

	f->carry = value - (double)whole;
	if (!whole)
		return;
	for (size_t i = 0; i < n; i++) {
		const struct sp_path *p = &f->m->paths[paths[i]];
		struct sp_str s = f->names[p->region];
		if (i)
			sp_out_byte(&f->out, ';');
		sp_out_bytes(&f->out, s.p, s.n);
		if (p->parameter != SP_NONE)
			put_values(f, p->parameter);
	}
	if (deeper)
		sp_out_text(&f->out, ";" SP_STACKS_DEEPER);
	sp_out_byte(&f->out, ' ');
	sp_out_u64(&f->out, whole);
	sp_out_byte(&f->out, '\n');
}

static int name_regions(struct folded *f, const struct sp_model *m, struct sp_err *e)
{
	f->names = sp_arena_zalloc(&f->arena, m->n_regions, sizeof *f->names);
	for (size_t r = 0; f->names && r < m->n_regions; r++) {
		struct sp_str s = m->regions[r].name;
		char *p = sp_arena_copy(&f->arena, s.p, s.n);
		if (!p) {
			f->names = NULL;
			break;
		}
		for (size_t i = 0; i < s.n; i++)
			p[i] = (char)((unsigned char)p[i] < 0x20 || p[i] == 0x7f ? ' ' : p[i] == ';' ? ':' : p[i]);
		f->names[r] = (struct sp_str){p, s.n};
	}
	return f->names ? 0 : sp_fail(e, ENOMEM, "out of memory");
}

/* The value of each path. The caller owns the array; NULL: no memory. */
static double *find_values(struct folded *f, const struct sp_pick *k)
{
	const struct sp_model *m = f->m;
	const uint32_t metric = sp_stacks_metric(m, k);
	double *values = calloc(m->n_paths + 1, sizeof *values);

	f->unit = metric == SP_NONE ? 1e-3 : 1;
	for (size_t p = 0; values && metric == SP_NONE && p < m->n_paths; p++)
		values[p] = k->totals[p].excl;
	for (uint32_t l = k->first; values && metric != SP_NONE && l < k->end; l++)
		for (size_t i = 0; i < m->locations[l].values; i++) {
			const size_t row = m->locations[l].first_value + i;
			values[m->values[row].path] += sp_stacks_value(m, row, metric);
		}
	return values;
}

static int write_paths(struct folded *f, const struct sp_model *m, const double *values,
                       const struct sp_write_options *o, struct sp_err *e)
{
	struct sp_stacks s;
	int rc = 0;

	if (sp_stacks_open(&s, m, 1, e))
		return -1;
	for (uint32_t p = 1; p < m->n_paths && rc == 0; p++) {
		sp_stacks_path(&s, p, &values[p], write_stack, f);
		if (p % 65536 == 0)
			rc = sp_write_tick(o, p, m->n_paths, e);
	}
	sp_stacks_rest(&s, write_stack, f);
	sp_stacks_close(&s);
	return rc;
}

int sp_write_folded(const struct sp_model *m, const char *path, const struct sp_write_options *o, struct sp_err *e)
{
	struct folded f = {.m = m};
	struct sp_pick k;

	if (sp_pick_open(&k, m, o, e))
		return -1;
	double *values = find_values(&f, &k);
	int rc = values ? name_regions(&f, m, e) : sp_fail(e, ENOMEM, "out of memory");
	if (rc == 0)
		rc = sp_out_open(&f.out, path, e);
	if (rc == 0)
		rc = sp_out_close(&f.out, write_paths(&f, m, values, o, e), e);
	free(values);
	sp_arena_free(&f.arena);
	sp_pick_close(&k);
	return rc;
}
