/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of functions. */
#include "rawgen_inner.h"

size_t rg_lines(struct rg_thread *t, uint32_t region, uint32_t first, uint32_t last)
{
	const size_t at = t->n_lines;

	t->lines = rg_grown(t->lines, (t->n_lines + last - first + 1) * sizeof(*t->lines));
	for (; first <= last; first++)
		t->lines[t->n_lines++] = (struct sp_raw_line){.region = region, .line = first};
	return at;
}

struct sp_raw_line *rg_line(struct rg_thread *t, size_t n)
{
	return &t->lines[n];
}

void rg_line_frame(struct rg_thread *t, size_t line, uint64_t since, uint64_t begin, bool calls, uint64_t below)
{
	t->line_frames = rg_grown(t->line_frames, (t->n_line_frames + 2) * sizeof(*t->line_frames));
	if (t->n_line_frames == 0)
		t->line_frames[t->n_line_frames++] = (struct sp_raw_line_frame){.line = 0};
	t->line_frames[t->n_line_frames++] = (struct sp_raw_line_frame){
	    .line = line + 1, .since = since, .begin = begin, .calls = calls, .below = below};
}

/* Writes the lines in two chunks, so that readers have to combine them. */
void rg_put_lines(struct rg_thread *t)
{
	struct sp_raw_chunk c = {.type = SP_RAW_LINES, .location = t->state.id};
	const size_t half = t->n_lines / 2;
	size_t i, at[2];

	if (t->n_lines == 0)
		return;
	c.used = half;
	at[0] = rg_put_chunk(t->process, c, t->lines, half * sizeof(*t->lines));
	c.seq = 1;
	c.used = t->n_lines - half;
	at[1] = rg_put_chunk(t->process, c, t->lines + half, c.used * sizeof(*t->lines));
	for (i = 0; i < t->n_line_frames; i++) {
		uint64_t *line = &t->line_frames[i].line;

		if (*line)
			*line = ADDRESS + sizeof(c) +
			        (--*line < half ? at[0] + *line * sizeof(*t->lines)
			                        : at[1] + (*line - half) * sizeof(*t->lines));
	}
	c = (struct sp_raw_chunk){.type = SP_RAW_LINE_STACK, .location = t->state.id, .used = t->n_line_frames};
	if (c.used)
		rg_put_chunk(t->process, c, t->line_frames, c.used * sizeof(*t->line_frames));
}
