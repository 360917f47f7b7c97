/* SPDX-License-Identifier: BSD-3-Clause */
/* The profile format of pprof: https://github.com/google/pprof/blob/main/proto/profile.proto. A sample is a call path
 * in one thread with its exclusive counts: calls, time, and each metric. Tables may have any order, so strings are
 * written last, when all are known. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/intern.h"
#include "model/metric.h"
#include "model/model.h"
#include "model/path.h"
#include "model/process.h"
#include "model/region.h"
#include "model/str.h"
#include "write/common/formats.h"
#include "write/common/packed.h"
#include "write/common/protobuf.h"
#include "write/common/stacks.h"

/* Numbers of the fields that are written, by message. */
enum profile {
	PROFILE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME = 9,
	PROFILE_DURATION = 10,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT = 14
};
enum type { TYPE_NAME = 1, TYPE_UNIT = 2 };
enum sample { SAMPLE_LOCATIONS = 1, SAMPLE_VALUES = 2, SAMPLE_LABEL = 3 };
enum label { LABEL_KEY = 1, LABEL_TEXT = 2, LABEL_NUMBER = 3 };
enum mapping { MAPPING_ID = 1, MAPPING_FILE = 5, MAPPING_HAS = 7, MAPPING_HAS_LAST = 9 /* functions, files, lines */ };
enum location { LOCATION_ID = 1, LOCATION_MAPPING = 2, LOCATION_ADDRESS = 3, LOCATION_LINE = 4 };
enum line { LINE_FUNCTION = 1, LINE_NUMBER = 2 };
enum function { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_FILE = 4, FUNCTION_LINE = 5 };

enum { CALLS, TIME, METRICS /* index of the first metric's column */ };
enum { MAX_LABELS = 8 /* maximum parameters of a sample */, WRITTEN_AT = 1 << 18 /* bytes */ };

struct pprof {
	struct sp_out out;
	struct sp_proto k; /* the part of the message that is not in out yet; its buffer is owned */
	const struct sp_model *m;
	const struct sp_write_options *o;
	struct sp_arena arena;
	struct sp_intern strings, objects; /* objects: of mappings, whose ids begin at 1 */
	bool no_memory;
	struct sp_stacks stacks;
	size_t width;
	double *factor;       /* in the arena, as the arrays below; for each metric */
	double *values;       /* of one row */
	uint64_t *own;        /* rows of a location with their metrics, without callees */
	uint32_t *row;        /* for each path in the location: its index among the rows + 1; 0: no row */
	bool *used;           /* regions in samples; the last one is SP_STACKS_DEEPER */
	uint32_t thread;      /* the current location */
	uint64_t done, total; /* numbers of rows */
};

static uint64_t id_of(struct pprof *x, struct sp_intern *t, struct sp_str s)
{
	const uint32_t id = sp_intern(t, s.p, s.n);

	x->no_memory |= id == SP_INTERN_FAILED;
	return id;
}

static void put_string(struct pprof *x, unsigned field, struct sp_str s)
{
	sp_proto_uint(&x->k, field, id_of(x, &x->strings, s));
}

/* ---- units ---- */

/* The unit of a metric. pprof knows these names and shows numbers in larger units. */
static struct sp_str unit_of(struct pprof *x, const struct sp_metric *metric, double *factor)
{
	const double power = pow(10, metric->exponent);
	char text[80];

	*factor = power;
	if (strcmp(metric->unit.p, "s") == 0) {
		*factor = pow(10, metric->exponent + 9);
		return sp_text("nanoseconds");
	}
	if (strcmp(metric->unit.p, "kB") == 0)
		*factor *= 1024; /* the kernel's unit is KiB */
	if (strcmp(metric->unit.p, "B") == 0 || strcmp(metric->unit.p, "kB") == 0)
		return sp_text("bytes");
	if (metric->exponent < 0) {
		*factor = 1;
		snprintf(text, sizeof text, "10^%d %.60s", metric->exponent, metric->unit.p);
		const char *copy = sp_arena_copy(&x->arena, text, strlen(text));
		x->no_memory |= !copy;
		return sp_text(copy ? copy : "");
	}
	return metric->unit.n == 0 || strcmp(metric->unit.p, "#") == 0 ? sp_text("count") : metric->unit;
}

static void put_type(struct pprof *x, struct sp_str name, struct sp_str unit)
{
	const size_t type = sp_proto_open(&x->k, PROFILE_TYPE);

	put_string(x, TYPE_NAME, name);
	put_string(x, TYPE_UNIT, unit);
	sp_proto_close(&x->k, type);
}

static void put_types(struct pprof *x, const struct sp_pick *pick)
{
	const uint32_t metric = sp_stacks_metric(x->m, pick);

	put_type(x, sp_text("calls"), sp_text("count"));
	put_type(x, sp_text("time"), sp_text("nanoseconds"));
	for (size_t i = 0; i < x->m->n_metrics; i++)
		put_type(x, x->m->metrics[i].name, unit_of(x, &x->m->metrics[i], &x->factor[i]));
	put_string(x, PROFILE_DEFAULT, metric == SP_NONE ? sp_text("time") : x->m->metrics[metric].name);
}

/* ---- samples ---- */

static void put_label(struct pprof *x, struct sp_str key, struct sp_str text, int64_t number)
{
	const size_t label = sp_proto_open(&x->k, SAMPLE_LABEL);

	put_string(x, LABEL_KEY, key);
	if (text.p)
		put_string(x, LABEL_TEXT, text);
	else
		sp_proto_uint(&x->k, LABEL_NUMBER, (uint64_t)number);
	sp_proto_close(&x->k, label);
}

/* If several calls of the stack have a parameter, the innermost call's value counts. */
static void put_parameters(struct pprof *x, uint32_t path)
{
	const struct sp_model *m = x->m;
	uint32_t seen[MAX_LABELS], n = 0, i;

	for (; path && n < MAX_LABELS; path = m->paths[path].parent)
		for (uint32_t v = m->paths[path].parameter; v != SP_NONE && n < MAX_LABELS;
		     v = m->parameter_values[v].before) {
			const struct sp_parameter_value *is = &m->parameter_values[v];
			for (i = 0; i < n && seen[i] != is->parameter; i++)
				;
			if (i < n)
				continue;
			seen[n++] = is->parameter;
			put_label(x, m->parameters[is->parameter], is->text, 0);
		}
}

static void put_labels(struct pprof *x, uint32_t path)
{
	const struct sp_location *l = &x->m->locations[x->thread];
	const struct sp_process *p = &x->m->processes[l->process];
	static const struct sp_str number = {NULL, 0};

	put_label(x, sp_text("thread"), l->name, 0);
	put_label(x, sp_text("process"), number, p->pid);
	if (p->rank != SP_NONE)
		put_label(x, sp_text("rank"), number, p->rank);
	put_label(x, sp_text("host"), p->host, 0);
	put_parameters(x, path);
}

static void flush(struct pprof *x, size_t more)
{
	if (x->k.n <= more)
		return;
	sp_out_bytes(&x->out, x->k.p, x->k.n);
	x->k.n = 0;
}

static void put_sample(void *arg, const uint32_t *paths, size_t n, bool deeper, const double *values)
{
	struct pprof *x = arg;
	const size_t sample = sp_proto_open(&x->k, PROFILE_SAMPLE);
	size_t packed = sp_proto_open(&x->k, SAMPLE_LOCATIONS);

	if (deeper)
		sp_proto_number(&x->k, x->m->n_regions);
	x->used[x->m->n_regions] |= deeper;
	for (size_t i = n; i > 0; i--) {
		sp_proto_number(&x->k, x->m->paths[paths[i - 1]].region);
		x->used[x->m->paths[paths[i - 1]].region] = true;
	}
	sp_proto_close(&x->k, packed);
	packed = sp_proto_open(&x->k, SAMPLE_VALUES);
	for (size_t i = 0; i < x->width; i++)
		sp_proto_number(&x->k, (uint64_t)(values[i] < 0x1p63 ? llround(values[i]) : INT64_MAX));
	sp_proto_close(&x->k, packed);
	put_labels(x, paths[n - 1]);
	sp_proto_close(&x->k, sample);
	flush(x, WRITTEN_AT);
}

/* Subtracts callees, as sp_metric_paths() does for all locations together. */
static void without_callees(struct pprof *x, const struct sp_location *l)
{
	const struct sp_model *m = x->m;
	const struct sp_row *row = m->values + l->first_value;
	const size_t width = m->n_metrics;

	if (l->values == 0)
		return;
	memcpy(x->own, m->row_metrics + l->first_value * width, l->values * width * sizeof *x->own);
	for (size_t i = 0; i < l->values; i++)
		x->row[row[i].path] = (uint32_t)i + 1;
	for (size_t i = l->values; i-- > 0;) {
		const uint32_t parent = row[i].path ? x->row[m->paths[row[i].path].parent] : 0;
		for (size_t j = 0; parent && j < width; j++) {
			uint64_t *above = &x->own[(parent - 1) * width + j];
			const uint64_t all = m->row_metrics[(l->first_value + i) * width + j];
			if (!m->metrics[j].own)
				*above -= *above < all ? *above : all;
		}
	}
	for (size_t i = 0; i < l->values; i++)
		x->row[row[i].path] = 0;
}

static int put_thread(struct pprof *x, struct sp_err *e)
{
	const struct sp_location *l = &x->m->locations[x->thread];
	const struct sp_row *row = x->m->values + l->first_value;
	const size_t metrics = x->m->n_metrics;

	if (metrics)
		without_callees(x, l);
	for (size_t i = 0; i < l->values; i++) {
		x->values[CALLS] = (double)row[i].v.visits;
		x->values[TIME] = row[i].v.excl;
		for (size_t j = 0; j < metrics; j++)
			x->values[METRICS + j] = (double)x->own[i * metrics + j] * x->factor[j];
		if (row[i].path)
			sp_stacks_path(&x->stacks, row[i].path, x->values, put_sample, x);
		if (++x->done % 65536 == 0 && sp_write_tick(x->o, x->done, x->total, e))
			return -1;
	}
	sp_stacks_rest(&x->stacks, put_sample, x);
	return 0;
}

/* ---- tables ---- */

/* Compiled functions are in the object with their module's name, all others in the interpreter. */
static uint64_t mapping_of(struct pprof *x, const struct sp_region *r)
{
	return r->kind == SP_REGION_NATIVE ? id_of(x, &x->objects, r->module) + 1 : 1;
}

static void put_mappings(struct pprof *x)
{
	for (size_t i = 0; i < x->objects.n; i++) {
		const size_t mapping = sp_proto_open(&x->k, PROFILE_MAPPING);
		sp_proto_uint(&x->k, MAPPING_ID, i + 1);
		put_string(x, MAPPING_FILE, (struct sp_str){x->objects.entries[i].p, x->objects.entries[i].n});
		/* pprof has nothing to look up */
		for (unsigned has = MAPPING_HAS; has <= MAPPING_HAS_LAST; has++)
			sp_proto_uint(&x->k, has, 1);
		sp_proto_close(&x->k, mapping);
	}
}

static void put_function(struct pprof *x, uint64_t id, const struct sp_region *r, struct sp_str name)
{
	const size_t location = sp_proto_open(&x->k, PROFILE_LOCATION);

	sp_proto_uint(&x->k, LOCATION_ID, id);
	sp_proto_uint(&x->k, LOCATION_MAPPING, mapping_of(x, r));
	sp_proto_uint(&x->k, LOCATION_ADDRESS, r->address);
	const size_t line = sp_proto_open(&x->k, LOCATION_LINE);
	sp_proto_uint(&x->k, LINE_FUNCTION, id);
	sp_proto_uint(&x->k, LINE_NUMBER, r->line);
	sp_proto_close(&x->k, line);
	sp_proto_close(&x->k, location);

	const size_t function = sp_proto_open(&x->k, PROFILE_FUNCTION);
	sp_proto_uint(&x->k, FUNCTION_ID, id);
	put_string(x, FUNCTION_NAME, name);
	/* no system name: pprof would remove <module> as template arguments */
	put_string(x, FUNCTION_FILE, r->file);
	sp_proto_uint(&x->k, FUNCTION_LINE, r->line);
	sp_proto_close(&x->k, function);
	flush(x, WRITTEN_AT);
}

static void put_functions(struct pprof *x)
{
	static const struct sp_region deeper = {.file = {"", 0}};

	for (size_t r = 1; r < x->m->n_regions; r++)
		if (x->used[r])
			put_function(x, r, &x->m->regions[r], x->m->regions[r].name);
	if (x->used[x->m->n_regions])
		put_function(x, x->m->n_regions, &deeper, sp_text(SP_STACKS_DEEPER));
}

static void put_strings(struct pprof *x)
{
	for (size_t i = 0; i < x->strings.n; i++) {
		sp_proto_text(&x->k, PROFILE_STRING, (struct sp_str){x->strings.entries[i].p, x->strings.entries[i].n});
		flush(x, WRITTEN_AT);
	}
}

/* ---- the file ---- */

/* The interpreter, or the program that was started. */
static struct sp_str program(const struct sp_process *p)
{
	for (size_t i = 0; i < p->metas; i++)
		if (strcmp(p->meta[i].key.p, "executable") == 0 && p->meta[i].value.n)
			return p->meta[i].value;
	return sp_text("python");
}

static int put_all(struct pprof *x, const struct sp_pick *pick, struct sp_err *e)
{
	const struct sp_model *m = x->m;
	const struct sp_process *first = &m->processes[pick->first < pick->end ? m->locations[pick->first].process : 0];

	id_of(x, &x->strings, sp_text("")); /* string 0 */
	id_of(x, &x->objects, m->n_processes ? program(first) : sp_text("python"));
	put_types(x, pick);
	sp_proto_uint(&x->k, PROFILE_TIME, m->begin_ns);
	sp_proto_uint(&x->k, PROFILE_DURATION, m->end_ns - m->begin_ns);
	if (m->n_processes && first->command.n)
		put_string(x, PROFILE_COMMENT, first->command);
	for (x->thread = pick->first; x->thread < pick->end; x->thread++)
		if (put_thread(x, e))
			return -1;
	put_functions(x);
	put_mappings(x);
	put_strings(x);
	flush(x, 0);
	return x->no_memory || x->k.failed ? sp_fail(e, ENOMEM, "out of memory") : 0;
}

static int open_tables(struct pprof *x, const struct sp_pick *pick, struct sp_err *e)
{
	const struct sp_model *m = x->m;
	struct sp_arena *a = &x->arena;
	size_t max_values = 0;

	for (uint32_t l = pick->first; l < pick->end; l++) {
		x->total += m->locations[l].values;
		max_values = m->locations[l].values > max_values ? m->locations[l].values : max_values;
	}
	x->width = METRICS + m->n_metrics;
	x->strings.arena = x->objects.arena = a;
	x->factor = sp_arena_zalloc(a, m->n_metrics + 1, sizeof *x->factor);
	x->values = sp_arena_zalloc(a, x->width, sizeof *x->values);
	x->own = sp_arena_zalloc(a, max_values * m->n_metrics + 1, sizeof *x->own);
	x->row = sp_arena_zalloc(a, m->n_paths, sizeof *x->row);
	x->used = sp_arena_zalloc(a, m->n_regions + 1, sizeof *x->used);
	return x->factor && x->values && x->own && x->row && x->used ? 0 : sp_fail(e, ENOMEM, "out of memory");
}

int sp_write_pprof(const struct sp_model *m, const char *path, const struct sp_write_options *o, struct sp_err *e)
{
	struct pprof x = {.m = m, .o = o};
	struct sp_pick pick;

	if (sp_pick_open(&pick, m, o, e))
		return -1;
	int rc = open_tables(&x, &pick, e);
	if (rc == 0)
		rc = sp_stacks_open(&x.stacks, m, x.width, e);
	if (rc == 0) {
		rc = sp_packed_open(&x.out, path, e);
		if (rc == 0)
			rc = sp_out_close(&x.out, put_all(&x, &pick, e), e);
		sp_stacks_close(&x.stacks);
	}
	free(x.k.p);
	sp_intern_free(&x.strings);
	sp_intern_free(&x.objects);
	sp_arena_free(&x.arena);
	sp_pick_close(&pick);
	return rc;
}
