/* SPDX-License-Identifier: BSD-3-Clause */
/* Wait states of MPI as metrics of a Cube file: parts of the time, with Scalasca's names. */
#include <errno.h>
#include <stdlib.h>

#include "model/model.h"
#include "write/cube/cube.h"

static int by_place(const void *x, const void *y)
{
	const struct sp_wait_row *a = x, *b = y;

	if (a->location != b->location)
		return a->location < b->location ? -1 : 1;
	return a->path < b->path ? -1 : a->path > b->path;
}

int sp_cube_waits(struct sp_cube *c, struct sp_err *e)
{
	const struct sp_model *m = c->m;
	struct sp_messages messages = {.m = NULL};
	uint32_t l = 0;

	if (!m->traced || !sp_messages_any(m))
		return 0;
	int rc = sp_messages_read(&messages, m, e) || sp_waits_find(&c->waits, &messages, e) ? -1 : 0;
	sp_messages_free(&messages);
	if (rc)
		return -1;
	c->first_wait = malloc((m->n_locations + 1) * sizeof *c->first_wait);
	if (!c->first_wait)
		return sp_fail(e, ENOMEM, "out of memory");
	if (c->waits.n_rows)
		qsort(c->waits.rows, c->waits.n_rows, sizeof *c->waits.rows, by_place);
	for (size_t i = 0; i <= c->waits.n_rows; i++)
		while (l <= m->n_locations && (i == c->waits.n_rows || l <= c->waits.rows[i].location))
			c->first_wait[l++] = i;
	return 0;
}

void sp_cube_waits_free(struct sp_cube *c)
{
	free(c->first_wait);
	sp_waits_free(&c->waits);
}

uint64_t sp_cube_waited(const struct sp_cube *c, uint32_t location, uint32_t path, uint32_t kinds)
{
	size_t begin = c->first_wait[location], last = c->first_wait[location + 1], end = last;
	uint64_t ns = 0;

	while (begin < end) {
		size_t middle = begin + (end - begin) / 2;
		if (c->waits.rows[middle].path < path)
			begin = middle + 1;
		else
			end = middle;
	}
	for (; begin < last && c->waits.rows[begin].path == path; begin++)
		if (kinds >> c->waits.rows[begin].kind & 1)
			ns += (uint64_t)c->waits.rows[begin].time;
	return ns;
}
