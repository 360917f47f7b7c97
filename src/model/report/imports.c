/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/report/imports.h"
#include "base/grow.h"
#include "model/builder/problem.h"
#include "model/model.h"
#include "model/path.h"
#include "model/region.h"
#include "model/report/walk.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What runs in a call path. A path has the state of its caller, unless its region changes it: a function of the import
 * system begins LOADING, and below that the body of a module ends it. */
enum state { BODY, LOADING };

struct links {
	uint32_t before; /* the import before this one of the same importer; 0: none */
	uint32_t last;   /* the last one that it imports; 0: none */
};

struct finding {
	const struct sp_model *m;
	struct sp_import *imports; /* owned */
	struct links *links;       /* owned; for each import */
	size_t n, capacity, link_capacity;
	uint32_t *import;             /* owned; for each path */
	uint8_t *state;               /* owned; for each path: enum state */
	struct sp_path_split *splits; /* owned; NULL: times are not split */
};

/* Whether a function belongs to the import system. Its own functions have these files in every version of Python. */
static bool is_import_system(const struct sp_region *r)
{
	static const char *const files[] = {"<frozen importlib._bootstrap>", "<frozen importlib._bootstrap_external>",
	                                    "<frozen zipimport>"};

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (r->file.p && strcmp(r->file.p, files[i]) == 0)
			return true;
	return false;
}

/* A compiled module may run code without a file while it loads: that is no module. */
static bool is_module_body(const struct sp_region *r)
{
	return r->kind == SP_REGION_PYTHON && r->qualname.p && strcmp(r->qualname.p, "<module>") == 0 && r->file.p &&
	       (r->file.p[0] != '<' || strncmp(r->file.p, "<frozen ", strlen("<frozen ")) == 0);
}

/* The state of a path with this region, from that of its caller. */
static enum state state_of(enum state caller, const struct sp_region *r)
{
	return caller == BODY ? (is_import_system(r) ? LOADING : BODY) : is_module_body(r) ? BODY : LOADING;
}

/* The element of a module that `importer` imports, added if it is new; SP_NONE: no memory. */
static uint32_t import_of(struct finding *f, uint32_t importer, uint32_t region)
{
	for (uint32_t i = f->n ? f->links[importer].last : 0; i; i = f->links[i].before)
		if (f->imports[i].region == region)
			return i;
	if (!sp_grow(&f->imports, f->n, &f->capacity, sizeof *f->imports) ||
	    !sp_grow(&f->links, f->n, &f->link_capacity, sizeof *f->links))
		return SP_NONE;

	const uint32_t i = (uint32_t)f->n++;
	f->imports[i] = (struct sp_import){.region = region, .importer = importer};
	f->links[i] = (struct links){.before = i ? f->links[importer].last : 0};
	if (i)
		f->links[importer].last = i;
	return i;
}

static void add_time(struct sp_import_time *to, const struct sp_import_time *more, double sign)
{
	to->time += sign * more->time;
	to->split.running += sign * more->split.running;
	to->split.waiting += sign * more->split.waiting;
}

/* Assigns a path to an import, and its time if it enters or leaves the import system. Callers come first. */
static int add_path(struct finding *f, const struct sp_view *v, uint32_t path)
{
	const uint32_t caller = f->m->paths[path].parent;
	const struct sp_region *r = &f->m->regions[f->m->paths[path].region];
	const struct sp_value *value = &v->values[path];
	const struct sp_import_time time = {value->incl, f->splits ? f->splits[path].incl
	                                                           : (struct sp_split){.running = value->incl}};
	const enum state before = f->state[caller], state = state_of(before, r);
	uint32_t import = f->import[caller];

	if (before == BODY && state == LOADING) {
		add_time(&f->imports[import].loading, &time, 1);
		add_time(&f->imports[import].self, &time, -1);
	} else if (before == LOADING && state == BODY) {
		add_time(&f->imports[import].loading, &time, -1);
		if ((import = import_of(f, import, f->m->paths[path].region)) == SP_NONE)
			return -1;
		add_time(&f->imports[import].total, &time, 1);
		add_time(&f->imports[import].self, &time, 1);
		f->imports[import].visits += value->visits;
	}
	f->import[path] = import;
	f->state[path] = state;
	return 0;
}

static int find(struct finding *f, const struct sp_view *v, struct sp_path_split *splits)
{
	const struct sp_model *m = v->m;

	*f = (struct finding){.m = m,
	                      .splits = splits,
	                      .import = calloc(m->n_paths + 1, sizeof *f->import),
	                      .state = calloc(m->n_paths + 1, sizeof *f->state)};
	if (!f->import || !f->state || import_of(f, 0, 0) == SP_NONE)
		return -1;
	for (uint32_t i = 1; i < m->n_paths; i++) /* a caller has a smaller index than its callees */
		if (add_path(f, v, i))
			return -1;
	return 0;
}

/* Frees all but the imports. */
static void finding_free(struct finding *f)
{
	free(f->links);
	free(f->import);
	free(f->state);
	free(f->splits);
}

static void not_negative(struct sp_import_time *t)
{
	t->time = fmax(0, t->time);
	t->split = (struct sp_split){fmax(0, t->split.running), fmax(0, t->split.waiting)};
}

int sp_report_imports(const struct sp_view *v, struct sp_import **imports, size_t *n, struct sp_err *e)
{
	struct finding f;
	struct sp_path_split *splits;

	*imports = NULL;
	if (sp_view_split(v, &splits, e))
		return -1;
	const int rc = find(&f, v, splits);

	if (rc == 0) { /* the time of the program outside of imports was not added */
		add_time(&f.imports[0].total, &f.imports[0].self, -1);
		f.imports[0].self = (struct sp_import_time){.time = 0};
	}
	for (size_t i = 0; rc == 0 && i < f.n; i++) {
		struct sp_import *x = &f.imports[i];

		/* times of samples and of calls that are still open do not always add up */
		not_negative(&x->loading);
		not_negative(&x->self);
	}
	finding_free(&f);
	if (rc) {
		free(f.imports);
		f.imports = NULL;
		f.n = 0;
	}
	*imports = f.imports;
	*n = f.n;
	return rc ? sp_model_no_memory(e) : 0;
}

bool *sp_paths_imported(const struct sp_model *m)
{
	bool *within = calloc(m->n_paths + 1, sizeof *within);
	uint8_t *state = calloc(m->n_paths + 1, sizeof *state);
	uint8_t *below = calloc(m->n_regions + 1, 2 * sizeof *below); /* of each region: state_of() by the caller's */
	const bool ok = within && state && below;

	for (size_t i = 0; ok && i < 2 * m->n_regions; i++) /* a region may have thousands of paths */
		below[i] = (uint8_t)state_of(i % 2 ? LOADING : BODY, &m->regions[i / 2]);
	for (uint32_t i = 1; ok && i < m->n_paths; i++) { /* a caller has a smaller index than its callees */
		const uint32_t caller = m->paths[i].parent, region = m->paths[i].region;
		const bool ends = state[caller] == LOADING && sp_region_is_own(&m->regions[region]);

		state[i] = below[2 * (size_t)region + state[caller]];
		within[i] = state[i] == LOADING || (within[caller] && !ends);
	}
	free(state);
	free(below);
	if (!ok) {
		free(within);
		within = NULL;
	}
	return within;
}

int sp_view_without_imports(struct sp_view *v, struct sp_err *e)
{
	const size_t n = v->m->n_paths;
	bool *within = sp_paths_imported(v->m);
	double *kept = calloc(n + 1, sizeof *kept); /* for each path: the inclusive times that its callees keep, */
	double *removed = calloc(n + 1, sizeof *removed); /* and what they lose */
	const int rc = !within || !kept || !removed || sp_view_own_values(v) ? -1 : 0;

	for (size_t i = n; rc == 0 && i-- > 0;) { /* a caller has a smaller index than its callees */
		struct sp_value *value = &v->owned[i];
		const double before = value->incl;

		if (within[i]) { /* modules of the program may be below */
			*value = (struct sp_value){.incl = kept[i]};
			v->owned_each[i] = 0;
		} else {
			value->incl = before > removed[i] ? before - removed[i] : 0;
		}
		if (i) {
			kept[v->m->paths[i].parent] += value->incl;
			removed[v->m->paths[i].parent] += before - value->incl;
		}
	}
	free(within);
	free(kept);
	free(removed);
	return rc ? sp_model_no_memory(e) : 0;
}
