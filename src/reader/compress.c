/* SPDX-License-Identifier: BSD-3-Clause */
#include "reader/compress.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/checksum.h"
#include "reader/reader.h"
#include "reader/running.h"

#ifdef SP_HAVE_ZSTD
#include <zstd.h>

enum { HEAD = sizeof(struct sp_raw_chunk), PAGE = SP_RAW_PAGE };
#define GROUP_WORDS ((size_t)1 << 18) /* chunks are combined up to this number of words, */
#define MAX_WORDS   ((size_t)1 << 26) /* and a single chunk is compressed up to this number */

struct compressing {
	struct sp_raw_file *raw; /* owned */
	struct sp_raw_compression *c;
	FILE *out;       /* owned */
	char *temporary; /* owned; NULL: no temporary file */
	uint64_t at;     /* number of bytes written */
	uint64_t done;   /* bytes of the old file that are done */
	uint64_t *to;    /* owned; offset of each part in the new file */
	ZSTD_CCtx *zstd; /* owned */
	/* events to be written as one chunk */
	uint64_t *words; /* owned */
	size_t n, capacity;
	struct sp_raw_part first; /* the first of its parts: the new chunk has its seq and base */
	uint64_t ticks;           /* time after the last word */
	bool whole;               /* none of the events is damaged */
	unsigned char *columns;   /* owned */
	size_t columns_capacity;
	unsigned char *packed; /* owned */
	size_t packed_capacity;
	struct sp_err problem; /* the first problem of the file */
};

static uint64_t page_up(uint64_t n)
{
	return (n + PAGE - 1) / PAGE * PAGE;
}

static void on_problem(void *arg, const char *text)
{
	struct compressing *z = arg;

	if (!z->problem.text[0])
		sp_fail(&z->problem, 0, "%s", text);
}

static int no_memory(const struct compressing *z, struct sp_err *e)
{
	return sp_fail(e, ENOMEM, "%s: not enough memory", z->raw->name);
}

static int put(struct compressing *z, const void *p, uint64_t n, struct sp_err *e)
{
	if (n && fwrite(p, 1, n, z->out) != n)
		return sp_fail(e, errno, "%s: cannot be written: %s", z->temporary, strerror(errno));
	z->at += n;
	return 0;
}

static int pad(struct compressing *z, struct sp_err *e)
{
	static const char zeros[PAGE];

	return put(z, zeros, page_up(z->at) - z->at, e);
}

static int advance(struct compressing *z, uint64_t bytes, struct sp_err *e)
{
	z->done += bytes;
	if (z->c->progress && z->c->progress(z->c->arg, z->done))
		return sp_fail(e, ECANCELED, "cancelled");
	return 0;
}

/* The part of a chunk's payload that is in use. */
static uint64_t in_use(struct compressing *z, const struct sp_raw_part *p)
{
	const struct sp_raw_thread *t = z->raw->threads, *end = t + z->raw->n_threads;
	uint64_t all = p->bytes - HEAD, open;

	switch (p->type) {
	case SP_RAW_DEFS:
	case SP_RAW_EVENTSZ:
		return p->used;
	case SP_RAW_NODES:
	case SP_RAW_LINES:
	case SP_RAW_SERIES:
	case SP_RAW_OFF_CPU:
	case SP_RAW_TALLIES:
	case SP_RAW_LINE_STACK:
		return p->used * sp_raw_unit(p->type);
	case SP_RAW_SITES:
		return p->used * sp_raw_site_bytes(z->raw->header.version);
	case SP_RAW_LOCATION:
		return all < sizeof(struct sp_raw_location) ? all : sizeof(struct sp_raw_location);
	case SP_RAW_STACK:
		for (; t < end && t->stack != p; t++)
			;
		if (t == end)
			return all;
		open = t->state.top - t->state.base + sizeof(struct sp_raw_frame);
		return t->state.top >= t->state.base && open <= all ? open : all;
	default:
		return all;
	}
}

/* Adds a checksum. A file of an older version keeps its version, which has no checksums. */
static void seal(const struct compressing *z, struct sp_raw_chunk *head, const void *payload, uint64_t bytes)
{
	head->words = (uint32_t)head->words;
	if (z->raw->header.version >= SP_RAW_SUMS)
		sp_raw_chunk_seal(head, payload, bytes);
}

/* Writes a part with its payload shortened to what is in use. The state of a location gets the new offset of its stack:
 * the offsets of all parts except events are known before the first part is written. */
static int copy_part(struct compressing *z, const struct sp_raw_part *p, struct sp_err *e)
{
	const unsigned char *payload = sp_raw_payload(z->raw, p);
	uint64_t use = in_use(z, p), i;
	struct sp_raw_chunk head;
	struct sp_raw_location state;

	memcpy(&head, payload - HEAD, sizeof(head));
	head.bytes = page_up(HEAD + use);
	/* a damaged file may claim to use more than it has: a reader would compute the checksum of other bytes */
	head.used = p->type == SP_RAW_STACK || (sp_raw_unit(p->type) == 1 && p->used > use) ? use : p->used;
	if (p->type == SP_RAW_LOCATION && use == sizeof(state)) {
		memcpy(&state, payload, sizeof(state));
		for (i = 0; i < z->raw->n_parts; i++)
			if (z->raw->parts[i].offset == state.stack)
				break;
		state.stack = i < z->raw->n_parts ? z->to[i] : 0;
		payload = (const unsigned char *)&state;
	}
	seal(z, &head, payload, use);
	if (put(z, &head, sizeof(head), e) || put(z, payload, use, e) || pad(z, e))
		return -1;
	sp_raw_forget(z->raw, p);
	return advance(z, p->bytes, e);
}

/* The end of the events of a chunk; adds up their ticks and checks whether any is damaged. */
static size_t walk(const struct sp_raw_file *f, const uint64_t *w, size_t n, uint64_t *ticks, bool *whole)
{
	size_t i, payload;
	uint32_t id;

	for (i = 0; i < n && w[i]; i += 1 + payload) {
		payload = 0;
		id = (uint32_t)(w[i] >> SP_RAW_KIND_BITS) & SP_RAW_ID_MAX;
		*ticks += w[i] >> SP_RAW_DELTA_SHIFT;
		switch (w[i] & 7) {
		case SP_RAW_ENTER:
		case SP_RAW_LEAVE:
		case SP_RAW_RESUME:
		case SP_RAW_SUSPEND:
		case SP_RAW_INHERIT:
			*whole &= id <= f->header.regions;
			continue;
		case SP_RAW_EXTRA:
			payload = id >> 8 & 0xff;
			if (payload < n - i) {
				if ((id & 0xff) == SP_RAW_X_TIME && payload)
					*ticks += w[i + 1];
				continue;
			}
		}
		*whole = false;
		return i;
	}
	return i;
}

static unsigned char *put_varint(unsigned char *p, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*p++ = (unsigned char)(v | 0x80);
	*p++ = (unsigned char)v;
	return p;
}

static int reserve(unsigned char **p, size_t *capacity, size_t n)
{
	if (n <= *capacity)
		return 0;
	free(*p);
	*p = malloc(n);
	*capacity = *p ? n : 0;
	return *p ? 0 : -1;
}

/* Compresses the columns of FORMAT.md. */
static int pack(struct compressing *z, size_t *size, struct sp_err *e)
{
	unsigned char *low, *high;
	uint64_t n = z->n;
	uint32_t w;
	size_t i;

	if (reserve(&z->columns, &z->columns_capacity, 8 + 10 * z->n) ||
	    reserve(&z->packed, &z->packed_capacity, ZSTD_compressBound(8 + 10 * z->n)))
		return no_memory(z, e);
	memcpy(z->columns, &n, 8);
	low = z->columns + 8;
	high = low + 4 * z->n;
	for (i = 0; i < z->n; i++, low += 4) {
		w = (uint32_t)(z->words[i] & ((1u << SP_RAW_DELTA_SHIFT) - 1));
		memcpy(low, &w, 4);
		high = put_varint(high, z->words[i] >> SP_RAW_DELTA_SHIFT);
	}
	*size = ZSTD_compress2(z->zstd, z->packed, z->packed_capacity, z->columns, (size_t)(high - z->columns));
	if (ZSTD_isError(*size))
		return sp_fail(e, 0, "%s: zstd: %s", z->raw->name, ZSTD_getErrorName(*size));
	return 0;
}

/* Writes the collected words as one chunk, compressed if that is smaller. */
static int flush_events(struct compressing *z, struct sp_err *e)
{
	struct sp_raw_chunk head = {.magic = SP_RAW_CHUNK_MAGIC,
	                            .type = SP_RAW_EVENTS,
	                            .location = z->first.location,
	                            .seq = z->first.seq,
	                            .bytes = page_up(HEAD + 8 * z->n),
	                            .used = z->n,
	                            .base = z->first.base};
	const void *payload = z->words;
	size_t size = 0;

	if (z->n == 0)
		return 0;
	if (z->n <= MAX_WORDS && pack(z, &size, e))
		return -1;
	if (size && page_up(HEAD + size) < head.bytes) {
		head.type = SP_RAW_EVENTSZ;
		head.bytes = page_up(HEAD + size);
		head.used = size;
		head.words = z->n;
		payload = z->packed;
	}
	z->n = 0;
	if (head.type == SP_RAW_EVENTS)
		size = 8 * head.used;
	seal(z, &head, payload, size);
	return put(z, &head, sizeof(head), e) || put(z, payload, size, e) || pad(z, e);
}

static int add_events(struct compressing *z, const struct sp_raw_part *p, struct sp_err *e)
{
	struct sp_err ignored = {.code = 0};
	uint64_t ticks = p->base, *larger;
	bool whole = true;
	size_t n, end, used = sp_raw_word_count(z->raw, p);
	const uint64_t *words = sp_raw_words(z->raw, p, NULL, &n, &ignored);

	/* the last words of a payload may be zero; of a damaged chunk everything that may be data is kept */
	end = walk(z->raw, words, n, &ticks, &whole);
	if (!whole && used > end)
		end = used;
	if (end == 0)
		return 0;
	if (z->n && (!z->whole || z->ticks != p->base || z->n + end > GROUP_WORDS) && flush_events(z, e))
		return -1;
	if (z->n == 0)
		z->first = *p;
	if (z->n + end > z->capacity) {
		larger = realloc(z->words, (z->n + end) * 8);
		if (!larger)
			return no_memory(z, e);
		z->words = larger;
		z->capacity = z->n + end;
	}
	memcpy(z->words + z->n, words, end * 8);
	z->n += end;
	z->ticks = ticks;
	z->whole = whole;
	return 0;
}

static int write_events(struct compressing *z, const struct sp_raw_thread *t, struct sp_err *e)
{
	struct sp_raw_part *p = z->raw->parts + t->events.first, *end = p + t->events.count;

	for (; p < end; p++) {
		if (!sp_raw_is_whole(z->raw, p))
			return sp_fail(e, 0,
			               "%s at 0x%" PRIx64
			               ": checksum of a chunk of the trace is wrong; a damaged file is left as it is",
			               z->raw->name, p->offset);
		if (p->type == SP_RAW_EVENTSZ) {
			if (flush_events(z, e) || copy_part(z, p, e))
				return -1;
			continue;
		}
		if (add_events(z, p, e))
			return -1;
		sp_raw_forget(z->raw, p);
		if (advance(z, p->bytes, e))
			return -1;
	}
	return flush_events(z, e);
}

static bool is_events(const struct sp_raw_part *p)
{
	return p->type == SP_RAW_EVENTS || p->type == SP_RAW_EVENTSZ;
}

/* Definitions come first and the trace last, so that most of a file that is truncated later is readable. The threads'
 * parts are in order; those of the process come after them. */
static int write_parts(struct compressing *z, struct sp_err *e)
{
	struct sp_raw_file *f = z->raw;
	size_t i, k, n = f->n_parts, first = f->defs.count ? f->defs.first : 0;
	uint64_t at = PAGE;

	for (i = 0; i < n; i++) {
		k = (first + i) % n;
		if (is_events(&f->parts[k]))
			continue;
		z->to[k] = at;
		at += page_up(HEAD + in_use(z, &f->parts[k]));
	}
	for (i = 0; i < n; i++) {
		k = (first + i) % n;
		if (!is_events(&f->parts[k]) && copy_part(z, &f->parts[k], e))
			return -1;
	}
	for (i = 0; i < f->n_threads; i++)
		if (write_events(z, &f->threads[i], e))
			return -1;
	return 0;
}

static int write_file(struct compressing *z, struct sp_err *e)
{
	unsigned char page[PAGE];
	struct sp_raw_header head;

	z->zstd = ZSTD_createCCtx();
	z->to = calloc(z->raw->n_parts + 1, sizeof(*z->to));
	if (!z->zstd || !z->to)
		return no_memory(z, e);
	ZSTD_CCtx_setParameter(z->zstd, ZSTD_c_compressionLevel, z->c->level);
	ZSTD_CCtx_setParameter(z->zstd, ZSTD_c_checksumFlag, 1);
	memcpy(page, z->raw->map, PAGE);
	if (put(z, page, PAGE, e) || write_parts(z, e))
		return -1;
	memcpy(&head, page, sizeof(head));
	head.bytes = z->at;
	head.sum = head.version >= SP_RAW_SUMS ? sp_raw_header_sum(&head) : 0;
	if (fseeko(z->out, 0, SEEK_SET) != 0 || fwrite(&head, sizeof(head), 1, z->out) != 1 || fflush(z->out) != 0 ||
	    fsync(fileno(z->out)) != 0)
		return sp_fail(e, errno, "%s: cannot be written: %s", z->temporary, strerror(errno));
	return 0;
}

/* Creates the new file in the directory of the old one, with the same owner and permissions. */
static int open_temporary(struct compressing *z, const char *path, const struct stat *st, struct sp_err *e)
{
	size_t n = strlen(path) + sizeof(".XXXXXX");
	char *name = malloc(n);
	int fd;

	if (!name)
		return no_memory(z, e);
	snprintf(name, n, "%s.XXXXXX", path);
	fd = mkostemp(name, O_CLOEXEC);
	if (fd < 0) {
		sp_fail(e, errno, "%s: cannot be written: %s", name, strerror(errno));
		free(name);
		return -1;
	}
	z->temporary = name;
	z->out = fdopen(fd, "wb");
	if (!z->out) {
		close(fd);
		return no_memory(z, e);
	}
	if (fchmod(fd, st->st_mode & 07777) != 0 ||
	    (st->st_uid != geteuid() && fchown(fd, st->st_uid, st->st_gid) != 0))
		return sp_fail(e, errno, "%s: %s", name, strerror(errno));
	return 0;
}

static int refuse_running(const char *path, const char *name, struct sp_err *e)
{
	enum sp_raw_running running;
	struct sp_raw_header h;
	int error = sp_raw_running_file(path, &h, &running);

	if (error)
		return sp_fail(e, error, "%s: %s", name, strerror(error));
	switch (running) {
	case SP_RAW_IS_RUNNING:
		return sp_fail(e, EBUSY, "%s: its process %" PRId32 " still runs; compress it when that has ended",
		               name, h.pid);
	case SP_RAW_IS_AWAY:
		return sp_fail(e, EBUSY,
		               "%s: process %" PRId32 " of %s has not said that it ended; compress it on that machine",
		               name, h.pid, h.host);
	case SP_RAW_IS_GONE:
		break;
	}
	return 0;
}

static int refuse_damaged(const struct compressing *z, struct sp_err *e)
{
	return z->problem.text[0] ? sp_fail(e, 0, "%s; a damaged file is left as it is", z->problem.text) : 0;
}

int sp_raw_compress(const char *path, const char *name, struct sp_raw_compression *c, struct sp_err *e)
{
	struct compressing z = {.c = c};
	struct stat st;
	int rc = -1;

	c->before = c->after = 0;
	if (stat(path, &st) != 0)
		return sp_fail(e, errno, "%s: %s", name, strerror(errno));
	c->before = c->after = (uint64_t)st.st_size;
	if (refuse_running(path, name, e) || sp_raw_open(&z.raw, path, name, on_problem, &z, e))
		return -1;
	if (refuse_damaged(&z, e) || open_temporary(&z, path, &st, e) || write_file(&z, e))
		goto out;
	if (z.at < c->before) {
		if (rename(z.temporary, path) != 0) {
			sp_fail(e, errno, "%s: %s", name, strerror(errno));
			goto out;
		}
		free(z.temporary);
		z.temporary = NULL;
		c->after = z.at;
	}
	rc = 0;
out:
	if (z.out)
		fclose(z.out);
	if (z.temporary)
		unlink(z.temporary);
	free(z.temporary);
	sp_raw_close(z.raw);
	ZSTD_freeCCtx(z.zstd);
	free(z.to);
	free(z.words);
	free(z.columns);
	free(z.packed);
	return rc;
}
#else

int sp_raw_compress(const char *path, const char *name, struct sp_raw_compression *c, struct sp_err *e)
{
	(void)path;
	(void)c;
	return sp_fail(e, ENOTSUP,
	               "%s: cannot be compressed: this Spartito was built without zstd; install libzstd-dev (Debian, "
	               "Ubuntu: apt install libzstd-dev) and build it again",
	               name);
}
#endif
