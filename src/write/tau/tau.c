/* SPDX-License-Identifier: BSD-3-Clause */
/* TAU's text profiles: profile.NODE.0.THREAD for each thread; with metrics, in a separate directory for each metric. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "model/model.h"
#include "model/process.h"
#include "model/str.h"
#include "write/common/formats.h"
#include "write/tau/tau.h"

enum { MAX_DIRECTORY = 200 };

struct text {
	struct sp_tau t;
	struct sp_tau_values values;
	struct sp_tau_events events;
	struct sp_out out;
	char **dirs; /* in the arena; for each column */
};

/* ---- directories ---- */

static bool taken(const struct text *x, uint32_t column)
{
	for (uint32_t c = 0; c < column; c++)
		if (strcmp(x->dirs[c], x->dirs[column]) == 0)
			return true;
	return false;
}

static char *name_directory(struct text *x, const char *dir, uint32_t column)
{
	struct sp_str s = sp_tau_column(&x->t, column);
	const size_t n = s.n < MAX_DIRECTORY ? s.n : MAX_DIRECTORY, capacity = strlen(dir) + n + 32;
	char *path = sp_arena_alloc(&x->t.arena, capacity);

	if (!path)
		return NULL;
	char *to = path + sprintf(path, "%s/MULTI__", dir);
	for (size_t i = 0; i < n; i++)
		*to++ = (char)((unsigned char)s.p[i] <= ' ' || strchr("/\\?%*:|\"<>=", s.p[i]) ? '_' : s.p[i]);
	*to = '\0';
	x->dirs[column] = path;
	if (taken(x, column))
		sprintf(to, "_%" PRIu32, column);
	return path;
}

static int make_directories(struct text *x, char *dir, struct sp_err *e)
{
	x->dirs = sp_arena_zalloc(&x->t.arena, x->t.n_columns, sizeof *x->dirs);
	if (!x->dirs)
		return sp_fail(e, ENOMEM, "out of memory");
	x->dirs[0] = dir;
	for (uint32_t c = 0; x->t.n_columns > 1 && c < x->t.n_columns; c++) {
		if (!name_directory(x, dir, c))
			return sp_fail(e, ENOMEM, "out of memory");
		if (mkdir(x->dirs[c], 0777))
			return sp_fail(e, errno, "%s: %s", x->dirs[c], strerror(errno));
	}
	return 0;
}

/* ---- a file ---- */

static void put_xml_run(struct sp_out *out, const char *p, size_t n)
{
	const bool marked = memchr(p, '<', n) || memchr(p, '&', n) || memchr(p, '>', n);

	if (marked)
		sp_out_text(out, "<![CDATA[");
	for (size_t i = 0, len; i < n; i += len) {
		len = sp_utf8_sequence((const unsigned char *)p + i, n - i);
		if (marked && n - i >= 3 && memcmp(p + i, "]]>", 3) == 0) {
			sp_out_text(out, "]]]]><![CDATA[>");
			len = 3;
		} else if (len == 0) {
			sp_out_byte(out, '?');
			len = 1;
		} else if ((unsigned char)p[i] < 0x20 || p[i] == 0x7f) {
			sp_out_byte(out, ' ');
		} else {
			sp_out_bytes(out, p + i, len);
		}
	}
	if (marked)
		sp_out_text(out, "]]>");
}

/* Writes a text without newlines, because all metadata must be in one line. */
static void put_xml(struct sp_out *out, struct sp_str s)
{
	const char *end = s.p + s.n, *p = s.p, *newline;

	while ((newline = memchr(p, '\n', (size_t)(end - p)))) {
		put_xml_run(out, p, (size_t)(newline - p));
		sp_out_text(out, "&#xa;");
		p = newline + 1;
	}
	put_xml_run(out, p, (size_t)(end - p));
}

static void put_attribute(struct sp_out *out, const char *name, struct sp_str value)
{
	sp_out_text(out, "<attribute><name>");
	sp_out_text(out, name);
	sp_out_text(out, "</name><value>");
	put_xml(out, value);
	sp_out_text(out, "</value></attribute>");
}

static void put_head(struct text *x, uint32_t column, const struct sp_tau_metadata *d)
{
	struct sp_out *out = &x->out;
	const struct sp_str metric = sp_tau_column(&x->t, column);

	sp_out_u64(out, x->values.n);
	sp_out_text(out, " templated_functions_MULTI_");
	sp_out_line(out, metric, NULL);
	sp_out_text(out, "\n# Name Calls Subrs Excl Incl ProfileCalls # <metadata>");
	put_attribute(out, "Metric Name", metric);
	for (size_t i = 0; i < d->n; i++)
		put_attribute(out, d->rows[i].name, d->rows[i].value);
	sp_out_text(out, "</metadata>\n");
}

static void put_row(struct text *x, uint32_t column, uint32_t slot)
{
	struct sp_out *out = &x->out;
	const struct sp_tau_function *f = &x->t.functions[sp_tau_slot_function(&x->t, slot)];
	const struct sp_tau_pair *pair = &x->values.pairs[(size_t)slot * x->t.n_columns + column];
	const struct sp_str name = sp_tau_slot_name(&x->t, slot);

	sp_out_byte(out, '"');
	sp_out_bytes(out, name.p, name.n);
	sp_out_f(out, "\" %.16G %.16G %.16G %.16G 0 GROUP=\"%s%s%s\" \n", x->values.calls[slot], x->values.subrs[slot],
	         pair->excl, pair->incl, slot < x->t.n_functions ? "" : "TAU_CALLPATH|",
	         f->parameter ? "TAU_PARAM|" : "", sp_tau_groups[f->group]);
}

static void put_events(struct text *x)
{
	struct sp_out *out = &x->out;

	if (!x->events.n)
		return;
	sp_out_f(out, "%" PRIu32 " userevents\n# eventname numevents max min mean sumsqr\n", x->events.n);
	for (uint32_t i = 0; i < x->events.n; i++) {
		const struct sp_tau_event *ev = &x->events.events[x->events.seen[i]];
		const struct sp_str name = x->events.names[x->events.seen[i]];
		sp_out_byte(out, '"');
		sp_out_bytes(out, name.p, name.n);
		sp_out_f(out, "\" %" PRIu64 " %.16G %.16G %.16G %.16G\n", ev->n, ev->max, ev->min,
		         ev->sum / (double)ev->n, ev->sumsq);
	}
}

static int put_file(struct text *x, uint32_t location, uint32_t column, const struct sp_tau_metadata *d,
                    struct sp_err *e)
{
	const struct sp_location *l = &x->t.m->locations[location];
	char *path;

	if (asprintf(&path, "%s/profile.%" PRIu32 ".0.%" PRIu32, x->dirs[column], x->t.node[l->process],
	             location - x->t.m->processes[l->process].first_location) < 0)
		return sp_fail(e, ENOMEM, "out of memory");
	int rc = sp_out_open(&x->out, path, e);
	free(path);
	if (rc)
		return rc;
	put_head(x, column, d);
	for (size_t i = 0; i < x->values.n; i++)
		put_row(x, column, x->values.slots[i]);
	sp_out_text(&x->out, "0 aggregates\n");
	put_events(x);
	return sp_out_close(&x->out, 0, e);
}

static int put_thread(struct text *x, uint32_t location, struct sp_err *e)
{
	struct sp_tau_metadata d;
	int rc = sp_tau_events_read(&x->events, &x->t, location, e);

	if (rc)
		return rc;
	sp_tau_values_read(&x->values, &x->t, location);
	sp_tau_metadata(&d, &x->t, location);
	for (uint32_t c = 0; rc == 0 && c < x->t.n_columns; c++)
		rc = put_file(x, location, c, &d, e);
	return rc;
}

static int put_all(struct text *x, const struct sp_write_options *o, struct sp_err *e)
{
	const uint32_t first = x->t.k.first, n = x->t.k.end - first;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < n; i++) {
		rc = put_thread(x, first + i, e);
		if (rc == 0)
			rc = sp_write_tick(o, i + 1, n, e);
	}
	return rc;
}

int sp_write_tau(const struct sp_model *m, const char *path, const struct sp_write_options *o, struct sp_err *e)
{
	struct text x = {0};
	char *dir = NULL;
	int rc = sp_tau_open(&x.t, m, o, e);

	if (rc == 0)
		rc = sp_tau_values_open(&x.values, &x.t, e);
	if (rc == 0)
		rc = sp_tau_events_open(&x.events, &x.t, e);
	if (rc == 0)
		rc = sp_out_dir_open(&dir, path, e);
	if (rc == 0) {
		rc = make_directories(&x, dir, e);
		if (rc == 0)
			rc = put_all(&x, o, e);
		rc = sp_out_dir_close(dir, path, rc, e);
	}
	sp_tau_events_close(&x.events);
	sp_tau_values_close(&x.values);
	sp_tau_close(&x.t);
	return rc;
}
