/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of Protocol Buffers: https://protobuf.dev/programming-guides/encoding. */
#ifndef SP_WRITE_COMMON_PROTOBUF_H
#define SP_WRITE_COMMON_PROTOBUF_H

#include "model/str.h"
#include "write/common/out.h"

enum { SP_PROTO_VARINT = 10 /* bytes at most */ };

static inline char *sp_proto_varint(char *p, uint64_t v)
{
	while (v >= 0x80) {
		*p++ = (char)(v | 0x80);
		v >>= 7;
	}
	*p++ = (char)v;
	return p;
}

/* A message that is being made. Zero bytes are an empty one. */
struct sp_proto {
	char *p; /* owned */
	size_t n, room;
	bool failed; /* no memory; what was added since is not there */
};

/* A number alone, in a field of packed numbers. */
void sp_proto_number(struct sp_proto *k, uint64_t v);
void sp_proto_uint(struct sp_proto *k, unsigned field, uint64_t v);
void sp_proto_fixed(struct sp_proto *k, unsigned field, uint64_t v);
void sp_proto_real(struct sp_proto *k, unsigned field, double v);
/* Bytes that are no UTF-8 become U+FFFD, which readers insist on. */
void sp_proto_text(struct sp_proto *k, unsigned field, struct sp_str s);
/* A message within it, from here until sp_proto_close(), which takes what sp_proto_open() returned. Its length takes
 * four bytes, as it is known only at the end. */
size_t sp_proto_open(struct sp_proto *k, unsigned field);
void sp_proto_close(struct sp_proto *k, size_t from);

#endif
