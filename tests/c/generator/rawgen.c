/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rawgen_inner.h"

void rg_die(const char *what)
{
	fprintf(stderr, "rawgen: %s: %s\n", what, strerror(errno));
	exit(1);
}

void *rg_grown(void *p, size_t n)
{
	p = realloc(p, n);
	if (!p)
		rg_die("memory");
	return p;
}

void *rg_put(struct bytes *b, const void *p, size_t n)
{
	if (b->n + n > b->capacity) {
		b->capacity = (b->n + n) * 3 / 2 + 4096;
		b->p = rg_grown(b->p, b->capacity);
	}
	if (p)
		memcpy(b->p + b->n, p, n);
	else
		memset(b->p + b->n, 0, n);
	b->n += n;
	return b->p + b->n - n;
}

static size_t page_up(size_t n)
{
	return (n + SP_RAW_PAGE - 1) / SP_RAW_PAGE * SP_RAW_PAGE;
}

/* Appends a chunk and returns its offset. */
size_t rg_put_chunk(struct rg_process *p, struct sp_raw_chunk c, const void *payload, size_t n)
{
	size_t at = p->file.n;

	c.magic = SP_RAW_CHUNK_MAGIC;
	c.bytes = page_up(sizeof(c) + n);
	c.address = ADDRESS + at;
	rg_put(&p->file, &c, sizeof(c));
	rg_put(&p->file, payload, n);
	rg_put(&p->file, NULL, c.bytes - sizeof(c) - n);
	return at;
}

struct rg_process *rg_process(int32_t pid, int32_t ppid, uint64_t begin, bool trace)
{
	struct rg_process *p = rg_grown(NULL, sizeof(*p));
	struct sp_raw_header *h = &p->header;

	memset(p, 0, sizeof(*p));
	memcpy(h->magic, SP_RAW_MAGIC, 8);
	h->byte_order = SP_RAW_BYTE_ORDER;
	h->version = SP_RAW_VERSION;
	h->header_bytes = sizeof(*h);
	h->flags = trace ? SP_RAW_FLAG_TRACE : 0;
	h->pid = pid;
	h->ppid = ppid;
	h->first.ticks = h->first.mono_ns = begin;
	h->first.real_ns = begin + UINT64_C(1700000000000000000);
	strcpy(h->host, "node1");
	rg_put(&p->file, NULL, SP_RAW_PAGE);
	return p;
}

struct sp_raw_header *rg_header(struct rg_process *p)
{
	return &p->header;
}

void rg_record(struct rg_process *p, enum sp_raw_def_kind kind, uint32_t flags, uint32_t a, uint32_t b,
               const struct rg_bytes text[4])
{
	struct sp_raw_def d = {.kind = (uint16_t)kind, .flags = (uint16_t)flags, .a = a, .b = b};
	size_t n = sizeof(d), used = n;
	int i;

	for (i = 0; i < 4; i++) {
		d.len[i] = (uint32_t)text[i].n;
		used += d.len[i];
	}
	n = (used + 7) / 8 * 8;
	d.bytes = (uint32_t)n;
	rg_put(&p->defs, &d, sizeof(d));
	for (i = 0; i < 4; i++)
		if (text[i].n)
			rg_put(&p->defs, text[i].p, text[i].n);
	rg_put(&p->defs, NULL, n - used);
}

static void put_def(struct rg_process *p, uint16_t kind, uint32_t flags, uint32_t a, uint32_t b, const char *const s[3])
{
	struct rg_bytes text[4] = {{NULL, 0}};
	int i;

	for (i = 0; i < 3 && s[i]; i++)
		text[i] = (struct rg_bytes){s[i], strlen(s[i])};
	rg_record(p, (enum sp_raw_def_kind)kind, flags, a, b, text);
}

void rg_rank(struct rg_process *p, uint64_t world, uint32_t rank, uint32_t size)
{
	char text[32];

	snprintf(text, sizeof(text), "%016llx", (unsigned long long)world);
	rg_meta(p, "mpi_world", text);
	snprintf(text, sizeof(text), "%u", rank);
	rg_meta(p, "mpi_rank", text);
	snprintf(text, sizeof(text), "%u", size);
	rg_meta(p, "mpi_size", text);
}

void rg_comm(struct rg_process *p, uint32_t comm, uint32_t flags, const char *name, const struct sp_raw_comm *c,
             const struct sp_raw_ranks *members, size_t n)
{
	rg_record(p, SP_RAW_DEF_COMM, flags, comm, 0,
	          (struct rg_bytes[4]){{name, strlen(name)}, {c, sizeof(*c)}, {members, n * sizeof(*members)}});
}

void rg_meta(struct rg_process *p, const char *key, const char *value)
{
	put_def(p, SP_RAW_DEF_META, 0, 0, 0, (const char *const[3]){key, value});
}

void rg_region(struct rg_process *p, uint32_t id, uint32_t flags, const char *module, const char *qualname,
               const char *file, uint32_t line)
{
	put_def(p, SP_RAW_DEF_REGION, flags, id, line, (const char *const[3]){module, qualname, file});
	if (id > p->header.regions)
		p->header.regions = id;
}

void rg_define(struct rg_process *p, enum sp_raw_def_kind kind, uint32_t id, const char *text)
{
	put_def(p, (uint16_t)kind, 0, id, 0, (const char *const[3]){text});
}

void rg_metric(struct rg_process *p, uint32_t column, uint32_t flags, const char *name, const char *unit, int exponent)
{
	put_def(p, SP_RAW_DEF_METRIC, flags, column, (uint32_t)exponent, (const char *const[3]){name, unit, "what"});
	if (column >= p->n_columns)
		p->n_columns = column + 1;
}

struct rg_thread *rg_thread(struct rg_process *p, const char *name, uint64_t tid, uint32_t creator, uint64_t begin)
{
	struct rg_thread *t = rg_grown(NULL, sizeof(*t));

	memset(t, 0, sizeof(*t));
	t->process = p;
	t->state.id = (uint32_t)p->n_threads;
	t->state.creator = creator;
	t->state.tid = tid;
	t->state.begin = t->state.last = t->chunk_base = begin;
	t->node_capacity = 64;
	t->nodes = rg_grown(NULL, t->node_capacity * sizeof(*t->nodes));
	memset(t->nodes, 0, sizeof(*t->nodes));
	t->nodes[0].parent = SP_RAW_NONE;
	t->n_nodes = 1;
	t->words = rg_grown(NULL, EVENT_WORDS * sizeof(*t->words));
	snprintf(t->name, sizeof(t->name), "%s", name);
	p->threads = rg_grown(p->threads, (p->n_threads + 1) * sizeof(struct rg_thread *));
	p->threads[p->n_threads++] = t;
	p->header.locations++;
	put_def(p, SP_RAW_DEF_LOCATION_NAME, 0, t->state.id, 0, (const char *const[3]){name});
	return t;
}

struct sp_raw_location *rg_location(struct rg_thread *t)
{
	return &t->state;
}

unsigned rg_depth(const struct rg_thread *t)
{
	return t->depth;
}

void rg_chunk(struct rg_process *p, enum sp_raw_chunk_type type, uint32_t location, uint64_t used, const void *payload,
              size_t n)
{
	rg_put_chunk(p, (struct sp_raw_chunk){.type = type, .location = location, .used = used}, payload, n);
}

static void free_thread(struct rg_thread *t)
{
	free(t->lines);
	free(t->line_frames);
	free(t->nodes);
	free(t->values);
	free(t->slots);
	free(t->words);
	free(t->waits);
	free(t->rows);
	free(t);
}

static void put_thread(struct rg_thread *t)
{
	struct rg_process *p = t->process;
	struct sp_raw_chunk c;

	rg_flush_words(t, false);
	rg_put_nodes(t);
	rg_put_lines(t);
	c = (struct sp_raw_chunk){.type = SP_RAW_STACK, .location = t->state.id};
	t->state.stack = rg_put_chunk(p, c, t->frames, (t->depth + 1) * sizeof(*t->frames));
	t->state.base = ADDRESS + t->state.stack + sizeof(c);
	t->state.top = t->state.base + t->depth * sizeof(*t->frames);
	c.type = SP_RAW_LOCATION;
	c.used = sizeof(t->state);
	rg_put_chunk(p, c, &t->state, sizeof(t->state));
}

unsigned char *rg_bytes(struct rg_process *p, enum sp_raw_ended ended, uint64_t last, size_t *n)
{
	struct sp_raw_chunk c = {.type = SP_RAW_DEFS, .location = SP_RAW_NONE, .used = p->defs.n};
	unsigned char *bytes;
	size_t i;

	p->nodes_at = rg_grown(NULL, (p->n_threads + 1) * sizeof(*p->nodes_at));
	rg_put_chunk(p, c, p->defs.p, p->defs.n);
	for (i = 0; i < p->n_threads; i++) {
		if (ended != SP_RAW_RUNNING && p->threads[i]->depth == 0 && p->threads[i]->state.end == 0)
			p->threads[i]->state.end = last;
		put_thread(p->threads[i]);
	}
	for (i = 0; i < p->n_threads; i++) {
		rg_put_rows(p, (uint32_t)i, p->threads[i]);
		free_thread(p->threads[i]);
	}
	rg_put_objects(p);
	free(p->nodes_at);
	free(p->objects);
	free(p->heap);
	p->header.ended = ended;
	if (p->header.last.ticks == 0)
		p->header.last = (struct sp_raw_sync){last, p->header.first.mono_ns + (last - p->header.first.ticks),
		                                      p->header.first.real_ns + (last - p->header.first.ticks)};
	p->header.end_ticks = ended == SP_RAW_RUNNING ? 0 : last;
	p->header.bytes = p->file.n;
	memcpy(p->file.p, &p->header, sizeof(p->header));
	*n = p->file.n;
	bytes = p->file.p;
	free(p->defs.p);
	free(p->threads);
	free(p);
	return bytes;
}

void rg_write(struct rg_process *p, const char *path, enum sp_raw_ended ended, uint64_t last)
{
	size_t n;
	unsigned char *bytes = rg_bytes(p, ended, last, &n);
	FILE *f = fopen(path, "wb");

	if (!f || fwrite(bytes, 1, n, f) != n || fclose(f) != 0)
		rg_die(path);
	free(bytes);
}
