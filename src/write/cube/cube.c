/* SPDX-License-Identifier: BSD-3-Clause */
/* A profile for Cube 4, in Score-P's layout: a tar archive with one matrix of call paths by locations for each metric,
 * and anchor.xml, which names everything.
 *
 * Call paths of a process's first thread are below the program, those of all other threads below THREADS: a cnode is a
 * path of the model on one of the two sides. Cnodes are numbered depth first; the rows of an exclusive metric have this
 * order. The rows of an inclusive metric have the order "wide": for each node, also depth first, all its children one
 * after the other. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "write/cube/cube.h"
#include "model/model.h"
#include "model/process.h"
#include "model/str.h"
#include "write/common/formats.h"

#define BLOCK ((size_t)64 << 20) /* maximum bytes of a matrix in memory */

static void number_children(struct sp_cube *c, int side, uint32_t path, uint32_t *n)
{
	const struct sp_cube_tree *t = &c->tree;
	uint32_t child = sp_cube_below(t, side, c->m->paths[path].first_child);

	for (; child != SP_NONE; child = sp_cube_below(t, side, c->m->paths[child].next_sibling))
		c->wide[t->cnode[side][child]] = (*n)++;
	/* THREADS is the program's last child */
	if (side == SP_CUBE_PROGRAM && path == 0 && t->cnode[SP_CUBE_THREADS][0] != SP_NONE)
		c->wide[t->cnode[SP_CUBE_THREADS][0]] = (*n)++;
}

static void number_wide(struct sp_cube *c)
{
	uint32_t n = 0;

	c->wide[0] = n++;
	for (int side = 0; side < SP_CUBE_SIDES; side++)
		if (c->tree.cnode[side][0] != SP_NONE)
			for (uint32_t p = 0; p != SP_NONE; p = sp_cube_next(&c->tree, side, p, NULL, NULL))
				number_children(c, side, p, &n);
}

/* ---- columns: locations in the order of the system tree, in which the processes of a host are together ---- */

static int number_columns(struct sp_cube *c, struct sp_arena *arena)
{
	const struct sp_model *m = c->m;
	uint32_t hosts = 0;

	c->host = sp_arena_zalloc(arena, m->n_processes + 1, sizeof *c->host);
	c->column = sp_arena_zalloc(arena, m->n_locations + 1, sizeof *c->column);
	if (!c->host || !c->column)
		return -1;
	for (uint32_t p = 0; p < m->n_processes; p++) {
		uint32_t q = 0;
		while (q < p && (m->processes[q].host.n != m->processes[p].host.n ||
		                 memcmp(m->processes[q].host.p, m->processes[p].host.p, m->processes[p].host.n) != 0))
			q++;
		c->host[p] = q < p ? c->host[q] : hosts++;
	}
	c->n_hosts = hosts;
	memset(c->column, 0xff, m->n_locations * sizeof *c->column);
	for (uint32_t h = 0; h < hosts; h++)
		for (uint32_t p = 0; p < m->n_processes; p++)
			for (uint32_t l = 0; c->host[p] == h && l < m->processes[p].locations; l++) {
				uint32_t location = m->processes[p].first_location + l;
				if (location >= c->k.first && location < c->k.end)
					c->column[location] = c->n_columns++;
			}
	return 0;
}

static int prepare(struct sp_cube *c, struct sp_arena *arena, struct sp_err *e)
{
	if (sp_cube_tree(&c->tree, c->m, &c->k, arena, e))
		return -1;
	sp_cube_depth_first(&c->tree);
	c->wide = sp_arena_alloc(arena, c->tree.n_cnodes * sizeof *c->wide);
	c->chain = sp_arena_alloc(arena, c->m->n_parameter_values * sizeof *c->chain);
	if (!c->wide || !c->chain || number_columns(c, arena) || sp_cube_metrics(c, arena))
		return sp_fail(e, ENOMEM, "out of memory");
	number_wide(c);
	return 0;
}

/* ---- the archive ---- */

enum { TAR_BLOCK = 512 };

static void put_octal(char *to, unsigned digits, uint64_t value)
{
	for (to += digits; digits-- > 0; value >>= 3)
		*--to = (char)('0' + (value & 7));
}

/* POSIX ustar; sizes above 8 GiB as in GNU tar, in base 256. */
static void put_head(struct sp_cube *c, const char *name, uint64_t size)
{
	char head[TAR_BLOCK] = {0};
	unsigned sum = 0;

	snprintf(head, 100, "%s", name);
	memcpy(head + 100, "0000644", 8);
	memcpy(head + 108, "0000000", 8);
	memcpy(head + 116, "0000000", 8);
	if (size < UINT64_C(1) << 33) {
		put_octal(head + 124, 11, size);
	} else {
		head[124] = (char)0x80;
		for (int i = 0; i < 8; i++)
			head[135 - i] = (char)(size >> 8 * i);
	}
	put_octal(head + 136, 11, c->m->end_ns / 1000000000);
	memset(head + 148, ' ', 8);
	head[156] = '0';
	memcpy(head + 257, "ustar\00000", 8);
	for (int i = 0; i < TAR_BLOCK; i++)
		sum += (unsigned char)head[i];
	put_octal(head + 148, 6, sum);
	head[154] = '\0';
	sp_out_bytes(&c->out, head, TAR_BLOCK);
}

static void put_end(struct sp_cube *c, uint64_t size)
{
	static const char zeros[TAR_BLOCK];

	sp_out_bytes(&c->out, zeros, (TAR_BLOCK - size % TAR_BLOCK) % TAR_BLOCK);
}

static void put_index(struct sp_cube *c, unsigned metric, const struct sp_cube_rows *r)
{
	const int32_t one = 1, n = (int32_t)r->n;
	const int16_t version = 0;
	uint64_t size = 11 + 4 + 2 + 1 + 4 + (uint64_t)r->n * 4;
	char name[32];

	snprintf(name, sizeof name, "%u.index", metric);
	put_head(c, name, size);
	sp_out_text(&c->out, "CUBEX.INDEX");
	sp_out_bytes(&c->out, &one, 4);
	sp_out_bytes(&c->out, &version, 2);
	sp_out_byte(&c->out, 1); /* marks the matrix as sparse */
	sp_out_bytes(&c->out, &n, 4);
	sp_out_bytes(&c->out, r->stored, (size_t)r->n * 4);
	put_end(c, size);
}

static int put_data(struct sp_cube *c, unsigned number, const struct sp_cube_rows *r, struct sp_err *e)
{
	size_t row = (size_t)c->n_columns * sizeof(uint64_t), rows = row && row < BLOCK ? BLOCK / row : 1;
	uint64_t size = 10 + (uint64_t)r->n * row, before = c->done;
	char name[32];
	int rc = 0;

	if (rows > r->n)
		rows = r->n;
	uint64_t *cells = malloc(rows * row + 1);
	if (!cells)
		return sp_fail(e, ENOMEM, "out of memory");
	snprintf(name, sizeof name, "%u.data", number);
	put_head(c, name, size);
	sp_out_text(&c->out, "CUBEX.DATA");
	for (uint32_t first = 0, end; rc == 0 && first < r->n; first = end) {
		end = r->n - first < rows ? r->n : first + (uint32_t)rows;
		sp_cube_fill(c, &c->metrics[number], r, first, end, cells);
		sp_out_bytes(&c->out, cells, (end - first) * row);
		c->done = before + end;
		rc = sp_write_tick(c->o, c->done, (uint64_t)c->tree.n_cnodes * c->n_metrics, e);
	}
	put_end(c, size);
	free(cells);
	return rc;
}

/* Writes a metric; one with only zeros has no files. */
static int put_metric(struct sp_cube *c, unsigned number, struct sp_err *e)
{
	struct sp_cube_rows r;
	int rc = sp_cube_rows(&r, c, &c->metrics[number]);

	if (rc) {
		sp_fail(e, ENOMEM, "out of memory");
	} else if (r.n) {
		put_index(c, number, &r);
		rc = put_data(c, number, &r, e);
	}
	sp_cube_rows_free(&r);
	return rc;
}

/* The length of anchor.xml comes before it, and it may be long: it is generated twice, first only to count its
 * bytes. */
static int put_anchor(struct sp_cube *c, struct sp_err *e)
{
	struct sp_out nothing;

	if (sp_out_open(&nothing, "/dev/null", e))
		return -1;
	sp_cube_anchor(c, &nothing);
	uint64_t size = nothing.flushed + nothing.n;
	if (sp_out_close(&nothing, 0, e))
		return -1;
	put_head(c, "anchor.xml", size);
	sp_cube_anchor(c, &c->out);
	put_end(c, size);
	sp_out_bytes(&c->out, (const char[2 * TAR_BLOCK]){0}, 2 * TAR_BLOCK);
	return 0;
}

int sp_write_cube(const struct sp_model *m, const char *path, const struct sp_write_options *o, struct sp_err *e)
{
	struct sp_cube c = {.m = m, .o = o};
	struct sp_arena arena = {0};

	if (sp_pick_open(&c.k, m, o, e))
		return -1;
	int rc = sp_cube_waits(&c, e) || prepare(&c, &arena, e) ? -1 : 0;
	if (rc == 0)
		rc = sp_out_open(&c.out, path, e);
	if (rc == 0) {
		for (unsigned i = 0; rc == 0 && i < c.n_metrics; i++)
			rc = put_metric(&c, i, e);
		if (rc == 0)
			rc = put_anchor(&c, e);
		rc = sp_out_close(&c.out, rc, e);
	}
	sp_cube_tree_free(&c.tree);
	sp_cube_waits_free(&c);
	sp_arena_free(&arena);
	sp_pick_close(&c.k);
	return rc;
}
