/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/merge/merge.h"

#include <stdlib.h>
#include <string.h>

#include "model/builder/builder.h"
#include "model/builder/derive.h"
#include "model/builder/listing.h"
#include "model/builder/loading.h"
#include "model/builder/problem.h"
#include "model/builder/steps.h"
#include "model/merge/merge_file.h"
#include "model/merge/part.h"
#include "model/merge/share.h"
#include "model/merge/talk.h"
#include "model/model.h"
#include "model/path.h"
#include "model/process.h"
#include "model/str.h"

enum { MAX_CHILDREN = 31 };

/* A neighbour of this rank that is further from the root, with the subtree of ranks below it. */
struct child {
	int rank;
	struct sp_part_ids ids; /* tables from its indices to those of this rank */
	uint64_t rows;
	uint32_t runs;
};

struct merge {
	const char *dir;
	struct sp_talk talk;
	struct sp_listing list;
	struct sp_share share;
	struct sp_deriving deriving;
	struct child child[MAX_CHILDREN];
	int n_children, parent; /* parent: rank, or -1: this is the root */
	uint32_t own_runs;
	uint32_t runs;            /* own runs and those of the children */
	struct sp_share_run *all; /* owned; `runs` elements */
	uint64_t rows, first_row;
	uint64_t n_rows; /* of all ranks */
	bool many;       /* there is more than one location */
	struct sp_merge_file file;
	uint8_t *mpi;                      /* in the arena; for each path of the merged result, as in sp_deriving */
	struct sp_off_cpu_columns off_cpu; /* of the merged result */
	uint32_t *paths, *metrics; /* owned; this rank's indices to those of the merged result; NULL: unchanged */
};

/* ---- down: is a merge needed, and the list of files ---- */

static bool is_current(const struct merge *x)
{
	struct sp_err none = {.code = 0};
	struct sp_model *m;

	if (sp_image_load(&m, x->dir, &x->list, &none))
		return false;
	sp_model_free(m);
	return true;
}

/* Only one rank reads the directory: if thousands of ranks list thousands of files each, the file system is overloaded,
 * and they might see different files. */
static void pack_list(struct sp_pack *k, struct sp_listing *l)
{
	size_t i;

	sp_pack_count(k, &l->n);
	if (k->reading) {
		l->files = calloc(l->n + 1, sizeof(*l->files));
		if (!l->files) {
			l->n = 0;
			sp_pack_no_memory(k);
		}
	}
	for (i = 0; i < l->n; i++) {
		struct sp_listed *f = &l->files[i];
		struct sp_str name = {f->name ? f->name : "", f->name ? strlen(f->name) : 0};

		sp_pack_str(k, &name);
		sp_pack_number(k, f->size);
		sp_pack_number(k, f->changed);
		sp_pack_number(k, f->begin);
		sp_pack_bool(k, &f->error);
		if (k->reading && !(f->name = strdup(name.p)))
			sp_pack_no_memory(k);
	}
	if (k->reading && sp_listing_sort(l))
		sp_pack_no_memory(k);
}

static int receive_start(struct merge *x, bool *current, int rc, struct sp_err *e)
{
	struct sp_arena arena = {0};
	struct sp_pack k;
	void *bytes;

	rc = sp_talk_receive(&x->talk, x->parent, &k, &arena, &bytes, rc, e);
	if (bytes && rc == 0) {
		sp_pack_bool(&k, current);
		pack_list(&k, &x->list);
		rc = sp_pack_end(&k, e);
	}
	if (bytes)
		sp_pack_free(&k);
	free(bytes);
	sp_arena_free(&arena);
	return rc;
}

static int spread_start(struct merge *x, const struct sp_merge_options *o, bool *current, struct sp_err *e)
{
	struct sp_pack k;
	int rc, i;

	if (x->parent >= 0) {
		rc = receive_start(x, current, 0, e);
	} else {
		rc = sp_listing_read(&x->list, x->dir, e);
		*current = rc == 0 && !o->force && is_current(x);
	}
	for (i = 0; i < x->n_children; i++) {
		sp_talk_begin(&k, e, rc);
		if (rc == 0) {
			sp_pack_bool(&k, current);
			pack_list(&k, &x->list);
		}
		rc = sp_talk_send(&x->talk, x->child[i].rank, &k, rc, e);
	}
	return rc;
}

/* ---- up: the parts ---- */

static int receive_part(struct merge *x, struct child *c, int rc, struct sp_err *e)
{
	struct sp_arena arena = {0};
	uint32_t runs = x->runs;
	const char *part;
	struct sp_pack k;
	void *bytes;
	size_t n;

	rc = sp_talk_receive(&x->talk, c->rank, &k, &arena, &bytes, rc, e);
	if (bytes && rc == 0) {
		sp_pack_number(&k, c->rows);
		sp_pack_count(&k, &n);
		sp_pack_array(&k, &part, n, 1);
		rc = sp_pack_end(&k, e);
		if (rc == 0)
			rc = sp_part_add(&x->share.b, part, n, &x->runs, &c->ids, e);
		c->runs = x->runs - runs;
		x->rows += c->rows;
	}
	if (bytes)
		sp_pack_free(&k);
	sp_arena_free(&arena);
	free(bytes);
	return rc;
}

static int send_part(struct merge *x, int rc, struct sp_err *e)
{
	struct sp_pack part, k;
	size_t n;

	sp_pack_write(&part);
	if (rc == 0) {
		sp_part_write(&part, &x->share.b, x->runs);
		rc = sp_pack_end(&part, e);
	}
	n = part.n;
	sp_talk_begin(&k, e, rc);
	if (rc == 0) {
		sp_pack_number(&k, x->rows);
		sp_pack_count(&k, &n);
		sp_pack_array(&k, &part.bytes, n, 1);
	}
	rc = sp_talk_send(&x->talk, x->parent, &k, rc, e);
	sp_pack_free(&part);
	return rc;
}

static void find_neighbours(struct merge *x)
{
	const int rank = x->talk.rank, size = x->talk.size;
	int mask;

	x->parent = -1;
	for (mask = 1; mask < size && mask > 0; mask <<= 1) {
		if (rank & mask) {
			x->parent = rank - mask;
			break;
		}
		if (rank + mask < size && x->n_children < MAX_CHILDREN)
			x->child[x->n_children++].rank = rank + mask;
	}
}

static int gather_parts(struct merge *x, int rc, struct sp_err *e)
{
	int i;

	x->own_runs = x->runs = x->share.n_runs;
	x->rows = x->share.rows;
	for (i = 0; i < x->n_children; i++)
		rc = receive_part(x, &x->child[i], rc, e);
	return x->parent < 0 ? rc : send_part(x, rc, e);
}

/* ---- down: the merged result ---- */

static int finish(struct merge *x, struct sp_err *e)
{
	struct sp_builder *b = &x->share.b;
	struct sp_model *m = b->m;

	if (sp_builder_visits(b))
		return sp_model_no_memory(e);
	if (sp_builder_finish(b, &x->list, e) || sp_merge_file_create(&x->file, x->dir, SP_IMAGE_NAME, e))
		return -1;
	x->paths = b->folded;
	b->folded = NULL;
	x->n_rows = x->rows;
	x->many = m->n_locations > 1;
	x->mpi = sp_arena_alloc(&b->priv->arena, m->n_paths);
	if (!x->mpi)
		return sp_model_no_memory(e);
	sp_derive_find_mpi(m, x->mpi);
	x->off_cpu = sp_off_cpu_columns(m);
	return 0;
}

/* Sends a child the merged result: the same for all ranks, except the tables from the child's indices to the merged. */
static int send_whole(struct merge *x, struct child *c, uint64_t first_row, int rc, struct sp_err *e)
{
	struct sp_model *m = x->share.b.m;
	struct sp_str name = {x->file.name, strlen(x->file.name)};
	size_t i, n_paths = c->ids.n_paths, n_metrics = c->ids.n_metrics;
	struct sp_pack k;

	sp_talk_begin(&k, e, rc);
	if (rc == 0) {
		for (i = 0; x->paths && i < n_paths; i++)
			c->ids.paths[i] = x->paths[c->ids.paths[i]];
		for (i = 0; x->metrics && i < n_metrics; i++)
			c->ids.metrics[i] = x->metrics[c->ids.metrics[i]];
		sp_pack_str(&k, &name);
		sp_pack_number(&k, first_row);
		sp_pack_number(&k, x->n_rows);
		sp_pack_bool(&k, &x->many);
		sp_pack_number(&k, x->off_cpu);
		sp_pack_count(&k, &m->n_metrics);
		sp_pack_count(&k, &m->n_paths);
		sp_pack_array(&k, &m->paths, m->n_paths, sizeof(*m->paths));
		sp_pack_array(&k, &x->mpi, m->n_paths, sizeof(*x->mpi));
		sp_pack_count(&k, &n_paths);
		sp_pack_array(&k, &c->ids.paths, n_paths, sizeof(*c->ids.paths));
		sp_pack_count(&k, &n_metrics);
		sp_pack_array(&k, &c->ids.metrics, n_metrics, sizeof(*c->ids.metrics));
	}
	return sp_talk_send(&x->talk, c->rank, &k, rc, e);
}

static int check_whole(const struct sp_model *m, const struct merge *x, size_t n_paths, size_t n_metrics)
{
	const struct sp_model *own = x->share.b.m;
	size_t i;

	if (n_paths != own->n_paths || n_metrics != own->n_metrics || x->first_row > x->n_rows ||
	    x->rows > x->n_rows - x->first_row || x->n_rows > UINT64_MAX / 1024)
		return -1;
	for (i = 1; i < m->n_paths; i++)
		if (m->paths[i].parent >= i)
			return -1;
	for (i = 0; i < n_paths; i++)
		if (x->paths[i] >= m->n_paths)
			return -1;
	for (i = 0; i < n_metrics; i++)
		if (x->metrics[i] >= m->n_metrics)
			return -1;
	return sp_off_cpu_columns_fit(&x->off_cpu, m->n_metrics) ? 0 : -1;
}

/* Replaces this rank's model by the merged result, as far as rows need it. */
static int take_whole(struct merge *x, struct sp_pack *k, struct sp_err *e)
{
	struct sp_model *m = x->share.b.m, whole = {.n_paths = 0};
	size_t n_paths = 0, n_metrics = 0;
	struct sp_str name;

	sp_pack_str(k, &name);
	sp_pack_number(k, x->first_row);
	sp_pack_number(k, x->n_rows);
	sp_pack_bool(k, &x->many);
	sp_pack_number(k, x->off_cpu);
	sp_pack_number(k, whole.n_metrics); /* not sp_pack_count(): no elements follow in the message */
	sp_pack_count(k, &whole.n_paths);
	sp_pack_array(k, &whole.paths, whole.n_paths, sizeof(*whole.paths));
	sp_pack_array(k, &x->mpi, whole.n_paths, sizeof(*x->mpi));
	sp_pack_count(k, &n_paths);
	sp_pack_array(k, &x->paths, n_paths, sizeof(*x->paths));
	sp_pack_count(k, &n_metrics);
	sp_pack_array(k, &x->metrics, n_metrics, sizeof(*x->metrics));
	if (sp_pack_end(k, e) || check_whole(&whole, x, n_paths, n_metrics))
		return sp_fail(e, 0, "a message cannot be understood");
	free(x->share.b.priv->paths);
	x->share.b.priv->paths = NULL;
	m->paths = whole.paths; /* in the arena, as are the tables, because k copies */
	m->n_paths = whole.n_paths;
	m->n_metrics = whole.n_metrics;
	return sp_merge_file_open(&x->file, x->dir, name.p, e);
}

static int receive_whole(struct merge *x, int rc, struct sp_err *e)
{
	struct sp_pack k;
	void *bytes;

	rc = sp_talk_receive(&x->talk, x->parent, &k, x->share.b.priv ? &x->share.b.priv->arena : NULL, &bytes, rc, e);
	if (bytes && rc == 0) {
		k.copy = true;
		rc = take_whole(x, &k, e);
	}
	if (bytes)
		sp_pack_free(&k);
	free(bytes);
	return rc;
}

static int spread_whole(struct merge *x, int rc, struct sp_err *e)
{
	uint64_t first;
	int i;

	if (x->parent >= 0)
		rc = receive_whole(x, rc, e);
	first = x->first_row + x->share.rows;
	for (i = 0; i < x->n_children; i++) {
		rc = send_whole(x, &x->child[i], first, rc, e);
		first += x->child[i].rows;
	}
	return rc;
}

/* ---- up: the totals and the positions of rows ---- */

static int receive_totals(struct merge *x, const struct child *c, uint32_t *at, int rc, struct sp_err *e)
{
	const struct sp_model *m = x->share.b.m;
	struct sp_arena arena = {0};
	const struct sp_share_run *runs = NULL;
	const struct sp_value *totals = NULL;
	const double *each = NULL;
	const struct sp_exact *exact = NULL;
	const uint64_t *metrics = NULL;
	struct sp_pack k;
	void *bytes;

	rc = sp_talk_receive(&x->talk, c->rank, &k, &arena, &bytes, rc, e);
	if (bytes && rc == 0) {
		sp_pack_array(&k, &runs, c->runs, sizeof(*runs));
		sp_pack_array(&k, &totals, m->n_paths, sizeof(*totals));
		sp_pack_array(&k, &each, m->n_paths, sizeof(*each));
		/* copied, so that it is aligned */
		k.copy = true;
		sp_pack_array(&k, &exact, x->many ? m->n_paths : 0, sizeof(*exact));
		sp_pack_array(&k, &metrics, m->n_paths, m->n_metrics * sizeof(*metrics));
		rc = sp_pack_end(&k, e);
		if (rc == 0) {
			memcpy(x->all + *at, runs, c->runs * sizeof(*runs));
			*at += c->runs;
			sp_derive_add(&x->deriving, totals, each, exact, metrics);
		}
	}
	if (bytes)
		sp_pack_free(&k);
	sp_arena_free(&arena);
	free(bytes);
	return rc;
}

static int send_totals(struct merge *x, int rc, struct sp_err *e)
{
	struct sp_model *m = x->share.b.m;
	struct sp_pack k;

	sp_talk_begin(&k, e, rc);
	if (rc == 0) {
		sp_pack_array(&k, &x->all, x->runs, sizeof(*x->all));
		sp_pack_array(&k, &m->totals, m->n_paths, sizeof(*m->totals));
		sp_pack_array(&k, &m->each, m->n_paths, sizeof(*m->each));
		sp_pack_array(&k, &x->deriving.exact, x->many ? m->n_paths : 0, sizeof(*x->deriving.exact));
		sp_pack_array(&k, &m->total_metrics, m->n_paths, m->n_metrics * sizeof(*m->total_metrics));
	}
	return sp_talk_send(&x->talk, x->parent, &k, rc, e);
}

static int write_rows(struct merge *x, struct sp_err *e)
{
	const struct sp_share_whole whole = {x->paths, x->metrics, x->first_row, x->n_rows, x->file.fd};

	x->all = calloc((size_t)x->runs + 1, sizeof(*x->all));
	if (!x->all)
		return sp_model_no_memory(e);
	if (sp_derive_open(&x->deriving, x->share.b.m, 0, x->many, e))
		return -1;
	memcpy(x->deriving.mpi, x->mpi, x->share.b.m->n_paths);
	x->deriving.off_cpu = x->off_cpu;
	if (sp_share_write(&x->share, &x->deriving, &whole, e))
		return -1;
	if (x->own_runs)
		memcpy(x->all, x->share.runs, x->own_runs * sizeof(*x->all));
	return 0;
}

static int gather_totals(struct merge *x, int rc, struct sp_err *e)
{
	uint32_t at = x->own_runs;
	int i;

	for (i = 0; i < x->n_children; i++)
		rc = receive_totals(x, &x->child[i], &at, rc, e);
	return x->parent < 0 ? rc : send_totals(x, rc, e);
}

/* ---- the root completes the file ---- */

/* A process that is not known to have ended may still be writing its file. */
static void mark_final(struct merge *x)
{
	const struct sp_builder *b = &x->share.b;
	size_t i, low, high, mid;

	for (i = 0; i < b->n_loading; i++) {
		if (!b->loading[i].final)
			continue;
		for (low = 0, high = x->list.n; low < high;) {
			mid = (low + high) / 2;
			if (strcmp(x->list.files[mid].name, b->loading[i].process.file.p) < 0)
				low = mid + 1;
			else
				high = mid;
		}
		if (low < x->list.n && strcmp(x->list.files[low].name, b->loading[i].process.file.p) == 0)
			x->list.files[low].changed = 0;
	}
}

static int write_model(struct merge *x, struct sp_image_header *h, struct sp_err *e)
{
	struct sp_builder *b = &x->share.b;
	struct sp_model *m = b->m;
	uint64_t *hashes = calloc(m->n_locations + 1, sizeof(*hashes));
	size_t i;
	uint32_t k, n;
	int rc;

	if (!hashes)
		return sp_model_no_memory(e);
	for (i = 0, n = 0; i < b->n_loading; i++)
		for (k = 0; k < b->loading[i].process.locations; k++, n++) {
			const struct sp_share_run *run = &x->all[b->loading[i].order + k];
			struct sp_location *l = &m->locations[n];

			l->first_value = run->first;
			l->values = run->values;
			l->visits = run->visits;
			l->resumed = run->resumed;
			l->busy = run->busy;
			l->mpi = run->mpi;
			l->off_cpu = run->off_cpu;
			hashes[n] = run->hash;
		}
	sp_derive_totals(&x->deriving);
	mark_final(x);
	*h = sp_image_layout(x->n_rows, m->n_metrics, m->n_paths);
	rc = sp_image_write(x->file.fd, h, m, &x->list, hashes, e);
	free(hashes);
	return rc;
}

/* Makes all ranks end with the same result. */
static int spread_end(struct merge *x, int rc, struct sp_err *e)
{
	struct sp_arena arena = {0};
	struct sp_pack k;
	void *bytes;
	int i;

	if (x->parent >= 0) {
		rc = sp_talk_receive(&x->talk, x->parent, &k, &arena, &bytes, rc, e);
		if (bytes)
			sp_pack_free(&k);
		free(bytes);
		sp_arena_free(&arena);
	}
	for (i = 0; i < x->n_children; i++) {
		sp_talk_begin(&k, e, rc);
		rc = sp_talk_send(&x->talk, x->child[i].rank, &k, rc, e);
	}
	return rc;
}

/* ---- all steps ---- */

/* Reads the files of this rank: adjacent ones, with about the same number of bytes as for every other rank. */
static int read_share(struct merge *x, struct sp_err *e)
{
	const uint64_t rank = (uint64_t)x->talk.rank, size = (uint64_t)x->talk.size, all = sp_listing_bytes(&x->list);
	uint64_t at = 0;
	size_t i;

	for (i = 0; i < x->list.n; i++) {
		const struct sp_listed *f = &x->list.files[x->list.order[i]];
		/* the rank whose share contains the first byte of the file */
		const uint64_t whose = (uint64_t)((unsigned __int128)at * size / all);

		at += f->size + 1;
		if (whose == rank && !f->error && !f->joined && sp_share_add(&x->share, f, e))
			return -1;
	}
	return 0;
}

static int run(struct merge *x, const struct sp_merge_options *o, struct sp_merge_result *r, struct sp_err *e)
{
	struct sp_image_header h = {.bytes = 0};
	int rc;

	find_neighbours(x);
	rc = spread_start(x, o, &r->current, e);
	if (rc == 0 && r->current)
		return 0;
	if (sp_share_open(&x->share, x->dir, x->list.n, sp_listing_bytes(&x->list) / (uint64_t)x->talk.size, o,
	                  rc ? &(struct sp_err){.code = 0} : e))
		rc = -1;
	if (rc == 0)
		rc = read_share(x, e);
	rc = gather_parts(x, rc, e);
	if (rc == 0 && x->parent < 0)
		rc = finish(x, e);
	rc = spread_whole(x, rc, e);
	if (rc == 0)
		rc = write_rows(x, e);
	rc = gather_totals(x, rc, e);
	if (rc == 0 && x->parent < 0)
		rc = write_model(x, &h, e) || sp_merge_file_place(&x->file, x->dir, e) ? -1 : 0;
	rc = spread_end(x, rc, e);
	if (rc == 0 && x->parent < 0) {
		const struct sp_model *m = x->share.b.m;

		*r = (struct sp_merge_result){.processes = m->n_processes,
		                              .locations = m->n_locations,
		                              .paths = m->n_paths,
		                              .rows = x->n_rows,
		                              .bytes = h.bytes,
		                              .raw_bytes = sp_listing_bytes(&x->list) - x->list.n};
	}
	return rc;
}

static void clean_up(struct merge *x)
{
	int i;

	sp_merge_file_close(&x->file, x->dir, x->parent < 0);
	for (i = 0; i < x->n_children; i++)
		sp_part_ids_free(&x->child[i].ids);
	if (x->parent < 0)
		free(x->paths); /* in other ranks they are in the arena */
	free(x->all);
	sp_derive_close(&x->deriving);
	sp_model_free(x->share.b.m);
	sp_share_close(&x->share);
	sp_listing_free(&x->list);
}

int sp_merge(const char *dir, const struct sp_merge_options *o, const struct sp_links *links, struct sp_merge_result *r,
             struct sp_err *e)
{
	struct merge x = {.dir = dir, .talk = {links, 0, 1, false}, .file = {.fd = -1}, .share = {.aside = -1}};
	int rc;

	*r = (struct sp_merge_result){.current = false};
	if (links && links->size > 1) {
		x.talk.rank = links->rank;
		x.talk.size = links->size;
	}
	rc = run(&x, o, r, e);
	clean_up(&x);
	return rc ? sp_fail_in(e, "%s", dir) : 0;
}
