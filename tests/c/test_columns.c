/* SPDX-License-Identifier: BSD-3-Clause */
/* Metrics, parameters, file I/O, compiled functions: the additions of version 2 of the raw format. */
#include "check.h"
#include "model/event.h"
#include "model/file.h"
#include "model/metric.h"
#include "model/model.h"
#include "model/path.h"
#include "model/process.h"
#include "model/region.h"
#include "model/str.h"
#include "scratch.h"

enum { F = 1, G = 2, N3 = 3, N4 = 4, CASE = 5 };

static struct rg_process *process(int32_t pid, bool trace)
{
	struct rg_process *p = rg_process(pid, 1, 1000, trace);

	rg_region(p, F, 0, "m", "f", "/m.py", 3);
	rg_region(p, G, 0, "m", "g", "/m.py", 9);
	rg_region(p, N3, SP_RAW_REGION_PARAMETER, "int", "n", "3", 0);
	rg_region(p, N4, SP_RAW_REGION_PARAMETER, "int", "n", "4", 0);
	rg_region(p, CASE, SP_RAW_REGION_PARAMETER, "string", "case", "small", 0);
	return p;
}

/* A call f(n=value), with 30 ticks before the value is set and 70 after it; g is called in both parts. */
static void call(struct rg_thread *t, uint64_t at, uint32_t value)
{
	rg_enter(t, at, F);
	rg_enter(t, at + 10, G);
	rg_leave(t, at + 15);
	rg_enter(t, at + 30, G);
	rg_parameter(t, value);
	rg_leave(t, at + 40);
}

static const struct sp_row *row(const struct sp_model *m, uint32_t location, uint32_t path)
{
	const struct sp_location *l = &m->locations[location];
	size_t i;

	for (i = l->first_value; i < l->first_value + l->values; i++) {
		if (i > l->first_value)
			CHECK(m->values[i - 1].path < m->values[i].path);
		if (m->values[i].path == path)
			return &m->values[i];
	}
	return NULL;
}

static uint64_t metric_of(const struct sp_model *m, const struct sp_row *r, const char *name)
{
	size_t i;

	MUST(r);
	for (i = 0; i < m->n_metrics; i++)
		if (strcmp(m->metrics[i].name.p, name) == 0)
			return m->row_metrics[(size_t)(r - m->values) * m->n_metrics + i];
	return UINT64_MAX;
}

/* The path below `parent` of a region with this value set last; text NULL: without a value. */
static uint32_t with(const struct sp_model *m, uint32_t parent, const char *region, const char *text)
{
	uint32_t c, v;

	for (c = m->paths[parent].first_child; c != SP_NONE; c = m->paths[c].next_sibling) {
		v = m->paths[c].parameter;
		if (strcmp(m->regions[m->paths[c].region].name.p, region) == 0 &&
		    (text ? v != SP_NONE && strcmp(m->parameter_values[v].text.p, text) == 0 : v == SP_NONE))
			return c;
	}
	return SP_NONE;
}

static void check_tree(const struct sp_model *m)
{
	double excl = 0;
	uint32_t i;

	for (i = 1; i < m->n_paths; i++) {
		CHECK(m->paths[i].parent < i);
		CHECK(m->regions[m->paths[i].region].kind != SP_REGION_PARAMETER);
		excl += m->totals[i].excl;
	}
	for (i = 0; i < m->n_regions; i++)
		CHECK(m->regions[i].kind != SP_REGION_PARAMETER);
	CHECK_NUMBER(excl, m->totals[0].incl);
}

/* Every call of f got n=3, then case=small: one path with both values. */
static void test_one_value(void)
{
	const char *dir = scratch_experiment();
	struct rg_process *p = process(10, false);
	struct rg_thread *t = rg_thread(p, "MainThread", 10, SP_RAW_NONE, 1000);
	const struct sp_parameter_value *v;
	const struct sp_value *f, *g;
	struct sp_model *m;
	int i;

	for (i = 0; i < 2; i++) {
		rg_enter(t, 2000 + 1000 * (uint64_t)i, F);
		rg_enter(t, 2010 + 1000 * (uint64_t)i, G);
		rg_leave(t, 2020 + 1000 * (uint64_t)i);
		rg_parameter(t, N3);
		rg_enter(t, 2030 + 1000 * (uint64_t)i, G);
		rg_leave(t, 2050 + 1000 * (uint64_t)i);
		rg_parameter(t, CASE);
		rg_leave(t, 2100 + 1000 * (uint64_t)i);
	}
	scratch_add(dir, p, "a.raw", SP_RAW_ENDED_NORMAL, 9000);
	m = scratch_load(dir, 0);
	CHECK(m->n_problems == 0 && m->n_paths == 3 && m->n_regions == 3 && m->n_values == 2);
	check_tree(m);
	v = &m->parameter_values[m->paths[PATH(m, "m:f")].parameter];
	CHECK(strcmp(m->parameters[v->parameter].p, "case") == 0 && strcmp(v->text.p, "small") == 0 &&
	      v->kind == SP_EVENT_PARAMETER_STRING);
	MUST(v->before != SP_NONE);
	v = &m->parameter_values[v->before];
	CHECK(strcmp(m->parameters[v->parameter].p, "n") == 0 && strcmp(v->text.p, "3") == 0 &&
	      v->kind == SP_EVENT_PARAMETER_INT && v->before == SP_NONE);
	f = &m->totals[PATH(m, "m:f")];
	CHECK(f->visits == 2);
	CHECK_NUMBER(f->incl, 200);
	CHECK_NUMBER(f->excl, 200 - 60);
	g = &m->totals[PATH(m, "m:f", "m:g")];
	CHECK(g->visits == 4 && m->paths[PATH(m, "m:f", "m:g")].parameter == SP_NONE);
	CHECK_NUMBER(g->incl, 60);
	CHECK_NUMBER(g->min, 10);
	CHECK_NUMBER(g->max, 20);
	sp_model_free(m);
}

/* Values differ between two processes: the time before them stays in a separate path without visits. */
static void test_several_values(void)
{
	const char *dir = scratch_experiment();
	struct rg_process *p = process(10, false), *q = process(11, false);
	struct rg_thread *t = rg_thread(p, "MainThread", 10, SP_RAW_NONE, 1000);
	struct sp_model *m;
	uint32_t f, g, g3, g4;

	call(t, 2000, N3);
	call(t, 3000, N3);
	rg_leave(t, 3100);
	rg_leave(t, 3200);
	scratch_add(dir, p, "a.raw", SP_RAW_ENDED_NORMAL, 9000);
	m = scratch_load(dir, 0);
	check_tree(m);
	/* g has separate visits: calls without a value */
	f = PATH(m, "m:f");
	CHECK(m->totals[with(m, f, "m:g", NULL)].visits == 1 && m->totals[with(m, f, "m:g", "3")].visits == 1);
	sp_model_free(m);

	t = rg_thread(q, "MainThread", 11, SP_RAW_NONE, 1000);
	rg_enter(t, 2000, F);
	rg_enter(t, 2010, G);
	rg_enter(t, 2015, F);
	rg_leave(t, 2025);
	rg_parameter(t, N4);
	rg_enter(t, 2030, F);
	rg_leave(t, 2040);
	rg_leave(t, 2050);
	rg_leave(t, 2100);
	scratch_add(dir, q, "b.raw", SP_RAW_ENDED_NORMAL, 9000);
	m = scratch_load(dir, 0);
	CHECK(m->n_problems == 0);
	check_tree(m);
	f = PATH(m, "m:f");
	g = with(m, f, "m:g", NULL);
	g3 = with(m, f, "m:g", "3");
	g4 = with(m, f, "m:g", "4");
	MUST(g != SP_NONE && g3 != SP_NONE && g4 != SP_NONE);
	CHECK(row(m, 1, g)->v.visits == 0 && row(m, 1, g4)->v.visits == 1 && !row(m, 1, g3) && !row(m, 0, g4));
	CHECK_NUMBER(row(m, 1, g)->v.incl, 15);
	CHECK_NUMBER(row(m, 1, g4)->v.incl, 25);
	CHECK_NUMBER(m->totals[with(m, g4, "m:f", NULL)].incl, 10);
	CHECK_NUMBER(m->totals[with(m, g, "m:f", NULL)].incl, 10);
	sp_model_free(m);
}

/* f and its calls become one path; so do equal paths below, which determines their further folding. */
static void test_fold_below(void)
{
	const char *dir = scratch_experiment();
	struct rg_process *p = process(10, false);
	struct rg_thread *t = rg_thread(p, "MainThread", 10, SP_RAW_NONE, 1000);
	struct sp_model *m;
	uint32_t f;

	rg_enter(t, 2000, F);
	rg_enter(t, 2010, G); /* before the value of f: always with n=4 */
	rg_parameter(t, N4);
	rg_leave(t, 2020);
	rg_parameter(t, N3);
	rg_enter(t, 2030, G); /* after it: without a value */
	rg_leave(t, 2040);
	rg_leave(t, 2100);
	scratch_add(dir, p, "a.raw", SP_RAW_ENDED_NORMAL, 9000);
	m = scratch_load(dir, 0);
	check_tree(m);
	f = PATH(m, "m:f");
	CHECK(m->n_paths == 4 && with(m, 0, "m:f", "3") == f);
	CHECK(m->totals[with(m, f, "m:g", NULL)].visits == 1 && m->totals[with(m, f, "m:g", "4")].visits == 1);
	CHECK_NUMBER(m->totals[with(m, f, "m:g", NULL)].incl, 10);
	CHECK_NUMBER(m->totals[with(m, f, "m:g", "4")].incl, 10);
	sp_model_free(m);
}

/* Columns of two processes, in different order and number, with rows that are sorted and folded. */
static void test_metrics(void)
{
	const char *dir = scratch_experiment();
	struct rg_process *p = process(10, true), *q = process(11, false);
	struct rg_thread *t;
	struct sp_event ev[32];
	struct sp_events *s;
	struct sp_model *m;
	struct sp_err e;
	uint32_t i, k, n, f;

	rg_metric(p, 0, SP_RAW_METRIC_RUSAGE, "ru_utime", "s", -6);
	rg_metric(p, 1, SP_RAW_METRIC_BYTES | SP_RAW_METRIC_EXCLUSIVE, "io_bytes_read", "byte", 0);
	t = rg_thread(p, "MainThread", 10, SP_RAW_NONE, 1000);
	rg_extra(t, 2000, SP_RAW_X_METRICS, (uint64_t[]){5}, 1);
	rg_enter(t, 2000, F);
	*rg_value(t, rg_top(t), 0) = 100;
	*rg_value(t, rg_top(t), 1) = 3;
	rg_parameter(t, N3);
	*rg_value(t, rg_top(t), 0) = 200;
	*rg_value(t, rg_top(t), 1) = 4;
	rg_extra(t, 2100, SP_RAW_X_METRICS, (uint64_t[]){17}, 1);
	rg_leave(t, 2100);
	scratch_add(dir, p, "a.raw", SP_RAW_ENDED_NORMAL, 9000);

	rg_metric(q, 0, SP_RAW_METRIC_PERF, "cycles", "#", 0);
	for (i = 1; i < 9; i++)
		rg_metric(q, i, SP_RAW_METRIC_PAPI, (char[]){(char)('a' + i), 0}, "#", 0);
	rg_metric(q, 9, SP_RAW_METRIC_RUSAGE, "ru_utime", "s", -6);
	t = rg_thread(q, "MainThread", 11, SP_RAW_NONE, 1000);
	for (i = 0; i < 5000; i++) { /* more than a chunk can contain; g before f, although f is known first */
		n = rg_node(t, i ? n : 0, i % 2 ? F : G);
		rg_node_at(t, n)->visits = 1;
		for (k = 0; k < 10; k++)
			*rg_value(t, n, k) = i * 10 + k;
	}
	f = rg_node(t, 0, F);
	rg_node_at(t, f)->visits = 7;
	*rg_value(t, f, 0) = 70;
	*rg_value(t, f, 9) = 79;
	scratch_add(dir, q, "b.raw", SP_RAW_ENDED_NORMAL, 9000);

	m = scratch_load(dir, 0);
	CHECK(m->n_problems == 0 && m->n_metrics == 11 && m->n_paths == 5003 && m->n_values == 5003);
	CHECK(m->metrics[0].exponent == -6 && !m->metrics[0].own && m->metrics[1].own &&
	      m->metrics[1].kind == SP_METRIC_BYTES && m->metrics[2].kind == SP_METRIC_PERF);
	f = with(m, 0, "m:f", NULL);
	CHECK(f != SP_NONE && m->paths[f].parameter == SP_NONE && row(m, 1, f)->v.visits == 7);
	CHECK(metric_of(m, row(m, 0, f), "ru_utime") == 100 && metric_of(m, row(m, 0, f), "cycles") == 0);
	CHECK(metric_of(m, row(m, 1, f), "ru_utime") == 79 && metric_of(m, row(m, 1, f), "cycles") == 70);
	CHECK(metric_of(m, row(m, 0, with(m, 0, "m:f", "3")), "io_bytes_read") == 4);
	for (n = 0, i = 0; i < 5000; i++) {
		n = with(m, n, i % 2 ? "m:f" : "m:g", NULL);
		CHECK(metric_of(m, row(m, 1, n), "i") == i * 10 + 8 &&
		      metric_of(m, row(m, 1, n), "ru_utime") == i * 10 + 9);
	}
	CHECK(m->total_metrics[(size_t)f * 11] == 179 && m->total_metrics[0] == 179 + 200 + 9);
	CHECK(m->total_metrics[1] == 0);
	MUST(sp_events_open(&s, m, 0, &e) == 0 && sp_events_read(s, ev, 32, &e) == 4);
	CHECK(ev[0].kind == SP_EVENT_METRIC && ev[0].id == 0 && ev[0].u.uint == 5 && ev[0].time == ev[1].time);
	CHECK(ev[2].kind == SP_EVENT_METRIC && ev[2].u.uint == 17 && ev[2].time == ev[3].time);
	sp_events_close(s);
	sp_model_free(m);
}

/* In its own experiment f is one path with n=3, and has the values of both. */
static void test_folded_metrics(void)
{
	const char *dir = scratch_experiment();
	struct rg_process *p = process(10, false);
	struct sp_model *m;
	struct rg_thread *t;
	uint32_t f;

	rg_metric(p, 0, SP_RAW_METRIC_RUSAGE, "ru_utime", "s", -6);
	t = rg_thread(p, "MainThread", 10, SP_RAW_NONE, 1000);
	rg_enter(t, 2000, G);
	rg_enter(t, 2000, F);
	*rg_value(t, rg_top(t), 0) = 100;
	rg_parameter(t, N3);
	*rg_value(t, rg_top(t), 0) = 200;
	rg_leave(t, 2100);
	rg_leave(t, 2200);
	rg_enter(t, 2300, F);
	*rg_value(t, rg_top(t), 0) = 7;
	rg_leave(t, 2310);
	scratch_add(dir, p, "a.raw", SP_RAW_ENDED_NORMAL, 9000);
	m = scratch_load(dir, 0);
	CHECK(m->n_paths == 4 && m->n_values == 3);
	f = PATH(m, "m:g", "m:f");
	CHECK(metric_of(m, row(m, 0, f), "ru_utime") == 300 && m->total_metrics[f] == 300);
	CHECK(metric_of(m, row(m, 0, PATH(m, "m:f")), "ru_utime") == 7 && m->total_metrics[0] == 7);
	sp_model_free(m);
}

static void test_io(void)
{
	const char *dir = scratch_experiment();
	struct rg_process *p = process(10, true),
	                  *q = rg_process(9, 1, 900, true); /* first in the model, last in the directory */
	struct rg_thread *t, *u;
	const struct sp_io_handle *h;
	struct sp_event ev[32];
	struct sp_events *s;
	struct sp_model *m;
	struct sp_err e;

	rg_region(p, 7, SP_RAW_REGION_IO, "", "read", "", 0);
	rg_define(p, SP_RAW_DEF_STRING, 4, "/data/in");
	t = rg_thread(p, "MainThread", 10, SP_RAW_NONE, 1000);
	u = rg_thread(p, "W", 12, 0, 1000);
	rg_extra(u, 2000, SP_RAW_X_IO_CREATE, (uint64_t[]){1, 4, 0x42}, 3);
	rg_enter(t, 2010, 7);
	rg_extra(t, 2010, SP_RAW_X_IO_DUP, (uint64_t[]){1, 9}, 2);
	rg_extra(t, 2020, SP_RAW_X_IO_BEGIN, (uint64_t[]){9, 0, 100, UINT64_MAX}, 4);
	rg_extra(t, 2030, SP_RAW_X_IO_COMPLETE, (uint64_t[]){9, 60}, 2);
	rg_extra(t, 2040, SP_RAW_X_IO_SEEK, (uint64_t[]){3, (uint64_t)-5, 1, 55}, 4);
	rg_extra(t, 2050, SP_RAW_X_IO_DESTROY, (uint64_t[]){9}, 1);
	rg_leave(t, 2060);
	scratch_add(dir, p, "b.raw", SP_RAW_ENDED_NORMAL, 9000);
	rg_region(q, 7, SP_RAW_REGION_IO, "", "write", "", 0);
	rg_define(q, SP_RAW_DEF_STRING, 1, "/data/out");
	t = rg_thread(q, "MainThread", 9, SP_RAW_NONE, 1000);

	rg_extra(t, 2000, SP_RAW_X_IO_CREATE, (uint64_t[]){1, 1, 0}, 3);
	rg_extra(t, 2001, SP_RAW_X_IO_BEGIN, (uint64_t[]){1, 7, 100, 0}, 4);
	scratch_add(dir, q, "c.raw", SP_RAW_ENDED_NORMAL, 9000);

	m = scratch_load(dir, 0);
	CHECK(m->n_problems == 0 && m->n_io_handles == 4);
	h = m->io_handles;
	CHECK(h[0].process == 0 && strcmp(h[0].path.p, "/data/out") == 0);
	CHECK(h[1].process == 1 && strcmp(h[1].path.p, "/data/in") == 0 && h[1].flags == 0x42);
	CHECK(strcmp(h[2].path.p, "/data/in") == 0 && h[2].flags == 0x42 && h[2].process == 1);
	CHECK(h[3].path.n == 0 && h[3].process == 1);
	MUST(sp_events_open(&s, m, 1, &e) == 0 && sp_events_read(s, ev, 32, &e) == 7);
	CHECK(ev[0].kind == SP_EVENT_ENTER && m->regions[ev[0].id].kind == SP_REGION_IO &&
	      strcmp(m->regions[ev[0].id].name.p, "read") == 0);
	CHECK(ev[1].kind == SP_EVENT_IO_DUP && ev[1].id == 1 && ev[1].u.io->to == 2);
	CHECK(ev[2].kind == SP_EVENT_IO_BEGIN && ev[2].id == 2 && ev[2].u.io->asked == 100 && ev[2].u.io->mode == 0 &&
	      ev[2].u.io->offset == UINT64_MAX);
	CHECK(ev[3].kind == SP_EVENT_IO_COMPLETE && ev[3].u.io->bytes == 60 && ev[3].id == 2);
	CHECK(ev[4].kind == SP_EVENT_IO_SEEK && ev[4].id == 3 && ev[4].u.io->asked == -5 && ev[4].u.io->mode == 1 &&
	      ev[4].u.io->offset == 55);
	CHECK(ev[5].kind == SP_EVENT_IO_DESTROY && ev[5].id == 2 && ev[6].kind == SP_EVENT_LEAVE);
	sp_events_close(s);
	MUST(sp_events_open(&s, m, 0, &e) == 0 && sp_events_read(s, ev, 1, &e) == 1);
	CHECK(ev[0].kind == SP_EVENT_IO_CREATE && sp_events_read(s, ev, 32, &e) == 0);
	CHECK(m->n_problems == 1 && strstr(m->problems[0].text.p, "not complete or names"));
	sp_events_close(s);
	sp_model_free(m);
}

/* User regions with different source locations are one region; functions of an object file may have no name. */
static void test_regions(void)
{
	const char *dir = scratch_experiment();
	struct rg_process *p = process(10, false), *q = process(11, false);
	struct rg_thread *t = rg_thread(p, "MainThread", 10, SP_RAW_NONE, 1000);
	struct sp_model *m;
	uint32_t i;

	rg_region(p, 10, SP_RAW_REGION_USER, "user", "sweep", "", 0);
	rg_region(p, 11, SP_RAW_REGION_USER, "", "alone", "/a.py", 4);
	rg_region(p, 12, SP_RAW_REGION_NATIVE, "k.so", "", "/lib/k.so", 0x1f0);
	rg_region(p, 13, SP_RAW_REGION_NATIVE, "k.so", "solve", "/lib/k.so", 0x200);
	rg_region(p, 14, SP_RAW_REGION_OFF, "", "MEASUREMENT OFF", "", 0);
	for (i = 10; i < 15; i++)
		rg_node_at(t, rg_node(t, 0, i))->visits = 1;
	scratch_add(dir, p, "a.raw", SP_RAW_ENDED_NORMAL, 9000);
	t = rg_thread(q, "MainThread", 11, SP_RAW_NONE, 1000);
	rg_region(q, 10, SP_RAW_REGION_USER, "user", "sweep", "/b.py", 7);
	rg_region(q, 11, SP_RAW_REGION_USER, "", "alone", "/b.py", 9);
	rg_region(q, 12, SP_RAW_REGION_USER, "other", "sweep", "/b.py", 7);
	for (i = 10; i < 13; i++)
		rg_node_at(t, rg_node(t, 0, i))->visits = 1;
	scratch_add(dir, q, "b.raw", SP_RAW_ENDED_NORMAL, 9000);
	m = scratch_load(dir, 0);
	CHECK(m->n_problems == 0 && m->n_paths == 7 && m->n_regions == 7);
	CHECK(m->totals[PATH(m, "user:sweep")].visits == 2 && m->totals[PATH(m, "alone")].visits == 2);
	CHECK(m->totals[PATH(m, "other:sweep")].visits == 1 && m->totals[PATH(m, "MEASUREMENT OFF")].visits == 1);
	i = m->paths[PATH(m, "user:sweep")].region;
	CHECK(strcmp(m->regions[i].file.p, "/b.py") == 0 && m->regions[i].line == 7);
	i = m->paths[PATH(m, "alone")].region;
	CHECK(strcmp(m->regions[i].file.p, "/a.py") == 0 && m->regions[i].line == 4);
	MUST(PATH(m, "k.so+0x1f0") != SP_NONE && PATH(m, "k.so:solve") != SP_NONE);
	i = m->paths[PATH(m, "k.so:solve")].region;
	CHECK(m->regions[i].line == 0 && m->regions[i].address == 0x200 && m->regions[i].kind == SP_REGION_NATIVE);
	sp_model_free(m);
}

/* Values below a node that cannot have them, undefined metrics and parameters: reported, and nothing else is lost. */
static void test_damage(void)
{
	const char *dir = scratch_experiment();
	struct rg_process *p = process(10, true);
	struct rg_thread *t;
	struct sp_model *m;
	uint32_t n;

	rg_metric(p, 300, SP_RAW_METRIC_RUSAGE, "far", "s", 0);
	rg_metric(p, 0, SP_RAW_METRIC_RUSAGE, "ru_utime", "s", -6);
	rg_metric(p, 1, 9, "strange", "s", -6);
	rg_metric(p, 2, SP_RAW_METRIC_RUSAGE, "huge", "s", INT32_MAX);
	t = rg_thread(p, "MainThread", 10, SP_RAW_NONE, 1000);
	n = rg_node(t, rg_node(t, 0, F), N3);
	rg_node_at(t, rg_node(t, n, G))->visits = 1; /* g is called by a value */
	rg_node_at(t, rg_node(t, rg_node(t, 0, N3), G))->visits = 1;
	n = rg_node(t, 0, G);
	*rg_value(t, n, 0) = 1;
	*rg_value(t, n, 1) = 1;
	rg_extra(t, 2000, SP_RAW_X_METRICS, (uint64_t[]){1, 2}, 2);
	scratch_add(dir, p, "a.raw", SP_RAW_ENDED_NORMAL, 9000);
	m = scratch_load(dir, 0);
	CHECK(m->n_problems == 5 && m->n_metrics == 1);
	CHECK(m->totals[PATH(m, "m:f", "m:g")].visits == 1 && m->totals[PATH(m, "m:g")].visits == 1);
	CHECK(m->total_metrics[PATH(m, "m:g")] == 1);
	CHECK(scratch_events(m) == 0 && m->n_problems == 6);
	sp_model_free(m);
}

/* The file of version 2, compared with the program that generates it. */
static void check_sample(const char *dir)
{
	struct sp_model *m = scratch_load(dir, 0);
	uint32_t p, k;

	CHECK(m->n_problems == 0 && m->n_metrics == 4 && m->n_io_handles == (m->traced ? 3 : 0));
	check_tree(m);
	p = PATH(m, "__main__:main");
	MUST(p != SP_NONE && m->paths[p].parameter != SP_NONE);
	CHECK(m->totals[p].visits == 2);
	k = with(m, p, "__main__:Grid.work", NULL);
	CHECK(m->totals[k].visits == 0 && m->totals[k].incl == 20);
	k = with(m, p, "__main__:Grid.work", "-3");
	CHECK(m->totals[k].visits == 1 && m->totals[k].incl == 290 && m->total_metrics[k * 4] == 30);
	CHECK(with(m, k, "kernel.so:solve", NULL) != SP_NONE && with(m, p, "__main__:Grid.work", "2") != SP_NONE);
	k = PATH(m, "__main__:main", "user:sweep", "read");
	CHECK(m->total_metrics[k * 4 + 2] == 2 * 5096 && m->total_metrics[k * 4 + 1] == 4 * 90);
	CHECK(m->regions[m->paths[k].region].kind == SP_REGION_IO);
	CHECK(scratch_events(m) == (m->traced ? 2 * (11 * 3 + 10 * 3 + 1 + 2 + 2 + 6 + 5) + 5 : 0));
	CHECK(m->n_problems == 0);
	sp_model_free(m);
}

static void test_sample(const char *name, bool trace)
{
	const char *dir = scratch_experiment();

	scratch_add(dir, rg_sample(trace), "a.raw", SP_RAW_RUNNING, 9000);
	check_sample(dir);
	scratch_old(dir, name);
	check_sample(dir);
}

int main(void)
{
	test_sample("v2-profile.raw", false);
	test_sample("v2-trace.raw", true);
	test_one_value();
	test_several_values();
	test_fold_below();
	test_metrics();
	test_folded_metrics();
	test_io();
	test_regions();
	test_damage();
	return check_failures != 0;
}
