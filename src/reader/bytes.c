/* SPDX-License-Identifier: BSD-3-Clause */
/* A process that ends truncates its file after the last data: accessing a mapped page after that would raise SIGBUS. */
#include "reader/bytes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reader/running.h"

#define MAX_COPIED ((size_t)64 << 20)

enum { PAGE = SP_RAW_PAGE, TRIES = 3 };

/* Whether a process may still write the file; *running: it is known to. If its process id has no meaning for this
 * process (another host, a container), a writer cannot be distinguished from a killed process. */
static bool may_be_written(int fd, const char *name, bool *running)
{
	struct sp_raw_header h;

	*running = false;
	if (pread(fd, &h, sizeof(h), 0) != sizeof(h) || memcmp(h.magic, SP_RAW_MAGIC, sizeof(h.magic)) != 0 ||
	    h.ended != SP_RAW_RUNNING)
		return false;
	*running = sp_raw_running(&h, name) == SP_RAW_IS_RUNNING;
	return true;
}

/* Reads at most n bytes at an offset. Returns how many there were. */
static size_t read_at(int fd, char *to, size_t n, size_t at)
{
	size_t done = 0;
	ssize_t k;

	while (done < n && ((k = pread(fd, to + done, n - done, (off_t)(at + done))) > 0 || (k < 0 && errno == EINTR)))
		done += k > 0 ? (size_t)k : 0;
	return done;
}

/* Reads the payloads again, after the headers: what a header says is there, such as `used` rows, was stored before that
 * header, but a processor may have copied both in the other order. A word of an event is complete in itself. */
static void read_payloads(int fd, char *copy, size_t n)
{
	struct sp_raw_chunk c;
	size_t bytes;

	for (size_t at = PAGE; at + sizeof(c) <= n; at += bytes) {
		memcpy(&c, copy + at, sizeof(c));
		bytes = sp_raw_is_chunk(&c) ? c.bytes : PAGE;
		bytes = bytes < n - at ? bytes : n - at;
		if (sp_raw_is_chunk(&c) && c.type != SP_RAW_EVENTS)
			read_at(fd, copy + at + sizeof(c), bytes - sizeof(c), at + sizeof(c));
	}
}

/* Copies the file; *n: number of bytes. NULL: it is too large for a copy. */
static void *copied(int fd, size_t *n)
{
	char *copy;

	if (*n > MAX_COPIED)
		return NULL;
	copy = malloc(*n);
	if (!copy)
		return NULL;
	*n = read_at(fd, copy, *n, 0);
	read_payloads(fd, copy, *n);
	return copy;
}

/* The end of the last chunk, or of the last other non-zero data. */
static size_t written(int fd, size_t n)
{
	static const unsigned char nothing[PAGE];
	struct sp_raw_chunk c;
	unsigned char page[PAGE];
	size_t at = PAGE, end = PAGE;
	ssize_t k;

	while (at < n && (k = pread(fd, page, sizeof(page), (off_t)at)) > 0) {
		memcpy(&c, page, sizeof(c));
		if (k == sizeof(page) && sp_raw_is_chunk(&c))
			end = at += c.bytes < n - at ? c.bytes : n - at;
		else if (memcmp(page, nothing, (size_t)k) != 0)
			end = at += (size_t)k;
		else
			at += (size_t)k;
	}
	return end < n ? end : n;
}

static int get(struct sp_raw_bytes *out, int fd, const char *name, bool *unfinished, struct sp_err *e)
{
	struct stat st;
	void *p = NULL;

	*out = (struct sp_raw_bytes){.p = NULL};
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		return sp_fail(e, 0, "%s: not a regular file", name);
	*unfinished = st.st_size >= PAGE && may_be_written(fd, name, &out->running);
	if (fstat(fd, &st) != 0) /* it may have ended just now, which truncates the file before the end is recorded */
		return sp_fail(e, errno, "%s: %s", name, strerror(errno));
	out->n = (size_t)st.st_size;
	if (out->running)
		p = out->copy = copied(fd, &out->n);
	out->safe = *unfinished && !p ? written(fd, out->n) : out->n;
	if (!p && out->n > 0) {
		p = mmap(NULL, out->n, PROT_READ, MAP_SHARED, fd, 0);
		if (p == MAP_FAILED)
			return sp_fail(e, errno, "%s: %s", name, strerror(errno));
		out->mapped = out->n;
	}
	out->p = p;
	return 0;
}

/* Whether the header and the length are inconsistent, because the file grew or was truncated between reading them. */
static bool has_changed(const struct sp_raw_bytes *b)
{
	struct sp_raw_header h;

	if (b->n < sizeof(h))
		return false;
	memcpy(&h, b->p, sizeof(h));
	return h.bytes > b->n;
}

int sp_raw_bytes_get(struct sp_raw_bytes *out, int fd, const char *name, struct sp_err *e)
{
	bool unfinished;

	for (int i = 1;; i++) {
		if (get(out, fd, name, &unfinished, e))
			return -1;
		if (!unfinished || !has_changed(out) || i == TRIES)
			return 0;
		sp_raw_bytes_free(out);
	}
}

void sp_raw_bytes_free(struct sp_raw_bytes *b)
{
	if (b->mapped)
		munmap((void *)b->p, b->mapped);
	free(b->copy);
}
