/* SPDX-License-Identifier: BSD-3-Clause */
/* The contents of chunks: nodes, open frames, event words. */
#include "base/guard.h"
#include "format/checksum.h"
#include "reader/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#ifdef SP_HAVE_ZSTD
#include <zstd.h>
#endif

enum { HEAD = sizeof(struct sp_raw_chunk) };
#define MAX_UNPACKED                                                                                                   \
	(UINT64_C(1) << 30) /* of one chunk; far more than a recorder writes, far less than a damaged size claims */

const void *sp_raw_payload(const struct sp_raw_file *f, const struct sp_raw_part *part)
{
	return f->map + part->offset + HEAD;
}

void sp_raw_forget(const struct sp_raw_file *f, const struct sp_raw_part *part)
{
	sp_raw_forget_bytes(f, part->offset, part->bytes);
}

void sp_raw_forget_bytes(const struct sp_raw_file *f, uint64_t offset, uint64_t bytes)
{
	if (f->bytes.mapped)
		sp_mapped_forget((const char *)f->map + offset, bytes);
}

uint32_t sp_raw_node_index(const struct sp_raw_file *f, const struct sp_raw_thread *t, uint64_t pointer)
{
	size_t low = 0, high = t->nodes.count;
	const struct sp_raw_part *p;
	uint64_t at;

	(void)f;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (t->nodes_at[middle]->address <= pointer)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return SP_RAW_NONE;
	p = t->nodes_at[low - 1];
	at = pointer - p->address - HEAD;
	if (pointer - p->address >= p->bytes || at % sizeof(struct sp_raw_node) ||
	    at / sizeof(struct sp_raw_node) >= p->used || p->base + at / sizeof(struct sp_raw_node) >= SP_RAW_NONE)
		return SP_RAW_NONE;
	return (uint32_t)(p->base + at / sizeof(struct sp_raw_node));
}

bool sp_raw_node_at(const struct sp_raw_file *f, const struct sp_raw_thread *t, uint32_t index, struct sp_raw_node *n)
{
	const struct sp_raw_part *p = f->parts + t->nodes.first;
	size_t low = 0, high = t->nodes.count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (p[middle].base <= index)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || index - p[low - 1].base >= p[low - 1].used)
		return false;
	memcpy(n, (const struct sp_raw_node *)sp_raw_payload(f, &p[low - 1]) + (index - p[low - 1].base), sizeof(*n));
	return true;
}

size_t sp_raw_line_index(const struct sp_raw_file *f, const struct sp_raw_thread *t, uint64_t pointer)
{
	const struct sp_raw_part *p = f->parts + t->lines.first, *end = p + t->lines.count;
	size_t before = 0;
	uint64_t at;

	for (; p < end; before += p->used, p++) {
		at = pointer - p->address - HEAD;
		if (pointer - p->address < p->bytes && at % sizeof(struct sp_raw_line) == 0 &&
		    at / sizeof(struct sp_raw_line) < p->used)
			return before + at / sizeof(struct sp_raw_line);
	}
	return SIZE_MAX;
}

const struct sp_raw_line_frame *sp_raw_line_frames(const struct sp_raw_file *f, const struct sp_raw_thread *t,
                                                   size_t *n)
{
	*n = t->line_stack ? t->line_stack->used : 0;
	return *n ? sp_raw_payload(f, t->line_stack) : NULL;
}

const struct sp_raw_frame *sp_raw_open_frames(struct sp_raw_file *f, struct sp_raw_thread *t, size_t *n)
{
	const struct sp_raw_location *s = &t->state;
	uint64_t depth = (s->top - s->base) / sizeof(struct sp_raw_frame);

	*n = 0;
	if (s->top == s->base)
		return NULL;
	if (!t->stack || s->top < s->base || (s->top - s->base) % sizeof(struct sp_raw_frame) ||
	    depth >= (t->stack->bytes - HEAD) / sizeof(struct sp_raw_frame)) {
		if (!t->reported)
			sp_raw_report(f, s->stack, "the open calls of location %" PRIu32 " are lost", s->id);
		t->reported = true;
		return NULL;
	}
	*n = depth;
	return (const struct sp_raw_frame *)sp_raw_payload(f, t->stack) + 1;
}

uint64_t sp_raw_word_count(const struct sp_raw_file *f, const struct sp_raw_part *part)
{
	const uint64_t *w = sp_raw_payload(f, part);
	uint64_t n = part->used;

	if (part->type == SP_RAW_EVENTSZ) {
#ifdef SP_HAVE_ZSTD
		uint64_t n_words;

		n = ZSTD_getFrameContentSize(w, part->used);
		n = n > MAX_UNPACKED ? 0 : n / 5; /* a word takes at least five bytes */
		memcpy(&n_words, f->map + part->offset + offsetof(struct sp_raw_chunk, words), sizeof(n_words));
		n_words = f->header.version < SP_RAW_SUMS ? n_words : (uint32_t)n_words;
		return n_words && n_words < n ? n_words : n;
#else
		return 0;
#endif
	}
	if (n == 0)
		for (n = (part->bytes - HEAD) / 8; n > 0 && w[n - 1] == 0; n--)
			;
	return n;
}

#ifdef SP_HAVE_ZSTD
/* Decodes the columns: 4 bytes per word, then one varint per word; see FORMAT.md. */
static int unpack_columns(uint64_t *words, size_t n, const unsigned char *low, const unsigned char *end)
{
	const unsigned char *p = low + 4 * n;
	uint64_t high;
	uint32_t w;
	unsigned shift;
	size_t i;

	for (i = 0; i < n; i++) {
		for (high = 0, shift = 0;; shift += 7) {
			if (p == end || shift > 35)
				return -1;
			high |= (uint64_t)(*p & 0x7f) << shift;
			if (!(*p++ & 0x80))
				break;
		}
		memcpy(&w, low + 4 * i, 4);
		if (w >> SP_RAW_DELTA_SHIFT || high > SP_RAW_DELTA_MAX)
			return -1;
		words[i] = high << SP_RAW_DELTA_SHIFT | w;
	}
	return 0;
}

static int unpack(const void *packed, size_t size, uint64_t **buffer, size_t *n)
{
	unsigned long long unpacked = ZSTD_getFrameContentSize(packed, size);
	unsigned char *bytes;
	uint64_t words, *larger;
	int rc = -1;

	if (unpacked < 8 || unpacked > MAX_UNPACKED)
		return -1;
	bytes = malloc(unpacked);
	if (!bytes)
		return ENOMEM;
	if (ZSTD_decompress(bytes, unpacked, packed, size) != unpacked)
		goto out;
	memcpy(&words, bytes, 8);
	if (words > (unpacked - 8) / 5)
		goto out;
	larger = realloc(*buffer, (words + 1) * 8);
	if (!larger) {
		rc = ENOMEM;
		goto out;
	}
	*buffer = larger;
	*n = words;
	rc = unpack_columns(larger, words, bytes + 8, bytes + unpacked);
out:
	free(bytes);
	return rc;
}
#endif

const uint64_t *sp_raw_words(const struct sp_raw_file *f, const struct sp_raw_part *part, uint64_t **buffer, size_t *n,
                             struct sp_err *e)
{
	if (part->type != SP_RAW_EVENTSZ) {
		*n = part->used ? part->used : (part->bytes - HEAD) / 8;
		return sp_raw_payload(f, part);
	}
#ifdef SP_HAVE_ZSTD
	int rc = unpack(sp_raw_payload(f, part), part->used, buffer, n);

	if (rc == 0)
		return *buffer;
	if (rc > 0)
		sp_fail(e, rc, "%s: not enough memory", f->name);
	else
		sp_fail(e, 0, "compressed events cannot be unpacked");
#else
	(void)buffer;
	sp_fail(e, ENOTSUP, "%s at 0x%" PRIx64 ": compressed trace, but this Spartito was built without zstd", f->name,
	        part->offset);
#endif
	return NULL;
}
