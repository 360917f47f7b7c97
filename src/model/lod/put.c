/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the arrays of one location into the file. */
#include "model/builder/problem.h"
#include "model/lod/file.h"
#include "model/lod/made.h"
#include "model/merge/pack.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* The file is written in small pieces. The page cache uses huge pages for a large piece, which a virtual machine often
 * has to get from its host first: that takes ten times as long as writing. Several threads write, because most of the
 * time goes to page faults, which the system handles on each processor separately. */
enum { PIECE = 256 * 1024, MAX_WRITERS = 8, LISTS = 9 + 6 * SP_LOD_LEVELS };
_Static_assert(SP_LOD_SPAN % PIECE == 0, "a span is hashed as its pieces are");

struct putting {
	int fd;
	uint64_t at, bytes; /* in the file, bytes */
	struct part {
		const char *p;
		uint64_t begin, end; /* offsets from `at` */
	} parts[LISTS];              /* no part is empty */
	size_t n_parts, n_pieces;
	uint64_t *hashes; /* owned; hash of each piece */
	atomic_size_t next;
	atomic_bool failed;
};

struct writer {
	struct putting *p;
	char *buffer; /* owned; room for one piece */
	struct sp_err e;
	int rc;
};

uint64_t sp_lod_hash(uint64_t h, const void *bytes, size_t n)
{
	const char *p = bytes;
	size_t k;

	for (; n; p += k, n -= k) {
		k = n < PIECE ? n : PIECE;
		h = sp_lod_mix(h, sp_pack_hash(p, k));
	}
	return h;
}

uint64_t sp_lod_size(const struct sp_lod_made *x)
{
	uint64_t n = x->points.n * x->points.size + x->frames.n * x->frames.size + x->markers.n * x->markers.size +
	             x->series.n * x->series.size + x->samples.n * x->samples.size + x->groups.n * x->groups.size +
	             x->counts.n * x->counts.size + x->steps.n * x->steps.size + x->gaps.n * x->gaps.size;
	unsigned i;

	for (i = 0; i < SP_LOD_LEVELS; i++) {
		n += x->nodes[i].n * x->nodes[i].size + x->cells[i].n * x->cells[i].size;
		n += x->sums[i].n * x->sums[i].size + x->sum_entries[i].n * x->sum_entries[i].size;
		n += x->strips[i].n * x->strips[i].size + x->grown[i].n * x->grown[i].size;
	}
	return n;
}

/* Converts indices of cells and entries, which begin at 0 in each level, to indices in the file's array of all
 * levels. */
static void number(struct sp_lod_made *x)
{
	uint64_t cells = 0, entries = 0; /* cells: in words */
	unsigned level;
	size_t i;

	for (level = 0; level < SP_LOD_LEVELS; level++) {
		struct sp_lod_node *n = x->nodes[level].p;
		struct sp_lod_sum *s = x->sums[level].p;

		for (i = 0; i < x->nodes[level].n; i++)
			n[i].cells += cells;
		for (i = 0; i < x->sums[level].n; i++)
			s[i].entries += entries;
		cells += x->cells[level].n;
		entries += x->sum_entries[level].n;
	}
}

static void put(struct putting *p, struct sp_lod_array *a, const struct sp_lod_list *l)
{
	const uint64_t n = l->n * l->size;

	if (a->n == 0)
		a->at = p->bytes;
	a->n += l->n;
	if (n)
		p->parts[p->n_parts++] = (struct part){l->p, p->bytes, p->bytes + n};
	p->bytes += n;
}

static void put_all(struct putting *p, struct sp_lod_made *x)
{
	struct sp_lod_file_location *to = &x->place;
	unsigned i;

	put(p, &to->points, &x->points);
	put(p, &to->frames, &x->frames);
	put(p, &to->markers, &x->markers);
	put(p, &to->series, &x->series);
	put(p, &to->samples, &x->samples);
	put(p, &to->groups, &x->groups);
	put(p, &to->counts, &x->counts);
	put(p, &to->steps, &x->steps);
	put(p, &to->gaps, &x->gaps);
	for (i = 0; i < SP_LOD_LEVELS; i++)
		put(p, &to->nodes, &x->nodes[i]);
	for (i = 0; i < SP_LOD_LEVELS; i++)
		put(p, &to->cells, &x->cells[i]);
	for (i = 0; i < SP_LOD_LEVELS; i++)
		put(p, &to->strips, &x->strips[i]);
	for (i = 0; i < SP_LOD_LEVELS; i++)
		put(p, &to->sums, &x->sums[i]);
	for (i = 0; i < SP_LOD_LEVELS; i++)
		put(p, &to->entries, &x->sum_entries[i]);
	for (i = 0; i < SP_LOD_LEVELS; i++)
		put(p, &to->grown, &x->grown[i]);
}

/* The bytes from begin to end: a pointer into a part, or a copy in the buffer if they are in several parts. */
static const char *piece(const struct writer *w, uint64_t begin, uint64_t end)
{
	const struct part *part = w->p->parts;
	uint64_t at = begin, until;

	while (part->end <= begin)
		part++;
	if (end <= part->end)
		return part->p + (begin - part->begin);
	for (; at < end; part++, at = until) {
		until = part->end < end ? part->end : end;
		memcpy(w->buffer + (at - begin), part->p + (at - part->begin), until - at);
	}
	return w->buffer;
}

static int write_piece(struct writer *w, size_t i)
{
	struct putting *p = w->p;
	const uint64_t begin = i * (uint64_t)PIECE, end = begin + PIECE < p->bytes ? begin + PIECE : p->bytes;
	const char *bytes = piece(w, begin, end);

	p->hashes[i] = sp_pack_hash(bytes, end - begin);
	return sp_lod_write(p->fd, bytes, end - begin, p->at + begin, &w->e);
}

static void *write_some(void *arg)
{
	struct writer *w = arg;
	size_t i;

	w->buffer = malloc(PIECE);
	if (!w->buffer)
		w->rc = sp_model_no_memory(&w->e);
	while (w->rc == 0 && !atomic_load(&w->p->failed) && (i = atomic_fetch_add(&w->p->next, 1)) < w->p->n_pieces)
		w->rc = write_piece(w, i);
	if (w->rc)
		atomic_store(&w->p->failed, true);
	free(w->buffer);
	return NULL;
}

static int write_all(struct putting *p, unsigned threads, struct sp_err *e)
{
	struct writer writers[MAX_WRITERS];
	pthread_t ids[MAX_WRITERS];
	unsigned n = 1, i;
	int rc = 0;

	while (n < threads && n < MAX_WRITERS && n < p->n_pieces) {
		writers[n] = (struct writer){.p = p};
		if (pthread_create(&ids[n], NULL, write_some, &writers[n]))
			break; /* continue with fewer threads */
		n++;
	}
	writers[0] = (struct writer){.p = p};
	write_some(&writers[0]);
	for (i = 0; i < n; i++) {
		if (i)
			pthread_join(ids[i], NULL);
		if (writers[i].rc && rc == 0) {
			*e = writers[i].e;
			rc = -1;
		}
	}
	return rc;
}

int sp_lod_put(int fd, struct sp_lod_made *x, uint64_t at, unsigned threads, struct sp_err *e)
{
	struct putting p = {.fd = fd, .at = at};
	size_t i;
	int rc;

	number(x);
	put_all(&p, x);
	p.n_pieces = p.bytes / PIECE + (p.bytes % PIECE != 0);
	p.hashes = malloc((p.n_pieces + 1) * sizeof(*p.hashes));
	if (!p.hashes)
		return sp_model_no_memory(e);
	rc = write_all(&p, threads, e);
	x->place.at = at;
	x->place.bytes = p.bytes;
	x->place.n_sums = x->sums[0].n ? x->sums[0].n - 1 : 0;
	x->place.hash = 0;
	for (i = 0; i < p.n_pieces && rc == 0; i++)
		x->place.hash = sp_lod_mix(x->place.hash, p.hashes[i]);
	free(p.hashes);
	return rc;
}
