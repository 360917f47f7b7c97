/* SPDX-License-Identifier: BSD-3-Clause */
/* Checksums of the header and of chunks, as specified in FORMAT.md. A writer adds them when a chunk does not change any
 * more; the reader verifies them, so that a changed bit is found as damage and not read as another number. */
#ifndef SP_FORMAT_CHECKSUM_H
#define SP_FORMAT_CHECKSUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "format/format.h"

#define SP_RAW_SUM_A UINT64_C(0x9e3779b185ebca87)
#define SP_RAW_SUM_B UINT64_C(0xc2b2ae3d27d4eb4f)

/* For a given word, a step is a bijection of the sum; for a given sum, a bijection of the word. */
static inline uint64_t sp_raw_sum_step(uint64_t sum, uint64_t word)
{
	sum += word * SP_RAW_SUM_B;
	return (sum << 31 | sum >> 33) * SP_RAW_SUM_A;
}

/* Continues the sum with n bytes. It computes four sums side by side, which a processor can do in parallel. */
static inline uint64_t sp_raw_sum_bytes(uint64_t sum, const void *bytes, size_t n)
{
	const unsigned char *p = (const unsigned char *)bytes;
	uint64_t w[4], lane[4] = {sum + SP_RAW_SUM_A, sum + SP_RAW_SUM_B, sum, sum - SP_RAW_SUM_A};

	sum += n;
	for (; n >= sizeof(w); p += sizeof(w), n -= sizeof(w)) {
		memcpy(w, p, sizeof(w));
		for (int i = 0; i < 4; i++)
			lane[i] = sp_raw_sum_step(lane[i], w[i]);
	}
	memset(w, 0, sizeof(w));
	if (n)
		memcpy(w, p, n);
	for (int i = 0; i < 4; i++)
		sum = sp_raw_sum_step(sp_raw_sum_step(sum, lane[i]), w[i]);
	return sum;
}

/* Reduces the sum to 32 bits; never 0, which means no checksum. */
static inline uint32_t sp_raw_sum_end(uint64_t sum)
{
	sum ^= sum >> 29;
	sum *= SP_RAW_SUM_B;
	sum ^= sum >> 32;
	return (uint32_t)sum ? (uint32_t)sum : 1;
}

/* Bytes per unit of `used`; 0: `used` does not count the payload. */
static inline uint64_t sp_raw_unit(uint32_t type)
{
	switch (type) {
	case SP_RAW_DEFS:
	case SP_RAW_LOCATION:
	case SP_RAW_EVENTSZ:
	case SP_RAW_HEAP:
	case SP_RAW_STACK:
		return 1;
	case SP_RAW_NODES:
		return sizeof(struct sp_raw_node);
	case SP_RAW_EVENTS:
		return 8;
	case SP_RAW_LINES:
		return sizeof(struct sp_raw_line);
	case SP_RAW_LINE_STACK:
		return sizeof(struct sp_raw_line_frame);
	case SP_RAW_SITES:
		return sizeof(struct sp_raw_site);
	case SP_RAW_SERIES:
		return sizeof(struct sp_raw_point);
	case SP_RAW_WAITS:
		return sizeof(struct sp_raw_wait);
	case SP_RAW_OBJECTS:
		return sizeof(struct sp_raw_object);
	case SP_RAW_OFF_CPU:
		return sizeof(struct sp_raw_off_cpu);
	case SP_RAW_TALLIES:
		return sizeof(struct sp_raw_tally);
	default:
		return 0;
	}
}

/* The checksum of a chunk's header and the used part of its payload of `bytes` bytes; of the whole payload if `used`
 * does not count it. Fields that only the writer uses, and the checksum, are left out. */
static inline uint32_t sp_raw_chunk_sum(const struct sp_raw_chunk *c, const void *payload, uint64_t bytes)
{
	const uint64_t unit = sp_raw_unit(c->type);
	struct sp_raw_chunk head = *c;

	if (unit && c->used <= bytes / unit && (c->used || (c->type != SP_RAW_EVENTS && c->type != SP_RAW_STACK)))
		bytes = c->used * unit;
	head.reserved[0] = 0;
	head.words = (uint32_t)c->words;
	return sp_raw_sum_end(sp_raw_sum_bytes(sp_raw_sum_bytes(0, &head, sizeof(head)), payload, bytes));
}

/* The checksum in a chunk's header; 0: no checksum. It is in the upper half of `words`. */
static inline uint32_t sp_raw_sum_of(const struct sp_raw_chunk *c)
{
	return (uint32_t)(c->words >> 32);
}

static inline void sp_raw_chunk_seal(struct sp_raw_chunk *c, const void *payload, uint64_t bytes)
{
	c->words = (uint32_t)c->words | (uint64_t)sp_raw_chunk_sum(c, payload, bytes) << 32;
}

/* The checksum of all fields of the header except: the checksum, the flag for paused recording, and the fields about
 * children, which may outlive the process. */
static inline uint32_t sp_raw_header_sum(const struct sp_raw_header *h)
{
	struct sp_raw_header head = *h;

	head.flags &= ~(uint32_t)SP_RAW_FLAG_PAUSED;
	head.sum = 0;
	head.lost_children = 0;
	head.lost_children_errno = 0;
	return sp_raw_sum_end(sp_raw_sum_bytes(0, &head, sizeof(head)));
}

#endif
