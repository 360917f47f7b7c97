/* SPDX-License-Identifier: BSD-3-Clause */
/* What all writers share: output files that appear complete or not at all, and the values of the selected processes. */
#ifndef SP_WRITE_COMMON_OUT_H
#define SP_WRITE_COMMON_OUT_H

#include <string.h>

#include "base/utf8.h"
#include "model/model.h"
#include "model/path.h"
#include "model/str.h"
#include "write/common/writer.h"

#define SP_OUT_BUFFER (1u << 20)

struct sp_out;

/* A filter between the buffer and the file. */
struct sp_out_packer {
	void (*put)(struct sp_out *o, char *p, size_t n, bool last);
	void (*end)(struct sp_out_packer *packer); /* frees the packer */
};

/* An output file. Errors are stored: a writer may continue and check only the result of sp_out_close(). */
struct sp_out {
	int fd;
	int code;   /* the first errno */
	char *path; /* owned; symbolic links followed */
	/* owned; temporary file that is written until the end; NULL: path itself is written, which is not a regular
	 * file */
	char *part;
	char *buf; /* owned */
	size_t n;  /* number of bytes in buf */
	uint64_t flushed;
	struct sp_out_packer *packer; /* owned; NULL: no packer */
};

int sp_out_open(struct sp_out *o, const char *path, struct sp_err *e);
/* If rc is 0 and every write succeeded, renames the file to its final name; otherwise removes it. Returns 0 or -1; e is
 * set only if rc was 0. */
int sp_out_close(struct sp_out *o, int rc, struct sp_err *e);
void sp_out_flush(struct sp_out *o);
/* Writes directly to the file, without buffer and packer. */
void sp_out_raw(struct sp_out *o, const char *p, size_t n);
void sp_out_bytes(struct sp_out *o, const void *p, size_t n);
void sp_out_f(struct sp_out *o, const char *format, ...) __attribute__((format(printf, 2, 3)));
void sp_out_real(struct sp_out *o, double v); /* decimal; exact to 0.001 if the value is below 2^52 / 1000 */
/* Writes s escaped for JSON; invalid bytes become U+FFFD. sp_out_json() adds the quotes. */
void sp_out_escaped(struct sp_out *o, struct sp_str s);
void sp_out_json(struct sp_out *o, struct sp_str s);
/* Writes s as one line: control characters become spaces, and each character in instead[0] becomes the one in
 * instead[1]; instead may be NULL. */
void sp_out_line(struct sp_out *o, struct sp_str s, const char *instead);

static inline char *sp_out_reserve(struct sp_out *o, size_t n)
{
	if (o->n + n > SP_OUT_BUFFER)
		sp_out_flush(o);
	return o->buf + o->n;
}

static inline void sp_out_byte(struct sp_out *o, char c)
{
	*sp_out_reserve(o, 1) = c;
	o->n++;
}

static inline void sp_out_u64(struct sp_out *o, uint64_t v)
{
	char digits[20];
	int n = 0;

	do
		digits[n++] = (char)('0' + v % 10);
	while (v /= 10);
	char *p = sp_out_reserve(o, sizeof digits);
	o->n += (size_t)n;
	while (n)
		*p++ = digits[--n];
}

static inline void sp_out_text(struct sp_out *o, const char *s)
{
	sp_out_bytes(o, s, strlen(s));
}

static inline struct sp_str sp_text(const char *s)
{
	return (struct sp_str){s, strlen(s)};
}

/* Creates a directory that appears complete or not at all. The caller frees *part with free(). Returns 0, or -1 with e
 * set. */
int sp_out_dir_open(char **part, const char *path, struct sp_err *e);
int sp_out_dir_close(char *part, const char *path, int rc, struct sp_err *e); /* as sp_out_close(); frees part */

/* The locations [first, end) of the selected processes, and the value of each path summed over them. */
struct sp_pick {
	uint32_t first, end;
	const struct sp_value *totals;
	struct sp_value *owned; /* owned; NULL: totals are those of the model */
};
int sp_pick_open(struct sp_pick *k, const struct sp_model *m, const struct sp_write_options *o, struct sp_err *e);
void sp_pick_close(struct sp_pick *k);

/* Reports progress. Returns 0, or -1 with e set if the caller cancels. */
int sp_write_tick(const struct sp_write_options *o, uint64_t done, uint64_t total, struct sp_err *e);

#endif
