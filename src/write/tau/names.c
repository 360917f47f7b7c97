/* SPDX-License-Identifier: BSD-3-Clause */
/* TAU's names of functions, call paths and processes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/intern.h"
#include "model/comm.h"
#include "model/metric.h"
#include "model/model.h"
#include "model/path.h"
#include "model/region.h"
#include "model/str.h"
#include "write/tau/tau.h"

/* Limit of all names of call paths together; the longest names are shortened first. */
#define MAX_BYTES (UINT64_C(1) << 30)
/* Maximum length of one function in the name of a call path. */
enum { MAX_FUNCTION = SP_TAU_NAME / 4, LEAST_PATH = 1024 };

const char *const sp_tau_groups[SP_TAU_GROUPS] = {"TAU_DEFAULT", "TAU_PYTHON", "TAU_USER",    "TAU_IO",
                                                  "MPI",         "TAU_PARAM",  "TAU_CALLPATH"};

struct builder {
	struct sp_tau *t;
	struct sp_intern names; /* of functions */
	struct sp_intern pairs; /* (caller's call path, last function) */
	uint32_t *file_of;      /* for each function: the region that gave it its name */
	size_t capacity;
	uint64_t *bytes; /* for each path: length of its name with all functions */
	uint64_t limit;  /* of bytes; longer names are shortened */
};

size_t sp_tau_bytes(struct sp_str s)
{
	size_t n = s.n;

	for (size_t i = 0; i < s.n; i++)
		n += (unsigned char)s.p[i] >= 0xf0 ? 2 : 0; /* two surrogates of three bytes each */
	return n;
}

/* Copies s as one line of UTF-8 without quotes; "=>", which separates functions of call paths, becomes "->". Returns
 * the end. */
static char *clean(char *to, struct sp_str s, size_t max)
{
	const unsigned char *p = (const unsigned char *)s.p;
	size_t len, bytes = 0;

	for (size_t i = 0; i < s.n; i += len) {
		len = sp_utf8_sequence(p + i, s.n - i);
		bytes += len == 4 ? 6 : len ? len : 1;
		if (bytes > max) {
			memcpy(to, "…", 3);
			return to + 3;
		}
		if (len > 1) {
			memcpy(to, p + i, len);
			to += len;
			continue;
		}
		*to++ = (char)(len == 0                                        ? '?'
		               : p[i] < 0x20 || p[i] == 0x7f                   ? ' '
		               : p[i] == '"'                                   ? '\''
		               : p[i] == '=' && i + 1 < s.n && p[i + 1] == '>' ? '-'
		                                                               : p[i]);
		len = 1;
	}
	return to;
}

struct sp_str sp_tau_text(struct sp_arena *arena, struct sp_str s)
{
	char *p = sp_arena_alloc(arena, s.n + 4);

	if (!p)
		return (struct sp_str){NULL, 0};
	char *end = clean(p, s, SP_TAU_NAME - 3);
	*end = '\0';
	return (struct sp_str){p, (size_t)(end - p)};
}

/* ---- functions ---- */

static uint32_t add_function(struct builder *b, struct sp_str name, uint8_t group, bool parameter, uint32_t region)
{
	struct sp_tau *t = b->t;
	uint32_t id = sp_intern(&b->names, name.p, name.n);

	if (id == SP_INTERN_FAILED || id < t->n_functions)
		return id;
	if (id == b->capacity) {
		size_t capacity = b->capacity ? 2 * b->capacity : 256;
		struct sp_tau_function *functions = realloc(t->functions, capacity * sizeof *functions);
		if (!functions)
			return SP_NONE;
		t->functions = functions;
		uint32_t *file_of = realloc(b->file_of, capacity * sizeof *file_of);
		if (!file_of)
			return SP_NONE;
		b->file_of = file_of;
		b->capacity = capacity;
	}
	struct sp_str kept = {b->names.entries[id].p, b->names.entries[id].n};
	t->functions[id] = (struct sp_tau_function){kept, (uint32_t)sp_tau_bytes(kept), group, parameter};
	b->file_of[id] = region;
	t->n_functions++;
	return id;
}

static uint8_t group_of(const struct sp_region *r)
{
	switch (r->kind) {
	case SP_REGION_PYTHON:
	case SP_REGION_C:
		return SP_TAU_PYTHON;
	case SP_REGION_USER:
		return SP_TAU_USER;
	case SP_REGION_IO:
		return SP_TAU_IO;
	case SP_REGION_MPI:
		return SP_TAU_MPI;
	default:
		return SP_TAU_DEFAULT;
	}
}

static struct sp_str last_part(struct sp_str file)
{
	for (size_t i = file.n; i > 0; i--)
		if (file.p[i - 1] == '/')
			return (struct sp_str){file.p + i, file.n - i};
	return file;
}

static const char *const ours[] = {".TAU application", "[deeper]"};

static bool is_ours(struct sp_str name)
{
	for (int i = 0; i < 2; i++)
		if (name.n == strlen(ours[i]) && memcmp(name.p, ours[i], name.n) == 0)
			return true;
	return false;
}

/* Makes "solver:step [{solver.py}{12}]" or "MPI_Send()". The file has no directory, as in TAU's Python names; whole:
 * with the directory. */
static struct sp_str name_region(struct builder *b, const struct sp_region *r, bool whole)
{
	char *p = sp_arena_alloc(&b->t->arena, MAX_FUNCTION + 64);

	if (!p)
		return (struct sp_str){NULL, 0};
	const size_t half = MAX_FUNCTION / 2;
	char *end = clean(p, r->kind == SP_REGION_ROOT ? sp_text("<not defined>") : r->name, half);
	const struct sp_str name = {p, (size_t)(end - p)};
	if (r->kind == SP_REGION_MPI || r->kind == SP_REGION_IO || is_ours(name))
		end = stpcpy(end, "()");
	else if (r->file.n && r->line) {
		end = stpcpy(end, " [{");
		end = clean(end, whole ? r->file : last_part(r->file), half - 64);
		end += sprintf(end, "}{%u}]", r->line);
	}
	return (struct sp_str){p, (size_t)(end - p)};
}

static bool same_file(const struct sp_region *a, const struct sp_region *b)
{
	return a->file.n == b->file.n && memcmp(a->file.p, b->file.p, a->file.n) == 0;
}

/* The function of a region. Regions that would have equal names because their files have equal names get names with
 * directories. */
static uint32_t function_of(struct builder *b, uint32_t region)
{
	const struct sp_region *r = &b->t->m->regions[region];
	struct sp_str name = name_region(b, r, false);
	uint32_t id = name.p ? add_function(b, name, group_of(r), false, region) : SP_NONE;

	if (id == SP_NONE || same_file(r, &b->t->m->regions[b->file_of[id]]))
		return id;
	name = name_region(b, r, true);
	return name.p ? add_function(b, name, group_of(r), false, region) : SP_NONE;
}

/* Makes "solver:step [{solver.py}{12}] [ <n> = <5> ]"; the parameter that was set first comes first. */
static uint32_t with_parameters(struct builder *b, uint32_t function, uint32_t value)
{
	const struct sp_model *m = b->t->m;
	const struct sp_parameter_value *v = &m->parameter_values[value];
	uint32_t before = v->before == SP_NONE ? function : with_parameters(b, function, v->before);

	if (before == SP_NONE)
		return SP_NONE;
	struct sp_str name = b->t->functions[before].name, key = m->parameters[v->parameter];
	char *p = malloc(name.n + key.n + v->text.n + 32), *end;
	if (!p)
		return SP_NONE;
	memcpy(p, name.p, name.n);
	end = stpcpy(p + name.n, " [ <");
	end = stpcpy(clean(end, key, MAX_FUNCTION / 2), "> = <");
	end = stpcpy(clean(end, v->text, MAX_FUNCTION / 2), "> ]");
	uint32_t id = before; /* too long with this one */
	struct sp_str whole = {p, (size_t)(end - p)};
	if (sp_tau_bytes(whole) <= MAX_FUNCTION)
		id = add_function(b, whole, b->t->functions[function].group, true, b->file_of[function]);
	free(p);
	return id;
}

static int name_functions(struct builder *b)
{
	struct sp_tau *t = b->t;
	uint32_t *of_region = calloc(t->m->n_regions + 1, sizeof *of_region), id = of_region ? 0 : SP_NONE;

	for (int i = 0; i < 2 && id != SP_NONE; i++)
		id = add_function(b, sp_text(ours[i]), SP_TAU_DEFAULT, false, 0);
	for (uint32_t p = 1; p < t->m->n_paths && id != SP_NONE; p++) {
		const struct sp_path *path = &t->m->paths[p];
		if (!of_region[path->region])
			of_region[path->region] = function_of(b, path->region);
		id = t->function[p] = of_region[path->region];
		if (id != SP_NONE && path->parameter != SP_NONE)
			id = with_parameters(b, id, path->parameter);
		t->labelled[p] = id;
	}
	free(of_region);
	return id != SP_NONE ? 0 : -1;
}

/* ---- call paths ---- */

/* Finds the length limit of a name, so that a deep recursion does not fill the disk. */
static void find_limit(struct builder *b)
{
	const struct sp_tau *t = b->t;
	uint64_t all = 0;

	b->bytes[0] = t->functions[0].bytes;
	for (uint32_t p = 1; p < t->m->n_paths; p++)
		b->bytes[p] =
		    b->bytes[t->m->paths[p].parent] + strlen(SP_TAU_ARROW) + t->functions[t->labelled[p]].bytes;
	b->limit = 2 * (SP_TAU_NAME - strlen(SP_TAU_ARROW "[deeper]"));
	do {
		b->limit /= 2;
		all = 0;
		for (uint32_t p = 1; p < t->m->n_paths; p++)
			all += b->bytes[p] <= b->limit ? b->bytes[p] : 0;
	} while (all > MAX_BYTES && b->limit > LEAST_PATH);
}

static uint32_t callpath_of(struct builder *b, uint32_t path)
{
	struct sp_tau *t = b->t;
	uint32_t above = t->callpath[t->m->paths[path].parent];

	if (t->callpaths[above].function == SP_TAU_DEEPER)
		return above;
	struct sp_tau_callpath c = {above, b->bytes[path] <= b->limit ? t->labelled[path] : SP_TAU_DEEPER};
	uint32_t id = sp_intern(&b->pairs, (const char *)&c, sizeof c);
	if (id == SP_INTERN_FAILED)
		return SP_NONE;
	if (++id == t->n_callpaths)
		t->callpaths[t->n_callpaths++] = c;
	return id;
}

static int make_callpaths(struct builder *b)
{
	struct sp_tau *t = b->t;

	find_limit(b);
	t->n_callpaths = 1; /* the program's entry is already zero */
	for (uint32_t p = 1; p < t->m->n_paths; p++) {
		t->callpath[p] = callpath_of(b, p);
		if (t->callpath[p] == SP_NONE)
			return -1;
	}
	return 0;
}

/* Marks the paths without a caller of the same function, so that the time of a recursion is counted once. */
static int find_outermost(struct sp_tau *t)
{
	const struct sp_path *paths = t->m->paths;
	uint32_t *open = calloc(2 * (size_t)t->n_functions, sizeof *open), *labelled = open + t->n_functions;
	uint32_t p = t->m->n_paths ? paths[0].first_child : SP_NONE;

	if (!open)
		return -1;
	while (p != SP_NONE) {
		t->outermost[p] = (uint8_t)((open[t->function[p]]++ ? 0 : SP_TAU_FUNCTION) |
		                            (labelled[t->labelled[p]]++ ? 0 : SP_TAU_LABELLED));
		if (paths[p].first_child != SP_NONE) {
			p = paths[p].first_child;
			continue;
		}
		while (p) {
			open[t->function[p]]--;
			labelled[t->labelled[p]]--;
			if (paths[p].next_sibling != SP_NONE)
				break;
			p = paths[p].parent;
		}
		p = p ? paths[p].next_sibling : SP_NONE;
	}
	free(open);
	return 0;
}

/* ---- nodes ---- */

/* Numbers the nodes: ranks come first, one MPI_COMM_WORLD after the other. */
static void number_nodes(struct sp_tau *t)
{
	const struct sp_model *m = t->m;
	uint32_t first = 0;

	memset(t->node, 0xff, m->n_processes * sizeof *t->node);
	for (size_t w = 0; w < m->n_worlds; w++) {
		const struct sp_group *g = &m->worlds[w].ranks;
		for (uint32_t rank = 0; rank < g->n; rank++)
			if (g->processes[rank] != SP_NONE)
				t->node[g->processes[rank]] = first + rank;
		first += g->n;
	}
	for (uint32_t p = 0; p < m->n_processes; p++)
		if (t->node[p] == SP_NONE)
			t->node[p] = first++;
	t->n_nodes = first;
}

static void find_columns(struct sp_tau *t)
{
	const struct sp_model *m = t->m;

	for (uint32_t i = 0; m->row_metrics && i < m->n_metrics; i++)
		for (size_t p = 0; p < m->n_paths; p++)
			if (m->total_metrics[p * m->n_metrics + i]) {
				t->metrics[t->n_columns++ - 1] = i;
				break;
			}
}

/* ---- interface ---- */

static int allocate(struct builder *b)
{
	struct sp_tau *t = b->t;
	const size_t n = t->m->n_paths + 1;

	t->function = sp_arena_zalloc(&t->arena, n, sizeof *t->function);
	t->labelled = sp_arena_zalloc(&t->arena, n, sizeof *t->labelled);
	t->callpath = sp_arena_zalloc(&t->arena, n, sizeof *t->callpath);
	t->callpaths = sp_arena_zalloc(&t->arena, n, sizeof *t->callpaths);
	t->outermost = sp_arena_zalloc(&t->arena, n, sizeof *t->outermost);
	t->node = sp_arena_zalloc(&t->arena, t->m->n_processes + 1, sizeof *t->node);
	t->metrics = sp_arena_zalloc(&t->arena, t->m->n_metrics, sizeof *t->metrics);
	t->name = sp_arena_alloc(&t->arena, 2 * SP_TAU_NAME);
	b->bytes = calloc(n, sizeof *b->bytes);
	return t->function && t->labelled && t->callpath && t->callpaths && t->outermost && t->node && t->metrics &&
	               t->name && b->bytes
	           ? 0
	           : -1;
}

int sp_tau_open(struct sp_tau *t, const struct sp_model *m, const struct sp_write_options *o, struct sp_err *e)
{
	struct builder b = {.t = t, .names.arena = &t->arena, .pairs.arena = &t->arena};

	*t = (struct sp_tau){.m = m, .n_columns = 1};
	if (sp_pick_open(&t->k, m, o, e))
		return -1;
	int rc = allocate(&b) || name_functions(&b) || make_callpaths(&b) || find_outermost(t);
	if (!rc) {
		number_nodes(t);
		find_columns(t);
	}
	sp_intern_free(&b.names);
	sp_intern_free(&b.pairs);
	free(b.file_of);
	free(b.bytes);
	return rc ? sp_fail(e, ENOMEM, "out of memory") : 0;
}

void sp_tau_close(struct sp_tau *t)
{
	free(t->functions);
	sp_pick_close(&t->k);
	sp_arena_free(&t->arena);
}

uint32_t sp_tau_slot_function(const struct sp_tau *t, uint32_t slot)
{
	return slot < t->n_functions ? slot : t->callpaths[slot - t->n_functions].function;
}

struct sp_str sp_tau_slot_name(struct sp_tau *t, uint32_t slot)
{
	char *end = t->name + 2 * SP_TAU_NAME, *at = end;

	if (slot < t->n_functions)
		return t->functions[slot].name;
	for (uint32_t c = slot - t->n_functions;; c = t->callpaths[c].above) {
		const struct sp_str s = t->functions[t->callpaths[c].function].name;
		at -= s.n;
		memcpy(at, s.p, s.n);
		if (c == 0)
			break;
		at -= strlen(SP_TAU_ARROW);
		memcpy(at, SP_TAU_ARROW, strlen(SP_TAU_ARROW));
	}
	return (struct sp_str){at, (size_t)(end - at)};
}

struct sp_str sp_tau_column(const struct sp_tau *t, uint32_t column)
{
	return column ? t->m->metrics[t->metrics[column - 1]].name : sp_text("TIME");
}
