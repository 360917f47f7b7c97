/* SPDX-License-Identifier: BSD-3-Clause */
#include "rawgen.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { EVENT_WORDS = (64 * 1024 - 64) / 8, NODES_BYTES = 256 * 1024, MAX_DEPTH = 4096 };
#define ADDRESS UINT64_C(0x7f2200000000) /* where the imagined process mapped its file */

struct bytes {
	unsigned char *p;
	size_t n, room;
};

struct rg_thread {
	struct rg_process *process;
	struct sp_raw_location state;
	struct sp_raw_node *nodes; /* owned */
	size_t n_nodes, node_room;
	uint64_t *values;  /* owned: n_columns for each node */
	size_t value_room; /* nodes */
	uint32_t *slots;   /* owned: (parent, region) to node, 0: empty */
	size_t slot_mask;
	uint64_t *words; /* owned: EVENT_WORDS of the chunk being filled */
	size_t n_words;
	uint64_t chunk_base;
	uint32_t event_chunks;
	struct sp_raw_frame frames[MAX_DEPTH]; /* .node is an index until the layout */
	unsigned depth;
	struct sp_raw_line *lines; /* owned */
	size_t n_lines;
	struct sp_raw_line_frame *line_frames; /* owned; .line is an index + 1 until the layout */
	size_t n_line_frames;
	struct sp_raw_wait *waits; /* owned */
	size_t n_waits;
	struct sp_raw_site *sites; /* owned */
	size_t n_sites;
	char name[64];
};

struct rg_process {
	struct sp_raw_header header;
	struct bytes file, defs;
	uint32_t n_columns;
	struct rg_thread **threads; /* owned */
	size_t n_threads;
	struct sp_raw_object *objects; /* owned */
	size_t n_objects;
	struct sp_raw_heap *heap; /* owned; NULL: none */
	uint64_t *nodes_at;       /* owned; of each thread: the address of its root's node; while it is laid out */
};

static void die(const char *what)
{
	fprintf(stderr, "rawgen: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void *grown(void *p, size_t n)
{
	p = realloc(p, n);
	if (!p)
		die("memory");
	return p;
}

static void *put(struct bytes *b, const void *p, size_t n)
{
	if (b->n + n > b->room) {
		b->room = (b->n + n) * 3 / 2 + 4096;
		b->p = grown(b->p, b->room);
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
static size_t put_chunk(struct rg_process *p, struct sp_raw_chunk c, const void *payload, size_t n)
{
	size_t at = p->file.n;

	c.magic = SP_RAW_CHUNK_MAGIC;
	c.bytes = page_up(sizeof(c) + n);
	c.address = ADDRESS + at;
	put(&p->file, &c, sizeof(c));
	put(&p->file, payload, n);
	put(&p->file, NULL, c.bytes - sizeof(c) - n);
	return at;
}

struct rg_process *rg_process(int32_t pid, int32_t ppid, uint64_t begin, bool trace)
{
	struct rg_process *p = grown(NULL, sizeof(*p));
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
	put(&p->file, NULL, SP_RAW_PAGE);
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
	put(&p->defs, &d, sizeof(d));
	for (i = 0; i < 4; i++)
		if (text[i].n)
			put(&p->defs, text[i].p, text[i].n);
	put(&p->defs, NULL, n - used);
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
	struct rg_thread *t = grown(NULL, sizeof(*t));

	memset(t, 0, sizeof(*t));
	t->process = p;
	t->state.id = (uint32_t)p->n_threads;
	t->state.creator = creator;
	t->state.tid = tid;
	t->state.begin = t->state.last = t->chunk_base = begin;
	t->node_room = 64;
	t->nodes = grown(NULL, t->node_room * sizeof(*t->nodes));
	memset(t->nodes, 0, sizeof(*t->nodes));
	t->nodes[0].parent = SP_RAW_NONE;
	t->n_nodes = 1;
	t->words = grown(NULL, EVENT_WORDS * sizeof(*t->words));
	snprintf(t->name, sizeof(t->name), "%s", name);
	p->threads = grown(p->threads, (p->n_threads + 1) * sizeof(struct rg_thread *));
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

static void flush_words(struct rg_thread *t, bool full)
{
	struct sp_raw_chunk c = {.type = SP_RAW_EVENTS, .location = t->state.id, .base = t->chunk_base};

	if (t->n_words == 0)
		return;
	c.seq = t->event_chunks++;
	c.used = full ? t->n_words : 0; /* the last chunk of a run: up to the first zero word */
	put_chunk(t->process, c, t->words, t->n_words * 8);
	t->n_words = 0;
	t->chunk_base = t->state.last;
}

/* A chunk counts from the time before its first event: room for a whole event, and a TIME before it, is made first. */
static void make_room(struct rg_thread *t, unsigned payload)
{
	if (t->n_words + payload + 3 > EVENT_WORDS)
		flush_words(t, true);
}

void rg_word(struct rg_thread *t, uint64_t word)
{
	make_room(t, 0);
	t->words[t->n_words++] = word;
}

static uint64_t delta(struct rg_thread *t, uint64_t at)
{
	uint64_t d = at - t->state.last;

	if (d > SP_RAW_DELTA_MAX) {
		rg_extra(t, t->state.last, SP_RAW_X_TIME, (uint64_t[]){d - 1}, 1);
		d = 1;
	}
	t->state.last = at;
	return d;
}

static void event(struct rg_thread *t, uint64_t at, enum sp_raw_event kind, uint32_t region)
{
	uint64_t d;

	if (t->process->header.flags & SP_RAW_FLAG_TRACE) {
		make_room(t, 0);
		d = delta(t, at);
		t->words[t->n_words++] = d << SP_RAW_DELTA_SHIFT | (uint64_t)region << SP_RAW_KIND_BITS | kind;
	}
	t->state.last = at;
}

void rg_extra(struct rg_thread *t, uint64_t at, enum sp_raw_extra what, const uint64_t *payload, unsigned words)
{
	make_room(t, words + 3);
	event(t, at, SP_RAW_EXTRA, (uint32_t)what | words << 8);
	while (words-- && (t->process->header.flags & SP_RAW_FLAG_TRACE))
		t->words[t->n_words++] = *payload++;
}

void rg_counter(struct rg_thread *t, uint64_t at, uint32_t counter, double value)
{
	uint64_t payload[2] = {counter};

	memcpy(&payload[1], &value, 8);
	rg_extra(t, at, SP_RAW_X_COUNTER, payload, 2);
}

static size_t node_slot(const struct rg_thread *t, uint32_t parent, uint32_t region)
{
	size_t i = (((uint64_t)parent << 32 | region) * UINT64_C(0x9e3779b97f4a7c15) >> 20) & t->slot_mask;
	const struct sp_raw_node *n;

	for (; t->slots[i]; i = (i + 1) & t->slot_mask) {
		n = &t->nodes[t->slots[i]];
		if (n->parent == parent && n->region == region)
			break;
	}
	return i;
}

static void grow_nodes(struct rg_thread *t)
{
	size_t i;

	if (t->n_nodes == t->node_room) {
		t->node_room *= 2;
		t->nodes = grown(t->nodes, t->node_room * sizeof(*t->nodes));
	}
	if (t->slots && t->n_nodes * 2 <= t->slot_mask)
		return;
	t->slot_mask = t->node_room * 4 - 1;
	free(t->slots);
	t->slots = grown(NULL, (t->slot_mask + 1) * sizeof(*t->slots));
	memset(t->slots, 0, (t->slot_mask + 1) * sizeof(*t->slots));
	for (i = 1; i < t->n_nodes; i++)
		t->slots[node_slot(t, t->nodes[i].parent, t->nodes[i].region)] = (uint32_t)i;
}

uint32_t rg_node(struct rg_thread *t, uint32_t parent, uint32_t region)
{
	size_t slot;

	grow_nodes(t);
	slot = node_slot(t, parent, region);
	if (!t->slots[slot]) {
		t->nodes[t->n_nodes] = (struct sp_raw_node){.parent = parent, .region = region, .min = UINT64_MAX};
		t->slots[slot] = (uint32_t)t->n_nodes++;
	}
	return t->slots[slot];
}

struct sp_raw_node *rg_node_at(struct rg_thread *t, uint32_t node)
{
	return &t->nodes[node];
}

uint64_t *rg_value(struct rg_thread *t, uint32_t node, uint32_t column)
{
	const size_t width = t->process->n_columns;

	if (t->value_room < t->n_nodes) {
		t->values = grown(t->values, t->node_room * width * sizeof(*t->values));
		memset(t->values + t->value_room * width, 0,
		       (t->node_room - t->value_room) * width * sizeof(*t->values));
		t->value_room = t->node_room;
	}
	return &t->values[node * width + column];
}

uint32_t rg_top(const struct rg_thread *t)
{
	return (uint32_t)t->frames[t->depth].node;
}

/* The call is a visit of the last node it was in; each has the time that it was in it. */
void rg_parameter(struct rg_thread *t, uint32_t region)
{
	struct sp_raw_frame *f = &t->frames[t->depth];
	uint32_t was = (uint32_t)f->node, called = t->nodes[was].region, is;

	is = rg_node(t, rg_node(t, was, region), called);
	t->nodes[was].visits--;
	t->nodes[was].incl += t->state.last - f->enter;
	t->nodes[is].visits++;
	f->node = is;
	f->enter = t->state.last;
}

static void open_frame(struct rg_thread *t, uint64_t at, uint32_t region, uint64_t flags, enum sp_raw_event kind)
{
	struct sp_raw_frame *top = &t->frames[t->depth];
	uint32_t node = rg_node(t, (uint32_t)top->node, region);

	if (t->depth + 1 == MAX_DEPTH) {
		errno = E2BIG;
		die("too many open frames");
	}
	t->frames[++t->depth] = (struct sp_raw_frame){.enter = at, .node = node, .flags = flags};
	if (kind == SP_RAW_ENTER)
		t->nodes[node].visits++;
	else if (kind == SP_RAW_RESUME)
		t->nodes[node].resumed++;
	event(t, at, kind, region);
}

static void close_frame(struct rg_thread *t, uint64_t at, enum sp_raw_event kind)
{
	struct sp_raw_frame *f = &t->frames[t->depth--];
	struct sp_raw_node *n = &t->nodes[f->node];
	uint64_t d = at - f->enter;

	n->incl += d;
	if (!(f->flags & SP_RAW_FRAME_INHERITED)) {
		if (d < n->min)
			n->min = d;
		if (d > n->max)
			n->max = d;
		n->sumsq += (double)d * (double)d;
	}
	event(t, at, kind, n->region);
}

void rg_enter(struct rg_thread *t, uint64_t at, uint32_t region)
{
	open_frame(t, at, region, 0, SP_RAW_ENTER);
}

void rg_leave(struct rg_thread *t, uint64_t at)
{
	close_frame(t, at, SP_RAW_LEAVE);
}

void rg_resume(struct rg_thread *t, uint64_t at, uint32_t region)
{
	open_frame(t, at, region, 0, SP_RAW_RESUME);
}

void rg_suspend(struct rg_thread *t, uint64_t at)
{
	close_frame(t, at, SP_RAW_SUSPEND);
}

void rg_inherit(struct rg_thread *t, uint64_t at, uint32_t region)
{
	open_frame(t, at, region, SP_RAW_FRAME_INHERITED, SP_RAW_INHERIT);
}

/* The nodes, each but the root followed by its values. */
static struct sp_raw_node *with_values(struct rg_thread *t, size_t values, size_t *n)
{
	const size_t each = 1 + values, columns = t->process->n_columns;
	struct sp_raw_node *slots;
	struct sp_raw_values v;
	size_t i, k, c;

	*n = 1 + (t->n_nodes - 1) * each;
	slots = grown(NULL, *n * sizeof(*slots));
	slots[0] = t->nodes[0];
	for (i = 1; i < t->n_nodes; i++) {
		struct sp_raw_node *to = &slots[1 + (i - 1) * each];

		*to = t->nodes[i];
		to->parent = to->parent ? (uint32_t)(1 + (to->parent - 1) * each) : 0;
		for (k = 0; k < values; k++) {
			v = (struct sp_raw_values){.none = SP_RAW_NONE, .first = (uint32_t)k * SP_RAW_VALUES};
			for (c = 0; c < SP_RAW_VALUES && v.first + c < columns; c++)
				v.value[c] = *rg_value(t, (uint32_t)i, (uint32_t)(v.first + c));
			memcpy(to + 1 + k, &v, sizeof(v));
		}
	}
	return slots;
}

static void put_nodes(struct rg_thread *t)
{
	const size_t most = (NODES_BYTES - sizeof(struct sp_raw_chunk)) / sizeof(struct sp_raw_node);
	const size_t values = (t->process->n_columns + SP_RAW_VALUES - 1) / SP_RAW_VALUES;
	struct sp_raw_chunk c = {.type = SP_RAW_NODES, .location = t->state.id};
	size_t total, i, n, at, slot[MAX_DEPTH];
	struct sp_raw_node *slots = with_values(t, values, &total);
	unsigned d;

	for (d = 0; d <= t->depth; d++)
		slot[d] = t->frames[d].node ? 1 + (t->frames[d].node - 1) * (1 + values) : 0;
	for (i = 0; i < total; i += n, c.seq++) {
		n = total - i < most ? total - i : most;
		while (i + n < total && (i + n - 1) % (1 + values))
			n--; /* values are in the chunk of their node */
		c.base = i;
		c.used = n;
		at = put_chunk(t->process, c, &slots[i], n * sizeof(*slots));
		if (i == 0)
			t->process->nodes_at[t->state.id] = ADDRESS + at + sizeof(c);
		for (d = 0; d <= t->depth; d++)
			if (slot[d] >= i && slot[d] < i + n)
				t->frames[d].node = ADDRESS + at + sizeof(c) + (slot[d] - i) * sizeof(*slots);
	}
	t->state.nodes = total;
	free(slots);
}

size_t rg_lines(struct rg_thread *t, uint32_t region, uint32_t first, uint32_t last)
{
	const size_t at = t->n_lines;

	t->lines = grown(t->lines, (t->n_lines + last - first + 1) * sizeof(*t->lines));
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
	t->line_frames = grown(t->line_frames, (t->n_line_frames + 2) * sizeof(*t->line_frames));
	if (t->n_line_frames == 0)
		t->line_frames[t->n_line_frames++] = (struct sp_raw_line_frame){.line = 0};
	t->line_frames[t->n_line_frames++] = (struct sp_raw_line_frame){
	    .line = line + 1, .since = since, .begin = begin, .calls = calls, .below = below};
}

void rg_wait(struct rg_thread *t, const struct sp_raw_wait *w)
{
	t->waits = grown(t->waits, (t->n_waits + 1) * sizeof(*t->waits));
	t->waits[t->n_waits++] = *w;
}

void rg_object(struct rg_process *p, const struct sp_raw_object *o)
{
	p->objects = grown(p->objects, (p->n_objects + 1) * sizeof(*p->objects));
	p->objects[p->n_objects] = *o;
	p->objects[p->n_objects].id = (uint32_t)p->n_objects + 1;
	p->n_objects++;
}

void rg_site(struct rg_thread *t, const struct sp_raw_site *s)
{
	t->sites = grown(t->sites, (t->n_sites + 1) * sizeof(*t->sites));
	t->sites[t->n_sites++] = *s;
}

void rg_heap(struct rg_process *p, const struct sp_raw_heap *h, const struct sp_raw_point *points, size_t n)
{
	p->heap = grown(p->heap, sizeof(*p->heap));
	*p->heap = *h;
	rg_chunk(p, SP_RAW_SERIES, SP_RAW_NONE, n, points, n * sizeof(*points));
}

void rg_chunk(struct rg_process *p, enum sp_raw_chunk_type type, uint32_t location, uint64_t used, const void *payload,
              size_t n)
{
	put_chunk(p, (struct sp_raw_chunk){.type = type, .location = location, .used = used}, payload, n);
}

/* From the number of a node to its address; all nodes of a thread are in one chunk. */
static uint64_t node_address(const struct rg_process *p, uint32_t location, uint64_t node)
{
	const size_t values = (p->n_columns + SP_RAW_VALUES - 1) / SP_RAW_VALUES;

	if (!node || location >= p->n_threads)
		return 0;
	return p->nodes_at[location] + (1 + (node - 1) * (1 + values)) * sizeof(struct sp_raw_node);
}

/* Behind all nodes. */
static void put_waits(struct rg_process *p, uint32_t location, struct rg_thread *t)
{
	size_t i;

	for (i = 0; i < t->n_waits; i++) {
		t->waits[i].node = node_address(p, location, t->waits[i].node);
		t->waits[i].holder_node = node_address(p, t->waits[i].holder, t->waits[i].holder_node);
	}
	for (i = 0; i < t->n_sites; i++)
		t->sites[i].node = node_address(p, location, t->sites[i].node);
	if (t->n_waits)
		rg_chunk(p, SP_RAW_WAITS, location, t->n_waits, t->waits, t->n_waits * sizeof(*t->waits));
	if (t->n_sites)
		rg_chunk(p, SP_RAW_SITES, location, t->n_sites, t->sites, t->n_sites * sizeof(*t->sites));
}

static void put_objects(struct rg_process *p)
{
	size_t i;

	for (i = 0; i < p->n_objects; i++)
		p->objects[i].holder_node = node_address(p, p->objects[i].holder, p->objects[i].holder_node);
	if (p->n_objects)
		rg_chunk(p, SP_RAW_OBJECTS, SP_RAW_NONE, p->n_objects, p->objects, p->n_objects * sizeof(*p->objects));
	if (p->heap) {
		p->heap->passed_node = node_address(p, p->heap->passed_location, p->heap->passed_node);
		rg_chunk(p, SP_RAW_HEAP, SP_RAW_NONE, sizeof(*p->heap), p->heap, sizeof(*p->heap));
	}
}

/* In two chunks, so that readers have to put them together. */
static void put_lines(struct rg_thread *t)
{
	struct sp_raw_chunk c = {.type = SP_RAW_LINES, .location = t->state.id};
	const size_t half = t->n_lines / 2;
	size_t i, at[2];

	if (t->n_lines == 0)
		return;
	c.used = half;
	at[0] = put_chunk(t->process, c, t->lines, half * sizeof(*t->lines));
	c.seq = 1;
	c.used = t->n_lines - half;
	at[1] = put_chunk(t->process, c, t->lines + half, c.used * sizeof(*t->lines));
	for (i = 0; i < t->n_line_frames; i++) {
		uint64_t *line = &t->line_frames[i].line;

		if (*line)
			*line = ADDRESS + sizeof(c) +
			        (--*line < half ? at[0] + *line * sizeof(*t->lines)
			                        : at[1] + (*line - half) * sizeof(*t->lines));
	}
	c = (struct sp_raw_chunk){.type = SP_RAW_LINE_STACK, .location = t->state.id, .used = t->n_line_frames};
	if (c.used)
		put_chunk(t->process, c, t->line_frames, c.used * sizeof(*t->line_frames));
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
	free(t->sites);
	free(t);
}

static void put_thread(struct rg_thread *t)
{
	struct rg_process *p = t->process;
	struct sp_raw_chunk c;

	flush_words(t, false);
	put_nodes(t);
	put_lines(t);
	c = (struct sp_raw_chunk){.type = SP_RAW_STACK, .location = t->state.id};
	t->state.stack = put_chunk(p, c, t->frames, (t->depth + 1) * sizeof(*t->frames));
	t->state.base = ADDRESS + t->state.stack + sizeof(c);
	t->state.top = t->state.base + t->depth * sizeof(*t->frames);
	c.type = SP_RAW_LOCATION;
	c.used = sizeof(t->state);
	put_chunk(p, c, &t->state, sizeof(t->state));
}

unsigned char *rg_bytes(struct rg_process *p, enum sp_raw_ended ended, uint64_t last, size_t *n)
{
	struct sp_raw_chunk c = {.type = SP_RAW_DEFS, .location = SP_RAW_NONE, .used = p->defs.n};
	unsigned char *bytes;
	size_t i;

	p->nodes_at = grown(NULL, (p->n_threads + 1) * sizeof(*p->nodes_at));
	put_chunk(p, c, p->defs.p, p->defs.n);
	for (i = 0; i < p->n_threads; i++) {
		if (ended != SP_RAW_RUNNING && p->threads[i]->depth == 0 && p->threads[i]->state.end == 0)
			p->threads[i]->state.end = last;
		put_thread(p->threads[i]);
	}
	for (i = 0; i < p->n_threads; i++) {
		put_waits(p, (uint32_t)i, p->threads[i]);
		free_thread(p->threads[i]);
	}
	put_objects(p);
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
		die(path);
	free(bytes);
}
