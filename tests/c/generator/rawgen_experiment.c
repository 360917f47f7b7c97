/* SPDX-License-Identifier: BSD-3-Clause */
/* Whole experiments, made by a random walk that is reproducible for the same options. */
#include "rawgen.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { COUNTERS = 2, PARAMETERS = 3, STRINGS = 4, DEPTH = 40 };

struct walk {
	const struct rg_options *o;
	uint64_t random;
	uint64_t now;
	unsigned regions;
};

static uint64_t next(struct walk *w)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return w->random;
}

static uint32_t pick(struct walk *w, uint32_t n)
{
	return (uint32_t)((next(w) >> 33) % n);
}

static void define(struct rg_process *p, unsigned regions)
{
	static const char *const counters[COUNTERS] = {"bytes sent", "queue length"};
	static const char *const parameters[PARAMETERS] = {"n", "bits", "mode"};
	static const char *const strings[STRINGS] = {"fast", "slow", "phase one", "phase two"};
	char module[64], name[64], file[64];
	uint32_t i;

	for (i = 1; i <= regions; i++) {
		snprintf(module, sizeof(module), "pkg.mod%u", i / 20);
		snprintf(name, sizeof(name), i % 3 ? "func_%u" : "Class%u.method", i);
		snprintf(file, sizeof(file), "/src/pkg/mod%u.py", i / 20);
		if (i % 17 == 16)
			rg_region(p, i, SP_RAW_REGION_C, "builtins", name, "", 0);
		else if (i % 17 == 15)
			rg_region(p, i, SP_RAW_REGION_USER, "", name, "", 0);
		else
			rg_region(p, i, i % 5 == 0 ? SP_RAW_REGION_GENERATOR : SP_RAW_REGION_PYTHON, module, name, file,
			          i % 20 * 10 + 1);
	}
	for (i = 0; i < COUNTERS; i++)
		rg_define(p, SP_RAW_DEF_COUNTER, i, counters[i]);
	for (i = 0; i < PARAMETERS; i++)
		rg_define(p, SP_RAW_DEF_PARAMETER, i, parameters[i]);
	for (i = 0; i < STRINGS; i++)
		rg_define(p, SP_RAW_DEF_STRING, i, strings[i]);
}

static void extra(struct walk *w, struct rg_thread *t)
{
	switch (pick(w, 6)) {
	case 0:
		rg_counter(t, w->now, pick(w, COUNTERS), (double)pick(w, 1000) / 8);
		break;
	case 1:
		rg_extra(t, w->now, SP_RAW_X_PARAMETER_INT, (uint64_t[]){0, (uint64_t) - (int64_t)pick(w, 100)}, 2);
		break;
	case 2:
		rg_extra(t, w->now, SP_RAW_X_PARAMETER_UINT, (uint64_t[]){1, pick(w, 100)}, 2);
		break;
	case 3:
		rg_extra(t, w->now, SP_RAW_X_PARAMETER_STRING, (uint64_t[]){2, pick(w, 2)}, 2);
		break;
	case 4:
		rg_extra(t, w->now, SP_RAW_X_MARKER, (uint64_t[]){2 + pick(w, 2)}, 1);
		break;
	default:
		w->now += SP_RAW_DELTA_MAX + 1000; /* needs a TIME record */
	}
}

/* Pauses recording: all frames are left, and inherited afterwards. */
static void pause_resume(struct walk *w, struct rg_thread *t, uint32_t *open)
{
	unsigned depth = rg_depth(t), i;

	for (i = 0; i < depth; i++)
		rg_leave(t, w->now);
	rg_extra(t, w->now, SP_RAW_X_OFF, NULL, 0);
	w->now += 5000;
	rg_extra(t, w->now, SP_RAW_X_ON, NULL, 0);
	for (i = 0; i < depth; i++)
		rg_inherit(t, w->now, open[i]);
}

static void walk_events(struct walk *w, struct rg_thread *t)
{
	uint32_t open[DEPTH], region;
	unsigned depth;
	uint64_t i;

	for (i = 0; i < w->o->events; i++) {
		depth = rg_depth(t);
		w->now += 20 + pick(w, 200);
		if (w->o->extras && pick(w, 50) == 0)
			extra(w, t);
		if (w->o->extras && pick(w, 5000) == 0)
			pause_resume(w, t, open);
		if (depth > 0 && (depth == DEPTH || pick(w, 2))) {
			if (open[depth - 1] % 5 == 0 && pick(w, 2))
				rg_suspend(t, w->now);
			else
				rg_leave(t, w->now);
			continue;
		}
		region = w->o->narrow && depth > 4 ? 0 : pick(w, 3);
		region = 1 + (depth ? (open[depth - 1] * 7 + region) % w->regions : region % w->regions);
		open[depth] = region;
		if (region % 5 == 0 && pick(w, 2))
			rg_resume(t, w->now, region);
		else
			rg_enter(t, w->now, region);
	}
	if (!w->o->open)
		while (rg_depth(t))
			rg_leave(t, w->now += 10);
}

/* Makes only a profile: a random tree with consistent inclusive times. */
static void walk_paths(struct walk *w, struct rg_thread *t)
{
	uint32_t *at = calloc(w->o->paths + 1, sizeof(*at)), i, parent, last = 0;
	struct sp_raw_node *n;

	if (!at)
		abort();
	for (i = 1; i <= w->o->paths; i++) {
		/* close to the newest path, so that the tree is as deep as real call trees */
		parent = i > 300 ? i - 1 - pick(w, 300) : pick(w, i);
		at[i] = rg_node(t, at[parent], 1 + pick(w, w->regions));
		last = at[i] > last ? at[i] : last; /* some paths are chosen twice */
	}
	for (i = w->o->paths; i >= 1; i--) {
		n = rg_node_at(t, at[i]);
		if (n->visits)
			continue;
		n->visits = 1 + pick(w, 9);
		n->min = 100;
		n->max = 100 + 10 * n->visits;
		n->sumsq = 1e4 * (double)n->visits;
		n->incl += 100 * n->visits;
	}
	for (i = last; i >= 1; i--) {
		n = rg_node_at(t, i);
		if (n->visits && n->parent)
			rg_node_at(t, n->parent)->incl += n->incl;
	}
	rg_location(t)->last = w->now += rg_node_at(t, 1)->incl;
	free(at);
}

static void make_process(const char *dir, const struct rg_options *o, unsigned index)
{
	const uint64_t begin = 1000000 + 1000 * (uint64_t)index;
	struct walk w = {o, o->seed * 7919 + index + 88172645463325252u, 0, o->regions ? o->regions : 50};
	struct rg_process *p = rg_process(1000 + (int32_t)index, index ? 1000 : 1, begin, o->trace);
	bool abrupt = o->abrupt && index + 1 == o->processes;
	uint64_t last = begin;
	struct rg_thread *t;
	char path[4096], name[32];
	unsigned i;

	rg_meta(p, "command", "python solver.py --steps 3");
	rg_meta(p, "python", "3.11.7");
	if (index)
		rg_header(p)->start = SP_RAW_STARTED_FORK;
	rg_header(p)->cost_in_ps = 15000;
	rg_header(p)->cost_out_ps = 10000;
	define(p, w.regions);
	for (i = 0; i < o->threads; i++) {
		snprintf(name, sizeof(name), i ? "Thread-%u (work)" : "MainThread", i);
		w.now = begin + 10 * i;
		t = rg_thread(p, name, 1000 * (index + 1) + i, i ? 0 : SP_RAW_NONE, w.now);
		if (o->same_paths)
			w.random = o->seed * 7919 + 88172645463325252u;
		if (o->paths)
			walk_paths(&w, t);
		walk_events(&w, t);
		last = w.now + 100 > last ? w.now + 100 : last;
	}
	snprintf(path, sizeof(path), "%s/raw/node1-%u-%u.raw", dir, 1000 + index, index);
	rg_write(p, path, abrupt ? SP_RAW_RUNNING : SP_RAW_ENDED_NORMAL, last);
}

void rg_experiment(const char *dir, const struct rg_options *o)
{
	char path[4096];
	unsigned i;
	FILE *f;

	snprintf(path, sizeof(path), "%s/raw", dir);
	if ((mkdir(dir, 0777) != 0 && errno != EEXIST) || mkdir(path, 0777) != 0) {
		fprintf(stderr, "rawgen: %s: %s\n", path, strerror(errno));
		exit(1);
	}
	snprintf(path, sizeof(path), "%s/experiment.json", dir);
	f = fopen(path, "w");
	if (f) {
		fputs("{\"command\": [\"python\", \"solver.py\"], \"status\": 0}\n", f);
		fclose(f);
	}
	for (i = 0; i < o->processes; i++)
		make_process(dir, o, i);
}
