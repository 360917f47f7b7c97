/* SPDX-License-Identifier: BSD-3-Clause */
/* From a directory to a model. */
#include "model/private.h"

#include <dirent.h>
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

static void add_problem(struct sp_model *m, const char *text)
{
	struct sp_model_private *priv = m->priv;
	struct sp_problem *p;

	if (m->n_problems == priv->problem_room) {
		p = realloc(priv->problems, (priv->problem_room * 2 + 16) * sizeof(*p));
		if (!p)
			return;
		priv->problem_room = priv->problem_room * 2 + 16;
		m->problems = priv->problems = p;
	}
	p = &m->problems[m->n_problems];
	p->text = sp_model_str(m, text, strlen(text));
	if (p->text.p)
		m->n_problems++;
}

static void on_problem(void *arg, const char *text)
{
	add_problem(arg, text);
}

void sp_model_problem(struct sp_model *m, const char *format, ...)
{
	struct sp_err line = {.code = 0};
	va_list args;

	va_start(args, format);
	vsnprintf(line.text, sizeof(line.text), format, args);
	va_end(args);
	add_problem(m, line.text);
}

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), k = strlen(end);

	return n > k && strcmp(s + n - k, end) == 0;
}

/* The one line that a process left which could not be measured; empty when it cannot be read. */
static void error_line(char *line, size_t n, const char *dir, const char *name)
{
	char path[4096];
	FILE *f;

	line[0] = 0;
	snprintf(path, sizeof(path), "%s/raw/%s", dir, name);
	f = fopen(path, "re");
	if (!f)
		return;
	if (fgets(line, (int)n, f))
		line[strcspn(line, "\n")] = 0;
	fclose(f);
}

/* In the order of the files; the first line goes into first, too. */
static void add_errors(struct sp_model *m, const char *dir, struct dirent **names, int n, char *first, size_t room)
{
	char line[400];
	int i;

	first[0] = 0;
	for (i = 0; i < n; i++) {
		if (!ends_with(names[i]->d_name, ".error"))
			continue;
		error_line(line, sizeof(line), dir, names[i]->d_name);
		sp_model_problem(m, "raw/%s: a process was not recorded%s%s", names[i]->d_name, line[0] ? ": " : "",
		                 line);
		if (!first[0])
			snprintf(first, room, "%s%s", line[0] ? ": " : "", line);
	}
}

static int is_raw(const struct dirent *d)
{
	return ends_with(d->d_name, ".raw") || ends_with(d->d_name, ".error");
}

static void close_source(struct sp_source *s)
{
	sp_raw_close(s->raw);
	free(s->regions.to);
	free(s->counters.to);
	free(s->parameters.to);
	free(s->strings.to);
	free(s->metrics.to);
	free(s->sync);
	free(s->comms.to);
	free(s->wins.to);
	free(s->groups.to);
	free(s->sides);
	free(s->handles.to);
	free(s->io_handles);
	memset(s, 0, sizeof(*s));
}

static bool has_events(const struct sp_raw_file *f)
{
	size_t i;

	for (i = 0; i < f->n_threads; i++)
		if (f->threads[i].events.count)
			return true;
	return false;
}

/* Returns 1 when the file cannot be read (e says why), -1 when loading cannot go on. */
static int add_file(struct sp_builder *b, const char *dir, const char *name, struct sp_err *e)
{
	struct sp_source *s = &b->priv->sources[b->priv->n_sources];
	struct sp_loading *l = &b->loading[b->n_loading];
	struct sp_raw_file *raw;
	char path[4096], shown[300];

	snprintf(path, sizeof(path), "%s/raw/%s", dir, name);
	snprintf(shown, sizeof(shown), "raw/%s", name);
	if (sp_raw_open(&raw, path, shown, on_problem, b->m, e))
		return e->code == ENOMEM ? -1 : 1;
	s->raw = raw;
	b->priv->n_sources++;
	memset(l, 0, sizeof(*l));
	l->source = s;
	b->n_loading++;
	if (sp_build_process(b, l, raw, e))
		return -1;
	sp_raw_report_rest(raw);
	if (!has_events(raw)) {
		sp_raw_close(raw);
		s->raw = NULL;
	}
	return 0;
}

static int add_files(struct sp_builder *b, const char *dir, struct dirent **names, int n, struct sp_err *e)
{
	struct sp_err first = {.code = 0};
	char line[402];
	int i, rc;

	b->priv->sources = calloc((size_t)n + 1, sizeof(*b->priv->sources));
	b->loading = calloc((size_t)n + 1, sizeof(*b->loading));
	if (!b->priv->sources || !b->loading)
		return sp_model_no_memory(e);
	for (i = 0; i < n; i++) {
		if (ends_with(names[i]->d_name, ".error"))
			continue;
		rc = add_file(b, dir, names[i]->d_name, e);
		if (rc < 0)
			return -1;
		if (rc == 0)
			continue;
		if (!first.text[0])
			first = *e;
		add_problem(b->m, e->text);
	}
	add_errors(b->m, dir, names, n, line, sizeof(line));
	if (b->n_loading)
		return 0;
	if (first.text[0]) {
		*e = first;
		return -1;
	}
	return sp_fail(e, 0, "no process was measured%s", line);
}

static int build(struct sp_builder *b, const char *dir, struct sp_err *e)
{
	static const struct sp_str root[3] = {{"", 0}, {"<root>", 6}, {"", 0}};
	struct sp_model *m = b->m;
	struct dirent **names = NULL;
	char path[4096];
	int n, i, rc;

	if (snprintf(path, sizeof(path), "%s/raw", dir) > 3800)
		return sp_fail(e, ENAMETOOLONG, "%s", strerror(ENAMETOOLONG));
	n = scandir(path, &names, is_raw, alphasort);
	if (n < 0)
		return sp_fail(e, errno,
		               errno == ENOENT ? "not an experiment: there is no directory raw in it" : "raw: %s",
		               strerror(errno));
	rc = 0;
	m->paths = b->priv->paths = malloc(1024 * sizeof(*m->paths));
	if (!m->paths || sp_build_region(b, root, 0, SP_REGION_ROOT) == SP_NONE)
		rc = sp_model_no_memory(e);
	if (rc == 0) {
		m->paths[0] = (struct sp_path){SP_NONE, 0, SP_NONE, SP_NONE, SP_NONE};
		m->n_paths = 1;
		rc = add_files(b, dir, names, n, e);
	}
	for (i = 0; i < n; i++)
		free(names[i]);
	free(names);
	if (rc || sp_build_fold(b, e) || sp_build_order(b, e) || sp_build_mpi(b, e) || sp_build_io_handles(b, e))
		return -1;
	return sp_build_drop_unused(b, e) || sp_build_values(b, e) ? -1 : 0;
}

/* The strings of an intern table as the model's. */
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

int sp_model_load(struct sp_model **out, const char *dir, unsigned flags, struct sp_err *e)
{
	struct sp_model *m = calloc(1, sizeof(*m));
	struct sp_model_private *priv = calloc(1, sizeof(*priv));
	struct sp_builder b = {.m = m, .priv = priv, .flags = flags};
	size_t i;
	int rc;

	*out = NULL;
	if (!m || !priv) {
		free(m);
		free(priv);
		return sp_model_no_memory(e);
	}
	m->priv = priv;
	m->dir = sp_model_str(m, dir, strlen(dir));
	b.regions.arena = b.metrics.arena = b.parameter_values.arena = &b.scratch;
	b.counters.arena = b.parameters.arena = b.strings.arena = &priv->arena;
	rc = m->dir.p ? build(&b, dir, e) : sp_model_no_memory(e);
	if (rc == 0)
		rc = take_strings(m, &b.counters, &m->counters, &m->n_counters, e) |
		     take_strings(m, &b.parameters, &m->parameters, &m->n_parameters, e) |
		     take_strings(m, &b.strings, &m->strings, &m->n_strings, e);
	sp_intern_free(&b.regions);
	sp_intern_free(&b.metrics);
	sp_intern_free(&b.parameter_values);
	sp_intern_free(&b.counters);
	sp_intern_free(&b.parameters);
	sp_intern_free(&b.strings);
	for (i = 0; i < b.n_loading; i++)
		sp_mpi_defs_free(&b.loading[i].mpi);
	sp_arena_free(&b.scratch);
	sp_symbols_free(&b);
	free(b.key);
	free(b.path_slots);
	free(b.row_of);
	free(b.loading);
	if (rc) {
		sp_model_free(m);
		return sp_fail_in(e, "%s", dir);
	}
	*out = m;
	return 0;
}

void sp_model_free(struct sp_model *m)
{
	size_t i;

	if (!m)
		return;
	for (i = 0; i < m->priv->n_sources; i++)
		close_source(&m->priv->sources[i]);
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
