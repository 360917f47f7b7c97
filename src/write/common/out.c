/* SPDX-License-Identifier: BSD-3-Clause */
#include "write/common/out.h"
#include "model/model.h"
#include "model/path.h"
#include "model/process.h"
#include "model/str.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail_memory(struct sp_err *e)
{
	return sp_fail(e, ENOMEM, "out of memory");
}

/* A temporary name in the same directory as the target, so that rename() works. */
static char *part_name(const char *path, unsigned attempt)
{
	char *part;
	size_t n = strlen(path);

	while (n > 1 && path[n - 1] == '/')
		n--;
	if (asprintf(&part, "%.*s.part-%ld-%u", (int)n, path, (long)getpid(), attempt) < 0)
		return NULL;
	return part;
}

static int open_part(struct sp_out *o, struct sp_err *e)
{
	for (unsigned attempt = 0; attempt < 100; attempt++) {
		free(o->part);
		o->part = part_name(o->path, attempt);
		if (!o->part)
			return fail_memory(e);
		o->fd = open(o->part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (o->fd >= 0)
			return 0;
		if (errno != EEXIST)
			break;
	}
	int code = errno;
	free(o->part);
	o->part = NULL;
	return sp_fail(e, code, "%s: %s", o->path, strerror(code));
}

/* A pipe or a terminal cannot be replaced by a file: it is opened and written directly. */
static int open_special(struct sp_out *o, struct sp_err *e)
{
	o->fd = open(o->path, O_WRONLY | O_CLOEXEC);
	if (o->fd < 0)
		return sp_fail(e, errno, "%s: %s", o->path, strerror(errno));
	return 0;
}

int sp_out_open(struct sp_out *o, const char *path, struct sp_err *e)
{
	struct stat st;

	memset(o, 0, sizeof *o);
	o->fd = -1;
	bool exists = stat(path, &st) == 0;
	if (exists && S_ISDIR(st.st_mode))
		return sp_fail(e, EISDIR, "%s: is a directory", path);
	bool special = exists && !S_ISREG(st.st_mode);
	o->path = exists && !special ? realpath(path, NULL) : strdup(path);
	o->buf = malloc(SP_OUT_BUFFER);
	int rc = 0;
	if (!o->path || !o->buf)
		rc = fail_memory(e);
	else if (special)
		rc = open_special(o, e);
	else
		rc = open_part(o, e);
	if (rc) {
		free(o->path);
		free(o->buf);
	}
	return rc;
}

void sp_out_raw(struct sp_out *o, const char *p, size_t left)
{
	while (left && !o->code) {
		ssize_t n = write(o->fd, p, left);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			o->code = errno;
			break;
		}
		p += n;
		left -= (size_t)n;
	}
}

void sp_out_flush(struct sp_out *o)
{
	if (o->packer)
		o->packer->put(o, o->buf, o->n, false);
	else
		sp_out_raw(o, o->buf, o->n);
	o->flushed += o->n;
	o->n = 0;
}

int sp_out_close(struct sp_out *o, int rc, struct sp_err *e)
{
	if (rc == 0)
		sp_out_flush(o);
	if (rc == 0 && o->packer)
		o->packer->put(o, o->buf, 0, true);
	if (o->packer)
		o->packer->end(o->packer);
	if (close(o->fd) && !o->code)
		o->code = errno;
	if (rc == 0 && !o->code && o->part && rename(o->part, o->path))
		o->code = errno;
	if (rc == 0 && o->code)
		rc = sp_fail(e, o->code, "%s: %s", o->path, strerror(o->code));
	if (rc && o->part)
		unlink(o->part);
	free(o->path);
	free(o->part);
	free(o->buf);
	return rc ? -1 : 0;
}

void sp_out_bytes(struct sp_out *o, const void *p, size_t n)
{
	const char *from = p;

	while (n) {
		if (o->n == SP_OUT_BUFFER)
			sp_out_flush(o);
		size_t some = SP_OUT_BUFFER - o->n;
		if (some > n)
			some = n;
		memcpy(o->buf + o->n, from, some);
		o->n += some;
		from += some;
		n -= some;
	}
}

void sp_out_f(struct sp_out *o, const char *format, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, format);
	int n = vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof text) {
		/* only numbers and short literals are written with this function */
		if (!o->code)
			o->code = EOVERFLOW;
		return;
	}
	sp_out_bytes(o, text, (size_t)n);
}

void sp_out_real(struct sp_out *o, double v)
{
	if (!isfinite(v))
		v = 0;
	if (v < 0 || v >= 0x1p52 / 1000) {
		sp_out_f(o, "%.17g", v);
		return;
	}
	uint64_t milli = (uint64_t)(v * 1000 + 0.5);
	sp_out_u64(o, milli / 1000);
	unsigned rest = (unsigned)(milli % 1000);
	if (!rest)
		return;
	sp_out_byte(o, '.');
	for (unsigned unit = 100; rest; unit /= 10) {
		sp_out_byte(o, (char)('0' + rest / unit));
		rest %= unit;
	}
}

void sp_out_escaped(struct sp_out *o, struct sp_str s)
{
	const unsigned char *p = (const unsigned char *)s.p, *end = p + s.n;

	while (p < end) {
		size_t len = sp_utf8_sequence(p, (size_t)(end - p));
		if (len == 0) {
			sp_out_text(o, "\\ufffd");
			p++;
		} else if (len == 1 && (*p < 0x20 || *p == 0x7f)) {
			sp_out_f(o, "\\u%04x", *p++);
		} else if (len == 1 && (*p == '"' || *p == '\\')) {
			sp_out_byte(o, '\\');
			sp_out_byte(o, (char)*p++);
		} else {
			sp_out_bytes(o, p, len);
			p += len;
		}
	}
}

void sp_out_json(struct sp_out *o, struct sp_str s)
{
	sp_out_byte(o, '"');
	sp_out_escaped(o, s);
	sp_out_byte(o, '"');
}

void sp_out_line(struct sp_out *o, struct sp_str s, const char *instead)
{
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		if ((unsigned char)c < 0x20 || c == 0x7f)
			c = ' ';
		else if (instead && c == instead[0])
			c = instead[1];
		sp_out_byte(o, c);
	}
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)st;
	(void)type;
	(void)where;
	return remove(path);
}

int sp_out_dir_open(char **part, const char *path, struct sp_err *e)
{
	struct stat st;

	if (lstat(path, &st) == 0)
		return sp_fail(e, EEXIST, "%s: exists already", path);
	for (unsigned attempt = 0; attempt < 100; attempt++) {
		*part = part_name(path, attempt);
		if (!*part)
			return fail_memory(e);
		if (mkdir(*part, 0777) == 0)
			return 0;
		int code = errno;
		free(*part);
		*part = NULL;
		if (code != EEXIST)
			return sp_fail(e, code, "%s: %s", path, strerror(code));
	}
	return sp_fail(e, EEXIST, "%s: %s", path, strerror(EEXIST));
}

int sp_out_dir_close(char *part, const char *path, int rc, struct sp_err *e)
{
	if (rc == 0 && rename(part, path)) {
		const bool there = errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR;

		rc = sp_fail(e, errno, "%s: %s", path,
		             there ? "exists already, made by another meanwhile" : strerror(errno));
	}
	if (rc)
		nftw(part, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(part);
	return rc ? -1 : 0;
}

static void add_value(struct sp_value *to, const struct sp_value *v)
{
	uint64_t had = to->visits + to->resumed, more = v->visits + v->resumed;

	if (more && (!had || v->min < to->min))
		to->min = v->min;
	if (more && (!had || v->max > to->max))
		to->max = v->max;
	to->visits += v->visits;
	to->resumed += v->resumed;
	to->incl += v->incl;
	to->excl += v->excl;
	to->sumsq += v->sumsq;
}

int sp_pick_open(struct sp_pick *k, const struct sp_model *m, const struct sp_write_options *o, struct sp_err *e)
{
	*k = (struct sp_pick){0, (uint32_t)m->n_locations, m->totals, NULL};
	if (o->process == SP_NONE)
		return 0;
	if (o->process >= m->n_processes)
		return sp_fail(e, 0, "%s: has no process %" PRIu32 "; it has %zu", m->dir.p, o->process,
		               m->n_processes);
	const struct sp_process *p = &m->processes[o->process];
	k->first = p->first_location;
	k->end = p->first_location + p->locations;
	if (m->n_processes == 1)
		return 0;
	k->owned = calloc(m->n_paths ? m->n_paths : 1, sizeof *k->owned);
	if (!k->owned)
		return fail_memory(e);
	for (uint32_t l = k->first; l < k->end; l++) {
		const struct sp_row *row = m->values + m->locations[l].first_value;
		for (size_t i = 0; i < m->locations[l].values; i++)
			add_value(&k->owned[row[i].path], &row[i].v);
	}
	k->totals = k->owned;
	return 0;
}

void sp_pick_close(struct sp_pick *k)
{
	free(k->owned);
}

int sp_write_tick(const struct sp_write_options *o, uint64_t done, uint64_t total, struct sp_err *e)
{
	if (o->progress && o->progress(o->arg, done < total ? done : total, total))
		return sp_fail(e, ECANCELED, "cancelled");
	return 0;
}
