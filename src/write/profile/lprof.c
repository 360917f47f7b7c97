/* SPDX-License-Identifier: BSD-3-Clause */
/* The output of pickle.dump() for line_profiler's LineStats, from which `python -m line_profiler` prints its tables:
 * {(file, first line, function): [(line, hits, time)…]} with times in nanoseconds. Protocol 4, which Python 3.8 and
 * later read, without memo and frames, which are optional. */
#include <errno.h>
#include <stdlib.h>

#include "model/line.h"
#include "model/model.h"
#include "model/region.h"
#include "model/report/lines.h"
#include "model/str.h"
#include "write/common/formats.h"
#include "write/common/out.h"

static const char CLASS[] = "line_profiler.line_profiler", NAME[] = "LineStats";
static const double UNIT = 1e-9; /* seconds */

static void put_bytes_of(struct sp_out *out, uint64_t v, unsigned n)
{
	char *p = sp_out_reserve(out, n);

	for (unsigned i = 0; i < n; i++)
		p[i] = (char)(v >> 8 * i);
	out->n += n;
}

static void put_int(struct sp_out *out, uint64_t v)
{
	if (v <= UINT8_MAX) {
		sp_out_byte(out, 'K');
		put_bytes_of(out, v, 1);
	} else if (v <= UINT16_MAX) {
		sp_out_byte(out, 'M');
		put_bytes_of(out, v, 2);
	} else if (v <= INT32_MAX) {
		sp_out_byte(out, 'J');
		put_bytes_of(out, v, 4);
	} else { /* two's complement: a ninth byte, so that the highest bit is not a sign */
		sp_out_bytes(out, "\x8a\x09", 2);
		put_bytes_of(out, v, 8);
		sp_out_byte(out, 0);
	}
}

static void put_real(struct sp_out *out, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof bits);
	sp_out_byte(out, 'G');
	for (int shift = 56; shift >= 0; shift -= 8)
		sp_out_byte(out, (char)(bits >> shift));
}

/* pickle rejects a string that is not UTF-8: invalid bytes become '?'. */
static void put_text(struct sp_out *out, struct sp_str s)
{
	const unsigned char *p = (const unsigned char *)s.p;
	size_t len;

	sp_out_byte(out, 'X');
	put_bytes_of(out, (uint32_t)s.n, 4);
	for (size_t i = 0; i < s.n; i += len) {
		len = sp_utf8_sequence(p + i, s.n - i);
		if (len) {
			sp_out_bytes(out, p + i, len);
		} else {
			sp_out_byte(out, '?');
			len = 1;
		}
	}
}

static int compare(struct sp_str a, struct sp_str b)
{
	int by = memcmp(a.p, b.p, a.n < b.n ? a.n : b.n);

	return by ? by : a.n < b.n ? -1 : a.n > b.n;
}

/* line_profiler does not know modules: regions that differ only in the module (__main__ and __mp_main__) are one
 * function. */
static int by_function(const struct sp_region *p, const struct sp_region *q)
{
	int by = compare(p->file, q->file);

	if (by)
		return by;
	if (p->line != q->line)
		return p->line < q->line ? -1 : 1;
	return compare(p->qualname, q->qualname);
}

static int by_line(const void *a, const void *b, void *arg)
{
	const struct sp_model *m = arg;
	const struct sp_line *x = a, *y = b;
	int by = by_function(&m->regions[x->region], &m->regions[y->region]);

	return by ? by : x->line < y->line ? -1 : x->line > y->line;
}

static void put_function(struct sp_out *out, const struct sp_region *r)
{
	put_text(out, r->file);
	put_int(out, r->line);
	put_text(out, r->qualname);
	sp_out_text(out, "\x87](");
}

static void put_timings(struct sp_out *out, const struct sp_model *m, const struct sp_line *v, size_t n)
{
	for (size_t i = 0; i < n;) {
		struct sp_line sum = v[i];
		const bool first = i == 0 || by_function(&m->regions[v[i - 1].region], &m->regions[v[i].region]);

		if (first) {
			sp_out_text(out, i ? "e" : "");
			put_function(out, &m->regions[v[i].region]);
		}
		for (i++; i < n && by_line(&v[i - 1], &v[i], (void *)m) == 0; i++) {
			sum.hits += v[i].hits;
			sum.own += v[i].own;
			sum.callees += v[i].callees;
		}
		put_int(out, sum.line);
		put_int(out, sum.hits);
		put_int(out, sum.own + sum.callees);
		sp_out_byte(out, '\x87');
	}
	sp_out_text(out, n ? "e" : "");
}

static void put_all(struct sp_out *out, const struct sp_model *m, const struct sp_line *v, size_t n)
{
	sp_out_text(out, "\x80\x04");
	put_text(out, sp_text(CLASS));
	put_text(out, sp_text(NAME));
	sp_out_text(out, "\x93)\x81}(");
	put_text(out, sp_text("timings"));
	sp_out_text(out, "}(");
	put_timings(out, m, v, n);
	sp_out_byte(out, 'u');
	put_text(out, sp_text("unit"));
	put_real(out, UNIT);
	sp_out_text(out, "ub.");
}

/* Removes lines with unknown hits, because line_profiler divides by the hits. Returns the new number. */
static size_t counted(struct sp_line *v, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (v[i].hits)
			v[kept++] = v[i];
	return kept;
}

int sp_write_lprof(const struct sp_model *m, const char *path, const struct sp_write_options *o, struct sp_err *e)
{
	struct sp_line *v;
	struct sp_out out;
	size_t n;

	if (!m->n_lines)
		return sp_fail(e, EINVAL,
		               "the format lprof needs the lines of functions, which this experiment does not "
		               "hold: measure with --lines");
	if (sp_write_tick(o, 0, 1, e) || sp_lines_sum(&v, &n, m, o->process, SP_NONE, e))
		return -1;
	n = counted(v, n);
	if (!n) {
		free(v);
		return sp_fail(
		    e, EINVAL,
		    "the format lprof needs lines that were counted: measure with --lines (samples do not tell "
		    "how often a line ran)");
	}
	qsort_r(v, n, sizeof *v, by_line, (void *)m);
	int rc = sp_out_open(&out, path, e);
	if (rc == 0) {
		put_all(&out, m, v, n);
		rc = sp_out_close(&out, 0, e);
	}
	free(v);
	return rc;
}
