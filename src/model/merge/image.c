/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/merge/image.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/guard.h"
#include "base/regular.h"
#include "model/builder/listing.h"
#include "model/builder/problem.h"
#include "model/builder/source.h"
#include "model/builder/steps.h"
#include "model/event.h"
#include "model/merge/fields.h"
#include "model/model.h"
#include "model/path.h"
#include "model/process.h"
#include "model/region.h"
#include "model/str.h"

#define MAX_COPY (UINT64_C(64) << 20) /* bytes; a call tree of this size or more is not copied into memory */

struct sp_image_header sp_image_layout(uint64_t n_rows, uint64_t n_metrics, uint64_t n_paths)
{
	struct sp_image_header h = {.byte_order = SP_RAW_BYTE_ORDER,
	                            .version = SP_IMAGE_VERSION,
	                            .n_rows = n_rows,
	                            .n_metrics = n_metrics,
	                            .n_paths = n_paths};

	memcpy(h.magic, SP_IMAGE_MAGIC, sizeof(h.magic));
	h.metrics_at = sp_image_page_up(SP_IMAGE_PAGE + n_rows * sizeof(struct sp_row));
	h.tree_at = sp_image_page_up(h.metrics_at + n_rows * n_metrics * sizeof(uint64_t));
	h.stream_at = sp_image_page_up(h.tree_at + sp_image_tree_bytes(n_paths, n_metrics));
	return h;
}

uint64_t sp_image_hash_rows(const struct sp_row *rows, const uint64_t *metrics, size_t n, size_t width)
{
	return sp_pack_hash(rows, n * sizeof(*rows)) ^
	       (width ? sp_pack_hash(metrics, n * width * sizeof(*metrics)) : 0);
}

/* The list of raw files; reading: compares it with the current one. */
static bool pack_listing(struct sp_pack *k, const struct sp_listing *now)
{
	size_t n = now->n, i;
	bool same;

	sp_pack_count(k, &n);
	same = n == now->n;
	for (i = 0; i < n && !k->failed; i++) {
		const struct sp_listed *f = i < now->n ? &now->files[i] : &(struct sp_listed){.name = ""};
		struct sp_str name = {f->name, strlen(f->name)};
		uint64_t size = f->size, changed = f->changed;

		sp_pack_str(k, &name);
		sp_pack_number(k, size);
		sp_pack_number(k, changed);
		same = same && strcmp(name.p, f->name) == 0 && size == f->size && (!changed || changed == f->changed);
	}
	return same;
}

static void pack_locations(struct sp_pack *k, struct sp_model *m)
{
	size_t i;

	sp_pack_count(k, &m->n_locations);
	if (k->reading) {
		m->locations = sp_pack_make(k, m->n_locations, sizeof(*m->locations));
		m->priv->places = sp_pack_make(k, m->n_locations, sizeof(*m->priv->places));
	}
	for (i = 0; i < m->n_locations && !k->failed; i++) {
		sp_fields_location(k, &m->locations[i]);
		sp_fields_event_range(k, &m->priv->places[i]);
	}
}

static void pack_processes(struct sp_pack *k, struct sp_model *m)
{
	size_t i;

	m->processes = sp_pack_list(k, m->processes, &m->n_processes, sizeof(*m->processes));
	for (i = 0; i < m->n_processes && !k->failed; i++)
		sp_fields_process(k, &m->processes[i]);
	sp_fields_children(k, m);
}

static void pack_sources(struct sp_pack *k, struct sp_model *m)
{
	struct sp_model_private *priv = m->priv;
	size_t n = priv->n_sources, i;

	sp_pack_count(k, &n);
	if (k->reading) {
		priv->sources = k->failed ? NULL : calloc(n + 1, sizeof(*priv->sources));
		if (!priv->sources)
			sp_pack_fail(k);
		else
			priv->n_sources = n;
	}
	sp_fields_handles(k, &m->io_handles, &m->n_io_handles);
	for (i = 0; i < n && !k->failed; i++) {
		sp_fields_source(k, m, &priv->sources[i]);
		sp_fields_source_mpi(k, m, &priv->sources[i]);
		sp_pack_ids(k, &priv->sources[i].handles, m->n_io_handles);
		sp_fields_source_tasks(k, &priv->sources[i], m->n_tasks, m->n_locations);
	}
}

static void pack_parameter_values(struct sp_pack *k, struct sp_model *m)
{
	size_t i;

	m->parameter_values =
	    sp_pack_list(k, m->parameter_values, &m->n_parameter_values, sizeof(*m->parameter_values));
	for (i = 0; i < m->n_parameter_values && !k->failed; i++) {
		struct sp_parameter_value *v = &m->parameter_values[i];

		sp_pack_index(k, &v->parameter, m->n_parameters);
		sp_pack_number(k, v->kind);
		sp_pack_str(k, &v->text);
		sp_pack_index_or_none(k, &v->before, i);
		if (v->kind < SP_EVENT_PARAMETER_INT || v->kind > SP_EVENT_PARAMETER_STRING)
			sp_pack_fail(k);
	}
}

static void pack_model(struct sp_pack *k, struct sp_model *m, const uint64_t **hashes)
{
	sp_pack_number(k, m->begin_ns);
	sp_pack_number(k, m->end_ns);
	sp_pack_bool(k, &m->traced);
	sp_fields_definitions(k, m);
	pack_parameter_values(k, m);
	pack_processes(k, m);
	pack_locations(k, m);
	sp_pack_array(k, hashes, m->n_locations, sizeof(**hashes));
	sp_fields_communicators(k, m);
	sp_fields_tasks(k, m);
	sp_fields_lines(k, m);
	sp_fields_tallies(k, m);
	sp_fields_locks(k, m);
	pack_sources(k, m);
	sp_fields_problems(k, m);
}

int sp_write_at(int fd, const void *p, size_t n, uint64_t at, struct sp_err *e)
{
	const char *from = p;
	ssize_t k;

	while (n) {
		k = pwrite(fd, from, n, (off_t)at);
		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return sp_fail(e, k ? errno : EIO, "%s cannot be written: %s", SP_IMAGE_NAME,
			               strerror(k ? errno : EIO));
		from += k;
		at += (uint64_t)k;
		n -= (size_t)k;
	}
	return 0;
}

int sp_image_write(int fd, struct sp_image_header *h, const struct sp_model *m, const struct sp_listing *list,
                   const uint64_t *hashes, struct sp_err *e)
{
	char page[SP_IMAGE_PAGE] = "";
	struct sp_pack k;
	int rc;

	sp_pack_write(&k);
	pack_listing(&k, list);
	pack_model(&k, (struct sp_model *)m, &hashes); /* writing does not change the model */
	rc = sp_pack_end(&k, e);
	if (rc == 0) {
		h->stream_bytes = k.n;
		h->stream_hash = sp_pack_hash(k.bytes, k.n);
		h->bytes = h->stream_at + k.n;
		rc = sp_image_tree_write(fd, h, m, e) || sp_write_at(fd, k.bytes, k.n, h->stream_at, e);
		memcpy(page, h, sizeof(*h));
		rc = rc || sp_write_at(fd, page, sizeof(page), 0, e) ? -1 : 0;
	}
	sp_pack_free(&k);
	return rc;
}

static int check_places(const struct sp_model *m, uint64_t n_rows)
{
	size_t i, at = 0;

	for (i = 0; i < m->n_processes; i++) {
		const struct sp_process *p = &m->processes[i];

		/* the name of a file must not be empty or leave the directory */
		if (p->file.n == 0 || strlen(p->file.p) != p->file.n || strchr(p->file.p, '/'))
			return -1;
		if (p->first_location != at || p->locations > m->n_locations - at ||
		    (p->parent != SP_NONE && p->parent >= m->n_processes) ||
		    (p->continues != SP_NONE && p->continues >= m->n_processes) ||
		    (p->ended_by != SP_NONE && p->ended_by >= m->n_processes) ||
		    (p->rank == SP_NONE
		         ? p->world_index != SP_NONE
		         : p->world_index >= m->n_worlds || p->rank >= m->worlds[p->world_index].ranks.n))
			return -1;
		at += p->locations;
	}
	if (at != m->n_locations || m->n_processes == 0)
		return -1;
	for (i = 0; i < m->n_locations; i++) {
		const struct sp_location *l = &m->locations[i];
		const struct sp_process *p = l->process < m->n_processes ? &m->processes[l->process] : NULL;

		if (!p || i < p->first_location || i - p->first_location >= p->locations ||
		    (l->creator != SP_NONE && l->creator >= m->n_locations) || l->values > n_rows ||
		    l->first_value > n_rows - l->values || m->priv->places[i].source >= m->priv->n_sources)
			return -1;
	}
	for (i = 0; i < m->n_io_handles; i++)
		if (m->io_handles[i].process >= m->n_processes ||
		    (m->io_handles[i].comm != SP_NONE && m->io_handles[i].comm >= m->n_comms))
			return -1;
	return 0;
}

/* Checks that the chain of each process's parents ends. */
static int check_parents(const struct sp_model *m)
{
	size_t i, n;
	uint32_t p;

	for (i = 0; i < m->n_processes; i++)
		for (p = (uint32_t)i, n = 0; p != SP_NONE; p = m->processes[p].parent)
			if (n++ > m->n_processes || n > 100000)
				return -1;
	return 0;
}

static int damaged(struct sp_err *e, const char *what)
{
	return sp_fail(e, 0,
	               "%s is damaged (%s): the raw files were read instead; `spartito finalize --force` merges again",
	               SP_IMAGE_NAME, what);
}

static int check_header(const struct sp_image *i, struct sp_err *e)
{
	const struct sp_image_header *h = &i->header;
	struct sp_image_header is;

	if (i->bytes < SP_IMAGE_PAGE || memcmp(h->magic, SP_IMAGE_MAGIC, sizeof(h->magic)) != 0)
		return damaged(e, "it does not begin as such a file does");
	if (h->byte_order != SP_RAW_BYTE_ORDER || h->version != SP_IMAGE_VERSION)
		return 1; /* made by another version */
	if (h->n_rows > i->bytes / sizeof(struct sp_row) || h->n_paths > i->bytes / sizeof(struct sp_path) ||
	    h->n_metrics > 255 * 64)
		return damaged(e, "its header is wrong");
	is = sp_image_layout(h->n_rows, h->n_metrics, h->n_paths);
	if (h->bytes != i->bytes || h->metrics_at != is.metrics_at || h->tree_at != is.tree_at ||
	    h->stream_at != is.stream_at || h->stream_at > i->bytes || h->stream_bytes != i->bytes - h->stream_at)
		return damaged(e, h->bytes > i->bytes ? "it is cut short" : "its header is wrong");
	return 0;
}

struct reading {
	struct sp_model *m;
	struct sp_image *i;
};

static int read_tree(void *arg)
{
	const struct reading *r = arg;
	const struct sp_image *i = r->i;

	return sp_image_tree_read(r->m, &i->header, i->tree ? i->tree : (char *)i->map + i->header.tree_at, !i->tree);
}

/* Returns as sp_image_load(). */
static int read_stream(struct sp_image *i, struct sp_model *m, const struct sp_listing *now, struct sp_err *e)
{
	const struct sp_image_header *h = &i->header;
	struct sp_err why = {.code = 0};
	struct sp_pack k;
	int rc = 1;

	sp_pack_read(&k, &m->priv->arena, i->stream, h->stream_bytes);
	if (!pack_listing(&k, now))
		goto out;
	if (sp_pack_hash(i->stream, h->stream_bytes) != h->stream_hash) {
		rc = damaged(e, "its checksum is wrong");
		goto out;
	}
	m->n_paths = h->n_paths;
	pack_model(&k, m, &i->hashes);
	rc = sp_pack_end(&k, &why);
	if (rc == 0 && m->n_metrics == h->n_metrics && sp_guarded(read_tree, &(struct reading){m, i}, &why) == 0)
		rc = check_places(m, h->n_rows) || check_parents(m);
	else
		rc = -1;
	if (rc)
		rc = sp_fail(&why, 0, "its contents contradict each other");
	if (rc)
		damaged(e, why.text);
	m->values = (struct sp_row *)((char *)i->map + SP_IMAGE_PAGE);
	m->row_metrics = m->n_metrics ? (uint64_t *)((char *)i->map + h->metrics_at) : NULL;
	m->n_values = h->n_rows;
out:
	sp_pack_free(&k);
	return rc;
}

static int open_image(const char *dir, uint64_t *bytes)
{
	struct stat st;
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, SP_IMAGE_NAME);
	fd = sp_open_regular(AT_FDCWD, path);
	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0) {
		*bytes = (uint64_t)st.st_size;
		return fd;
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

static bool read_at(int fd, void *p, uint64_t n, uint64_t at)
{
	ssize_t k = 1;

	for (; n && k > 0; p = (char *)p + k, at += (uint64_t)k, n -= (uint64_t)k)
		k = pread(fd, p, n, (off_t)at);
	return n == 0;
}

/* Maps the parts that the header describes. Returns as sp_image_load(). */
static int take(struct sp_image *i, int fd, struct sp_err *e)
{
	const struct sp_image_header *h = &i->header;
	uint64_t tree;
	int rc;

	if (!read_at(fd, &i->header, sizeof(i->header), 0))
		return damaged(e, "it does not begin as such a file does");
	rc = check_header(i, e);
	if (rc)
		return rc;
	tree = h->stream_at - h->tree_at;
	i->map = mmap(NULL, h->stream_at, PROT_READ, MAP_SHARED, fd, 0);
	if (i->map == MAP_FAILED)
		i->map = NULL;
	i->stream = malloc(h->stream_bytes + 1);
	if (tree < MAX_COPY)
		i->tree = malloc(tree + 1);
	if (!i->map || !i->stream || (tree < MAX_COPY && !i->tree))
		return 1;
	if (!read_at(fd, i->stream, h->stream_bytes, h->stream_at) ||
	    (i->tree && !read_at(fd, i->tree, tree, h->tree_at)))
		return damaged(e, "it is cut short");
	return 0;
}

void sp_image_close(struct sp_image *i)
{
	if (!i)
		return;
	if (i->map)
		munmap(i->map, i->header.stream_at);
	free(i->stream);
	free(i->tree);
	free(i);
}

int sp_image_load(struct sp_model **out, const char *dir, const struct sp_listing *now, struct sp_err *e)
{
	struct sp_model *m = calloc(1, sizeof(*m));
	struct sp_image *i;
	uint64_t bytes;
	int fd, rc = 1;

	if (m)
		m->priv = calloc(1, sizeof(*m->priv));
	if (!m || !m->priv) {
		free(m);
		return 1;
	}
	fd = open_image(dir, &bytes);
	i = m->priv->image = fd >= 0 ? calloc(1, sizeof(*i)) : NULL;
	m->dir = sp_model_str(m, dir, strlen(dir));
	if (i && m->dir.p) {
		i->bytes = bytes;
		rc = take(i, fd, e);
	}
	if (fd >= 0)
		close(fd);
	if (rc == 0)
		rc = read_stream(i, m, now, e);
	if (rc) {
		sp_model_free(m);
		return rc;
	}
	sp_model_settle(m);
	*out = m;
	return 0;
}

struct checking {
	const struct sp_model *m;
	const struct sp_location *l;
	uint64_t hash;
};

static int check_rows(void *arg)
{
	const struct checking *c = arg;
	const struct sp_model *m = c->m;
	const struct sp_location *l = c->l;
	const struct sp_row *rows = m->values + l->first_value;
	const uint64_t *metrics = sp_metrics_at(m->row_metrics, l->first_value, m->n_metrics);
	uint32_t last = 0;
	size_t i;

	for (i = 0; i < l->values; i++) {
		if (rows[i].path <= last || rows[i].path >= m->n_paths)
			return -1;
		last = rows[i].path;
	}
	if (sp_image_hash_rows(rows, metrics, l->values, m->n_metrics) != c->hash)
		return -1;
	sp_model_rows_done(m, l);
	return 0;
}

void sp_model_rows_done(const struct sp_model *m, const struct sp_location *l)
{
	const size_t width = m->n_metrics;

	if (!m->priv->image || m->priv->stand_in)
		return; /* not in a file */
	sp_mapped_forget(m->values + l->first_value, l->values * sizeof(*m->values));
	if (width)
		sp_mapped_forget(m->row_metrics + l->first_value * width, l->values * width * sizeof(*m->row_metrics));
}

void sp_model_settle(const struct sp_model *m)
{
	const struct sp_image *i = m->priv->image;

	if (i && !i->tree)
		sp_mapped_forget((const char *)i->map + i->header.tree_at, i->header.stream_at - i->header.tree_at);
}

/* Loads the rows of the same experiment from the raw files. */
static int replace_rows(struct sp_model *m, struct sp_err *e)
{
	struct sp_model *fresh;
	size_t i;

	if (sp_model_load(&fresh, m->dir.p, SP_MODEL_RAW, e))
		return -1;
	if (fresh->n_paths != m->n_paths || fresh->n_locations != m->n_locations || fresh->n_metrics != m->n_metrics) {
		sp_model_free(fresh);
		return sp_fail(e, 0, "%s: %s is damaged; `spartito finalize --force` merges again", m->dir.p,
		               SP_IMAGE_NAME);
	}
	for (i = 0; i < m->n_locations; i++) {
		m->locations[i].first_value = fresh->locations[i].first_value;
		m->locations[i].values = fresh->locations[i].values;
	}
	m->values = fresh->values;
	m->n_values = fresh->n_values;
	m->row_metrics = fresh->row_metrics;
	m->priv->stand_in = fresh;
	return 0;
}

int sp_model_rows(const struct sp_model *loaded, struct sp_err *e)
{
	struct sp_model *m = (struct sp_model *)loaded; /* only the damaged rows are replaced */
	struct sp_image *i = m->priv->image;
	struct sp_err line = {.code = 0}, cut;
	size_t k;

	if (!i || i->checked)
		return 0;
	for (k = 0; k < m->n_locations; k++) {
		if (sp_guarded(check_rows, &(struct checking){m, &m->locations[k], i->hashes[k]}, &cut) == 0)
			continue;
		damaged(&line, "a checksum of its rows is wrong");
		sp_model_problem(m, "%s", line.text);
		if (replace_rows(m, e))
			return -1;
		break;
	}
	i->checked = true;
	return 0;
}
