/* SPDX-License-Identifier: BSD-3-Clause */
/* Objects of another process: str, bytes, dict. */
#include "sample/python/private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_TEXT = 1 << 16,    /* maximum characters of a name */
	MAX_BYTES = 1 << 24,   /* maximum bytes of a line table */
	MAX_ENTRIES = 1 << 16, /* maximum entries of a dictionary that are searched */
	MAX_READ = 256,        /* maximum of these whose keys are read as text */
	AT_ONCE = 64,
};
/* bits of tp_flags, the same in all versions */
#define IS_TEXT  (UINT64_C(1) << 28)
#define IS_DICT  (UINT64_C(1) << 29)
#define IS_BYTES (UINT64_C(1) << 27)

static bool has_flag(struct sp_python *p, uint64_t type, uint64_t flag)
{
	uint64_t flags;
	return sp_target_read(p->t, type + p->at.type_flags, &flags, sizeof flags) && flags & flag;
}

bool sp_object_is_code(struct sp_python *p, uint64_t type)
{
	uint64_t name;
	char text[8];
	if (p->code_type)
		return type == p->code_type;
	if (!sp_target_read(p->t, type + p->at.type_name, &name, sizeof name) || !sp_target_read(p->t, name, text, 5) ||
	    memcmp(text, "code", 5))
		return false;
	p->code_type = type;
	return true;
}

/* ---- str ---- */

static char *put_utf8(char *to, uint32_t c)
{
	if (c < 0x80) {
		*to++ = (char)c;
	} else if (c < 0x800) {
		*to++ = (char)(0xc0 | c >> 6);
		*to++ = (char)(0x80 | (c & 0x3f));
	} else if (c >= 0xd800 && c < 0xe000) {
		to += sprintf(to, "\\u%04x", c);
	} else if (c < 0x10000) {
		*to++ = (char)(0xe0 | c >> 12);
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
		*to++ = (char)(0x80 | (c & 0x3f));
	} else {
		*to++ = (char)(0xf0 | c >> 18);
		*to++ = (char)(0x80 | (c >> 12 & 0x3f));
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
		*to++ = (char)(0x80 | (c & 0x3f));
	}
	return to;
}

static const char *encode(struct sp_python *p, const char *characters, size_t n, unsigned width)
{
	enum { WIDEST = 6 };
	char *text = malloc(n * WIDEST + 1), *end = text;
	for (size_t i = 0; text && i < n; i++) {
		uint32_t c = 0;
		memcpy(&c, characters + i * width, width); /* little-endian, as are all supported machines */
		if (c > 0x10ffff) {
			free(text);
			return NULL;
		}
		end = put_utf8(end, c);
	}
	const char *copy = text ? sp_arena_copy(&p->arena, text, (size_t)(end - text)) : NULL;
	free(text);
	return copy;
}

/* Finds the characters of a str; false: not a str. */
static bool text_data(struct sp_python *p, uint64_t at, uint64_t *data, uint64_t *length, unsigned *width)
{
	char head[HEAD_BYTES];
	if (!sp_target_read(p->t, at, head, p->at.text_state + 4))
		return false;
	uint64_t type = sp_u64(head, p->at.object_type);
	if (type != p->text_type) {
		if (!has_flag(p, type, IS_TEXT))
			return false;
		p->text_type = type;
	}
	const uint32_t state = sp_u32(head, p->at.text_state) >> p->at.text_kind; /* kind: 3 bits, compact, ascii */
	bool compact = state >> 3 & 1, ascii = state >> 4 & 1;
	*width = state & 7;
	*length = sp_u64(head, p->at.text_length);
	*data = at + (ascii ? p->at.text_ascii : p->at.text_compact);
	if (!compact && !sp_target_read(p->t, at + p->at.text_compact, data, sizeof *data))
		return false;
	return *length <= MAX_TEXT && (*width == 1 || *width == 2 || *width == 4);
}

const char *sp_object_text(struct sp_python *p, uint64_t at)
{
	uint64_t data, length;
	unsigned width;
	if (!text_data(p, at, &data, &length, &width))
		return NULL;
	char *characters = malloc(length * width + 1);
	const char *text = NULL;
	if (characters && (!length || sp_target_read(p->t, data, characters, length * width)))
		text = encode(p, characters, length, width);
	free(characters);
	return text;
}

unsigned char *sp_object_bytes(struct sp_python *p, uint64_t at, size_t *n)
{
	char head[HEAD_BYTES];
	if (!sp_target_read(p->t, at, head, p->at.object_size + 8) ||
	    !has_flag(p, sp_u64(head, p->at.object_type), IS_BYTES))
		return NULL;
	uint64_t size = sp_u64(head, p->at.object_size);
	unsigned char *bytes = size <= MAX_BYTES ? malloc(size + 1) : NULL;
	if (bytes && size && !sp_target_read(p->t, at + p->at.bytes_data, bytes, size)) {
		free(bytes);
		bytes = NULL;
	}
	*n = size;
	return bytes;
}

/* ---- dict ---- */

struct keys {
	uint64_t entries, n;
	unsigned bytes, key; /* bytes: size of an entry; key: offset of its key, which the value follows */
};

/* struct _dictkeysobject: dk_refcnt, dk_size, dk_lookup, dk_usable, dk_nentries, dk_indices */
static bool keys_before_311(const char *head, uint64_t at, struct keys *k)
{
	uint64_t size = sp_u64(head, 8);
	unsigned width = size <= 0xff ? 1 : size <= 0xffff ? 2 : size <= 0xffffffff ? 4 : 8;
	*k = (struct keys){at + 40 + size * width, sp_u64(head, 32), 24, 8};
	return size <= UINT64_C(1) << 40;
}

/* dk_refcnt, dk_log2_size, dk_log2_index_bytes, dk_kind (0: keys of all types, with their hashes), dk_version,
 * dk_usable, dk_nentries, dk_indices */
static bool keys_from_311(const char *head, uint64_t at, struct keys *k)
{
	unsigned log2_bytes = (unsigned char)head[9], kind = (unsigned char)head[10];
	*k =
	    (struct keys){at + 32 + (UINT64_C(1) << (log2_bytes & 63)), sp_u64(head, 24), kind ? 16 : 24, kind ? 0 : 8};
	return log2_bytes <= 40 && kind <= 2;
}

static bool is_name(struct sp_python *p, uint64_t key)
{
	static const char wanted[] = "__name__";
	uint64_t data, length;
	unsigned width;
	char text[sizeof wanted - 1];
	return text_data(p, key, &data, &length, &width) && width == 1 && length == sizeof text &&
	       sp_target_read(p->t, data, text, sizeof text) && !memcmp(text, wanted, sizeof text);
}

/* Whether a key is "__name__". same: the interned string, as in modules; otherwise any equal text, as in globals from a
 * pickle. */
static bool is_name_key(struct sp_python *p, uint64_t key, bool same)
{
	if (same && p->name_key)
		return key == p->name_key;
	if (!is_name(p, key))
		return false;
	if (same)
		p->name_key = key;
	return true;
}

/* Finds the value of "__name__"; 0: not found. Returns false if inconsistent. */
static bool find_name(struct sp_python *p, const struct keys *k, bool same, uint64_t *value)
{
	char entries[AT_ONCE * 24];
	*value = 0;
	const uint64_t limit = same || !p->name_key ? MAX_ENTRIES : MAX_READ;
	for (uint64_t i = 0; i < k->n && i < limit; i += AT_ONCE) {
		uint64_t n = k->n - i < AT_ONCE ? k->n - i : AT_ONCE;
		if (!sp_target_read(p->t, k->entries + i * k->bytes, entries, n * k->bytes))
			return false;
		for (uint64_t j = 0; j < n; j++) {
			uint64_t key = sp_u64(entries, (uint32_t)(j * k->bytes + k->key));
			uint64_t v = sp_u64(entries, (uint32_t)(j * k->bytes + k->key + 8));
			if (key && v && is_name_key(p, key, same)) {
				*value = v;
				return true;
			}
		}
	}
	return true;
}

const char *sp_object_module(struct sp_python *p, uint64_t globals)
{
	static const char unknown[] = "unknown";
	char head[HEAD_BYTES];
	struct keys k;
	uint64_t value;
	if (!sp_target_read(p->t, globals, head, p->at.dict_keys + 8))
		return NULL;
	if (!has_flag(p, sp_u64(head, p->at.object_type), IS_DICT))
		return unknown;
	uint64_t keys = sp_u64(head, p->at.dict_keys);
	if (!sp_target_read(p->t, keys, head, 40) ||
	    !(p->version < 0x030b ? keys_before_311(head, keys, &k) : keys_from_311(head, keys, &k)) ||
	    !find_name(p, &k, true, &value) || (!value && !find_name(p, &k, false, &value)))
		return NULL;
	const char *name = value ? sp_object_text(p, value) : NULL;
	return name ? name : unknown;
}
