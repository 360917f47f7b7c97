/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A payload: numbers as columns, and a description of them.
 *
 *   u32 0x4f435053 ("SPCO")      u32 bytes of the header, a multiple of 8
 *   header: {"meta":{…},"columns":{"NAME":{"type":"f64","at":0,"n":3},…}} and spaces
 *   the columns, each aligned to 8; `at` counts from the end of the header
 *
 * Little-endian. Times are f64 seconds; points in time count from the experiment's begin. 0xffffffff means no index.
 * python/spartito/view/payload.py and viewer/src/data/columns.ts read and write the same format.
 */
#ifndef SP_VIEW_COLUMNS_H
#define SP_VIEW_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/str.h"

#define SP_COLUMNS_MAGIC 0x4f435053u

enum sp_column_type { SP_COLUMN_F64, SP_COLUMN_F32, SP_COLUMN_U32, SP_COLUMN_I32, SP_COLUMN_U8, SP_COLUMN_TYPES };

struct sp_columns;

/* Makes an empty payload; NULL: no memory. Later failures are reported only by sp_columns_seal(). */
struct sp_columns *sp_columns_new(void);
void sp_columns_free(struct sp_columns *c);

/* Adds a column of n zeros and returns it; NULL: no memory. The name is copied. */
void *sp_columns_add(struct sp_columns *c, const char *name, enum sp_column_type type, size_t n);
/* The same without setting zeros, for a column that is written completely. */
void *sp_columns_reserve(struct sp_columns *c, const char *name, enum sp_column_type type, size_t n);
/* Reduces the number of rows of a column to n. */
void sp_columns_cut(struct sp_columns *c, const char *name, size_t n);
bool sp_columns_failed(const struct sp_columns *c);

/* Functions that write the meta object, member after member; key NULL: an element of the open list. Invalid UTF-8 is
 * written as by Python's backslashreplace. Infinite numbers and NaN become null. */
void sp_meta_text(struct sp_columns *c, const char *key, struct sp_str s);
void sp_meta_real(struct sp_columns *c, const char *key, double v);
void sp_meta_uint(struct sp_columns *c, const char *key, uint64_t v);
void sp_meta_bool(struct sp_columns *c, const char *key, bool v);
void sp_meta_index(struct sp_columns *c, const char *key, uint32_t v);  /* null for SP_NONE */
void sp_meta_open(struct sp_columns *c, const char *key, char bracket); /* '[' or '{' */
void sp_meta_close(struct sp_columns *c, char bracket);                 /* ']' or '}' */

static inline struct sp_str sp_literal(const char *s)
{
	size_t n = 0;

	while (s[n])
		n++;
	return (struct sp_str){s, n};
}

/* Completes the columns and meta; *bytes: size of the payload, which sp_columns_write() writes to `to`. Returns 0, or
 * -1 with e set. */
int sp_columns_seal(struct sp_columns *c, size_t *bytes, struct sp_err *e);
void sp_columns_write(const struct sp_columns *c, char *to);

#endif
