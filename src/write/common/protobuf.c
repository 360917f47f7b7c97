/* SPDX-License-Identifier: BSD-3-Clause */
#include "write/common/protobuf.h"
#include "model/str.h"

#include <stdlib.h>

enum wire { VARINT = 0, FIXED64 = 1, LENGTH = 2 };
enum { LENGTH_BYTES = 4, KEY_BYTES = 5 };

static char *reserve(struct sp_proto *k, size_t n)
{
	if (k->failed)
		return NULL;
	if (k->n + n > k->capacity) {
		const size_t more = 2 * k->capacity + n + 256;
		char *larger = realloc(k->p, more);
		if (!larger) {
			k->failed = true;
			return NULL;
		}
		k->p = larger;
		k->capacity = more;
	}
	return k->p + k->n;
}

static char *key(char *p, unsigned field, enum wire wire)
{
	return sp_proto_varint(p, (uint64_t)field << 3 | wire);
}

void sp_proto_number(struct sp_proto *k, uint64_t v)
{
	char *p = reserve(k, SP_PROTO_VARINT);

	if (p)
		k->n = (size_t)(sp_proto_varint(p, v) - k->p);
}

void sp_proto_uint(struct sp_proto *k, unsigned field, uint64_t v)
{
	char *p = reserve(k, KEY_BYTES + SP_PROTO_VARINT);

	if (p)
		k->n = (size_t)(sp_proto_varint(key(p, field, VARINT), v) - k->p);
}

/* Little-endian on every machine. */
void sp_proto_fixed(struct sp_proto *k, unsigned field, uint64_t v)
{
	char *p = reserve(k, KEY_BYTES + sizeof v);

	if (!p)
		return;
	p = key(p, field, FIXED64);
	for (size_t i = 0; i < sizeof v; i++)
		*p++ = (char)(v >> 8 * i);
	k->n = (size_t)(p - k->p);
}

void sp_proto_real(struct sp_proto *k, unsigned field, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof bits);
	sp_proto_fixed(k, field, bits);
}

void sp_proto_text(struct sp_proto *k, unsigned field, struct sp_str s)
{
	static const char instead[] = {'\xef', '\xbf', '\xbd'};
	const size_t from = sp_proto_open(k, field);
	char *p = reserve(k, sizeof instead * s.n);

	if (!p)
		return;
	for (size_t i = 0; i < s.n;) {
		const size_t len = sp_utf8_sequence((const unsigned char *)s.p + i, s.n - i);
		p = len ? mempcpy(p, s.p + i, len) : mempcpy(p, instead, sizeof instead);
		i += len ? len : 1;
	}
	k->n = (size_t)(p - k->p);
	sp_proto_close(k, from);
}

size_t sp_proto_open(struct sp_proto *k, unsigned field)
{
	char *p = reserve(k, KEY_BYTES + LENGTH_BYTES);

	if (p)
		k->n = (size_t)(key(p, field, LENGTH) - k->p) + LENGTH_BYTES;
	return k->n;
}

void sp_proto_close(struct sp_proto *k, size_t from)
{
	size_t n = k->n - from;

	if (k->failed)
		return;
	if (n >> 7 * LENGTH_BYTES) { /* readers cannot read such a long message either */
		k->failed = true;
		return;
	}
	for (int i = 1; i <= LENGTH_BYTES; i++, n >>= 7)
		k->p[from - LENGTH_BYTES - 1 + (size_t)i] = (char)((n & 0x7f) | (i < LENGTH_BYTES ? 0x80 : 0));
}
