/* SPDX-License-Identifier: BSD-3-Clause */
/* The output of marshal.dump() for the dictionary of Python's pstats module. It uses marshal types that are the same in
 * every Python 3: no references, no interned or short strings. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "model/model.h"
#include "model/region.h"
#include "model/str.h"
#include "write/common/formats.h"
#include "write/common/out.h"
#include "write/profile/pstats.h"

static void put_32(struct sp_out *out, uint32_t v)
{
	char *p = sp_out_reserve(out, 4);

	for (int i = 0; i < 4; i++)
		p[i] = (char)(v >> 8 * i);
	out->n += 4;
}

static void put_int(struct sp_out *out, uint64_t v)
{
	unsigned digits = 0;

	if (v <= INT32_MAX) {
		sp_out_byte(out, 'i');
		put_32(out, (uint32_t)v);
		return;
	}
	for (uint64_t rest = v; rest; rest >>= 15)
		digits++;
	sp_out_byte(out, 'l');
	put_32(out, digits);
	for (; v; v >>= 15) {
		sp_out_byte(out, (char)(v & 0xff));
		sp_out_byte(out, (char)(v >> 8 & 0x7f));
	}
}

static void put_seconds(struct sp_out *out, double ns)
{
	double s = isfinite(ns) ? ns * 1e-9 : 0;
	uint64_t bits;

	memcpy(&bits, &s, sizeof bits);
	sp_out_byte(out, 'g');
	put_32(out, (uint32_t)bits);
	put_32(out, (uint32_t)(bits >> 32));
}

static void put_tuple(struct sp_out *out, uint32_t n)
{
	sp_out_byte(out, '(');
	put_32(out, n);
}

/* marshal rejects a string that is not UTF-8: invalid bytes become '?'. */
static void put_text(struct sp_out *out, struct sp_str s)
{
	const unsigned char *p = (const unsigned char *)s.p;
	size_t len;

	sp_out_byte(out, 'u');
	put_32(out, (uint32_t)s.n);
	for (size_t i = 0; i < s.n; i += len) {
		len = sp_utf8_sequence(p + i, s.n - i);
		if (len) {
			sp_out_bytes(out, p + i, len);
		} else {
			sp_out_byte(out, '?');
			len = 1;
		}
	}
}

static void put_key(struct sp_out *out, const struct sp_graph_key *k)
{
	put_tuple(out, 3);
	put_text(out, k->file);
	put_int(out, k->line);
	put_text(out, k->name);
}

/* Reconstructs code.co_name: the last part of the qualified name, with a label after it: "C.f(x=0.5)" becomes
 * "f(x=0.5)". A name that begins with a bracket, "[C.f][x.py]", is kept. */
static struct sp_str last_part(struct sp_str s)
{
	size_t begin = 0;

	if (s.n && s.p[0] == '[')
		return s;
	for (size_t i = 0; i < s.n && s.p[i] != '(' && s.p[i] != ':'; i++)
		if (s.p[i] == '.')
			begin = i + 1;
	return (struct sp_str){s.p + begin, s.n - begin};
}

struct sp_graph_key sp_pstats_key(const struct sp_region *r)
{
	struct sp_graph_key none = {sp_text("~"), r->qualname, 0};

	if (r->kind == SP_REGION_COLLAPSED)
		none.name = sp_text("<collapsed call paths>");
	if (r->kind == SP_REGION_ROOT) /* calls of functions whose region could not be defined */
		none.name = sp_text("<not defined>");
	if (r->kind == SP_REGION_NATIVE || r->kind == SP_REGION_IO || r->kind == SP_REGION_OFF ||
	    r->kind == SP_REGION_MPI)
		none.name = r->name;
	if (r->kind != SP_REGION_PYTHON && r->kind != SP_REGION_USER && (r->kind != SP_REGION_NATIVE || !r->line))
		return none;
	struct sp_str name = r->name;
	if (r->kind == SP_REGION_PYTHON)
		name = last_part(r->qualname);
	else if (r->kind == SP_REGION_NATIVE && r->qualname.n)
		name = r->qualname;
	return (struct sp_graph_key){r->file.n ? r->file : none.file, name, r->line};
}

static void put_entry(struct sp_out *out, const struct sp_graph *g, const struct sp_graph_node *n)
{
	put_key(out, &n->key);
	put_tuple(out, 5);
	put_int(out, n->sum.primitive);
	put_int(out, n->sum.calls);
	put_seconds(out, n->sum.own);
	put_seconds(out, n->sum.total);
	sp_out_byte(out, '{');
	for (uint32_t i = n->callers; i != SP_NONE; i = g->edges[i].next_caller) {
		const struct sp_graph_sum *s = &g->edges[i].sum;
		if (g->edges[i].caller == 0)
			continue;
		put_key(out, &g->nodes[g->edges[i].caller].key);
		put_tuple(out, 4);
		put_int(out, s->calls);
		put_int(out, s->primitive);
		put_seconds(out, s->own);
		put_seconds(out, s->total);
	}
	sp_out_byte(out, '0');
}

int sp_write_pstats(const struct sp_model *m, const char *path, const struct sp_write_options *o, struct sp_err *e)
{
	struct sp_pick k;
	struct sp_graph g;
	struct sp_out out;

	if (sp_pick_open(&k, m, o, e))
		return -1;
	int rc = sp_graph_open(&g, m, &(struct sp_graph_source){k.totals, NULL, true, sp_pstats_key}, o, e);
	sp_pick_close(&k);
	if (rc)
		return -1;
	rc = sp_out_open(&out, path, e);
	if (rc == 0) {
		sp_out_byte(&out, '{');
		for (size_t i = 1; i < g.n_nodes; i++)
			if (g.nodes[i].seen)
				put_entry(&out, &g, &g.nodes[i]);
		sp_out_byte(&out, '0');
		rc = sp_out_close(&out, 0, e);
	}
	sp_graph_close(&g);
	return rc;
}
