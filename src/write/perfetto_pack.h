/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of Protocol Buffers: https://protobuf.dev/programming-guides/encoding. */
#ifndef SP_WRITE_PERFETTO_PACK_H
#define SP_WRITE_PERFETTO_PACK_H

#include "write/out.h"

enum { SP_PACK_VARINT = 10 /* bytes at most */ };

static inline char *sp_pack_varint(char *p, uint64_t v)
{
	while (v >= 0x80) {
		*p++ = (char)(v | 0x80);
		v >>= 7;
	}
	*p++ = (char)v;
	return p;
}

/* A message that is being made. Zero bytes are an empty one. */
struct sp_pack {
	char *p; /* owned */
	size_t n, room;
	bool failed; /* no memory; what was added since is not there */
};

void sp_pack_uint(struct sp_pack *k, unsigned field, uint64_t v);
void sp_pack_fixed(struct sp_pack *k, unsigned field, uint64_t v);
void sp_pack_real(struct sp_pack *k, unsigned field, double v);
/* Bytes that are no UTF-8 become U+FFFD, which readers insist on. */
void sp_pack_text(struct sp_pack *k, unsigned field, struct sp_str s);
/* A message within it, from here until sp_pack_close(), which takes what sp_pack_open() returned. Its length takes four
 * bytes, as it is known only at the end. */
size_t sp_pack_open(struct sp_pack *k, unsigned field);
void sp_pack_close(struct sp_pack *k, size_t from);

#endif
