/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of instructions: three encodings, one table. */
#include "sample/python/private.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

struct rows {
	struct sp_line_end *all; /* owned */
	size_t n, capacity;
	bool failed;
};

static void put(struct rows *r, uint32_t end, uint32_t line)
{
	uint32_t begin = r->n ? r->all[r->n - 1].end : 0;
	if (end <= begin)
		return;
	if (r->n && r->all[r->n - 1].line == line) {
		r->all[r->n - 1].end = end;
		return;
	}
	if (!sp_grow(&r->all, r->n, &r->capacity, sizeof *r->all)) {
		r->failed = true;
		return;
	}
	r->all[r->n++] = (struct sp_line_end){end, line};
}

/* 3.9: pairs of an offset increment and a signed line increment from there on. */
static void from_pairs(struct rows *r, const unsigned char *raw, size_t n, uint32_t line)
{
	uint32_t end = 0;
	for (size_t i = 0; i + 1 < n; i += 2) {
		put(r, end += raw[i], line);
		line += (uint32_t)(int8_t)raw[i + 1];
	}
	put(r, UINT32_MAX, line);
}

/* 3.10: pairs of the length of a range and the difference of its line from the previous one; -128: no line. */
static void from_pieces(struct rows *r, const unsigned char *raw, size_t n, uint32_t line)
{
	uint32_t end = 0;
	for (size_t i = 0; i + 1 < n; i += 2) {
		int8_t delta = (int8_t)raw[i + 1];
		line += delta == -128 ? 0 : (uint32_t)delta;
		put(r, end += raw[i], delta == -128 ? 0 : line);
	}
}

static int64_t signed_number(const unsigned char *raw, size_t n, size_t at)
{
	uint64_t v = 0;
	for (unsigned shift = 0; at < n && shift < 36; shift += 6) {
		v |= (uint64_t)(raw[at] & 63) << shift;
		if (!(raw[at++] & 64))
			break;
	}
	return v & 1 ? -(int64_t)(v >> 1) : (int64_t)(v >> 1);
}

/* Since 3.11: entries of a first byte with its highest bit set, which has the kind and the length, and further
 * bytes. */
static void from_locations(struct rows *r, const unsigned char *raw, size_t n, uint32_t line)
{
	enum { ONE_LINE = 10, NO_COLUMNS = 13, LONG = 14, NONE = 15 };
	uint32_t end = 0;
	for (size_t i = 0; i < n;) {
		unsigned kind = raw[i] >> 3 & 15;
		if (kind == NO_COLUMNS || kind == LONG)
			line += (uint32_t)signed_number(raw, n, i + 1);
		else if (kind >= ONE_LINE && kind < NO_COLUMNS)
			line += kind - ONE_LINE;
		put(r, end += 2 * ((raw[i] & 7) + 1u), kind == NONE ? 0 : line);
		for (i++; i < n && !(raw[i] & 128);)
			i++;
	}
}

const struct sp_line_end *sp_lines_decode(struct sp_python *p, const unsigned char *raw, size_t n, uint32_t first_line,
                                          uint32_t *n_lines)
{
	struct rows r = {0};
	if (p->version < 0x030a)
		from_pairs(&r, raw, n, first_line);
	else if (p->version < 0x030b)
		from_pieces(&r, raw, n, first_line);
	else
		from_locations(&r, raw, n, first_line);
	struct sp_line_end *lines = r.failed ? NULL : sp_arena_alloc(&p->arena, r.n * sizeof *lines);
	if (lines && r.n)
		memcpy(lines, r.all, r.n * sizeof *lines);
	*n_lines = (uint32_t)r.n;
	free(r.all);
	return lines;
}

uint32_t sp_line_at(const struct sp_code *c, int64_t offset)
{
	size_t low = 0, high = c->n_lines;
	if (offset < 0)
		return c->is.first_line; /* the code has not begun */
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (c->lines[middle].end <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low < c->n_lines ? c->lines[low].line : 0;
}
