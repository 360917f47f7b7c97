/* SPDX-License-Identifier: BSD-3-Clause */
/* The whole model as JSON; docs/formats.md describes the members. Times are nanoseconds. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/wait.h>

#include "model/event.h"
#include "model/file.h"
#include "model/line.h"
#include "model/metric.h"
#include "model/model.h"
#include "model/path.h"
#include "model/process.h"
#include "model/region.h"
#include "model/str.h"
#include "write/common/formats.h"
#include "write/json/json.h"

#define FORMAT_VERSION 1

void sp_json_text(struct sp_out *out, const char *key, struct sp_str s)
{
	sp_out_f(out, "\"%s\":", key);
	sp_out_json(out, s);
	sp_out_byte(out, ',');
}

void sp_json_index(struct sp_out *out, const char *key, uint32_t v)
{
	if (v == SP_NONE)
		sp_out_f(out, "\"%s\":null,", key);
	else
		sp_out_f(out, "\"%s\":%" PRIu32 ",", key, v);
}

static void put_lost(struct sp_out *out, const struct sp_lost *l)
{
	sp_out_f(out,
	         "\"lost\":{\"events\":%" PRIu64 ",\"paths\":%" PRIu64 ",\"threads\":%" PRIu64 ",\"regions\":%" PRIu64
	         ",\"bytes\":%" PRIu64 ",\"deeper\":%" PRIu64 ",\"unmatched\":%" PRIu64 ",\"children\":%" PRIu64 "}",
	         l->events, l->paths, l->threads, l->regions, l->bytes, l->deeper, l->unmatched, l->children);
}

/* Writes a status of waitpid(); unknown fields are null. */
static void put_status(struct sp_out *out, int32_t s)
{
	sp_json_index(out, "status", s != -1 && WIFEXITED(s) ? (uint32_t)WEXITSTATUS(s) : SP_NONE);
	sp_json_index(out, "signal", s != -1 && WIFSIGNALED(s) ? (uint32_t)WTERMSIG(s) : SP_NONE);
}

static void put_child(struct sp_out *out, const struct sp_child *c)
{
	sp_out_byte(out, '{');
	sp_json_text(out, "command", c->command);
	sp_json_index(out, "parent", c->parent);
	sp_json_index(out, "process", c->process);
	put_status(out, c->status);
	sp_out_f(out, "\"pid\":%" PRId32 ",\"begin\":%" PRIu64 ",\"end\":", c->pid, c->begin);
	if (c->end)
		sp_out_u64(out, c->end);
	else
		sp_out_text(out, "null");
	sp_out_f(out, ",\"forked\":%s,\"exec\":%s}", c->forked ? "true" : "false", c->exec ? "true" : "false");
}

static void put_reason(struct sp_out *out, const char *key, const char *text)
{
	sp_out_f(out, ",\"%s\":", key);
	if (text)
		sp_out_json(out, sp_text(text));
	else
		sp_out_text(out, "null");
}

static void put_process(struct sp_out *out, const struct sp_process *p)
{
	sp_out_byte(out, '{');
	sp_json_text(out, "file", p->file);
	sp_json_text(out, "host", p->host);
	sp_json_text(out, "command", p->command);
	sp_json_text(out, "role", p->role);
	sp_json_text(out, "name", p->name);
	sp_out_f(out, "\"helper\":%s,", p->helper ? "true" : "false");
	sp_out_f(out, "\"pid\":%" PRId32 ",\"ppid\":%" PRId32 ",", p->pid, p->ppid);
	sp_json_index(out, "parent", p->parent);
	sp_json_index(out, "rank", p->rank);
	sp_json_index(out, "world", p->world_index);
	sp_json_index(out, "continues", p->continues);
	sp_json_index(out, "ended_by", p->ended_by);
	sp_out_f(out, "\"end\":\"%s\",\"forked\":%s,\"traced\":%s,", sp_process_end_names[p->end],
	         p->forked ? "true" : "false", p->traced ? "true" : "false");
	put_status(out, p->status);
	sp_out_f(out, "\"begin\":%" PRIu64 ",\"stop\":%" PRIu64 ",\"cost_in\":", p->begin, p->stop);
	sp_out_real(out, p->cost_in);
	sp_out_text(out, ",\"cost_out\":");
	sp_out_real(out, p->cost_out);
	put_reason(out, "lost_reason", p->lost_reason);
	put_reason(out, "lost_children_reason", p->lost_children_reason);
	sp_out_text(out, ",\"meta\":{");
	for (size_t i = 0; i < p->metas; i++) {
		if (i)
			sp_out_byte(out, ',');
		sp_out_json(out, p->meta[i].key);
		sp_out_byte(out, ':');
		sp_out_json(out, p->meta[i].value);
	}
	sp_out_text(out, "},");
	put_lost(out, &p->lost);
	sp_out_byte(out, '}');
}

static void put_location(struct sp_out *out, const struct sp_location *l)
{
	sp_out_f(out, "{\"process\":%" PRIu32 ",", l->process);
	sp_json_text(out, "name", l->name);
	sp_json_text(out, "role", l->role);
	sp_json_text(out, "runs", l->runs);
	sp_out_f(out, "\"helper\":%s,", l->helper ? "true" : "false");
	sp_json_index(out, "creator", l->creator);
	sp_out_f(out, "\"id\":%" PRIu32 ",\"tid\":%" PRIu64 ",\"begin\":%" PRIu64 ",\"end\":%" PRIu64 ",", l->id,
	         l->tid, l->begin, l->end);
	put_lost(out, &l->lost);
	sp_out_byte(out, '}');
}

static void put_region(struct sp_out *out, const struct sp_region *r)
{
	sp_out_byte(out, '{');
	sp_json_text(out, "name", r->name);
	sp_json_text(out, "module", r->module);
	sp_json_text(out, "qualname", r->qualname);
	sp_json_text(out, "file", r->file);
	sp_out_f(out, "\"line\":%" PRIu32 ",", r->line);
	if (r->kind == SP_REGION_NATIVE)
		sp_out_f(out, "\"address\":%" PRIu32 ",", r->address);
	if (r->kind == SP_REGION_MPI)
		sp_out_f(out, "\"role\":\"%s\",", sp_mpi_role_names[r->role]);
	sp_out_f(out, "\"kind\":\"%s\",\"generator\":%s}", sp_region_kind_names[r->kind],
	         r->generator ? "true" : "false");
}

/* Writes the values of a path. Fields about single calls are null if calls were not recorded. metrics: n numbers. */
static void put_value(struct sp_out *out, uint32_t path, const struct sp_value *v, bool counted,
                      const uint64_t *metrics, size_t n)
{
	const double reals[] = {v->incl, v->excl, v->min, v->max, v->sumsq};
	const bool calls = counted || v->visits || v->resumed;

	sp_out_byte(out, '[');
	sp_out_u64(out, path);
	for (size_t i = 0; i < 2; i++) {
		sp_out_byte(out, ',');
		if (calls)
			sp_out_u64(out, i ? v->resumed : v->visits);
		else
			sp_out_text(out, "null");
	}
	for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) {
		sp_out_byte(out, ',');
		if (i < 2 || calls)
			sp_out_real(out, reals[i]);
		else
			sp_out_text(out, "null");
	}
	for (size_t i = 0; i < n; i++) {
		sp_out_byte(out, ',');
		sp_out_u64(out, metrics[i]);
	}
	sp_out_byte(out, ']');
}

static void put_parameter_values(struct sp_out *out, const struct sp_model *m)
{
	static const char *const types[] = {"int", "uint", "string"};

	sp_out_text(out, ",\n\"parameter_values\":[");
	for (size_t i = 0; i < m->n_parameter_values; i++) {
		const struct sp_parameter_value *v = &m->parameter_values[i];
		sp_out_text(out, i ? ",\n{" : "\n{");
		sp_json_index(out, "parameter", v->parameter);
		sp_json_text(out, "value", v->text);
		sp_json_index(out, "before", v->before);
		sp_out_f(out, "\"type\":\"%s\"}", types[v->kind - SP_EVENT_PARAMETER_INT]);
	}
	sp_out_byte(out, ']');
}

static void put_metrics(struct sp_out *out, const struct sp_model *m)
{
	sp_out_text(out, ",\n\"metrics\":[");
	for (size_t i = 0; i < m->n_metrics; i++) {
		const struct sp_metric *x = &m->metrics[i];
		sp_out_text(out, i ? ",\n{" : "\n{");
		sp_json_text(out, "name", x->name);
		sp_json_text(out, "unit", x->unit);
		sp_json_text(out, "what", x->what);
		sp_out_f(out, "\"exponent\":%d,\"source\":\"%s\",\"exclusive\":%s}", x->exponent,
		         sp_metric_kind_names[x->kind], x->own ? "true" : "false");
	}
	sp_out_byte(out, ']');
}

static void put_io_handles(struct sp_out *out, const struct sp_model *m)
{
	sp_out_text(out, ",\n\"io_handles\":[");
	for (size_t i = 0; i < m->n_io_handles; i++) {
		const struct sp_io_handle *h = &m->io_handles[i];
		sp_out_text(out, i ? ",\n{" : "\n{");
		sp_json_index(out, "process", h->process);
		sp_json_text(out, "path", h->path);
		if (h->mpi)
			sp_json_index(out, "communicator", h->comm);
		sp_out_f(out, "\"flags\":%" PRIu32 ",\"mpi\":%s}", h->flags, h->mpi ? "true" : "false");
	}
	sp_out_byte(out, ']');
}

static void put_strings(struct sp_out *out, const char *key, const struct sp_str *s, size_t n)
{
	sp_out_f(out, ",\n\"%s\":[", key);
	for (size_t i = 0; i < n; i++) {
		if (i)
			sp_out_byte(out, ',');
		sp_out_json(out, s[i]);
	}
	sp_out_byte(out, ']');
}

/* Returns 0, or -1: no memory. */
static int put_head(struct sp_out *out, const struct sp_model *m)
{
	sp_out_f(out, "{\"format\":\"spartito\",\"version\":%d,", FORMAT_VERSION);
	sp_json_text(out, "dir", m->dir);
	sp_out_f(out, "\"begin\":%" PRIu64 ",\"end\":%" PRIu64 ",\"traced\":%s", m->begin_ns, m->end_ns,
	         m->traced ? "true" : "false");
	sp_out_text(out, ",\n\"problems\":[");
	for (size_t i = 0; i < m->n_problems; i++) {
		if (i)
			sp_out_byte(out, ',');
		sp_out_json(out, m->problems[i].text);
	}
	sp_out_text(out, "],\n\"processes\":[\n");
	for (size_t i = 0; i < m->n_processes; i++) {
		sp_out_text(out, i ? ",\n" : "");
		put_process(out, &m->processes[i]);
	}
	sp_out_text(out, "],\n\"children\":[\n");
	for (size_t i = 0; i < m->n_children; i++) {
		sp_out_text(out, i ? ",\n" : "");
		put_child(out, &m->children[i]);
	}
	sp_out_text(out, "],\n\"locations\":[\n");
	for (size_t i = 0; i < m->n_locations; i++) {
		sp_out_text(out, i ? ",\n" : "");
		put_location(out, &m->locations[i]);
	}
	sp_out_text(out, "],\n\"regions\":[\n");
	for (size_t i = 0; i < m->n_regions; i++) {
		sp_out_text(out, i ? ",\n" : "");
		put_region(out, &m->regions[i]);
	}
	sp_out_byte(out, ']');
	put_strings(out, "counters", m->counters, m->n_counters);
	put_strings(out, "parameters", m->parameters, m->n_parameters);
	put_strings(out, "strings", m->strings, m->n_strings);
	put_parameter_values(out, m);
	put_metrics(out, m);
	put_io_handles(out, m);
	sp_json_tasks(out, m);
	sp_json_waits(out, m);
	return sp_json_mpi(out, m);
}

static void put_paths(struct sp_out *out, const struct sp_model *m)
{
	sp_out_text(out, ",\n\"path_columns\":[\"parent\",\"region\",\"parameter\"],\n\"paths\":[\n[null,0,null]");
	for (size_t i = 1; i < m->n_paths; i++) {
		sp_out_text(out, ",\n[");
		sp_out_u64(out, m->paths[i].parent);
		sp_out_byte(out, ',');
		sp_out_u64(out, m->paths[i].region);
		sp_out_byte(out, ',');
		if (m->paths[i].parameter == SP_NONE)
			sp_out_text(out, "null");
		else
			sp_out_u64(out, m->paths[i].parameter);
		sp_out_byte(out, ']');
	}
	sp_out_byte(out, ']');
}

/* Writes the lines of the selected locations. */
static void put_lines(struct sp_out *out, const struct sp_model *m, const struct sp_pick *k)
{
	bool any = false;

	sp_out_text(
	    out, ",\n\"line_columns\":[\"location\",\"region\",\"line\",\"hits\",\"excl\",\"callees\"],\n\"lines\":[");
	for (size_t i = 0; i < m->n_lines; i++) {
		const struct sp_line *l = &m->lines[i];

		if (l->location < k->first || l->location >= k->end)
			continue;
		sp_out_f(out, "%s[%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]",
		         any ? ",\n" : "\n", l->location, l->region, l->line, l->hits, l->own, l->callees);
		any = true;
	}
	sp_out_byte(out, ']');
}

/* Writes the unit of the numbers: "ns" for a unit of 10^-9 s. */
static void put_unit(struct sp_out *out, const struct sp_metric *x)
{
	static const struct {
		int exponent;
		const char *prefix;
	} prefixes[] = {{-12, "p"}, {-9, "n"}, {-6, "u"}, {-3, "m"}, {0, ""}, {3, "k"}, {6, "M"}, {9, "G"}};
	char text[24];

	snprintf(text, sizeof text, "10^%d ", x->exponent);
	for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
		if (prefixes[i].exponent == x->exponent)
			snprintf(text, sizeof text, "%s", prefixes[i].prefix);
	sp_out_f(out, "\"%s", text);
	sp_out_escaped(out, x->unit);
	sp_out_byte(out, '"');
}

static int put_values(struct sp_out *out, const struct sp_model *m, const struct sp_pick *k,
                      const struct sp_write_options *o, struct sp_err *e)
{
	uint64_t done = 0;

	sp_out_text(
	    out, ",\n\"value_columns\":[\"path\",\"visits\",\"resumed\",\"incl\",\"excl\",\"min\",\"max\",\"sumsq\"");
	for (size_t i = 0; i < m->n_metrics; i++) {
		sp_out_byte(out, ',');
		sp_out_json(out, m->metrics[i].name);
	}
	sp_out_text(out, "],\n\"value_units\":[null,\"#\",\"#\",\"ns\",\"ns\",\"ns\",\"ns\",\"ns^2\"");
	for (size_t i = 0; i < m->n_metrics; i++) {
		sp_out_byte(out, ',');
		put_unit(out, &m->metrics[i]);
	}
	sp_out_text(out, "],\n\"values\":[");
	for (uint32_t l = 0; l < m->n_locations; l++) {
		const size_t first = m->locations[l].first_value, width = m->n_metrics;
		const struct sp_row *row = m->values + first;
		const uint64_t *metrics = width ? m->row_metrics + first * width : NULL;
		size_t n = l >= k->first && l < k->end ? m->locations[l].values : 0;
		sp_out_text(out, l ? ",\n[" : "\n[");
		for (size_t i = 0; i < n; i++) {
			sp_out_text(out, i ? ",\n" : "\n");
			put_value(out, row[i].path, &row[i].v, m->processes[m->locations[l].process].counted,
			          width ? metrics + i * width : NULL, width);
			if (++done % 65536 == 0 && sp_write_tick(o, done, m->n_values, e))
				return -1;
		}
		sp_out_byte(out, ']');
	}
	sp_out_text(out, "]}\n");
	return 0;
}

int sp_write_json(const struct sp_model *m, const char *path, const struct sp_write_options *o, struct sp_err *e)
{
	struct sp_pick k;
	struct sp_out out;

	if (sp_pick_open(&k, m, o, e))
		return -1;
	int rc = sp_out_open(&out, path, e);
	if (rc == 0) {
		rc = put_head(&out, m) ? sp_fail(e, ENOMEM, "out of memory") : 0;
		put_paths(&out, m);
		put_lines(&out, m, &k);
		rc = sp_out_close(&out, rc ? rc : put_values(&out, m, &k, o, e), e);
	}
	sp_pick_close(&k);
	return rc;
}
