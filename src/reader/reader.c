/* SPDX-License-Identifier: BSD-3-Clause */
#include "reader/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/regular.h"
#include "format/checksum.h"

enum {
	PROBLEMS_REPORTED = 20,
	PAGE = SP_RAW_PAGE,
	HEAD = sizeof(struct sp_raw_chunk),
	SPAN = 64 << 20 /* bytes of the file that are read before their pages are released */
};

static void report(struct sp_raw_file *f, const char *text)
{
	char line[640];

	snprintf(line, sizeof(line), "%s%s", f->name, text);
	f->problem(f->arg, line);
}

void sp_raw_report(struct sp_raw_file *f, uint64_t offset, const char *format, ...)
{
	char text[400];
	va_list args;
	int n;

	if (f->problems++ >= PROBLEMS_REPORTED)
		return;
	n = snprintf(text, sizeof(text), " at 0x%" PRIx64 ": ", offset);
	va_start(args, format);
	vsnprintf(text + n, sizeof(text) - (size_t)n, format, args);
	va_end(args);
	report(f, text);
}

void sp_raw_report_rest(struct sp_raw_file *f)
{
	char text[80];

	if (f->problems <= PROBLEMS_REPORTED)
		return;
	snprintf(text, sizeof(text), ": %u more problems of this kind", f->problems - PROBLEMS_REPORTED);
	report(f, text);
	f->problems = PROBLEMS_REPORTED;
}

static bool all_zero(const unsigned char *p, size_t n)
{
	uint64_t w;

	for (; n >= 8; p += 8, n -= 8) {
		memcpy(&w, p, 8);
		if (w)
			return false;
	}
	for (; n; p++, n--)
		if (*p)
			return false;
	return true;
}

static int check_header(struct sp_raw_file *f, struct sp_err *e)
{
	const struct sp_raw_header *h = &f->header;

	/* the recorder makes the file, then its first page, then the header in it */
	if (all_zero(f->map, f->size < PAGE ? f->size : PAGE))
		return sp_fail(e, 0, "%s at 0x0: no header yet: the process was just beginning to record", f->name);
	if (f->size < PAGE)
		return sp_fail(e, 0, "%s at 0x%zx: cut short within the header", f->name, f->size);
	memcpy(&f->header, f->map, sizeof(f->header));
	f->header.host[sizeof(h->host) - 1] = 0;
	if (memcmp(h->magic, SP_RAW_MAGIC, sizeof(h->magic)) != 0)
		return sp_fail(e, 0, "%s at 0x0: not a raw file of Spartito", f->name);
	if (h->byte_order == __builtin_bswap32(SP_RAW_BYTE_ORDER))
		return sp_fail(
		    e, 0, "%s at 0x8: written on a machine of the other byte order; read it on one like that", f->name);
	if (h->byte_order != SP_RAW_BYTE_ORDER)
		return sp_fail(e, 0, "%s at 0x8: unknown byte order 0x%" PRIx32, f->name, h->byte_order);
	if (h->version > SP_RAW_VERSION)
		return sp_fail(e, 0,
		               "%s at 0xc: format version %" PRIu32 ", this Spartito reads up to %u; use a newer one",
		               f->name, h->version, SP_RAW_VERSION);
	if (h->version == 0)
		return sp_fail(e, 0, "%s at 0xc: format version 0 does not exist", f->name);
	return 0;
}

/* Whether a page begins like a chunk; at: offset of any page of the file. */
static bool chunk_at(const struct sp_raw_file *f, size_t at)
{
	struct sp_raw_chunk c;

	if (f->size - at < HEAD)
		return false;
	memcpy(&c, f->map + at, sizeof(c));
	return sp_raw_is_chunk(&c);
}

/* The next page after `at` at which a chunk begins, or the end. */
static size_t next_chunk(const struct sp_raw_file *f, size_t at)
{
	for (at += PAGE; at < f->size && !chunk_at(f, at); at += PAGE)
		;
	return at < f->size ? at : f->size;
}

/* Data after header.bytes are ignored: a file that is still being written may have grown or shrunk there. Data after
 * bytes.safe may disappear at any time. */
static void check_size(struct sp_raw_file *f)
{
	const bool whole = f->header.ended && f->bytes.safe == f->size;
	uint64_t bytes = f->header.bytes;

	if (bytes > f->size) {
		sp_raw_report(f, f->size, "cut short: the file should be 0x%" PRIx64 " bytes long", bytes);
	} else if (bytes < PAGE || bytes % PAGE || (bytes < f->size && whole && chunk_at(f, bytes))) {
		sp_raw_report(f, offsetof(struct sp_raw_header, bytes), "length 0x%" PRIx64 " is wrong", bytes);
	} else {
		f->size = bytes;
	}
	if (f->bytes.safe < f->size)
		f->size = f->bytes.safe;
}

bool sp_raw_is_whole(const struct sp_raw_file *f, struct sp_raw_part *part)
{
	struct sp_raw_chunk c;

	if (!part->sum || part->summed)
		return true;
	part->summed = true;
	memcpy(&c, f->map + part->offset, sizeof(c));
	return sp_raw_chunk_sum(&c, f->map + part->offset + HEAD, part->bytes - HEAD) == part->sum;
}

/* Compares the checksum of a part. Those of events are compared when they are read, which most queries do not need. A
 * running process may be changing its data. */
static void check_sum(struct sp_raw_file *f, struct sp_raw_part *p)
{
	if (f->bytes.running)
		p->sum = 0;
	if (p->type != SP_RAW_EVENTS && p->type != SP_RAW_EVENTSZ && !sp_raw_is_whole(f, p))
		sp_raw_report(f, p->offset, "checksum of a chunk of type %" PRIu32 " is wrong", p->type);
}

static int add_part(struct sp_raw_file *f, const struct sp_raw_chunk *c, uint64_t at, uint64_t bytes, size_t *capacity)
{
	const uint64_t unit = c->type == SP_RAW_SITES ? sp_raw_site_bytes(f->header.version) : sp_raw_unit(c->type);
	struct sp_raw_part *p;
	uint64_t limit;

	if (f->n_parts == *capacity) {
		*capacity = *capacity ? *capacity * 2 : 64;
		p = realloc(f->parts, *capacity * sizeof(*p));
		if (!p)
			return -1;
		f->parts = p;
	}
	p = &f->parts[f->n_parts++];
	*p = (struct sp_raw_part){.offset = at,
	                          .bytes = bytes,
	                          .used = c->used,
	                          .base = c->base,
	                          .address = c->address,
	                          .type = c->type,
	                          .location = c->type == SP_RAW_DEFS ? SP_RAW_NONE : c->location,
	                          .seq = c->seq,
	                          .sum = f->header.version >= SP_RAW_SUMS && bytes == c->bytes ? sp_raw_sum_of(c) : 0};
	check_sum(f, p);
	if (unit == 0 || c->type == SP_RAW_LOCATION || c->type == SP_RAW_STACK)
		return 0;
	limit = (bytes - HEAD) / unit;
	if (p->used > limit) {
		sp_raw_report(f, at + offsetof(struct sp_raw_chunk, used), "%" PRIu64 " used of room for %" PRIu64,
		              p->used, limit);
		p->used = limit;
	}
	return 0;
}

/* Reports damage of chunks without a checksum: a free chunk whose length or type changed, and a chunk that became free
 * although it has a checksum. */
static void check_without_sum(struct sp_raw_file *f, struct sp_raw_chunk *c, size_t at)
{
	const bool has_sum = f->header.version >= SP_RAW_SUMS && sp_raw_sum_of(c);
	const bool all_have_sums = f->header.version >= SP_RAW_ALL_SUMS && f->header.sum && !f->bytes.running;
	size_t end;

	if (c->type != SP_RAW_FREE) {
		if (!has_sum && all_have_sums)
			sp_raw_report(f, at, "chunk of type %" PRIu32 " has no checksum", c->type);
		return;
	}
	if (has_sum)
		sp_raw_report(f, at, "a chunk that was in use is marked as free");
	end = next_chunk(f, at);
	if (end - at < c->bytes) {
		sp_raw_report(f, at + offsetof(struct sp_raw_chunk, bytes),
		              "free chunk of 0x%" PRIx64 " bytes contains another chunk", c->bytes);
		c->bytes = end - at;
	}
}

static int find_parts(struct sp_raw_file *f)
{
	struct sp_raw_chunk c;
	size_t at = PAGE, forgotten = 0, capacity = 0, length;

	while (at < f->size) {
		if (at - forgotten >= SPAN) {
			sp_raw_forget_bytes(f, forgotten, at - forgotten);
			forgotten = at;
		}
		if (!chunk_at(f, at)) {
			length = f->size - at < PAGE ? f->size - at : PAGE;
			if (length == PAGE && all_zero(f->map + at, PAGE)) {
				at += PAGE;
				continue;
			}
			length = next_chunk(f, at) - at;
			sp_raw_report(f, at, "no chunk begins here; %zu bytes skipped", length);
			at += length;
			continue;
		}
		memcpy(&c, f->map + at, sizeof(c));
		if (c.bytes > f->size - at) {
			sp_raw_report(f, at + offsetof(struct sp_raw_chunk, bytes),
			              "chunk of 0x%" PRIx64 " bytes reaches past the end", c.bytes);
			c.bytes = next_chunk(f, at) - at;
			c.words = (uint32_t)c.words; /* the checksum in the header was that of the whole chunk */
		} else {
			check_without_sum(f, &c, at);
		}
		if (c.type != SP_RAW_FREE && add_part(f, &c, at, c.bytes, &capacity))
			return -1;
		at += c.bytes;
	}
	return 0;
}

static int group(const struct sp_raw_part *p)
{
	return p->type == SP_RAW_EVENTSZ ? SP_RAW_EVENTS : (int)p->type;
}

#define COMPARE(x, y)                                                                                                  \
	if ((x) != (y))                                                                                                \
	return (x) < (y) ? -1 : 1

static int compare_parts(const void *a, const void *b)
{
	const struct sp_raw_part *p = a, *q = b;

	COMPARE(p->location, q->location);
	COMPARE(group(p), group(q));
	if (p->type == SP_RAW_NODES || p->type == SP_RAW_OBJECTS)
		COMPARE(p->base, q->base);
	COMPARE(p->seq, q->seq);
	COMPARE(p->offset, q->offset);
	return 0;
}

/* EVENTS and EVENTSZ have separate seq numbers: only time orders them together. */
static int compare_time(const void *a, const void *b)
{
	const struct sp_raw_part *p = a, *q = b;

	COMPARE(p->base, q->base);
	COMPARE(p->seq, q->seq);
	COMPARE(p->offset, q->offset);
	return 0;
}

static void order_events(struct sp_raw_file *f, struct sp_raw_run run)
{
	struct sp_raw_part *p = f->parts + run.first;
	size_t i;

	for (i = 1; i < run.count; i++)
		if (p[i].type != p[0].type) {
			qsort(p, run.count, sizeof(*p), compare_time);
			return;
		}
}

static void read_state(struct sp_raw_file *f, struct sp_raw_thread *t, const struct sp_raw_part *p, uint32_t location)
{
	if (p && p->bytes >= HEAD + sizeof(t->state)) {
		memcpy(&t->state, sp_raw_payload(f, p), sizeof(t->state));
		t->state_offset = p->offset + HEAD;
		if (t->state.id == location)
			return;
		sp_raw_report(f, p->offset + HEAD, "state of location %" PRIu32 " in the chunk of %" PRIu32,
		              t->state.id, location);
	} else {
		sp_raw_report(f, p ? p->offset : f->size,
		              "the state of location %" PRIu32 " is lost, its open calls with it", location);
	}
	memset(&t->state, 0, sizeof(t->state));
	t->state.id = location;
	t->state.creator = SP_RAW_NONE;
	t->state.begin = f->header.first.ticks;
	t->state.nodes = UINT64_MAX;
}

static int compare_address(const void *a, const void *b)
{
	const struct sp_raw_part *p = *(const struct sp_raw_part *const *)a, *q = *(const struct sp_raw_part *const *)b;

	COMPARE(p->address, q->address);
	COMPARE(p->offset, q->offset);
	return 0;
}

/* Adds a thread, with the parts [first, end) of its location. */
static void add_thread(struct sp_raw_file *f, size_t first, size_t end)
{
	struct sp_raw_thread *t = &f->threads[f->n_threads++];
	const struct sp_raw_part *state = NULL;
	struct sp_raw_run *run;
	size_t i;

	for (i = first; i < end; i++) {
		run = group(&f->parts[i]) == SP_RAW_EVENTS ? &t->events
		      : f->parts[i].type == SP_RAW_NODES   ? &t->nodes
		      : f->parts[i].type == SP_RAW_LINES   ? &t->lines
		      : f->parts[i].type == SP_RAW_SITES   ? &t->sites
		      : f->parts[i].type == SP_RAW_WAITS   ? &t->waits
		      : f->parts[i].type == SP_RAW_OFF_CPU ? &t->off_cpu
		      : f->parts[i].type == SP_RAW_TALLIES ? &t->tallies
		                                           : NULL;
		if (f->parts[i].type == SP_RAW_LOCATION)
			state = &f->parts[i];
		if (!run)
			continue;
		if (run->count++ == 0)
			run->first = i;
	}
	t->nodes_at = f->nodes_at + t->nodes.first;
	for (i = 0; i < t->nodes.count; i++)
		t->nodes_at[i] = &f->parts[t->nodes.first + i];
	if (t->nodes.count > 1)
		qsort(t->nodes_at, t->nodes.count, sizeof(*t->nodes_at), compare_address);
	read_state(f, t, state, f->parts[first].location);
	order_events(f, t->events);
	for (i = first; i < end; i++) {
		if (f->parts[i].type == SP_RAW_STACK && f->parts[i].offset == t->state.stack)
			t->stack = &f->parts[i];
		if (f->parts[i].type == SP_RAW_LINE_STACK)
			t->line_stack = &f->parts[i]; /* use the last one; they are in the order of seq */
	}
}

static int find_threads(struct sp_raw_file *f)
{
	size_t i, first, n = 0;

	if (f->n_parts)
		qsort(f->parts, f->n_parts, sizeof(*f->parts), compare_parts);
	for (i = 0; i < f->n_parts; i++)
		n += i == 0 || f->parts[i].location != f->parts[i - 1].location;
	f->threads = calloc(n + 1, sizeof(*f->threads));
	f->nodes_at = malloc((f->n_parts + 1) * sizeof(*f->nodes_at));
	if (!f->threads || !f->nodes_at)
		return -1;
	for (first = 0; first < f->n_parts; first = i) {
		for (i = first; i < f->n_parts && f->parts[i].location == f->parts[first].location; i++)
			;
		if (f->parts[first].location != SP_RAW_NONE) {
			add_thread(f, first, i);
			continue;
		}
		for (; first < i; first++) {
			struct sp_raw_run *run = f->parts[first].type == SP_RAW_DEFS      ? &f->defs
			                         : f->parts[first].type == SP_RAW_OBJECTS ? &f->objects
			                                                                  : NULL;

			if (run && run->count++ == 0)
				run->first = first;
			else if (f->parts[first].type == SP_RAW_HEAP)
				f->heap = &f->parts[first];
			else if (f->parts[first].type == SP_RAW_SERIES)
				f->series = &f->parts[first];
			else if (!run)
				sp_raw_report(f, f->parts[first].offset,
				              "chunk of type %" PRIu32 " belongs to no location", f->parts[first].type);
		}
	}
	return 0;
}

static int open_mapped(struct sp_raw_file *f, struct sp_err *e)
{
	if (check_header(f, e))
		return -1;
	if (f->header.version >= SP_RAW_SUMS && f->header.sum && !f->bytes.running &&
	    f->header.sum != sp_raw_header_sum((const struct sp_raw_header *)f->map))
		sp_raw_report(f, 0, "checksum of the header is wrong");
	check_size(f);
	if (find_parts(f) || find_threads(f))
		return sp_fail(e, ENOMEM, "%s: not enough memory", f->name);
	return 0;
}

static struct sp_raw_file *new_file(const char *name, sp_raw_problem_fn *problem, void *arg)
{
	struct sp_raw_file *f = calloc(1, sizeof(*f));

	if (f)
		f->name = strdup(name);
	if (!f || !f->name) {
		free(f);
		return NULL;
	}
	f->problem = problem;
	f->arg = arg;
	return f;
}

/* On an error the caller keeps the bytes. */
static int open_bytes(struct sp_raw_file **out, const struct sp_raw_bytes *bytes, const char *name,
                      sp_raw_problem_fn *problem, void *arg, struct sp_err *e)
{
	struct sp_raw_file *f = new_file(name, problem, arg);

	*out = NULL;
	if (!f)
		return sp_fail(e, ENOMEM, "%s: not enough memory", name);
	f->bytes = *bytes;
	f->map = bytes->p;
	f->size = bytes->n;
	if (open_mapped(f, e)) {
		f->bytes = (struct sp_raw_bytes){.p = NULL};
		sp_raw_close(f);
		return -1;
	}
	*out = f;
	return 0;
}

int sp_raw_open_bytes(struct sp_raw_file **out, const void *bytes, size_t n, const char *name,
                      sp_raw_problem_fn *problem, void *arg, struct sp_err *e)
{
	return open_bytes(out, &(struct sp_raw_bytes){.p = bytes, .n = n, .safe = n}, name, problem, arg, e);
}

int sp_raw_open_descriptor(struct sp_raw_file **out, int fd, const char *name, sp_raw_problem_fn *problem, void *arg,
                           struct sp_err *e)
{
	struct sp_raw_bytes bytes;

	if (sp_raw_bytes_get(&bytes, fd, name, e))
		return -1;
	if (open_bytes(out, &bytes, name, problem, arg, e)) {
		sp_raw_bytes_free(&bytes);
		return -1;
	}
	return 0;
}

int sp_raw_open(struct sp_raw_file **out, const char *path, const char *name, sp_raw_problem_fn *problem, void *arg,
                struct sp_err *e)
{
	int fd = sp_open_regular(AT_FDCWD, path), rc;

	*out = NULL;
	if (fd < 0)
		return sp_fail(e, errno, "%s: %s", name, sp_open_reason(errno));
	rc = sp_raw_open_descriptor(out, fd, name, problem, arg, e);
	close(fd);
	return rc;
}

void sp_raw_close(struct sp_raw_file *f)
{
	if (!f)
		return;
	sp_raw_bytes_free(&f->bytes);
	free(f->name);
	free(f->parts);
	free(f->nodes_at);
	free(f->threads);
	free(f);
}
