/* SPDX-License-Identifier: BSD-3-Clause */
/* A profile for Cube 4, laid out as Score-P does it: a tar archive with one matrix of call paths by locations for each
 * metric, and anchor.xml, which names everything.
 *
 * Call paths of a process's first thread hang below the program, those of all others below THREADS: a cnode is a path
 * of the model on one of the two sides. Cnodes are numbered depth first; that is the order of the rows of an exclusive
 * metric. An inclusive metric has them "wide": at each node, again depth first, all its children one after the other.
 */
#include <errno.h>
#include <float.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "write/cube.h"
#include "write/formats.h"

#define BLOCK ((size_t)64 << 20) /* bytes of a matrix that are in memory at a time */

static double visits(const struct sp_value *v)
{
	return (double)(v->visits + v->resumed);
}

static double inclusive(const struct sp_value *v)
{
	return v->incl * 1e-9;
}

static double shortest(const struct sp_value *v)
{
	return v->visits + v->resumed ? v->min * 1e-9 : DBL_MAX;
}

static double longest(const struct sp_value *v)
{
	return v->visits + v->resumed ? v->max * 1e-9 : 0;
}

const struct sp_cube_metric sp_cube_metrics[] = {
    {"visits", "Visits", "EXCLUSIVE", "UINT64", "occ", "Number of visits", 0, visits},
    {"time", "Time", "INCLUSIVE", "DOUBLE", "sec", "Total CPU allocation time", 0, inclusive},
    {"min_time", "Minimum Inclusive Time", "EXCLUSIVE", "MINDOUBLE", "sec", "Minimum inclusive CPU allocation time",
     DBL_MAX, shortest},
    {"max_time", "Maximum Inclusive Time", "EXCLUSIVE", "MAXDOUBLE", "sec", "Maximum inclusive CPU allocation time", 0,
     longest},
    {0},
};

/* ---- cnodes ---- */

uint32_t sp_cube_below(const struct sp_cube *c, int side, uint32_t path)
{
	while (path != SP_NONE && c->cnode[side][path] == SP_NONE)
		path = c->m->paths[path].next_sibling;
	return path;
}

static int side_of(const struct sp_cube *c, uint32_t location)
{
	const struct sp_location *l = &c->m->locations[location];

	return location == c->m->processes[l->process].first_location ? SP_CUBE_PROGRAM : SP_CUBE_THREADS;
}

static void mark_used(struct sp_cube *c)
{
	const struct sp_model *m = c->m;

	for (uint32_t l = c->k.first; l < c->k.end; l++) {
		const struct sp_location *location = &m->locations[l];
		uint32_t *used = c->cnode[side_of(c, l)];
		for (size_t i = 0; i < location->values; i++)
			if (m->values[location->first_value + i].path)
				used[m->values[location->first_value + i].path] = 0;
	}
	for (int side = 0; side < SP_CUBE_SIDES; side++)
		for (size_t p = m->n_paths; p-- > 1;)
			if (c->cnode[side][p] == 0)
				c->cnode[side][m->paths[p].parent] = 0;
	c->cnode[SP_CUBE_PROGRAM][0] = 0;
}

uint32_t sp_cube_next(const struct sp_cube *c, int side, uint32_t path, sp_cube_leave_fn *leave, void *arg)
{
	const struct sp_path *paths = c->m->paths;
	uint32_t next = sp_cube_below(c, side, paths[path].first_child);

	if (next != SP_NONE)
		return next;
	for (; path != SP_NONE; path = paths[path].parent) {
		if (leave)
			leave(arg, side, path);
		next = path == 0 ? SP_NONE : sp_cube_below(c, side, paths[path].next_sibling);
		if (next != SP_NONE)
			return next;
	}
	return SP_NONE;
}

static void number_cnodes(struct sp_cube *c)
{
	for (int side = 0; side < SP_CUBE_SIDES; side++)
		if (c->cnode[side][0] != SP_NONE)
			for (uint32_t p = 0; p != SP_NONE; p = sp_cube_next(c, side, p, NULL, NULL))
				c->cnode[side][p] = c->n_cnodes++;
}

static void number_children(struct sp_cube *c, int side, uint32_t path, uint32_t *n)
{
	uint32_t child = sp_cube_below(c, side, c->m->paths[path].first_child);

	for (; child != SP_NONE; child = sp_cube_below(c, side, c->m->paths[child].next_sibling))
		c->wide[c->cnode[side][child]] = (*n)++;
	/* THREADS is the program's last child */
	if (side == SP_CUBE_PROGRAM && path == 0 && c->cnode[SP_CUBE_THREADS][0] != SP_NONE)
		c->wide[c->cnode[SP_CUBE_THREADS][0]] = (*n)++;
}

static void number_wide(struct sp_cube *c)
{
	uint32_t n = 0;

	c->wide[0] = n++;
	for (int side = 0; side < SP_CUBE_SIDES; side++)
		if (c->cnode[side][0] != SP_NONE)
			for (uint32_t p = 0; p != SP_NONE; p = sp_cube_next(c, side, p, NULL, NULL))
				number_children(c, side, p, &n);
}

/* ---- columns: the locations in the order of the system tree, which has the processes of a host together ---- */

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
	for (int side = 0; side < SP_CUBE_SIDES; side++) {
		c->cnode[side] = sp_arena_alloc(arena, c->m->n_paths * sizeof **c->cnode);
		if (!c->cnode[side])
			return sp_fail(e, ENOMEM, "out of memory");
		memset(c->cnode[side], 0xff, c->m->n_paths * sizeof **c->cnode);
	}
	mark_used(c);
	number_cnodes(c);
	c->wide = sp_arena_alloc(arena, c->n_cnodes * sizeof *c->wide);
	if (!c->wide || number_columns(c, arena))
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

/* POSIX ustar; a size beyond 8 GiB in GNU tar's way, in base 256. */
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

static void put_index(struct sp_cube *c, unsigned metric)
{
	const int32_t one = 1, n = (int32_t)c->n_cnodes;
	const int16_t version = 0;
	uint64_t size = 11 + 4 + 2 + 1 + 4 + (uint64_t)c->n_cnodes * 4;
	char name[32];

	snprintf(name, sizeof name, "%u.index", metric);
	put_head(c, name, size);
	sp_out_text(&c->out, "CUBEX.INDEX");
	sp_out_bytes(&c->out, &one, 4);
	sp_out_bytes(&c->out, &version, 2);
	sp_out_byte(&c->out, 1); /* sparse, though all rows are there */
	sp_out_bytes(&c->out, &n, 4);
	for (int32_t i = 0; i < n; i++)
		sp_out_bytes(&c->out, &i, 4);
	put_end(c, size);
}

static void fill_cell(const struct sp_cube *c, const struct sp_cube_block *b, uint32_t cnode, uint32_t location,
                      const struct sp_value *v)
{
	uint32_t at = b->row ? b->row[cnode] : cnode;

	if (at >= b->first && at < b->end)
		b->cells[(size_t)(at - b->first) * c->n_columns + c->column[location]] = b->metric->of(v);
}

/* The program and THREADS: what they take in a location is what the paths below them take, and for a process's first
 * thread at least the time from its begin to its end. */
static void fill_roots(const struct sp_cube *c, const struct sp_cube_block *b, uint32_t location, double below)
{
	const struct sp_location *l = &c->m->locations[location];
	struct sp_value v = {.incl = below};

	if (side_of(c, location) == SP_CUBE_PROGRAM) {
		double life = (double)(l->end - l->begin);
		v.incl = v.min = v.max = life > below ? life : below;
		v.visits = 1;
	} else if (c->cnode[SP_CUBE_THREADS][0] != SP_NONE) {
		fill_cell(c, b, c->cnode[SP_CUBE_THREADS][0], location, &v);
	}
	fill_cell(c, b, 0, location, &v);
}

static void fill(const struct sp_cube *c, const struct sp_cube_block *b)
{
	const struct sp_model *m = c->m;

	for (size_t i = 0; i < (size_t)(b->end - b->first) * c->n_columns; i++)
		b->cells[i] = b->metric->none;
	for (uint32_t l = c->k.first; l < c->k.end; l++) {
		const struct sp_location *location = &m->locations[l];
		const uint32_t *cnode = c->cnode[side_of(c, l)];
		double below = 0;
		for (size_t i = 0; i < location->values; i++) {
			const struct sp_row *r = &m->values[location->first_value + i];
			if (r->path == 0)
				continue;
			if (m->paths[r->path].parent == 0)
				below += r->v.incl;
			fill_cell(c, b, cnode[r->path], l, &r->v);
		}
		fill_roots(c, b, l, below);
	}
}

static int put_matrix(struct sp_cube *c, unsigned number, double *cells, uint32_t rows, struct sp_err *e)
{
	const struct sp_cube_metric *metric = &sp_cube_metrics[number];
	bool whole = strcmp(metric->type, "UINT64") == 0;
	struct sp_cube_block b = {metric, strcmp(metric->kind, "INCLUSIVE") == 0 ? c->wide : NULL, 0, 0, cells};
	uint64_t size = 10 + (uint64_t)c->n_cnodes * c->n_columns * 8, count;
	char name[32];

	snprintf(name, sizeof name, "%u.data", number);
	put_head(c, name, size);
	sp_out_text(&c->out, "CUBEX.DATA");
	for (; b.first < c->n_cnodes; b.first = b.end) {
		b.end = c->n_cnodes - b.first < rows ? c->n_cnodes : b.first + rows;
		fill(c, &b);
		for (size_t i = 0; i < (size_t)(b.end - b.first) * c->n_columns; i++) {
			count = whole ? (uint64_t)cells[i] : 0;
			sp_out_bytes(&c->out, whole ? (const void *)&count : &cells[i], 8);
		}
		c->done += b.end - b.first;
		if (sp_write_tick(c->o, c->done, (uint64_t)c->n_cnodes * SP_CUBE_METRICS, e))
			return -1;
	}
	put_end(c, size);
	return 0;
}

static int put_matrices(struct sp_cube *c, struct sp_err *e)
{
	size_t row = (size_t)c->n_columns * sizeof(double), rows = row && row < BLOCK ? BLOCK / row : 1;
	int rc = 0;

	if (rows > c->n_cnodes)
		rows = c->n_cnodes;
	double *cells = malloc(rows * row + 1);
	if (!cells)
		return sp_fail(e, ENOMEM, "out of memory");
	for (unsigned i = 0; rc == 0 && i < SP_CUBE_METRICS; i++) {
		put_index(c, i);
		rc = put_matrix(c, i, cells, (uint32_t)rows, e);
	}
	free(cells);
	return rc;
}

/* Its length stands before it, and it may be long: it is made twice, the first time into nothing. */
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
	int rc = prepare(&c, &arena, e);
	if (rc == 0)
		rc = sp_out_open(&c.out, path, e);
	if (rc == 0) {
		rc = put_matrices(&c, e);
		if (rc == 0)
			rc = put_anchor(&c, e);
		rc = sp_out_close(&c.out, rc, e);
	}
	sp_arena_free(&arena);
	sp_pick_close(&c.k);
	return rc;
}
