/* SPDX-License-Identifier: BSD-3-Clause */
/* Timemory's text tables and JSON: the number of laps of each call path, and their time. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "model/model.h"
#include "model/str.h"
#include "write/common/formats.h"
#include "write/common/out.h"
#include "write/timemory/timemory.h"

const struct sp_tm_unit sp_tm_units[] = {
    {"psec", 1e-3}, {"nsec", 1},  {"usec", 1e3}, {"msec", 1e6},  {"csec", 1e7},
    {"dsec", 1e8},  {"sec", 1e9}, {"min", 60e9}, {"hr", 3600e9}, {0},
};

const struct sp_tm_unit *sp_tm_unit_find(const char *name)
{
	for (const struct sp_tm_unit *u = sp_tm_units; u->name; u++)
		if (strcmp(u->name, name) == 0)
			return u;
	return NULL;
}

const char *const sp_tm_metric_names[SP_TM_METRICS] = {"trip_count", "wall_clock"};
static const struct {
	const char *description, *banner;
} metrics[SP_TM_METRICS] = {
    {"Counts number of invocations", "COUNTS NUMBER OF INVOCATIONS"},
    {"Real-clock timer (i.e. wall-clock timer)", "REAL-CLOCK TIMER (I.E. WALL-CLOCK TIMER)"},
};

/* ---- numbers ---- */

static double mean(const struct sp_tm_row *r)
{
	return r->laps ? r->sum / (double)r->laps : 0;
}

/* The sample variance, as in timemory: ns^2. Squares are known only for laps. */
static double variance(const struct sp_tm_row *r)
{
	const double n = (double)r->laps;

	return r->laps < 2 ? 0 : fmax(0, (r->sqr - r->each * r->each / n) / (n - 1));
}

static double self_percent(const struct sp_tm_row *r)
{
	return r->sum > 0 ? fmax(0, 100 * (1 - r->below / r->sum)) : 0;
}

/* ---- cells ---- */

enum column { LABEL, COUNT, DEPTH, METRIC, UNITS, SUM, MEAN, MIN, MAX, VAR, STDDEV, SELF, COLUMNS };
static const char *const headers[COLUMNS] = {"LABEL", "COUNT", "DEPTH", "METRIC", "UNITS",  "SUM",
                                             "MEAN",  "MIN",   "MAX",   "VAR",    "STDDEV", "% SELF"};
static const bool is_shown[SP_TM_METRICS][COLUMNS] = {
    [SP_TM_TRIP_COUNT] = {[LABEL] = true, [COUNT] = true, [DEPTH] = true, [METRIC] = true, [SUM] = true},
    [SP_TM_WALL_CLOCK] = {true, true, true, true, true, true, true, true, true, true, true, true},
};

struct table {
	struct sp_out *out;
	const struct sp_tm *t;
	enum sp_tm_metric metric;
	const bool *shown;
	size_t wide[COLUMNS];
	size_t limit;    /* characters of a cell; SIZE_MAX: no limit */
	char prefix[64]; /* of the labels of a group: "|0>>> " */
	size_t n_prefix;
};

static void set_prefix(struct table *x, const struct sp_tm_group *g)
{
	char *p = x->prefix;

	if (x->t->show_process)
		p += sprintf(p, "|%0*" PRIu32, x->t->process_digits, g->process);
	if (x->t->show_thread)
		p += sprintf(p, "|%0*" PRIu32, x->t->thread_digits, g->thread);
	p += sprintf(p, ">>> ");
	x->n_prefix = (size_t)(p - x->prefix);
}

static void put_many(struct sp_out *out, char c, size_t n)
{
	while (n-- > 0)
		sp_out_byte(out, c);
}

static size_t indent(const struct sp_tm_row *r)
{
	return r->depth ? (size_t)r->depth * 2 : 0;
}

static size_t characters(struct sp_str s)
{
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++)
		n += ((unsigned char)s.p[i] & 0xc0) != 0x80;
	return n;
}

static struct sp_str label_of(const struct sp_tm *t, const struct sp_tm_row *r)
{
	return (struct sp_str){t->labels.entries[r->label].p, t->labels.entries[r->label].n};
}

/* The number of bytes of its first n characters. */
static size_t bytes_of(struct sp_str s, size_t n)
{
	size_t i = 0;

	while (i < s.n && (n || ((unsigned char)s.p[i] & 0xc0) == 0x80))
		n -= ((unsigned char)s.p[i++] & 0xc0) != 0x80;
	return i;
}

static size_t width_of_label(const struct table *x, const struct sp_tm_row *r)
{
	return x->n_prefix + indent(r) + characters(label_of(x->t, r));
}

/* Writes the first `capacity` characters of prefix, indent ("
 *
 * |_") and name. */
static void put_part(struct table *x, const struct sp_tm_row *r, size_t capacity)
{
	const size_t blanks = indent(r) ? indent(r) - 2 : 0;
	struct sp_str name = label_of(x->t, r);
	size_t n = x->n_prefix < capacity ? x->n_prefix : capacity;

	sp_out_bytes(x->out, x->prefix, n);
	capacity -= n;
	n = blanks < capacity ? blanks : capacity;
	put_many(x->out, ' ', n);
	capacity -= n;
	if (indent(r)) {
		n = capacity < 2 ? capacity : 2;
		sp_out_bytes(x->out, "|_", n);
		capacity -= n;
	}
	name.n = bytes_of(name, capacity);
	sp_out_line(x->out, name, NULL);
}

static void put_label(struct table *x, const struct sp_tm_row *r)
{
	const size_t wide = width_of_label(x, r);

	if (wide <= x->limit) {
		put_part(x, r, wide);
		put_many(x->out, ' ', x->wide[LABEL] - 2 - wide);
		return;
	}
	const size_t dots = x->limit < 3 ? x->limit : 3;
	put_part(x, r, x->limit - dots);
	put_many(x->out, '.', dots);
	put_many(x->out, ' ', x->wide[LABEL] - 2 - x->limit);
}

static double value_of(const struct sp_tm_row *r, enum column c)
{
	switch (c) {
	case SUM:
		return r->sum;
	case MEAN:
		return mean(r);
	case MIN:
		return r->min;
	case MAX:
		return r->max;
	case VAR:
		return variance(r);
	default:
		return sqrt(variance(r));
	}
}

enum { CELL = 400 };

/* Writes the text of a cell other than the label. */
static void cell(const struct table *x, const struct sp_tm_row *r, enum column c, char text[CELL])
{
	const struct sp_tm_options *o = x->t->o;
	double unit = o->unit->ns;

	if (c == COUNT || (c == SUM && x->metric == SP_TM_TRIP_COUNT))
		snprintf(text, CELL, "%" PRIu64, r->laps);
	else if (c == DEPTH)
		snprintf(text, CELL, "%" PRIu32, r->depth);
	else if (c == METRIC)
		snprintf(text, CELL, "%s", sp_tm_metric_names[x->metric]);
	else if (c == UNITS)
		snprintf(text, CELL, "%s", o->unit->name);
	else if (c == SELF)
		snprintf(text, CELL, "%.1f", self_percent(r));
	else
		snprintf(text, CELL, o->scientific ? "%.*e" : "%.*f", (int)o->precision,
		         value_of(r, c) / (c == VAR ? unit * unit : unit));
}

/* ---- the text ---- */

static void each_row(struct table *x, void (*f)(struct table *x, const struct sp_tm_row *r))
{
	for (size_t i = 0; i < x->t->n_groups; i++) {
		set_prefix(x, &x->t->groups[i]);
		uint32_t r = x->t->groups[i].root;
		while ((r = sp_tm_next(x->t, r)) != SP_NONE)
			f(x, &x->t->rows[r]);
	}
}

static void widen(struct table *x, const struct sp_tm_row *r)
{
	char text[CELL];

	for (int c = 0; c < COLUMNS; c++) {
		size_t n = 0;
		if (c == LABEL)
			n = width_of_label(x, r) < x->limit ? width_of_label(x, r) : x->limit;
		else if (x->shown[c]) {
			cell(x, r, c, text);
			n = strlen(text);
		}
		if (n + 2 > x->wide[c])
			x->wide[c] = n + 2;
	}
}

/* Writes "|---|---|" or "|-------|" */
static void put_rule(const struct table *x, char between)
{
	for (int c = 0; c < COLUMNS; c++) {
		if (!x->shown[c])
			continue;
		sp_out_byte(x->out, c == LABEL ? '|' : between);
		put_many(x->out, '-', x->wide[c]);
	}
	sp_out_text(x->out, "|\n");
}

static void put_banner(const struct table *x)
{
	const char *text = metrics[x->metric].banner;
	const size_t n = strlen(text);
	size_t total = 0;

	for (int c = 0; c < COLUMNS; c++)
		total += x->shown[c] ? x->wide[c] + 1 : 0;
	const size_t right = total / 2 - n / 2 + n;
	sp_out_byte(x->out, '|');
	put_many(x->out, ' ', right > n ? right - n : 0);
	sp_out_text(x->out, text);
	put_many(x->out, ' ', total - 1 > right ? total - 1 - right : 0);
	sp_out_text(x->out, "|\n");
}

static void put_headers(const struct table *x)
{
	for (int c = 0; c < COLUMNS; c++) {
		if (!x->shown[c])
			continue;
		const int w = (int)x->wide[c], n = (int)strlen(headers[c]);
		int r = w / 2 - (n + 1) / 2;
		r = r < 0 ? 0 : r;
		if (n + r > w - 3)
			r = w - 3 - n;
		const int v = r - n - (w - 2);
		if (v < 0 || v > 1)
			r--;
		r = r < 0 ? 0 : r;
		sp_out_text(x->out, "| ");
		put_many(x->out, ' ', (size_t)r);
		sp_out_text(x->out, headers[c]);
		put_many(x->out, ' ', (size_t)(w - 2 > n + r ? w - 2 - n - r : 0));
		sp_out_byte(x->out, ' ');
	}
	sp_out_text(x->out, "|\n");
}

static void put_row(struct table *x, const struct sp_tm_row *r)
{
	char text[CELL];

	for (int c = 0; c < COLUMNS; c++) {
		if (!x->shown[c])
			continue;
		sp_out_text(x->out, "| ");
		if (c == LABEL) {
			put_label(x, r);
		} else {
			cell(x, r, c, text);
			const bool left = c == METRIC || c == UNITS;
			const size_t pad = x->wide[c] - 2 - strlen(text);
			put_many(x->out, ' ', left ? 0 : pad);
			sp_out_text(x->out, text);
			put_many(x->out, ' ', left ? pad : 0);
		}
		sp_out_byte(x->out, ' ');
	}
	sp_out_text(x->out, "|\n");
}

static void put_text(struct table *x)
{
	for (int c = 0; c < COLUMNS; c++) {
		const size_t n = strlen(headers[c]) + 2;
		x->wide[c] = n < 8 ? 8 : n;
	}
	each_row(x, widen);
	put_rule(x, '-');
	put_banner(x);
	put_rule(x, '-');
	put_headers(x);
	put_rule(x, '|');
	each_row(x, put_row);
	put_rule(x, '-');
}

/* ---- JSON ---- */

static void put_member(struct sp_out *out, const char *key, double value)
{
	sp_out_f(out, "\"%s\": %.17g", key, isfinite(value) ? value : 0.0);
}

static void put_numbers(struct table *x, const struct sp_tm_row *r)
{
	struct sp_out *out = x->out;
	const bool trips = x->metric == SP_TM_TRIP_COUNT;
	const double unit = x->t->o->unit->ns, n = (double)r->laps;
	const double sum = trips ? n : r->sum / unit;

	sp_out_f(out, "\"entry\": {\"laps\": %" PRIu64 ", ", r->laps);
	sp_out_f(out, "\"value\": %.0f, \"accum\": %.0f, ", trips ? n : r->sum, trips ? n : r->sum);
	put_member(out, "repr_data", sum);
	sp_out_text(out, ", ");
	put_member(out, "repr_display", sum);
	sp_out_text(out, "}, \"stats\": {");
	put_member(out, "sum", sum);
	sp_out_f(out, ", \"count\": %" PRIu64 ", ", r->laps);
	put_member(out, "min", trips ? (r->laps ? 1 : 0) : r->min / unit);
	sp_out_text(out, ", ");
	put_member(out, "max", trips ? (r->laps ? 1 : 0) : r->max / unit);
	sp_out_text(out, ", ");
	put_member(out, "sqr", trips ? n : r->sqr / unit / unit);
	sp_out_text(out, ", ");
	put_member(out, "mean", trips ? (r->laps ? 1 : 0) : mean(r) / unit);
	sp_out_text(out, ", ");
	put_member(out, "stddev", trips ? 0 : sqrt(variance(r)) / unit);
	sp_out_byte(out, '}');
}

/* The prefix is the same as in the text, and never truncated. */
static void put_node(struct table *x, const struct sp_tm_row *r, bool first)
{
	struct sp_out *out = x->out;

	sp_out_f(out, "%s\n        {\"hash\": %" PRIu64 ", \"prefix\": \"", first ? "" : ",", r->hash);
	sp_out_text(out, x->prefix);
	put_many(out, ' ', indent(r) ? indent(r) - 2 : 0);
	sp_out_text(out, indent(r) ? "|_" : "");
	sp_out_escaped(out, label_of(x->t, r));
	sp_out_f(out, "\", \"depth\": %" PRIu32 ", ", r->depth);
	put_numbers(x, r);
	sp_out_f(out, ", \"rolling_hash\": %" PRIu64 "}", r->rolling);
}

/* Writes the groups of a process, from index i on; returns the index of the next process's first group. */
static size_t put_rank(struct table *x, size_t i)
{
	const struct sp_tm *t = x->t;
	const uint32_t process = t->groups[i].process;
	size_t rows = 0, end;
	bool first = true;

	for (end = i; end < t->n_groups && t->groups[end].process == process; end++)
		for (uint32_t r = t->groups[end].root; (r = sp_tm_next(t, r)) != SP_NONE;)
			rows++;
	sp_out_f(x->out, "{\"rank\": %" PRIu32 ", \"graph_size\": %zu, \"graph\": [", process, rows);
	for (; i < end; i++) {
		set_prefix(x, &t->groups[i]);
		for (uint32_t r = t->groups[i].root; (r = sp_tm_next(t, r)) != SP_NONE; first = false)
			put_node(x, &t->rows[r], first);
	}
	sp_out_text(x->out, "]}");
	return end;
}

static void put_json(struct table *x)
{
	const struct sp_tm *t = x->t;
	const char *name = sp_tm_metric_names[x->metric];
	const bool trips = x->metric == SP_TM_TRIP_COUNT;
	size_t ranks = 0;

	for (size_t i = 0; i < t->n_groups; i++)
		ranks += i == 0 || t->groups[i].process != t->groups[i - 1].process;
	sp_out_f(x->out, "{\"timemory\": {\"%s\": {\"type\": \"%s\", \"description\": \"%s\", ", name, name,
	         metrics[x->metric].description);
	sp_out_f(x->out, "\"unit_value\": %.17g, \"unit_repr\": \"%s\", \"num_ranks\": %zu,\n    \"ranks\": [",
	         trips ? 1 : t->o->unit->ns, trips ? "" : t->o->unit->name, ranks);
	for (size_t i = 0; i < t->n_groups;) {
		sp_out_text(x->out, i ? ",\n      " : "\n      ");
		i = put_rank(x, i);
	}
	sp_out_text(x->out, "]}}}\n");
}

static void put_table(struct sp_out *out, const struct sp_tm *t, enum sp_tm_metric metric, bool json)
{
	const size_t limit = t->o->max_width ? t->o->max_width : SIZE_MAX;
	struct table x = {.out = out, .t = t, .metric = metric, .shown = is_shown[metric], .limit = limit};

	if (json)
		put_json(&x);
	else
		put_text(&x);
}

/* ---- output in memory ---- */

/* Writes to an unnamed temporary file and reads it back, because an output is a file. */
static char *read_back(FILE *f, const struct sp_tm *t, enum sp_tm_metric metric, bool json, size_t *n, struct sp_err *e)
{
	struct sp_out out = {.fd = dup(fileno(f)), .path = strdup("temporary file"), .buf = malloc(SP_OUT_BUFFER)};

	if (out.fd < 0 || !out.path || !out.buf) {
		free(out.path);
		free(out.buf);
		if (out.fd >= 0)
			close(out.fd);
		sp_fail(e, ENOMEM, "out of memory");
		return NULL;
	}
	put_table(&out, t, metric, json);
	*n = out.flushed + out.n;
	if (sp_out_close(&out, 0, e))
		return NULL;
	rewind(f);
	char *text = malloc(*n + 1);
	if (text && fread(text, 1, *n, f) == *n)
		return text;
	sp_fail(e, ENOMEM, "out of memory");
	free(text);
	return NULL;
}

char *sp_tm_text(const struct sp_model *m, const struct sp_tm_options *o, enum sp_tm_metric metric, bool json,
                 size_t *n, struct sp_err *e)
{
	struct sp_tm t;
	char *text = NULL;

	if (sp_tm_open(&t, m, o, e))
		return NULL;
	FILE *f = tmpfile();
	if (f) {
		text = read_back(f, &t, metric, json, n, e);
		fclose(f);
	} else {
		sp_fail(e, errno, "temporary file: %s", strerror(errno));
	}
	sp_tm_close(&t);
	return text;
}

/* ---- the format ---- */

static int put_file(const struct sp_tm *t, const char *dir, enum sp_tm_metric metric, bool json, struct sp_err *e)
{
	struct sp_out out;
	char *path;

	if (asprintf(&path, "%s/%s.%s", dir, sp_tm_metric_names[metric], json ? "json" : "txt") < 0)
		return sp_fail(e, ENOMEM, "out of memory");
	int rc = sp_out_open(&out, path, e);
	free(path);
	if (rc)
		return -1;
	put_table(&out, t, metric, json);
	return sp_out_close(&out, 0, e);
}

/* Writes a directory with <metric>.txt and .json for each metric. Samples are not trip counts. */
int sp_write_timemory(const struct sp_model *m, const char *path, const struct sp_write_options *o, struct sp_err *e)
{
	struct sp_tm_options options;
	struct sp_tm t;
	char *dir;
	int rc = 0;

	sp_tm_options_init(&options);
	options.process = o->process;
	if (o->process != SP_NONE && o->process >= m->n_processes)
		return sp_fail(e, 0, "%s: has no process %" PRIu32 "; it has %zu", m->dir.p, o->process,
		               m->n_processes);
	if (sp_tm_open(&t, m, &options, e))
		return -1;
	if (sp_out_dir_open(&dir, path, e)) {
		sp_tm_close(&t);
		return -1;
	}
	for (int i = 0; rc == 0 && i < 2 * SP_TM_METRICS; i++) {
		if (i / 2 == SP_TM_TRIP_COUNT && t.sampled)
			continue;
		rc = put_file(&t, dir, i / 2, i % 2, e);
		if (rc == 0)
			rc = sp_write_tick(o, (uint64_t)i + 1, 2 * SP_TM_METRICS, e);
	}
	sp_tm_close(&t);
	return sp_out_dir_close(dir, path, rc, e);
}
