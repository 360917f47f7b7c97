/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of cProfile's print_stats(sort="time"): functions by internal time, files without directories. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/model.h"
#include "model/region.h"
#include "model/str.h"
#include "write/common/formats.h"
#include "write/common/out.h"
#include "write/profile/pstats.h"

struct row {
	const struct sp_graph_node *node;
	size_t order;
};

static struct sp_graph_key key_of(const struct sp_region *r)
{
	struct sp_graph_key key = sp_pstats_key(r);

	for (size_t i = key.file.n; i > 0; i--)
		if (key.file.p[i - 1] == '/') {
			key.file = (struct sp_str){key.file.p + i, key.file.n - i};
			break;
		}
	return key;
}

/* Equal times keep the order of the pstats file. */
static int by_time(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	const double mine = x->node->sum.own, other = y->node->sum.own;

	return mine > other ? -1 : mine < other ? 1 : x->order < y->order ? -1 : 1;
}

static void put_seconds(struct sp_out *out, double ns, uint64_t by)
{
	if (by)
		sp_out_f(out, "%8.3f ", ns * 1e-9 / (double)by);
	else
		sp_out_text(out, "         ");
}

/* Writes "file:12(name)"; without a source location only the name, with "{built-in …}" for "<built-in …>" */
static void put_name(struct sp_out *out, const struct sp_graph_key *k)
{
	struct sp_str name = k->name;
	const bool placed = k->line || k->file.n != 1 || k->file.p[0] != '~';
	const bool braces = !placed && name.n > 1 && name.p[0] == '<' && name.p[name.n - 1] == '>';

	if (placed) {
		sp_out_line(out, k->file, NULL);
		sp_out_f(out, ":%" PRIu32 "(", k->line);
	}
	if (braces) {
		sp_out_byte(out, '{');
		name = (struct sp_str){name.p + 1, name.n - 2};
	}
	sp_out_line(out, name, NULL);
	sp_out_text(out, placed ? ")" : braces ? "}" : "");
}

static void put_row(struct sp_out *out, const struct sp_graph_node *n)
{
	char calls[48];

	if (n->sum.calls == n->sum.primitive)
		snprintf(calls, sizeof calls, "%" PRIu64, n->sum.calls);
	else
		snprintf(calls, sizeof calls, "%" PRIu64 "/%" PRIu64, n->sum.calls, n->sum.primitive);
	sp_out_f(out, "%9s ", calls);
	put_seconds(out, n->sum.own, 1);
	put_seconds(out, n->sum.own, n->sum.calls);
	put_seconds(out, n->sum.total, 1);
	put_seconds(out, n->sum.total, n->sum.primitive);
	put_name(out, &n->key);
	sp_out_byte(out, '\n');
}

static void put_all(struct sp_out *out, const struct row *rows, size_t n)
{
	uint64_t calls = 0, primitive = 0;
	double time = 0;

	for (size_t i = 0; i < n; i++) {
		calls += rows[i].node->sum.calls;
		primitive += rows[i].node->sum.primitive;
		time += rows[i].node->sum.own * 1e-9;
	}
	sp_out_f(out, "         %" PRIu64 " function calls ", calls);
	if (calls != primitive)
		sp_out_f(out, "(%" PRIu64 " primitive calls) ", primitive);
	sp_out_f(out, "in %.3f seconds\n\n", time);
	if (!n)
		return;
	sp_out_text(out, "   Ordered by: internal time\n\n"
	                 "   ncalls  tottime  percall  cumtime  percall filename:lineno(function)\n");
	for (size_t i = 0; i < n; i++)
		put_row(out, rows[i].node);
	sp_out_text(out, "\n\n");
}

int sp_write_text(const struct sp_model *m, const char *path, const struct sp_write_options *o, struct sp_err *e)
{
	struct sp_pick k;
	struct sp_graph g;
	struct sp_out out;
	size_t n = 0;

	if (sp_pick_open(&k, m, o, e))
		return -1;
	int rc = sp_graph_open(&g, m, &(struct sp_graph_source){k.totals, NULL, true, key_of}, o, e);
	sp_pick_close(&k);
	if (rc)
		return -1;
	struct row *rows = calloc(g.n_nodes, sizeof *rows);
	rc = rows ? sp_out_open(&out, path, e) : sp_fail(e, ENOMEM, "out of memory");
	if (rc == 0) {
		for (size_t i = 1; i < g.n_nodes; i++)
			if (g.nodes[i].seen)
				rows[n++] = (struct row){&g.nodes[i], i};
		qsort(rows, n, sizeof *rows, by_time);
		put_all(&out, rows, n);
		rc = sp_out_close(&out, 0, e);
	}
	free(rows);
	sp_graph_close(&g);
	return rc;
}
