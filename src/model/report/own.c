/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/report/own.h"
#include "base/intern.h"
#include "model/builder/problem.h"
#include "model/model.h"
#include "model/process.h"
#include "model/region.h"

#include <stdlib.h>
#include <string.h>

struct finding {
	const struct sp_view *v;
	const struct sp_model *m;
	uint32_t *own;   /* owned; for each path: region of the innermost own function; 0: none */
	bool *main;      /* owned; for each path: it contains the body of the module __main__ */
	double *outside; /* owned; for each path: ns of main threads outside of that body and of own functions */
	struct sp_own_row *of_region; /* owned; for each region */
};

static bool is_main_body(const struct sp_region *r)
{
	return r->kind == SP_REGION_PYTHON && strcmp(r->module.p, "__main__") == 0 &&
	       strcmp(r->qualname.p, "<module>") == 0;
}

static int allocate(struct finding *f)
{
	f->own = calloc(f->m->n_paths, sizeof *f->own);
	f->main = calloc(f->m->n_paths, sizeof *f->main);
	f->outside = calloc(f->m->n_paths, sizeof *f->outside);
	f->of_region = calloc(f->m->n_regions, sizeof *f->of_region);
	return f->own && f->main && f->outside && f->of_region ? 0 : -1;
}

static void mark_paths(struct finding *f)
{
	for (uint32_t i = 1; i < f->m->n_paths; i++) { /* a caller has a smaller index than its callees */
		const struct sp_path *p = &f->m->paths[i];
		const struct sp_region *r = &f->m->regions[p->region];

		f->main[i] = f->main[p->parent] || is_main_body(r);
		f->own[i] = r->owner == SP_OWNER_OWN ? p->region : f->own[p->parent];
	}
}

/* Adds what a main thread ran outside of its program. */
static void add_outside(struct finding *f, const struct sp_location *l)
{
	const struct sp_row *rows = f->m->values + l->first_value;
	const size_t width = f->m->n_metrics;
	const uint64_t *metrics = sp_metrics_at(f->m->row_metrics, l->first_value, width);
	bool any = false;

	for (size_t i = 0; i < l->values && !any; i++)
		any = f->main[rows[i].path];
	for (size_t i = 0; i < l->values && any; i++)
		if (!f->main[rows[i].path] && !f->own[rows[i].path])
			f->outside[rows[i].path] +=
			    sp_running_of(&f->v->off, sp_metrics_at(metrics, i, width), rows[i].v.excl);
}

static void find_outside(struct finding *f, uint32_t process, uint32_t location)
{
	for (size_t i = 0; i < f->m->n_locations; i++) {
		const struct sp_location *l = &f->m->locations[i];

		if ((process == SP_NONE || l->process == process) && (location == SP_NONE || location == i) &&
		    l->tid == (uint64_t)f->m->processes[l->process].pid) {
			add_outside(f, l);
			sp_model_rows_done(f->m, l);
		}
	}
}

static double running(const struct sp_view *v, uint32_t path)
{
	return sp_running_of(&v->off, sp_metrics_at(v->metrics, path, v->m->n_metrics), v->values[path].excl);
}

static void add_paths(struct finding *f, double *start_end)
{
	for (uint32_t i = 1; i < f->m->n_paths; i++) {
		const struct sp_value *value = &f->v->values[i];
		const struct sp_region *r = &f->m->regions[f->m->paths[i].region];
		struct sp_own_row *row = &f->of_region[f->own[i]];
		/* a view without imports has no time in paths that imported */
		const double outside = value->excl != 0 ? f->outside[i] : 0;

		row->time[r->owner] += running(f->v, i) - outside;
		row->waiting += sp_view_off_cpu(f->v, i).waiting;
		*start_end += outside;
		if (r->owner == SP_OWNER_OWN) {
			row->visits += value->visits;
			row->resumed += value->resumed;
			f->of_region[f->own[f->m->paths[i].parent]].calls_own = true;
		}
	}
}

static double row_total(const struct sp_own_row *row)
{
	double sum = 0;

	for (int i = 0; i < SP_OWNERS; i++)
		sum += row->time[i];
	return sum;
}

static int compare_rows(const void *a, const void *b)
{
	const struct sp_own_row *x = a, *y = b;
	const double tx = row_total(x), ty = row_total(y);

	return tx != ty ? (tx < ty) - (tx > ty) : (x->region > y->region) - (x->region < y->region);
}

static int make_rows(const struct finding *f, struct sp_own_report *out)
{
	out->rows = malloc(f->m->n_regions * sizeof *out->rows);
	if (!out->rows)
		return -1;
	for (uint32_t i = 0; i < f->m->n_regions; i++) {
		struct sp_own_row *row = &f->of_region[i];

		row->region = i;
		if (i == 0 || row->visits || row->resumed || row_total(row) != 0 || row->waiting > 0)
			out->rows[out->n++] = *row;
	}
	qsort(out->rows + 1, out->n - 1, sizeof *out->rows, compare_rows);
	return 0;
}

static int compare_packages(const void *a, const void *b)
{
	const struct sp_own_package *x = a, *y = b;

	return x->time != y->time ? (x->time < y->time) - (x->time > y->time) : strcmp(x->name.p, y->name.p);
}

/* Sums the time of libraries by package. The names point into the model. */
static int make_packages(const struct finding *f, struct sp_own_report *out)
{
	struct sp_arena arena = {0};
	struct sp_intern names = {.arena = &arena};
	int rc = (out->packages = calloc(f->m->n_regions, sizeof *out->packages)) ? 0 : -1;

	for (uint32_t i = 1; i < f->m->n_paths && rc == 0; i++) {
		const struct sp_region *r = &f->m->regions[f->m->paths[i].region];
		const char *dot = r->module.n ? memchr(r->module.p, '.', r->module.n) : NULL;
		const size_t n = dot ? (size_t)(dot - r->module.p) : r->module.n;
		const double outside = f->v->values[i].excl != 0 ? f->outside[i] : 0;

		if (r->owner != SP_OWNER_LIBRARIES || n == 0 || (r->file.n && r->file.p[0] == '<'))
			continue; /* a module of generated code is no package */
		const uint32_t id = sp_intern(&names, r->module.p, n);

		if (id == SP_INTERN_FAILED) {
			rc = -1;
			break;
		}
		out->packages[id].name = (struct sp_str){r->module.p, n};
		out->packages[id].time += running(f->v, i) - outside;
		out->n_packages = names.n;
	}
	if (rc == 0)
		qsort(out->packages, out->n_packages, sizeof *out->packages, compare_packages);
	sp_intern_free(&names);
	sp_arena_free(&arena);
	return rc;
}

int sp_report_own(const struct sp_view *v, uint32_t process, uint32_t location, struct sp_own_report *out,
                  struct sp_err *e)
{
	struct finding f = {.v = v, .m = v->m};
	int rc = sp_model_rows(v->m, e);

	*out = (struct sp_own_report){.n = 0};
	if (rc)
		return -1;
	rc = allocate(&f);
	if (rc == 0) {
		mark_paths(&f);
		find_outside(&f, process, location);
		add_paths(&f, &out->start_end);
		rc = make_rows(&f, out) || make_packages(&f, out) ? -1 : 0;
	}
	free(f.own);
	free(f.main);
	free(f.outside);
	free(f.of_region);
	if (rc)
		sp_own_free(out);
	return rc ? sp_model_no_memory(e) : 0;
}

void sp_own_free(struct sp_own_report *r)
{
	free(r->rows);
	free(r->packages);
	*r = (struct sp_own_report){.n = 0};
}
