/* SPDX-License-Identifier: BSD-3-Clause */
#include "sample/marks.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_TEXT = 4096, MOST_REGION = 1 << 20 };

void sp_marks_open(struct sp_marks *m, const struct sp_target *target, const char *path)
{
	*m = (struct sp_marks){.target = target, .file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1};
}

void sp_marks_close(struct sp_marks *m)
{
	if (m->file >= 0)
		close(m->file);
	for (size_t i = 0; i < m->n; i++)
		free(m->regions[i].region);
	free(m->regions);
	*m = (struct sp_marks){.file = -1};
}

/* The next chunk of a type at *at or behind it, which becomes the place behind it; false: there is none. */
static bool next_chunk(const struct sp_marks *m, uint64_t *at, enum sp_raw_chunk_type type, struct sp_raw_chunk *c)
{
	while (m->file >= 0 && pread(m->file, c, sizeof *c, (off_t)*at) == (ssize_t)sizeof *c) {
		const bool is = c->magic == SP_RAW_CHUNK_MAGIC && c->bytes >= SP_RAW_PAGE;
		*at += is ? c->bytes : SP_RAW_PAGE;
		if (is && c->type == type)
			return true;
	}
	return false;
}

uint64_t sp_marks_thread(const struct sp_marks *m, pid_t tid)
{
	struct sp_raw_location l;
	struct sp_raw_chunk c;
	uint64_t at = SP_RAW_PAGE, found = 0;
	while (next_chunk(m, &at, SP_RAW_LOCATION, &c))
		if (pread(m->file, &l, sizeof l, (off_t)(at - c.bytes + sizeof c)) == (ssize_t)sizeof l &&
		    l.tid == (uint64_t)tid && !l.end)
			found = c.address + sizeof c;
	return found;
}

static struct sp_sampled_region *define(const struct sp_raw_def *d, const char *text)
{
	char part[3][MOST_TEXT];
	for (int i = 0; i < 3; text += d->len[i++]) {
		if (d->len[i] >= MOST_TEXT)
			return NULL;
		memcpy(part[i], text, d->len[i]);
		part[i][d->len[i]] = 0;
	}
	return sp_samples_region(part[0], part[1], part[2], d->b, d->flags);
}

/* The definition of a region in a chunk; found: *out is what it is here, or NULL. */
static bool find_in(const struct sp_marks *m, const struct sp_raw_chunk *c, uint64_t at, uint32_t id,
                    struct sp_marked_region *out)
{
	const size_t n = c->used < c->bytes - sizeof *c ? c->used : c->bytes - sizeof *c;
	char *bytes = malloc(n + 1);
	struct sp_raw_def d;
	bool found = false;
	ssize_t got = bytes ? pread(m->file, bytes, n, (off_t)(at + sizeof *c)) : -1;
	for (size_t i = 0; got > 0 && !found && i + sizeof d <= (size_t)got; i += d.bytes) {
		memcpy(&d, bytes + i, sizeof d);
		const uint64_t need = sizeof d + (uint64_t)d.len[0] + d.len[1] + d.len[2];
		if (d.bytes < need || d.bytes > (size_t)got - i)
			break;
		found = d.kind == SP_RAW_DEF_REGION && d.a == id;
		if (found)
			*out = (struct sp_marked_region){define(&d, bytes + i + sizeof d),
			                                 d.flags & SP_RAW_REGION_KIND_MASK};
	}
	free(bytes);
	return found;
}

static const struct sp_marked_region *region_of(struct sp_marks *m, uint32_t id)
{
	struct sp_raw_chunk c;
	if (id >= MOST_REGION)
		return NULL;
	if (id >= m->n) {
		struct sp_marked_region *more = realloc(m->regions, (id + 64) * sizeof *more);
		if (!more)
			return NULL;
		memset(more + m->n, 0, (id + 64 - m->n) * sizeof *more);
		m->regions = more;
		m->n = id + 64;
	}
	struct sp_marked_region *r = &m->regions[id];
	for (uint64_t at = SP_RAW_PAGE; !r->region && next_chunk(m, &at, SP_RAW_DEFS, &c);)
		if (find_in(m, &c, at - c.bytes, id, r))
			break;
	return r->region ? r : NULL;
}

size_t sp_marks_read(struct sp_marks *m, uint64_t thread, struct sp_sampled_region *out[SP_MARKS], bool user[SP_MARKS])
{
	struct sp_raw_location l;
	struct sp_raw_frame f[SP_MARKS];
	uint32_t node[2]; /* parent and region */
	size_t n = 0;
	if (!thread || !sp_target_read(m->target, thread, &l, offsetof(struct sp_raw_location, last)) ||
	    l.top <= l.base)
		return 0;
	uint64_t depth = (l.top - l.base) / sizeof *f;
	if (depth > SP_MARKS)
		depth = SP_MARKS;
	if (!sp_target_read(m->target, l.base + sizeof *f, f, depth * sizeof *f))
		return 0;
	for (size_t i = 0; i < depth; i++) {
		const struct sp_marked_region *r;
		if (f[i].flags & SP_RAW_FRAME_SKIPPED || !sp_target_read(m->target, f[i].node, node, sizeof node) ||
		    !(r = region_of(m, node[1])))
			continue;
		if (r->kind == SP_RAW_REGION_USER || r->kind == SP_RAW_REGION_MPI || r->kind == SP_RAW_REGION_IO) {
			user[n] = r->kind == SP_RAW_REGION_USER;
			out[n++] = r->region;
		}
	}
	return n;
}
