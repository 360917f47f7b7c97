/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of Protocol Buffers: https://protobuf.dev/programming-guides/encoding. */
#ifndef SP_WRITE_COMMON_PROTOBUF_H
#define SP_WRITE_COMMON_PROTOBUF_H

#include "model/str.h"
#include "write/common/out.h"

enum { SP_PROTO_VARINT = 10 /* maximum number of bytes */ };

static inline char *sp_proto_varint(char *p, uint64_t v)
{
	while (v >= 0x80) {
		*p++ = (char)(v | 0x80);
		v >>= 7;
	}
	*p++ = (char)v;
	return p;
}

/* A message under construction. All bytes zero: an empty message. */
struct sp_proto {
	char *p; /* owned */
	size_t n, capacity;
	bool failed; /* no memory; everything that was added afterwards is missing */
};

/* Adds a number without a key, in a field of packed numbers. */
void sp_proto_number(struct sp_proto *k, uint64_t v);
void sp_proto_uint(struct sp_proto *k, unsigned field, uint64_t v);
void sp_proto_fixed(struct sp_proto *k, unsigned field, uint64_t v);
void sp_proto_real(struct sp_proto *k, unsigned field, double v);
/* Adds a text; invalid UTF-8 becomes U+FFFD, because readers reject it. */
void sp_proto_text(struct sp_proto *k, unsigned field, struct sp_str s);
/* Begins a nested message, which sp_proto_close() ends; it takes the result of sp_proto_open(). The length takes four
 * bytes, because it is known only at the end. */
size_t sp_proto_open(struct sp_proto *k, unsigned field);
void sp_proto_close(struct sp_proto *k, size_t from);

#endif
