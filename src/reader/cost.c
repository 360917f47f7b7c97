/* SPDX-License-Identifier: BSD-3-Clause */
#include "reader/cost.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/checksum.h"
#include "reader/running.h"

/* The recorder writes the META records at the start of a measurement: its first chunks have them.
 * LARGEST: bytes of a chunk; larger ones are skipped. */
enum { HEAD = sizeof(struct sp_raw_chunk), FIRST_CHUNKS = 32, LARGEST = 1 << 20 };

static const char cost_error[] = "cost_error";
static const char *const equal[] = {"python", "prefix", "spartito", "hook"};
enum { N_EQUAL = sizeof(equal) / sizeof(equal[0]) };

/* Both costs are side by side in the header. */
enum { COSTS_AT = offsetof(struct sp_raw_header, cost_in_ps), COSTS = 2 * sizeof(uint64_t) };
_Static_assert(offsetof(struct sp_raw_header, cost_out_ps) == COSTS_AT + sizeof(uint64_t), "side by side");

/* A META value in memory. */
struct value {
	unsigned char *p; /* in that chunk; NULL: not found */
	size_t n;
	int chunk; /* index in raw.chunks */
};

/* A DEFS chunk in memory. */
struct defs {
	unsigned char *p; /* owned */
	size_t n;
	off_t at;
};

struct raw {
	int fd;
	struct stat st;
	struct sp_raw_header h;
	struct defs chunks[FIRST_CHUNKS];
	int n;
	struct value same[N_EQUAL], error;
};

static bool is_key(const struct sp_raw_def *d, const unsigned char *key, const char *name)
{
	return d->len[0] == strlen(name) && memcmp(key, name, d->len[0]) == 0;
}

/* Finds the values in a chunk. A later record replaces an earlier one of the same key. */
static void find(struct raw *r, const struct defs *c, uint64_t used)
{
	uint64_t at = HEAD, end = HEAD + used;
	struct sp_raw_def d;

	for (; end - at >= sizeof(d); at += d.bytes) {
		memcpy(&d, c->p + at, sizeof(d));
		if (d.bytes < sizeof(d) || d.bytes > end - at || d.bytes % 8)
			return;
		if (d.kind != SP_RAW_DEF_META || (uint64_t)d.len[0] + d.len[1] > d.bytes - sizeof(d))
			continue;
		unsigned char *key = c->p + at + sizeof(d);
		const struct value v = {key + d.len[0], d.len[1], r->n};
		for (int i = 0; i < N_EQUAL; i++)
			if (is_key(&d, key, equal[i]))
				r->same[i] = v;
		if (is_key(&d, key, cost_error))
			r->error = v;
	}
}

/* Reads a DEFS chunk. Returns false if it is damaged or has no checksum. */
static bool read_defs(struct raw *r, const struct sp_raw_chunk *head, off_t at)
{
	struct defs c = {malloc(head->bytes), head->bytes, at};
	struct sp_raw_chunk h;

	if (!c.p || pread(r->fd, c.p, c.n, at) != (ssize_t)c.n) {
		free(c.p);
		return false;
	}
	memcpy(&h, c.p, sizeof(h));
	const bool whole = h.bytes == c.n && h.used <= c.n - HEAD && sp_raw_sum_of(&h) &&
	                   sp_raw_chunk_sum(&h, c.p + HEAD, c.n - HEAD) == sp_raw_sum_of(&h);
	if (!whole) {
		free(c.p);
		return false;
	}
	find(r, &c, h.used);
	r->chunks[r->n++] = c;
	return true;
}

static bool read_chunks(struct raw *r)
{
	uint64_t at = r->h.header_bytes, size = (uint64_t)r->st.st_size;
	struct sp_raw_chunk c;

	for (int i = 0; i < FIRST_CHUNKS && at + HEAD <= size; i++, at += c.bytes) {
		if (pread(r->fd, &c, sizeof(c), (off_t)at) != sizeof(c) || c.magic != SP_RAW_CHUNK_MAGIC ||
		    c.bytes < HEAD || c.bytes > size - at)
			break; /* the end, or damage, which the reader reports */
		if (c.type == SP_RAW_DEFS && c.bytes <= LARGEST && !read_defs(r, &c, (off_t)at))
			return false;
	}
	for (int i = 0; i < N_EQUAL; i++)
		if (!r->same[i].p)
			return false;
	return r->error.p;
}

static bool is_file(struct raw *r)
{
	return r->fd >= 0 && fstat(r->fd, &r->st) == 0 && S_ISREG(r->st.st_mode);
}

/* Returns whether it is an ended measurement of this version, with checksums. */
static bool read_header(struct raw *r)
{
	struct sp_raw_header *h = &r->h;

	return pread(r->fd, h, sizeof(*h), 0) == sizeof(*h) && memcmp(h->magic, SP_RAW_MAGIC, sizeof(h->magic)) == 0 &&
	       h->byte_order == SP_RAW_BYTE_ORDER && h->version == SP_RAW_VERSION && h->ended != SP_RAW_RUNNING &&
	       h->sum == sp_raw_header_sum(h);
}

static bool read_source(struct raw *r)
{
	return is_file(r) && read_header(r) && read_chunks(r);
}

/* Reads all after it is certain that no process writes the file. */
static bool read_target(struct raw *r, const char *path)
{
	return is_file(r) && read_header(r) && !sp_raw_may_be_written(&r->h, path) && read_source(r);
}

static bool are_alike(const struct raw *a, const struct raw *b)
{
	for (int i = 0; i < N_EQUAL; i++)
		if (a->same[i].n != b->same[i].n || memcmp(a->same[i].p, b->same[i].p, a->same[i].n) != 0)
			return false;
	return a->error.n == b->error.n && a->h.clock == b->h.clock &&
	       memcmp(a->h.host, b->h.host, sizeof(a->h.host)) == 0 &&
	       ((a->h.flags ^ b->h.flags) & SP_RAW_FLAG_TRACE) == 0;
}

/* Without a cost a process recorded no calls, or could not measure it. */
static bool has_cost(const struct sp_raw_header *h)
{
	return h->cost_in_ps || h->cost_out_ps;
}

static bool write_at(int fd, const void *p, size_t n, off_t at)
{
	return pwrite(fd, p, n, at) == (ssize_t)n;
}

static bool write_cost(struct raw *to, const struct raw *from)
{
	const struct defs *c = &to->chunks[to->error.chunk];
	struct sp_raw_chunk head;

	memcpy(to->error.p, from->error.p, to->error.n);
	memcpy(&head, c->p, sizeof(head));
	sp_raw_chunk_seal(&head, c->p + HEAD, c->n - HEAD);
	memcpy(c->p, &head, sizeof(head));
	to->h.cost_in_ps = from->h.cost_in_ps;
	to->h.cost_out_ps = from->h.cost_out_ps;
	to->h.sum = sp_raw_header_sum(&to->h);
	/* of the header only the changed fields: child processes that outlive the process may change others */
	return write_at(to->fd, c->p, c->n, c->at) &&
	       write_at(to->fd, (unsigned char *)&to->h + COSTS_AT, COSTS, COSTS_AT) &&
	       write_at(to->fd, &to->h.sum, sizeof(to->h.sum), offsetof(struct sp_raw_header, sum));
}

static void close_raw(struct raw *r)
{
	for (int i = 0; i < r->n; i++)
		free(r->chunks[i].p);
	if (r->fd >= 0)
		close(r->fd);
}

bool sp_raw_take_cost(const char *path, const char *from)
{
	const int flags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
	struct raw a = {.fd = open(from, O_RDONLY | flags)}, b = {.fd = open(path, O_RDWR | flags)};
	bool taken = false;

	if (read_source(&a) && read_target(&b, path) && are_alike(&a, &b) && has_cost(&a.h) && has_cost(&b.h)) {
		taken = write_cost(&b, &a);
		futimens(b.fd, (struct timespec[]){b.st.st_atim, b.st.st_mtim});
	}
	close_raw(&a);
	close_raw(&b);
	return taken;
}
