/* SPDX-License-Identifier: BSD-3-Clause */
/* From a directory to a model. */
#include "base/regular.h"
#include "model/builder/builder.h"
#include "model/builder/listing.h"
#include "model/builder/loading.h"
#include "model/builder/problem.h"
#include "model/builder/rows.h"
#include "model/builder/samples.h"
#include "model/builder/source.h"
#include "model/builder/steps.h"
#include "model/builder/symbol.h"
#include "model/model.h"
#include "model/path.h"
#include "model/region.h"
#include "model/str.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int sp_model_no_memory(struct sp_err *e)
{
	return sp_fail(e, ENOMEM, "not enough memory");
}

struct sp_str sp_model_str(struct sp_model *m, const char *p, size_t n)
{
	return (struct sp_str){sp_arena_copy(&m->priv->arena, p, n), n};
}

void sp_model_add_problem(struct sp_model *m, const char *text)
{
	struct sp_model_private *priv = m->priv;
	struct sp_problem *p;

	if (m->n_problems == priv->problem_capacity) {
		p = realloc(priv->problems, (priv->problem_capacity * 2 + 16) * sizeof(*p));
		if (!p)
			return;
		priv->problem_capacity = priv->problem_capacity * 2 + 16;
		m->problems = priv->problems = p;
	}
	p = &m->problems[m->n_problems];
	p->text = sp_model_str(m, text, strlen(text));
	if (p->text.p)
		m->n_problems++;
}

static void on_problem(void *arg, const char *text)
{
	sp_model_add_problem(arg, text);
}

void sp_model_problem(struct sp_model *m, const char *format, ...)
{
	struct sp_err line = {.code = 0};
	va_list args;

	va_start(args, format);
	vsnprintf(line.text, sizeof(line.text), format, args);
	va_end(args);
	sp_model_add_problem(m, line.text);
}

/* Reads the error report, one line, of a process that could not be measured; empty if it cannot be read. */
static void error_line(char *line, size_t n, const char *dir, const char *name)
{
	enum { MAX_OF_ERROR = 1 << 20 };
	char path[4096];
	FILE *f;

	line[0] = 0;
	snprintf(path, sizeof(path), "%s/raw/%s", dir, name);
	f = sp_fopen_regular(path, MAX_OF_ERROR);
	if (!f)
		return;
	if (fgets(line, (int)n, f))
		line[strcspn(line, "\n")] = 0;
	fclose(f);
}

/* Adds the error reports to the problems, in the order of the files, and copies the first one to `first`. */
static void add_errors(struct sp_model *m, const struct sp_listing *list, char *first, size_t capacity)
{
	char line[400];
	size_t i;

	first[0] = 0;
	for (i = 0; i < list->n; i++) {
		if (!list->files[i].error)
			continue;
		error_line(line, sizeof(line), m->dir.p, list->files[i].name);
		if (!line[0])
			snprintf(line, sizeof(line), "it had no space to write the reason");
		sp_model_problem(m, "raw/%s: a process was not recorded: %s", list->files[i].name, line);
		if (!first[0])
			snprintf(first, capacity, ": %s", line);
	}
}

void sp_source_close(struct sp_source *s)
{
	sp_raw_close(s->raw);
	if (!s->borrowed) {
		free(s->regions.to);
		free(s->counters.to);
		free(s->parameters.to);
		free(s->strings.to);
		free(s->metrics.to);
		free(s->tasks.to);
		free(s->threads.to);
		free(s->sync);
		free(s->comms.to);
		free(s->wins.to);
		free(s->groups.to);
		free(s->sides);
		free(s->handles.to);
		free(s->io_handles);
		free(s->sampled_regions.to);
		free(s->sampled_metrics.to);
	}
	memset(s, 0, sizeof(*s));
}

void sp_loading_free(struct sp_loading *l)
{
	sp_mpi_defs_free(&l->mpi);
	free(l->children.p);
	free(l->sites.p);
	sp_task_defs_free(&l->tasks);
	sp_lock_defs_free(&l->locks);
}

static bool has_events(const struct sp_raw_file *f)
{
	size_t i;

	for (i = 0; i < f->n_threads; i++)
		if (f->threads[i].events.count)
			return true;
	return false;
}

int sp_builder_add(struct sp_builder *b, const struct sp_listed *file, struct sp_err *e)
{
	struct sp_source *s = &b->priv->sources[b->priv->n_sources];
	struct sp_loading *l = &b->loading[b->n_loading];
	struct sp_raw_file *raw;
	char path[4096], shown[300];
	int rc;

	snprintf(path, sizeof(path), "%s/raw/%s", b->m->dir.p, file->name);
	snprintf(shown, sizeof(shown), "raw/%s", file->name);
	if (sp_raw_open(&raw, path, shown, on_problem, b->m, e)) {
		if (e->code == ENOMEM)
			return -1;
		if (!b->first.text[0])
			b->first = *e;
		sp_model_add_problem(b->m, e->text);
		return 1;
	}
	s->raw = raw;
	b->priv->n_sources++;
	memset(l, 0, sizeof(*l));
	l->source = s;
	b->n_loading++;
	rc = file->samples && sp_samples_open_file(b, l, file->samples->name) ? sp_model_no_memory(e) : 0;
	if (rc == 0)
		rc = sp_build_process(b, l, raw, e);
	sp_samples_close_file(l);
	if (rc)
		return -1;
	sp_raw_report_rest(raw);
	s->damaged = raw->problems > 0;
	if (b->merging || !has_events(raw)) {
		s->closed = has_events(raw);
		sp_raw_close(raw);
		s->raw = NULL;
	}
	return 0;
}

/* Fails if no process of the directory could be read. */
static int check_any(struct sp_builder *b, const struct sp_listing *list, struct sp_err *e)
{
	char line[402];

	add_errors(b->m, list, line, sizeof(line));
	if (b->n_loading)
		return 0;
	if (b->first.text[0]) {
		*e = b->first;
		return -1;
	}
	return sp_fail(e, 0, "no process was measured%s", line);
}

/* Moves the strings of an intern table into the model. */
static int take_strings(struct sp_model *m, const struct sp_intern *t, struct sp_str **out, size_t *n, struct sp_err *e)
{
	size_t i;

	*out = sp_arena_zalloc(&m->priv->arena, t->n, sizeof(**out));
	if (!*out)
		return sp_model_no_memory(e);
	for (i = 0; i < t->n; i++)
		(*out)[i] = (struct sp_str){t->entries[i].p, t->entries[i].n};
	*n = t->n;
	return 0;
}

int sp_builder_strings(struct sp_builder *b, struct sp_err *e)
{
	struct sp_model *m = b->m;

	return take_strings(m, &b->counters, &m->counters, &m->n_counters, e) |
	       take_strings(m, &b->parameters, &m->parameters, &m->n_parameters, e) |
	       take_strings(m, &b->strings, &m->strings, &m->n_strings, e);
}

int sp_builder_visits(struct sp_builder *b)
{
	const size_t n = b->m->n_paths;
	uint64_t *larger;

	if (n <= b->visit_capacity)
		return 0;
	larger = realloc(b->visits, (n + n / 2) * sizeof(*larger));
	if (!larger)
		return -1;
	memset(larger + b->visit_capacity, 0, (n + n / 2 - b->visit_capacity) * sizeof(*larger));
	b->visits = larger;
	b->visit_capacity = n + n / 2;
	return 0;
}

int sp_builder_finish(struct sp_builder *b, const struct sp_listing *list, struct sp_err *e)
{
	if (check_any(b, list, e) || sp_build_fold(b, e) || sp_build_order(b, e) || sp_build_children(b, e) ||
	    sp_build_mpi(b, e) || sp_build_io_handles(b, e) || sp_build_tasks(b, e) || sp_build_lines(b, e) ||
	    sp_build_tallies(b, e) || sp_build_memory(b, e) || sp_build_locks(b, e) || sp_build_drop_unused(b, e))
		return -1;
	return sp_builder_strings(b, e);
}

static int begin(struct sp_builder *b, const char *dir, size_t files)
{
	static const struct sp_str root[3] = {{"", 0}, {"<root>", 6}, {"", 0}};
	struct sp_model_private *priv = b->priv;
	struct sp_model *m = b->m;

	m->priv = priv;
	b->regions.arena = b->metrics.arena = b->parameter_values.arena = &b->scratch;
	b->counters.arena = b->parameters.arena = b->strings.arena = &priv->arena;
	m->dir = sp_model_str(m, dir, strlen(dir));
	b->files = files;
	priv->sources = calloc(files + 1, sizeof(*priv->sources));
	b->loading = calloc(files + 1, sizeof(*b->loading));
	m->paths = priv->paths = malloc(1024 * sizeof(*m->paths));
	priv->path_capacity = 1024;
	if (!m->dir.p || !priv->sources || !b->loading || !m->paths ||
	    sp_build_region(b, root, 0, SP_REGION_ROOT) == SP_NONE)
		return -1;
	m->paths[0] = (struct sp_path){SP_NONE, 0, SP_NONE, SP_NONE, SP_NONE};
	m->n_paths = 1;
	return 0;
}

int sp_builder_open(struct sp_builder *b, const char *dir, unsigned flags, size_t files, struct sp_err *e)
{
	*b = (struct sp_builder){.m = calloc(1, sizeof(*b->m)), .priv = calloc(1, sizeof(*b->priv)), .flags = flags};
	if (!b->m || !b->priv) {
		free(b->m);
		free(b->priv);
		*b = (struct sp_builder){.m = NULL};
		return sp_model_no_memory(e);
	}
	return begin(b, dir, files) ? sp_model_no_memory(e) : 0;
}

void sp_builder_close(struct sp_builder *b)
{
	size_t i;

	for (i = 0; i < b->n_loading; i++)
		sp_loading_free(&b->loading[i]);
	sp_intern_free(&b->regions);
	sp_intern_free(&b->metrics);
	sp_intern_free(&b->parameter_values);
	sp_intern_free(&b->counters);
	sp_intern_free(&b->parameters);
	sp_intern_free(&b->strings);
	sp_arena_free(&b->scratch);
	sp_symbols_free(b);
	free(b->key);
	free(b->path_slots);
	free(b->row_of);
	free(b->visits);
	free(b->folded);
	free(b->process_roles.rule);
	free(b->thread_roles.rule);
	free(b->path_moves);
	free(b->loading);
}

static int build(struct sp_builder *b, const struct sp_listing *list, struct sp_err *e)
{
	const struct sp_listed *f;
	size_t i;

	for (i = 0; i < list->n; i++) {
		f = &list->files[list->order[i]];
		if (!f->error && !f->joined && sp_builder_add(b, f, e) < 0)
			return -1;
	}
	return sp_builder_finish(b, list, e) || sp_build_values(b, e) ? -1 : 0;
}

static int load(struct sp_model **out, const char *dir, unsigned flags, struct sp_err *e)
{
	struct sp_listing list = {.n = 0};
	struct sp_err damage = {.code = 0};
	struct sp_builder b = {.m = NULL};
	int rc;

	if (sp_listing_read(&list, dir, e))
		return -1;
	if (!(flags & (SP_MODEL_COMPENSATE | SP_MODEL_RAW)) && sp_image_load(out, dir, &list, &damage) == 0) {
		sp_listing_free(&list);
		return 0;
	}
	rc = sp_builder_open(&b, dir, flags, list.n, e);
	if (rc == 0)
		b.m->compensated = flags & SP_MODEL_COMPENSATE;
	if (rc == 0 && damage.text[0])
		sp_model_add_problem(b.m, damage.text);
	if (rc == 0)
		rc = build(&b, &list, e);
	sp_listing_free(&list);
	sp_builder_close(&b);
	if (rc) {
		sp_model_free(b.m);
		return -1;
	}
	*out = b.m;
	return 0;
}

int sp_model_load(struct sp_model **out, const char *dir, unsigned flags, struct sp_err *e)
{
	*out = NULL;
	int rc = load(out, dir, flags, e);
	if (rc == 0 && (rc = sp_model_own(*out, NULL, e))) {
		sp_model_free(*out);
		*out = NULL;
	}
	return rc ? sp_fail_in(e, "%s", dir) : 0;
}

void sp_model_free(struct sp_model *m)
{
	size_t i;

	if (!m)
		return;
	for (i = 0; i < m->priv->n_sources; i++)
		sp_source_close(&m->priv->sources[i]);
	sp_image_close(m->priv->image);
	sp_model_free(m->priv->stand_in);
	free(m->priv->sources);
	free(m->priv->problems);
	free(m->priv->rows);
	free(m->priv->row_metrics);
	free(m->priv->parameter_values);
	free(m->priv->paths);
	free(m->priv->regions);
	sp_arena_free(&m->priv->arena);
	free(m->priv);
	free(m);
}
