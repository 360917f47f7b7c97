/* SPDX-License-Identifier: BSD-3-Clause */
/* I/O by file: bytes read and written, and their time. */
#include "base/arena.h"
#include "base/intern.h"
#include "format/format.h"
#include "model/builder/problem.h"
#include "model/event.h"
#include "model/file.h"
#include "model/model.h"
#include "model/report/report.h"

#include <stdlib.h>

/* An operation that has begun and not ended. */
struct pending {
	uint64_t begin; /* ns */
	uint32_t mode;
	uint32_t location; /* index + 1; 0: no operation */
};

struct counting {
	const struct sp_model *m;
	struct sp_arena arena;
	struct sp_intern paths;
	uint32_t *file_of;       /* owned; for each handle */
	struct pending *pending; /* owned; for each handle */
	struct sp_io_file *files;
};

static int find_files(struct counting *c)
{
	const struct sp_model *m = c->m;
	size_t i;

	c->paths.arena = &c->arena;
	c->file_of = calloc(m->n_io_handles + 1, sizeof(*c->file_of));
	c->pending = calloc(m->n_io_handles + 1, sizeof(*c->pending));
	c->files = calloc(m->n_io_handles + 1, sizeof(*c->files));
	if (!c->file_of || !c->pending || !c->files)
		return -1;
	for (i = 0; i < m->n_io_handles; i++) {
		c->file_of[i] = sp_intern(&c->paths, m->io_handles[i].path.p, m->io_handles[i].path.n);
		if (c->file_of[i] == SP_INTERN_FAILED)
			return -1;
		c->files[c->file_of[i]].path = m->io_handles[i].path;
	}
	return 0;
}

static void complete(struct sp_io_file *f, const struct pending *p, uint64_t bytes, double time)
{
	f->failed += bytes == UINT64_MAX;
	bytes = bytes == UINT64_MAX ? 0 : bytes;
	switch (p->mode) {
	case SP_RAW_IO_READ:
		f->reads++;
		f->bytes_read += bytes;
		f->read_time += time;
		break;
	case SP_RAW_IO_WRITE:
		f->writes++;
		f->bytes_written += bytes;
		f->write_time += time;
		break;
	default:
		f->flushes++;
		f->flush_time += time;
	}
}

static void count(struct counting *c, const struct sp_event *ev, uint32_t location)
{
	struct sp_io_file *f = &c->files[c->file_of[ev->id]];
	struct pending *p = &c->pending[ev->id];

	switch (ev->kind) {
	case SP_EVENT_IO_CREATE:
		f->opens++;
		break;
	case SP_EVENT_IO_SEEK:
		f->seeks++;
		f->failed += ev->u.io->offset == UINT64_MAX;
		break;
	case SP_EVENT_IO_BEGIN:
		*p = (struct pending){ev->time, ev->u.io->mode, location + 1};
		break;
	case SP_EVENT_IO_COMPLETE:
		if (p->location == location + 1)
			complete(f, p, ev->u.io->bytes, (double)(ev->time - p->begin));
		p->location = 0;
		break;
	}
}

static int count_location(struct counting *c, uint32_t location, struct sp_err *e)
{
	enum { BATCH = 1024 };
	struct sp_event *batch = malloc(BATCH * sizeof(*batch));
	struct sp_events *events = NULL;
	long n = -1, i;

	if (!batch)
		sp_model_no_memory(e);
	else if (sp_events_open(&events, c->m, location, e) == 0)
		while ((n = sp_events_read(events, batch, BATCH, e)) > 0)
			for (i = 0; i < n; i++)
				if (batch[i].kind >= SP_EVENT_IO_CREATE && batch[i].kind <= SP_EVENT_IO_COMPLETE)
					count(c, &batch[i], location);
	sp_events_close(events);
	free(batch);
	return n < 0 ? -1 : 0;
}

int sp_report_io(const struct sp_model *m, struct sp_io_file **files, size_t *n, struct sp_err *e)
{
	struct counting c = {.m = m};
	int rc = find_files(&c) ? sp_model_no_memory(e) : 0;
	uint32_t l;

	for (l = 0; l < m->n_locations && rc == 0 && m->n_io_handles; l++)
		rc = count_location(&c, l, e);
	*n = c.paths.n;
	sp_intern_free(&c.paths);
	sp_arena_free(&c.arena);
	free(c.file_of);
	free(c.pending);
	if (rc) {
		free(c.files);
		c.files = NULL;
		*n = 0;
	}
	*files = c.files;
	return rc;
}
