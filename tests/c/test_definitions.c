/* SPDX-License-Identifier: BSD-3-Clause */
/* Raw files that are still being written, as a sampler reads them: inconsistent or invalid data end the reading, and
 * nothing outside is accessed. */
#include "sample/control/definitions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { PAGE = SP_RAW_PAGE };

static int file_of(const void *bytes, size_t n)
{
	char name[] = "/tmp/spartito-definitions-XXXXXX";
	int fd = mkstemp(name);
	MUST(fd >= 0 && !unlink(name));
	MUST(pwrite(fd, bytes, n, PAGE) == (ssize_t)n);
	return fd;
}

static void put_chunk(char *at, enum sp_raw_chunk_type type, uint64_t bytes, uint64_t used)
{
	const struct sp_raw_chunk c = {.magic = SP_RAW_CHUNK_MAGIC, .type = type, .bytes = bytes, .used = used};
	memcpy(at, &c, sizeof c);
}

/* Writes a definition with one string. Returns the address after it. */
static char *put_definition(char *at, uint32_t a, const char *text)
{
	const uint32_t n = (uint32_t)strlen(text);
	const struct sp_raw_def d = {
	    .kind = SP_RAW_DEF_STRING, .bytes = (uint32_t)sizeof d + (n + 7) / 8 * 8, .a = a, .len = {n}};
	memcpy(at, &d, sizeof d);
	memcpy(at + sizeof d, text, n);
	return at + d.bytes;
}

struct seen {
	uint32_t n, last, wanted;
	char text[64];
};

static bool see(void *arg, const struct sp_raw_def *d, const char *text)
{
	struct seen *s = arg;
	s->n++;
	s->last = d->a;
	snprintf(s->text, sizeof s->text, "%.*s", (int)d->len[0], text);
	return d->a == s->wanted;
}

static void whole(void)
{
	static char bytes[3 * PAGE];
	char *at = bytes;
	struct seen s = {.wanted = 0};
	at = put_definition(bytes + sizeof(struct sp_raw_chunk), 1, "one");
	at = put_definition(at, 2, "two");
	put_chunk(bytes, SP_RAW_DEFS, PAGE, (uint64_t)(at - bytes) - sizeof(struct sp_raw_chunk));
	put_chunk(bytes + PAGE, SP_RAW_NODES, PAGE, 0);
	at = put_definition(bytes + 2 * PAGE + sizeof(struct sp_raw_chunk), 3, "three");
	put_chunk(bytes + 2 * PAGE, SP_RAW_DEFS, PAGE, (uint64_t)(at - bytes) - 2 * PAGE - sizeof(struct sp_raw_chunk));
	int fd = file_of(bytes, sizeof bytes);
	CHECK(!sp_file_definitions(fd, see, &s) && s.n == 3 && s.last == 3 && !strcmp(s.text, "three"));
	s = (struct seen){.wanted = 2};
	CHECK(sp_file_definitions(fd, see, &s) && s.n == 2 && !strcmp(s.text, "two"));
	CHECK(!sp_file_definitions(-1, see, &s) && s.n == 2);
	close(fd);
}

/* Texts that extend beyond their record, and records that begin or end beyond the used part: everything before them
 * counts. */
static void torn(void)
{
	static char bytes[PAGE];
	const size_t head = sizeof(struct sp_raw_chunk);
	char *second = put_definition(bytes + head, 1, "one"), *end = bytes + PAGE - sizeof(struct sp_raw_def);
	struct sp_raw_def d = {.kind = SP_RAW_DEF_META, .bytes = sizeof d, .a = 2, .len = {7, 100}};
	struct seen s = {.wanted = 0};
	put_chunk(bytes, SP_RAW_DEFS, PAGE, PAGE - head);
	memcpy(second, &d, sizeof d);
	int fd = file_of(bytes, sizeof bytes);
	CHECK(!sp_file_definitions(fd, see, &s) && s.n == 1);
	close(fd);
	/* the same at the very end, where nothing of the record exists */
	d.len[0] = d.len[1] = 0;
	d.bytes = (uint32_t)(end - second);
	memcpy(second, &d, sizeof d);
	d.bytes = sizeof d;
	d.len[0] = 7;
	memcpy(end, &d, sizeof d);
	s.n = 0;
	fd = file_of(bytes, sizeof bytes);
	CHECK(!sp_file_definitions(fd, see, &s) && s.n == 2);
	close(fd);
	d.bytes = 0;
	memcpy(second, &d, sizeof d);
	s.n = 0;
	fd = file_of(bytes, sizeof bytes);
	CHECK(!sp_file_definitions(fd, see, &s) && s.n == 1);
	close(fd);
}

/* A length that leads back to a chunk that was already read, or beyond any possible file. */
static void lengths(void)
{
	static const uint64_t wrong[] = {-(uint64_t)PAGE, UINT64_MAX, (uint64_t)1 << 63, INT64_MAX, 0, PAGE - 1};
	static char bytes[2 * PAGE];
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct seen s = {.wanted = 0};
		struct sp_raw_chunk c;
		uint64_t at = PAGE;
		char *end = put_definition(bytes + sizeof c, 1, "one");
		put_chunk(bytes, SP_RAW_DEFS, PAGE, (uint64_t)(end - bytes) - sizeof c);
		put_chunk(bytes + PAGE, SP_RAW_LOCATION, wrong[i], PAGE);
		int fd = file_of(bytes, sizeof bytes);
		CHECK(!sp_file_definitions(fd, see, &s) && s.n == 1);
		CHECK(sp_file_chunk(fd, &at, SP_RAW_DEFS, &c) && at == 2 * PAGE);
		CHECK(!sp_file_chunk(fd, &at, SP_RAW_DEFS, &c));
		close(fd);
	}
}

int main(void)
{
	whole();
	torn();
	lengths();
	return check_failures != 0;
}
