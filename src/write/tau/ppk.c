/* SPDX-License-Identifier: BSD-3-Clause */
/* ParaProf's packed profile: the rows of TAU's text profiles in one file, big-endian as in Java, and gzipped if zlib is
 * available. The tables come before the first number, so traces are read twice. */
#include <errno.h>
#include <stdlib.h>
#ifdef SP_HAVE_ZLIB
#include <zlib.h>
#endif

#include "model/model.h"
#include "model/process.h"
#include "model/str.h"
#include "write/common/formats.h"
#include "write/tau/tau.h"

enum { VERSION = 2, COMPATIBLE = 1, BUFFER = 1 << 16 };

struct packed {
	struct sp_tau t;
	struct sp_tau_values values;
	struct sp_tau_events events;
	struct sp_out out;
	uint32_t *number_of_slot, *number_of_event; /* numbers in the file; SP_NONE: not in the file */
	bool groups[SP_TAU_GROUPS];
	bool measuring; /* nothing is written, only counted */
	uint64_t measured;
	unsigned char buf[BUFFER];
	size_t n;
#ifdef SP_HAVE_ZLIB
	z_stream z;
#endif
};

/* ---- bytes ---- */

#ifdef SP_HAVE_ZLIB
static int begin(struct packed *x)
{
	enum { GZIP = 16 };

	return deflateInit2(&x->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK
	           ? 0
	           : -1;
}

static void flush(struct packed *x, int how)
{
	x->z.next_in = x->buf;
	x->z.avail_in = (uInt)x->n;
	do {
		char *to = sp_out_reserve(&x->out, BUFFER);
		x->z.next_out = (unsigned char *)to;
		x->z.avail_out = BUFFER;
		deflate(&x->z, how); /* can fail only if its state is damaged */
		x->out.n += BUFFER - x->z.avail_out;
	} while (x->z.avail_out == 0);
	x->n = 0;
}

static void more(struct packed *x)
{
	flush(x, Z_NO_FLUSH);
}

static void end(struct packed *x)
{
	flush(x, Z_FINISH);
	deflateEnd(&x->z);
}
#else
static int begin(struct packed *x)
{
	(void)x;
	return 0;
}

static void more(struct packed *x)
{
	sp_out_bytes(&x->out, x->buf, x->n);
	x->n = 0;
}

static void end(struct packed *x)
{
	more(x);
}
#endif

static void put_byte(struct packed *x, unsigned byte)
{
	if (x->measuring) {
		x->measured++;
		return;
	}
	if (x->n == BUFFER)
		more(x);
	x->buf[x->n++] = (unsigned char)byte;
}

static void put_big(struct packed *x, uint64_t v, int bytes)
{
	while (bytes-- > 0)
		put_byte(x, (unsigned)(v >> 8 * bytes) & 0xff);
}

static void put_int(struct packed *x, uint64_t v)
{
	put_big(x, v < INT32_MAX ? v : INT32_MAX, 4);
}

static void put_real(struct packed *x, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof bits);
	put_big(x, bits, 8);
}

/* Writes a character beyond U+FFFF as two surrogates. */
static void put_surrogates(struct packed *x, const unsigned char *p)
{
	const uint32_t c = ((uint32_t)(p[0] & 7) << 18 | (uint32_t)(p[1] & 63) << 12 | (uint32_t)(p[2] & 63) << 6 |
	                    (uint32_t)(p[3] & 63)) -
	                   0x10000;
	const uint32_t both[2] = {0xd800 | c >> 10, 0xdc00 | (c & 0x3ff)};

	for (int i = 0; i < 2; i++) {
		put_byte(x, 0xe0 | both[i] >> 12);
		put_byte(x, 0x80 | (both[i] >> 6 & 63));
		put_byte(x, 0x80 | (both[i] & 63));
	}
}

/* s must be UTF-8 without NUL, of at most SP_TAU_NAME bytes. */
static void put_utf(struct packed *x, struct sp_str s)
{
	put_big(x, sp_tau_bytes(s), 2);
	for (size_t i = 0; i < s.n; i++) {
		if ((unsigned char)s.p[i] >= 0xf0) {
			put_surrogates(x, (const unsigned char *)s.p + i);
			i += 3;
		} else {
			put_byte(x, (unsigned char)s.p[i]);
		}
	}
}

static void put_place(struct packed *x, uint32_t location)
{
	const struct sp_location *l = &x->t.m->locations[location];

	put_int(x, x->t.node[l->process]);
	put_int(x, 0);
	put_int(x, location - x->t.m->processes[l->process].first_location);
}

/* ---- choice of rows and events ---- */

static uint32_t number(uint32_t *numbers, size_t n)
{
	uint32_t next = 0;

	for (size_t i = 0; i < n; i++)
		if (numbers[i] != SP_NONE)
			numbers[i] = next++;
	return next;
}

static void mark_groups(struct packed *x, uint32_t slot)
{
	const struct sp_tau_function *f = &x->t.functions[sp_tau_slot_function(&x->t, slot)];

	x->groups[f->group] = true;
	x->groups[SP_TAU_PARAM] |= f->parameter;
	x->groups[SP_TAU_CALLPATH] |= slot >= x->t.n_functions;
}

/* Marks the rows and events that occur in a thread. */
static int find_used(struct packed *x, const struct sp_write_options *o, struct sp_err *e)
{
	const uint32_t first = x->t.k.first, n = x->t.k.end - first;
	int rc = 0;

	memset(x->number_of_slot, 0xff, sp_tau_slots(&x->t) * sizeof *x->number_of_slot);
	memset(x->number_of_event, 0xff, x->events.n_names * sizeof *x->number_of_event);
	for (uint32_t i = 0; rc == 0 && i < n; i++) {
		rc = sp_tau_events_read(&x->events, &x->t, first + i, e);
		for (uint32_t k = 0; rc == 0 && k < x->events.n; k++)
			x->number_of_event[x->events.seen[k]] = 0;
		sp_tau_values_read(&x->values, &x->t, first + i);
		for (size_t k = 0; k < x->values.n; k++)
			x->number_of_slot[x->values.slots[k]] = 0;
		if (rc == 0)
			rc = sp_write_tick(o, i, 2 * (uint64_t)n, e);
	}
	return rc;
}

/* ---- the file ---- */

static void put_attributes(struct packed *x, uint32_t location, struct sp_arena *scratch)
{
	struct sp_tau_metadata d;
	struct sp_str value;

	sp_tau_metadata(&d, &x->t, location);
	put_place(x, location);
	put_int(x, d.n);
	for (size_t i = 0; i < d.n; i++) {
		put_utf(x, sp_text(d.rows[i].name));
		value = sp_tau_text(scratch, d.rows[i].value);
		put_utf(x, value.p ? value : sp_text(""));
	}
}

static void put_header(struct packed *x)
{
	put_int(x, 0);
	put_int(x, 1);
	put_utf(x, sp_text("Written by"));
	put_utf(x, sp_text("Spartito"));
	put_int(x, x->t.k.end - x->t.k.first);
	for (uint32_t l = x->t.k.first; l < x->t.k.end; l++) {
		struct sp_arena scratch = {0};
		put_attributes(x, l, &scratch);
		sp_arena_free(&scratch);
	}
}

static void put_tables(struct packed *x)
{
	struct sp_tau *t = &x->t;
	const uint32_t slots = sp_tau_slots(t);
	uint32_t groups = 0, number_of_group[SP_TAU_GROUPS];

	put_int(x, t->n_columns);
	for (uint32_t c = 0; c < t->n_columns; c++) {
		struct sp_str name = sp_tau_text(&t->arena, sp_tau_column(t, c));
		put_utf(x, name.p ? name : sp_text("?"));
	}
	for (int g = 0; g < SP_TAU_GROUPS; g++)
		number_of_group[g] = x->groups[g] ? groups++ : SP_NONE;
	put_int(x, groups);
	for (int g = 0; g < SP_TAU_GROUPS; g++)
		if (x->groups[g])
			put_utf(x, sp_text(sp_tau_groups[g]));
	put_int(x, number(x->number_of_slot, slots));
	for (uint32_t s = 0; s < slots; s++) {
		if (x->number_of_slot[s] == SP_NONE)
			continue;
		const struct sp_tau_function *f = &t->functions[sp_tau_slot_function(t, s)];
		const bool callpath = s >= t->n_functions;
		put_utf(x, sp_tau_slot_name(t, s));
		put_int(x, 1u + callpath + f->parameter);
		if (callpath)
			put_int(x, number_of_group[SP_TAU_CALLPATH]);
		if (f->parameter)
			put_int(x, number_of_group[SP_TAU_PARAM]);
		put_int(x, number_of_group[f->group]);
	}
	put_int(x, number(x->number_of_event, x->events.n_names));
	for (uint32_t i = 0; i < x->events.n_names; i++)
		if (x->number_of_event[i] != SP_NONE)
			put_utf(x, x->events.names[i]);
}

static void put_numbers(struct packed *x, uint32_t location)
{
	const struct sp_tau_values *v = &x->values;

	put_place(x, location);
	put_int(x, v->n);
	for (size_t i = 0; i < v->n; i++) {
		const uint32_t slot = v->slots[i];
		put_int(x, x->number_of_slot[slot]);
		put_real(x, v->calls[slot]);
		put_real(x, v->subrs[slot]);
		for (uint32_t c = 0; c < x->t.n_columns; c++) {
			put_real(x, v->pairs[(size_t)slot * x->t.n_columns + c].excl);
			put_real(x, v->pairs[(size_t)slot * x->t.n_columns + c].incl);
		}
	}
	put_int(x, x->events.n);
	for (uint32_t i = 0; i < x->events.n; i++) {
		const struct sp_tau_event *ev = &x->events.events[x->events.seen[i]];
		put_int(x, x->number_of_event[x->events.seen[i]]);
		put_int(x, ev->n);
		put_real(x, ev->min);
		put_real(x, ev->max);
		put_real(x, ev->sum / (double)ev->n);
		put_real(x, ev->sumsq);
	}
}

static int put_all(struct packed *x, const struct sp_write_options *o, struct sp_err *e)
{
	const uint32_t first = x->t.k.first, n = x->t.k.end - first;
	int rc = 0;

	put_big(x, 'P', 2);
	put_big(x, 'P', 2);
	put_big(x, 'K', 2);
	put_int(x, VERSION);
	put_int(x, COMPATIBLE);
	x->measuring = true;
	put_header(x);
	x->measuring = false;
	put_int(x, x->measured);
	put_header(x);
	put_tables(x);
	put_int(x, n);
	for (uint32_t i = 0; rc == 0 && i < n; i++) {
		rc = sp_tau_events_read(&x->events, &x->t, first + i, e);
		sp_tau_values_read(&x->values, &x->t, first + i);
		put_numbers(x, first + i);
		if (rc == 0)
			rc = sp_write_tick(o, (uint64_t)n + i + 1, 2 * (uint64_t)n, e);
	}
	return rc;
}

static int prepare(struct packed *x, const struct sp_write_options *o, struct sp_err *e)
{
	x->number_of_slot = sp_arena_alloc(&x->t.arena, sp_tau_slots(&x->t) * sizeof *x->number_of_slot);
	x->number_of_event = sp_arena_alloc(&x->t.arena, x->events.n_names * sizeof *x->number_of_event);
	if (!x->number_of_slot || !x->number_of_event)
		return sp_fail(e, ENOMEM, "out of memory");
	if (find_used(x, o, e))
		return -1;
	for (uint32_t s = 0; s < sp_tau_slots(&x->t); s++)
		if (x->number_of_slot[s] != SP_NONE)
			mark_groups(x, s);
	return 0;
}

int sp_write_ppk(const struct sp_model *m, const char *path, const struct sp_write_options *o, struct sp_err *e)
{
	struct packed *x = calloc(1, sizeof *x);

	if (!x)
		return sp_fail(e, ENOMEM, "out of memory");
	int rc = sp_tau_open(&x->t, m, o, e);
	if (rc == 0)
		rc = sp_tau_values_open(&x->values, &x->t, e);
	if (rc == 0)
		rc = sp_tau_events_open(&x->events, &x->t, e);
	if (rc == 0)
		rc = prepare(x, o, e);
	if (rc == 0)
		rc = sp_out_open(&x->out, path, e);
	if (rc == 0) {
		rc = begin(x) ? sp_fail(e, ENOMEM, "out of memory") : 0;
		if (rc == 0) {
			rc = put_all(x, o, e);
			end(x);
		}
		rc = sp_out_close(&x->out, rc, e);
	}
	sp_tau_events_close(&x->events);
	sp_tau_values_close(&x->values);
	sp_tau_close(&x->t);
	free(x);
	return rc;
}
