/* SPDX-License-Identifier: BSD-3-Clause */
#include "view/columns.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/grow.h"
#include "base/utf8.h"
#include "model/str.h"

static const struct {
	const char *name;
	size_t bytes;
} types[SP_COLUMN_TYPES] = {[SP_COLUMN_F64] = {"f64", 8},
                            [SP_COLUMN_F32] = {"f32", 4},
                            [SP_COLUMN_U32] = {"u32", 4},
                            [SP_COLUMN_I32] = {"i32", 4},
                            [SP_COLUMN_U8] = {"u8", 1}};

struct column {
	char *name; /* owned */
	void *p;    /* owned */
	size_t n, at;
	enum sp_column_type type;
};

struct sp_columns {
	char *text; /* owned; text of the header */
	size_t n, capacity;
	struct column *columns; /* owned */
	size_t n_columns, column_capacity;
	bool failed; /* no memory */
};

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the columns are written as they are in memory, which has to be little-endian"
#endif

/* ---- text of the header ---- */

static char *reserve(struct sp_columns *c, size_t n)
{
	char *larger;

	if (c->failed)
		return NULL;
	if (c->capacity - c->n < n) {
		larger = realloc(c->text, c->capacity * 2 + n);
		if (!larger) {
			c->failed = true;
			return NULL;
		}
		c->text = larger;
		c->capacity = c->capacity * 2 + n;
	}
	return c->text + c->n;
}

static void put(struct sp_columns *c, const char *s, size_t n)
{
	char *to = reserve(c, n);

	if (!to)
		return;
	memcpy(to, s, n);
	c->n += n;
}

static void quoted(struct sp_columns *c, struct sp_str s)
{
	static const char hex[] = "0123456789abcdef";
	const unsigned char *p = (const unsigned char *)s.p, *end = p + s.n;
	char *to = reserve(c, s.n * 6 + 2), *at = to;

	if (!to)
		return;
	*at++ = '"';
	while (p < end) {
		size_t n = sp_utf8_sequence(p, (size_t)(end - p));

		if (n == 0) { /* \xNN; JSON requires the backslash to be doubled */
			memcpy(at, "\\\\x", 3);
			at[3] = hex[*p >> 4];
			at[4] = hex[*p++ & 15];
			at += 5;
		} else if (n == 1 && (*p < 0x20 || *p == 0x7f)) {
			memcpy(at, "\\u00", 4);
			at[4] = hex[*p >> 4];
			at[5] = hex[*p++ & 15];
			at += 6;
		} else {
			if (*p == '"' || *p == '\\')
				*at++ = '\\';
			for (; n; n--)
				*at++ = (char)*p++;
		}
	}
	*at++ = '"';
	c->n += (size_t)(at - to);
}

/* Writes the comma and the key before a value. */
static void before(struct sp_columns *c, const char *key)
{
	if (c->n && c->text[c->n - 1] != '{' && c->text[c->n - 1] != '[')
		put(c, ",", 1);
	if (!key)
		return;
	quoted(c, sp_literal(key));
	put(c, ":", 1);
}

void sp_meta_text(struct sp_columns *c, const char *key, struct sp_str s)
{
	before(c, key);
	quoted(c, s);
}

void sp_meta_real(struct sp_columns *c, const char *key, double v)
{
	char text[40];
	int n = snprintf(text, sizeof(text), isfinite(v) ? "%.17g" : "null", v);

	before(c, key);
	put(c, text, (size_t)n);
}

void sp_meta_uint(struct sp_columns *c, const char *key, uint64_t v)
{
	char text[24];
	int n = snprintf(text, sizeof(text), "%" PRIu64, v);

	before(c, key);
	put(c, text, (size_t)n);
}

void sp_meta_bool(struct sp_columns *c, const char *key, bool v)
{
	before(c, key);
	put(c, v ? "true" : "false", v ? 4 : 5);
}

void sp_meta_index(struct sp_columns *c, const char *key, uint32_t v)
{
	if (v != SP_NONE) {
		sp_meta_uint(c, key, v);
		return;
	}
	before(c, key);
	put(c, "null", 4);
}

void sp_meta_open(struct sp_columns *c, const char *key, char bracket)
{
	before(c, key);
	put(c, &bracket, 1);
}

void sp_meta_close(struct sp_columns *c, char bracket)
{
	put(c, &bracket, 1);
}

/* ---- columns ---- */

struct sp_columns *sp_columns_new(void)
{
	struct sp_columns *c = calloc(1, sizeof(*c));

	if (c)
		put(c, "{\"meta\":{", 9);
	return c;
}

void sp_columns_free(struct sp_columns *c)
{
	size_t i;

	if (!c)
		return;
	for (i = 0; i < c->n_columns; i++) {
		free(c->columns[i].name);
		free(c->columns[i].p);
	}
	free(c->columns);
	free(c->text);
	free(c);
}

static void *add(struct sp_columns *c, const char *name, enum sp_column_type type, size_t n, bool zero)
{
	struct column x = {.n = n, .type = type};

	if (!sp_grow(&c->columns, c->n_columns, &c->column_capacity, sizeof(*c->columns))) {
		c->failed = true;
		return NULL;
	}
	x.name = strdup(name);
	if (n < SIZE_MAX / 16)
		x.p = zero ? calloc(n + 1, types[type].bytes) : malloc((n + 1) * types[type].bytes);
	if (!x.name || !x.p) {
		free(x.name);
		free(x.p);
		c->failed = true;
		return NULL;
	}
	c->columns[c->n_columns++] = x;
	return x.p;
}

void *sp_columns_add(struct sp_columns *c, const char *name, enum sp_column_type type, size_t n)
{
	return add(c, name, type, n, true);
}

void *sp_columns_reserve(struct sp_columns *c, const char *name, enum sp_column_type type, size_t n)
{
	return add(c, name, type, n, false);
}

void sp_columns_cut(struct sp_columns *c, const char *name, size_t n)
{
	size_t i;

	for (i = 0; i < c->n_columns; i++)
		if (strcmp(c->columns[i].name, name) == 0 && n < c->columns[i].n)
			c->columns[i].n = n;
}

bool sp_columns_failed(const struct sp_columns *c)
{
	return c->failed;
}

static size_t aligned(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

int sp_columns_seal(struct sp_columns *c, size_t *bytes, struct sp_err *e)
{
	size_t at = 0, i;

	sp_meta_close(c, '}');
	sp_meta_open(c, "columns", '{');
	for (i = 0; i < c->n_columns; i++) {
		struct column *x = &c->columns[i];

		x->at = at;
		sp_meta_open(c, x->name, '{');
		sp_meta_text(c, "type", sp_literal(types[x->type].name));
		sp_meta_uint(c, "at", at);
		sp_meta_uint(c, "n", x->n);
		sp_meta_close(c, '}');
		at += aligned(x->n * types[x->type].bytes);
	}
	put(c, "}}", 2);
	while (!c->failed && c->n % 8)
		put(c, " ", 1);
	if (c->failed)
		return sp_fail(e, ENOMEM, "not enough memory");
	if (c->n > UINT32_MAX)
		return sp_fail(e, EFBIG, "the names take more than 4 GiB");
	*bytes = 8 + c->n + at;
	return 0;
}

void sp_columns_write(const struct sp_columns *c, char *to)
{
	const uint32_t head[2] = {SP_COLUMNS_MAGIC, (uint32_t)c->n};
	size_t i;

	memcpy(to, head, sizeof(head));
	memcpy(to + sizeof(head), c->text, c->n);
	to += sizeof(head) + c->n;
	for (i = 0; i < c->n_columns; i++) {
		const struct column *x = &c->columns[i];
		size_t n = x->n * types[x->type].bytes;

		memcpy(to + x->at, x->p, n);
		memset(to + x->at + n, 0, aligned(n) - n);
	}
}
