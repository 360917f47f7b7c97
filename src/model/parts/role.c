/* SPDX-License-Identifier: BSD-3-Clause */
/* Roles of processes and threads: which rule of roles.c applies to the functions that ran, the command line or the
 * name. */
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "model/builder/builder.h"
#include "model/builder/loading.h"
#include "model/builder/source.h"
#include "model/builder/steps.h"
#include "model/model.h"
#include "model/parts/roles.h"
#include "model/path.h"
#include "model/process.h"
#include "model/region.h"
#include "model/str.h"

static struct sp_str text(const char *s)
{
	return (struct sp_str){s, strlen(s)};
}

/* Whether a region is the function "module:qualname". A recording in Score-P's style has the class in the module's
 * name. Before Python 3.11 only the last part of the qualified name may be known. */
static bool is_function(const struct sp_region *r, const char *function)
{
	const size_t n = strlen(function);
	const char *colon = strchr(function, ':'), *dot = strrchr(colon, '.');
	size_t i;

	if (r->kind != SP_REGION_PYTHON)
		return false;
	if (dot && r->module.n == (size_t)(colon - function) && memcmp(r->module.p, function, r->module.n) == 0 &&
	    strcmp(r->qualname.p, dot + 1) == 0)
		return true;
	if (r->name.n != n)
		return false;
	for (i = 0; i < n && (r->name.p[i] == function[i] || (r->name.p[i] == '.' && function[i] == ':') ||
	                      (r->name.p[i] == ':' && function[i] == '.'));
	     i++)
		;
	return i == n;
}

/* Whether the rule's pattern holds; command: that of a process, or the name of a thread. */
static bool fits(const struct sp_role_rule *rule, const char *command)
{
	return !rule->pattern || (command && fnmatch(rule->pattern, command, 0) == 0);
}

/* Fills the table from regions to the first rule for them, plus 1; 0: no rule. */
static int index_rules(struct sp_builder *b, struct sp_role_index *x, const struct sp_role_rule *rules)
{
	const size_t n = b->m->n_regions;
	uint8_t *larger = n > x->capacity ? realloc(x->rule, n + n / 2) : x->rule;
	size_t i;

	if (n && !larger)
		return -1;
	if (n > x->capacity)
		x->capacity = n + n / 2;
	x->rule = larger;
	for (; x->n < n; x->n++) {
		const struct sp_region *r = &b->m->regions[x->n];

		x->rule[x->n] = 0;
		for (i = 0; rules[i].role && !x->rule[x->n]; i++)
			if (rules[i].function && is_function(r, rules[i].function))
				x->rule[x->n] = (uint8_t)(i + 1);
	}
	return 0;
}

static unsigned depth_of(const struct sp_model *m, uint32_t path)
{
	unsigned depth = 0;

	for (; path; path = m->paths[path].parent)
		depth++;
	return depth;
}

/* Finds the rule for a location of a process. command: as in fits(). entry: META entry, or NULL. Returns NULL if none
 * applies. */
static const struct sp_role_rule *find_rule(struct sp_builder *b, const struct sp_process *p,
                                            const struct sp_location *l, const struct sp_role_index *x,
                                            const struct sp_role_rule *rules, const char *command, const char *entry)
{
	const struct sp_role_rule *best = NULL, *rule;
	unsigned best_depth = 0, depth;

	for (size_t i = l->first_value; i < l->first_value + l->values; i++) {
		const struct sp_row *row = &b->priv->rows[i];
		const uint8_t first = x->rule[b->m->paths[row->path].region];
		/* a forked process has the calls of its parent, which were open at the fork, without a visit */
		const bool inherited = p->forked && p->counted && !row->v.visits && !row->v.resumed;

		if (!first || inherited)
			continue;
		for (rule = &rules[first - 1]; rule->role && !fits(rule, command); rule++)
			if (!rule[1].function || strcmp(rule[1].function, rule->function) != 0)
				break;
		if (!rule->role || !fits(rule, command))
			continue;
		depth = depth_of(b->m, row->path);
		if (!best || depth > best_depth || (depth == best_depth && rule < best)) {
			best = rule;
			best_depth = depth;
		}
	}
	for (rule = rules; !best && entry && rule->role; rule++)
		if (rule->function && strcmp(rule->function, entry) == 0 && fits(rule, command))
			best = rule;
	for (rule = rules; !best && rule->role; rule++)
		if (!rule->function && fits(rule, command))
			best = rule;
	return best;
}

/* Finds the row for a region; NULL: the region is no wrapper. */
static const struct sp_thread_wrapper *wrapper_of(const struct sp_region *r)
{
	const struct sp_thread_wrapper *w = sp_thread_wrappers;

	while (w->function && !is_function(r, w->function))
		w++;
	return w->function ? w : NULL;
}

/* Whether the last part of the region's name is this one. */
static bool is_called(const struct sp_region *r, const char *last)
{
	const char *dot = strrchr(r->qualname.p, '.');

	return strcmp(dot ? dot + 1 : r->qualname.p, last) == 0;
}

/* The outermost function of a thread, without the wrappers around it; of several, the one with the most time. */
static struct sp_str runs(const struct sp_builder *b, const struct sp_location *l)
{
	const struct sp_row *rows = l->values ? b->priv->rows + l->first_value : NULL;
	const struct sp_thread_wrapper *w = NULL;
	const struct sp_region *found;
	uint32_t below = 0, most;
	size_t i;

	do {
		for (i = 0, most = SP_NONE; i < l->values; i++) {
			const struct sp_path *path = &b->m->paths[rows[i].path];

			if (rows[i].path && path->parent == below &&
			    (!w || !w->callee || is_called(&b->m->regions[path->region], w->callee)) &&
			    (most == SP_NONE || rows[i].v.incl > rows[most].v.incl))
				most = (uint32_t)i;
		}
		if (most == SP_NONE)
			return text("");
		below = rows[most].path;
		found = &b->m->regions[b->m->paths[below].region];
		w = wrapper_of(found);
	} while (w);
	return found->name;
}

/* The location of the main thread; NULL: the process has no thread. */
static struct sp_location *main_thread(const struct sp_loading *l)
{
	uint32_t i;

	for (i = 0; i < l->process.locations; i++)
		if (l->locations[i].tid == (uint64_t)l->process.pid)
			return &l->locations[i];
	return l->process.locations ? l->locations : NULL;
}

static void thread_role(struct sp_builder *b, const struct sp_loading *l, struct sp_location *t)
{
	const struct sp_role_rule *rule =
	    find_rule(b, &l->process, t, &b->thread_roles, sp_thread_roles, t->name.p, NULL);
	char unnamed[40];

	t->runs = runs(b, t);
	if (!rule)
		return;
	t->role = text(rule->role);
	t->helper = rule->helper;
	snprintf(unnamed, sizeof(unnamed), "thread %" PRIu64, t->tid);
	if (strcmp(t->name.p, unnamed) == 0)
		t->name = t->role; /* the program gave it no name */
}

int sp_build_roles(struct sp_builder *b, struct sp_loading *l)
{
	struct sp_process *p = &l->process;
	struct sp_location *first = main_thread(l), *t;
	const struct sp_role_rule *rule = NULL;
	const char *entry = NULL;
	size_t i;

	if (index_rules(b, &b->process_roles, sp_process_roles) || index_rules(b, &b->thread_roles, sp_thread_roles))
		return -1;
	p->role = p->name = text("");
	for (i = 0; i < p->metas; i++) {
		if (strcmp(p->meta[i].key.p, "name") == 0)
			p->name = p->meta[i].value;
		if (strcmp(p->meta[i].key.p, "entry") == 0)
			entry = p->meta[i].value.p;
	}
	for (t = l->locations; t && t < l->locations + p->locations; t++) {
		t->role = t->runs = text("");
		if (t != first)
			thread_role(b, l, t);
		else if (t->tid == (uint64_t)p->pid)
			t->role = text("main thread");
	}
	if (first)
		rule =
		    find_rule(b, p, first, &b->process_roles, sp_process_roles, p->forked ? NULL : p->command.p, entry);
	if (!rule)
		return 0;
	p->role = text(rule->role);
	p->helper = rule->helper;
	for (t = l->locations; rule->helper && t < l->locations + p->locations; t++)
		t->helper = true;
	return 0;
}

const char *sp_process_label(const struct sp_process *p, char label[SP_PROCESS_LABEL])
{
	const size_t capacity = SP_PROCESS_LABEL - p->role.n - 2;
	/* dask names each of its workers "Dask Worker process (from Nanny)" */
	const bool repeats = strncasecmp(p->name.p, p->role.p, p->role.n) == 0;
	size_t n = p->role.n && !repeats ? p->name.n : 0;

	if (n > capacity)
		for (n = capacity; n > 0 && ((unsigned char)p->name.p[n] & 0xc0) == 0x80;)
			n--; /* not within a character of several bytes */
	snprintf(label, SP_PROCESS_LABEL, "%s%s%.*s", p->role.p, n ? " " : "", (int)n, p->name.p);
	return label;
}
