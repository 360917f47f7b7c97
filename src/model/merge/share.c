/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/merge/share.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "model/builder/builder.h"
#include "model/builder/derive.h"
#include "model/builder/listing.h"
#include "model/builder/loading.h"
#include "model/builder/problem.h"
#include "model/builder/rows.h"
#include "model/builder/source.h"
#include "model/model.h"
#include "model/path.h"
#include "model/process.h"
#include "reader/running.h"

#define IN_MEMORY (UINT64_C(32) << 20) /* rows up to this size stay in memory instead of a temporary file */

static int open_aside(const char *dir, uint64_t bytes, struct sp_err *e)
{
	char path[4096];
	int fd = bytes < IN_MEMORY ? memfd_create(SP_IMAGE_NAME, MFD_CLOEXEC) : -1;

	if (fd >= 0)
		return fd;
	snprintf(path, sizeof(path), "%s/" SP_IMAGE_NAME ".XXXXXX", dir);
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return sp_fail(e, errno, "%s cannot be written: %s", SP_IMAGE_NAME, strerror(errno));
	unlink(path);
	return fd;
}

int sp_share_open(struct sp_share *s, const char *dir, size_t files, uint64_t bytes, const struct sp_merge_options *o,
                  struct sp_err *e)
{
	*s = (struct sp_share){.options = o, .aside = -1, .total = bytes};
	if (sp_builder_open(&s->b, dir, SP_MODEL_RAW, files, e))
		return -1;
	s->b.merging = true;
	if (files == 1)
		return 0;
	s->aside = open_aside(dir, bytes, e);
	return s->aside < 0 ? -1 : 0;
}

void sp_share_close(struct sp_share *s)
{
	sp_builder_close(&s->b);
	if (s->aside >= 0)
		close(s->aside);
	free(s->files);
	free(s->runs);
}

/* Records the file and its runs, which are the locations of l. */
static int remember(struct sp_share *s, struct sp_loading *l)
{
	const uint32_t n = l->process.locations;
	void *larger;
	uint32_t i;

	if (s->n_files == s->file_capacity) {
		larger = realloc(s->files, (s->file_capacity * 2 + 64) * sizeof(*s->files));
		if (!larger)
			return -1;
		s->files = larger;
		s->file_capacity = s->file_capacity * 2 + 64;
	}
	if (n > s->run_capacity - s->n_runs) {
		larger = realloc(s->runs, ((size_t)s->run_capacity * 2 + n + 64) * sizeof(*s->runs));
		if (!larger)
			return -1;
		s->runs = larger;
		s->run_capacity = s->run_capacity * 2 + n + 64;
	}
	s->files[s->n_files++] = (struct sp_share_file){.at = s->aside_bytes,
	                                                .rows = s->b.m->n_values,
	                                                .n_metrics = s->b.m->n_metrics,
	                                                .first_run = s->n_runs,
	                                                .runs = n};
	l->order = s->n_runs;
	for (i = 0; i < n; i++)
		s->runs[s->n_runs++] =
		    (struct sp_share_run){.first = l->locations[i].first_value, .values = l->locations[i].values};
	return 0;
}

/* Stores the rows of a file that the builder has read. */
static int put_aside(struct sp_share *s, struct sp_loading *l, struct sp_err *e)
{
	struct sp_builder *b = &s->b;
	const size_t n = b->m->n_values, bytes = n * sizeof(struct sp_row);
	const size_t metrics = n * b->m->n_metrics * sizeof(uint64_t);
	size_t i;

	if (sp_builder_visits(b) || remember(s, l))
		return sp_model_no_memory(e);
	for (i = 0; i < n; i++)
		b->visits[b->m->values[i].path] += b->m->values[i].v.visits + b->m->values[i].v.resumed;
	if (s->aside >= 0 && (sp_write_at(s->aside, b->m->values, bytes, s->aside_bytes, e) ||
	                      sp_write_at(s->aside, b->m->row_metrics, metrics, s->aside_bytes + bytes, e)))
		return -1;
	s->aside_bytes += bytes + metrics;
	s->rows += n;
	if (n > s->max_rows)
		s->max_rows = n;
	b->m->n_values = 0;
	return 0;
}

static int refuse_running(const char *dir, const char *name, bool *final, struct sp_err *e)
{
	enum sp_raw_running running = SP_RAW_IS_GONE;
	struct sp_raw_header h;
	char path[4400];

	snprintf(path, sizeof(path), "%s/raw/%s", dir, name);
	if (sp_raw_running_file(path, &h, &running) == 0 && running == SP_RAW_IS_RUNNING)
		return sp_fail(e, EBUSY, "raw/%s: its process %" PRId32 " still runs; merge when that has ended", name,
		               h.pid);
	*final = running == SP_RAW_IS_GONE;
	return 0;
}

int sp_share_add(struct sp_share *s, const struct sp_listed *file, struct sp_err *e)
{
	struct sp_builder *b = &s->b;
	bool final = false;
	int rc;

	if (refuse_running(b->m->dir.p, file->name, &final, e))
		return -1;
	rc = sp_builder_add(b, file, e);
	if (rc < 0)
		return -1;
	if (rc == 0) {
		b->loading[b->n_loading - 1].final = final;
		if (put_aside(s, &b->loading[b->n_loading - 1], e))
			return -1;
	}
	s->done += file->size;
	if (s->options->progress && s->options->progress(s->options->arg, s->done, s->total))
		return sp_fail(e, ECANCELED, "interrupted");
	return 0;
}

static int read_at(int fd, void *p, size_t n, uint64_t at, struct sp_err *e)
{
	char *to = p;
	ssize_t k;

	while (n) {
		k = pread(fd, to, n, (off_t)at);
		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return sp_fail(e, k ? errno : EIO, "%s: what was put aside cannot be read: %s", SP_IMAGE_NAME,
			               strerror(k ? errno : EIO));
		to += k;
		at += (uint64_t)k;
		n -= (size_t)k;
	}
	return 0;
}

/* Reads the rows of a file back into the builder, with the metrics of the merged result. buffer: for the metrics. */
static int read_file(struct sp_share *s, const struct sp_share_file *f, const struct sp_share_whole *w,
                     uint64_t *buffer, struct sp_err *e)
{
	struct sp_model *m = s->b.m;
	const size_t bytes = f->rows * sizeof(struct sp_row), width = m->n_metrics;
	size_t i, k;

	if (read_at(s->aside, m->values, bytes, f->at, e) ||
	    read_at(s->aside, buffer, f->rows * f->n_metrics * sizeof(*buffer), f->at + bytes, e))
		return -1;
	/* rows that were read back need no disk space any more; if this fails, the space is released at the end */
	fallocate(s->aside, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)f->at,
	          (off_t)(bytes + f->rows * f->n_metrics * sizeof(*buffer)));
	if (width)
		memset(m->row_metrics, 0, f->rows * width * sizeof(*m->row_metrics));
	for (i = 0; i < f->rows; i++)
		for (k = 0; k < f->n_metrics; k++)
			m->row_metrics[i * width + (w->metrics ? w->metrics[k] : k)] = buffer[i * f->n_metrics + k];
	return 0;
}

/* Sorts the rows of a location and writes them at `at`. */
static int write_run(struct sp_share *s, struct sp_deriving *d, struct sp_share_run *run, uint64_t at,
                     const struct sp_share_whole *w, struct sp_err *e)
{
	struct sp_model *m = s->b.m;
	const struct sp_image_header h = sp_image_layout(w->n_rows, m->n_metrics, m->n_paths);
	struct sp_row *rows = m->values + run->first;
	uint64_t *metrics = m->n_metrics ? m->row_metrics + run->first * m->n_metrics : NULL;
	struct sp_location l = {.process = 0};
	size_t n = run->values;

	if (sp_rows_order(&s->b, run->first, &n))
		return sp_model_no_memory(e);
	l.values = n;
	sp_derive_location(d, &l, rows, metrics, NULL);
	*run = (struct sp_share_run){at,     n,     l.visits,  l.resumed,
	                             l.busy, l.mpi, l.off_cpu, sp_image_hash_rows(rows, metrics, n, m->n_metrics)};
	return sp_write_at(w->fd, rows, n * sizeof(*rows), SP_IMAGE_PAGE + at * sizeof(*rows), e) ||
	               sp_write_at(w->fd, metrics, n * m->n_metrics * sizeof(*metrics),
	                           h.metrics_at + at * m->n_metrics * sizeof(*metrics), e)
	           ? -1
	           : 0;
}

static void free_rows(struct sp_builder *b)
{
	free(b->priv->rows);
	b->priv->rows = b->m->values = NULL;
	b->priv->row_capacity = b->m->n_values = 0;
}

int sp_share_write(struct sp_share *s, struct sp_deriving *d, const struct sp_share_whole *w, struct sp_err *e)
{
	struct sp_builder *b = &s->b;
	uint64_t at = w->first_row, n, *buffer;
	const struct sp_share_file *f;
	uint32_t i;
	int rc = 0;

	/* from here on the rows have the metrics of the merged result */
	if (s->aside >= 0) {
		free_rows(b);
		free(b->priv->row_metrics);
		b->priv->row_metrics = b->m->row_metrics = NULL;
	}
	buffer = malloc((s->max_rows * b->m->n_metrics + 1) * sizeof(*buffer));
	if (!buffer || (s->aside >= 0 && sp_rows_reserve(b, s->max_rows + 1)))
		rc = sp_model_no_memory(e);
	for (f = s->files; f < s->files + s->n_files && rc == 0; f++) {
		rc = s->aside < 0 ? 0 : read_file(s, f, w, buffer, e);
		for (n = 0; w->paths && n < f->rows && rc == 0; n++)
			b->m->values[n].path = w->paths[b->m->values[n].path];
		for (i = f->first_run; i < f->first_run + f->runs && rc == 0; i++) {
			rc = write_run(s, d, &s->runs[i], at, w, e);
			at += s->runs[i].values;
		}
		if (rc == 0 && s->options->progress && s->options->progress(s->options->arg, s->done, s->total))
			rc = sp_fail(e, ECANCELED, "interrupted");
	}
	free(buffer);
	free_rows(b);
	return rc;
}
