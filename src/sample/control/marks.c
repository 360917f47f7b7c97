/* SPDX-License-Identifier: BSD-3-Clause */
#include "sample/control/marks.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sample/control/definitions.h"

enum { MAX_TEXT = 4096, MAX_REGION = 1 << 20 };

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

uint64_t sp_marks_thread(const struct sp_marks *m, pid_t tid)
{
	struct sp_raw_location l;
	struct sp_raw_chunk c;
	uint64_t at = SP_RAW_PAGE, found = 0;
	while (sp_file_chunk(m->file, &at, SP_RAW_LOCATION, &c))
		if (pread(m->file, &l, sizeof l, (off_t)(at - c.bytes + sizeof c)) == (ssize_t)sizeof l &&
		    l.tid == (uint64_t)tid && !l.end)
			found = c.address + sizeof c;
	return found;
}

static struct sp_sampled_region *define(const struct sp_raw_def *d, const char *text)
{
	char part[3][MAX_TEXT];
	for (int i = 0; i < 3; text += d->len[i++]) {
		if (d->len[i] >= MAX_TEXT)
			return NULL;
		memcpy(part[i], text, d->len[i]);
		part[i][d->len[i]] = 0;
	}
	return sp_samples_region(part[0], part[1], part[2], d->b, d->flags);
}

struct wanted {
	uint32_t id;
	struct sp_marked_region *out;
};

static bool take(void *arg, const struct sp_raw_def *d, const char *text)
{
	const struct wanted *w = arg;
	if (d->kind != SP_RAW_DEF_REGION || d->a != w->id)
		return false;
	*w->out = (struct sp_marked_region){define(d, text), d->flags & SP_RAW_REGION_KIND_MASK};
	return true;
}

static const struct sp_marked_region *region_of(struct sp_marks *m, uint32_t id)
{
	if (id >= MAX_REGION)
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
	if (!r->region)
		sp_file_definitions(m->file, take, &(struct wanted){id, r});
	return r->region ? r : NULL;
}

size_t sp_marks_read(struct sp_marks *m, uint64_t thread, struct sp_sampled_region *out[SP_MARKS], bool user[SP_MARKS])
{
	struct sp_raw_location l;
	struct sp_raw_frame f[SP_MARKS];
	uint32_t node[2]; /* fields: parent and region */
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
