/* SPDX-License-Identifier: BSD-3-Clause */
/* Callgrind's profile format, version 1: one part, all threads merged, cost in nanoseconds: Time, and
 * Running and Waiting if times are split. */
#include <errno.h>
#include <stdlib.h>

#include "base/intern.h"
#include "model/model.h"
#include "model/process.h"
#include "model/region.h"
#include "model/report/report.h"
#include "model/str.h"
#include "write/common/formats.h"
#include "write/common/out.h"
#include "write/profile/graph.h"

struct callgrind {
	struct sp_out out;
	struct sp_graph g;
	uint32_t *file_of; /* for each node */
	/* for each node: bit 1, its name was written; bit 2, the name of the file with this number was written */
	char *named;
	bool split; /* three events instead of one */
};

static struct sp_graph_key key_of(const struct sp_region *r)
{
	if (r->kind == SP_REGION_ROOT) /* calls of functions whose region could not be defined */
		return (struct sp_graph_key){sp_text("???"), sp_text("<not defined>"), 0};
	return (struct sp_graph_key){r->file.n ? r->file : sp_text("???"), r->name, r->line};
}

static uint64_t whole_ns(double ns)
{
	return ns > 0 ? (uint64_t)(ns + 0.5) : 0;
}

/* Writes "field=(number) name" at the first use, "field=(number)" afterwards. */
static void put_name(struct callgrind *c, const char *field, uint32_t id, char bit, struct sp_str s)
{
	sp_out_text(&c->out, field);
	sp_out_text(&c->out, "=(");
	sp_out_u64(&c->out, (uint64_t)id + 1);
	sp_out_byte(&c->out, ')');
	if (!(c->named[id] & bit)) {
		c->named[id] |= bit;
		sp_out_byte(&c->out, ' ');
		sp_out_line(&c->out, s, NULL);
	}
	sp_out_byte(&c->out, '\n');
}

/* Writes a value of each event, with blanks between them. */
static void put_events(struct callgrind *c, uint64_t time, uint64_t running, uint64_t waiting)
{
	sp_out_u64(&c->out, time);
	if (c->split) {
		sp_out_byte(&c->out, ' ');
		sp_out_u64(&c->out, running);
		sp_out_byte(&c->out, ' ');
		sp_out_u64(&c->out, waiting);
	}
	sp_out_byte(&c->out, '\n');
}

static void put_cost(struct callgrind *c, uint32_t line, double ns, const struct sp_split *split)
{
	sp_out_u64(&c->out, line);
	sp_out_byte(&c->out, ' ');
	put_events(c, whole_ns(ns), whole_ns(split->running), whole_ns(split->waiting));
}

static void put_node(struct callgrind *c, uint32_t id)
{
	const struct sp_graph_node *n = &c->g.nodes[id];

	put_name(c, "fl", c->file_of[id], 2, n->key.file);
	put_name(c, "fn", id, 1, n->key.name);
	put_cost(c, n->key.line, n->sum.own, &n->sum.own_split);
	for (uint32_t i = n->callees; i != SP_NONE; i = c->g.edges[i].next_callee) {
		const struct sp_graph_edge *edge = &c->g.edges[i];
		const struct sp_graph_key *callee = &c->g.nodes[edge->callee].key;
		put_name(c, "cfi", c->file_of[edge->callee], 2, callee->file);
		put_name(c, "cfn", edge->callee, 1, callee->name);
		sp_out_text(&c->out, "calls=");
		sp_out_u64(&c->out, edge->sum.calls);
		sp_out_byte(&c->out, ' ');
		sp_out_u64(&c->out, callee->line);
		sp_out_byte(&c->out, '\n');
		/* the line of the call is unknown: use the caller's first line */
		put_cost(c, n->key.line, edge->outer, &edge->outer_split);
	}
	sp_out_byte(&c->out, '\n');
}

static void put_all(struct callgrind *c, const struct sp_model *m, const struct sp_write_options *o)
{
	uint64_t time = 0, running = 0, waiting = 0;

	for (size_t i = 0; i < c->g.n_nodes; i++) { /* readers add up the rounded numbers */
		const struct sp_graph_sum *sum = &c->g.nodes[i].sum;

		time += whole_ns(sum->own);
		running += whole_ns(sum->own_split.running);
		waiting += whole_ns(sum->own_split.waiting);
	}
	sp_out_text(&c->out, "# callgrind format\nversion: 1\ncreator: spartito\ncmd: ");
	if (m->n_processes)
		sp_out_line(&c->out, m->processes[o->process == SP_NONE ? 0 : o->process].command, NULL);
	sp_out_text(&c->out, "\npositions: line\nevent: Time : Time in ns\n");
	if (c->split)
		sp_out_text(&c->out, "event: Running : Running time in ns\nevent: Waiting : Waiting time in ns\n");
	sp_out_text(&c->out, c->split ? "events: Time Running Waiting\nsummary: " : "events: Time\nsummary: ");
	put_events(c, time, running, waiting);
	sp_out_byte(&c->out, '\n');
	for (uint32_t i = 0; i < c->g.n_nodes; i++)
		if (c->g.nodes[i].seen)
			put_node(c, i);
	sp_out_text(&c->out, "totals: ");
	put_events(c, time, running, waiting);
}

static int number_files(struct callgrind *c, struct sp_err *e)
{
	struct sp_intern files = {.arena = &c->g.arena};

	c->file_of = sp_arena_zalloc(&c->g.arena, c->g.n_nodes, sizeof *c->file_of);
	c->named = sp_arena_zalloc(&c->g.arena, c->g.n_nodes, 1);
	int rc = c->file_of && c->named ? 0 : -1;
	for (size_t i = 0; rc == 0 && i < c->g.n_nodes; i++) {
		struct sp_str s = c->g.nodes[i].key.file;
		c->file_of[i] = sp_intern(&files, s.p, s.n);
		if (c->file_of[i] == SP_INTERN_FAILED)
			rc = -1;
	}
	sp_intern_free(&files);
	return rc ? sp_fail(e, ENOMEM, "out of memory") : 0;
}

static int open_graph(struct callgrind *c, const struct sp_model *m, const struct sp_write_options *o, struct sp_err *e)
{
	struct sp_pick k; /* checks the process */
	struct sp_view v = {.m = m};
	struct sp_path_split *splits = NULL;

	if (sp_pick_open(&k, m, o, e))
		return -1;
	int rc = sp_view_open(&v, m, o->process, SP_NONE, e) || sp_view_split(&v, &splits, e) ? -1 : 0;
	if (rc == 0) {
		c->split = splits != NULL;
		rc = sp_graph_open(&c->g, m, &(struct sp_graph_source){k.totals, splits, false, key_of}, o, e);
	}
	free(splits);
	sp_view_close(&v);
	sp_pick_close(&k);
	return rc;
}

int sp_write_callgrind(const struct sp_model *m, const char *path, const struct sp_write_options *o, struct sp_err *e)
{
	struct callgrind c = {.split = false};

	if (open_graph(&c, m, o, e))
		return -1;
	/* every function needs a caller: tools add up a function's inclusive cost from its callers */
	c.g.nodes[0].key = (struct sp_graph_key){sp_text("???"), sp_text("<root>"), 0};
	int rc = number_files(&c, e);
	if (rc == 0)
		rc = sp_out_open(&c.out, path, e);
	if (rc == 0) {
		put_all(&c, m, o);
		rc = sp_out_close(&c.out, 0, e);
	}
	sp_graph_close(&c.g);
	return rc;
}
