/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists the raw files of an experiment. */
#include "base/err.h"
#include "base/regular.h"
#include "format/format.h"
#include "model/builder/listing.h"
#include "model/builder/problem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), k = strlen(end);

	return n > k && strcmp(s + n - k, end) == 0;
}

static int is_raw(const struct dirent *d)
{
	return ends_with(d->d_name, ".raw") || ends_with(d->d_name, ".error");
}

/* Not alphasort(), which depends on the locale. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* Compares begin times, then names. */
static int by_begin(const void *a, const void *b, void *files)
{
	const struct sp_listed *all = files;
	const size_t p = *(const size_t *)a, q = *(const size_t *)b;

	if (all[p].begin != all[q].begin)
		return all[p].begin < all[q].begin ? -1 : 1;
	return p < q ? -1 : p > q;
}

/* The begin of the recording of a process, ns of CLOCK_REALTIME; UINT64_MAX: not in the file. */
static uint64_t begin_of(DIR *raw, const char *name)
{
	struct sp_raw_header h;
	int fd = sp_open_regular(dirfd(raw), name);
	ssize_t n;

	if (fd < 0)
		return UINT64_MAX;
	n = pread(fd, &h, sizeof(h), 0);
	close(fd);
	return n == (ssize_t)sizeof(h) && memcmp(h.magic, SP_RAW_MAGIC, sizeof(h.magic)) == 0 ? h.first.real_ns
	                                                                                      : UINT64_MAX;
}

static int describe(struct sp_listed *f, DIR *raw, const char *name)
{
	struct stat st;

	f->name = strdup(name);
	if (!f->name)
		return -1;
	f->error = ends_with(name, ".error");
	f->begin = f->error ? UINT64_MAX : begin_of(raw, name);
	if (fstatat(dirfd(raw), name, &st, 0) == 0) {
		f->size = (uint64_t)st.st_size;
		f->changed = (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
	}
	return 0;
}

static int compare_names(const void *a, const void *b)
{
	const struct sp_listed *p = a, *q = b;

	return strcmp(p->name, q->name);
}

/* The file of samples of the process with file f; NULL: no such file. */
static struct sp_listed *samples_of(const struct sp_listing *l, const struct sp_listed *f)
{
	const size_t stem = strlen(f->name) - strlen(SP_RAW_SUFFIX);
	char name[512];
	int n = snprintf(name, sizeof(name), "%.*s" SP_RAW_SAMPLES, (int)stem, f->name);

	if (f->error || n >= (int)sizeof(name))
		return NULL;
	return bsearch(&(struct sp_listed){.name = name}, l->files, l->n, sizeof(*l->files), compare_names);
}

int sp_listing_sort(struct sp_listing *l)
{
	struct sp_listed *samples;
	size_t i;

	for (i = 0; i < l->n; i++) {
		samples = samples_of(l, &l->files[i]);
		l->files[i].samples = samples;
		if (samples)
			samples->joined = true;
	}

	l->order = malloc((l->n + 1) * sizeof(*l->order));
	if (!l->order)
		return -1;
	for (i = 0; i < l->n; i++)
		l->order[i] = i;
	qsort_r(l->order, l->n, sizeof(*l->order), by_begin, l->files);
	return 0;
}

int sp_listing_read(struct sp_listing *l, const char *dir, struct sp_err *e)
{
	struct dirent **names = NULL;
	DIR *raw = NULL;
	char path[4096];
	int n, i, rc = 0;

	*l = (struct sp_listing){.n = 0};
	if (snprintf(path, sizeof(path), "%s/raw", dir) > SP_MAX_PATH)
		return sp_fail(e, ENAMETOOLONG, "%s", strerror(ENAMETOOLONG));
	n = scandir(path, &names, is_raw, by_name);
	if (n >= 0)
		raw = opendir(path);
	if (!raw) {
		rc = sp_fail(e, errno,
		             errno == ENOENT ? "not an experiment: there is no directory raw in it" : "raw: %s",
		             strerror(errno));
		goto out;
	}
	l->files = calloc((size_t)n + 1, sizeof(*l->files));
	if (!l->files)
		rc = sp_model_no_memory(e);
	for (i = 0; i < n && rc == 0; i++)
		rc = describe(&l->files[l->n++], raw, names[i]->d_name) ? sp_model_no_memory(e) : 0;
	closedir(raw);
	if (rc == 0 && sp_listing_sort(l))
		rc = sp_model_no_memory(e);
out:
	for (i = 0; i < n; i++)
		free(names[i]);
	free(names);
	if (rc)
		sp_listing_free(l);
	return rc;
}

uint64_t sp_listing_bytes(const struct sp_listing *l)
{
	uint64_t all = 0;
	size_t i;

	for (i = 0; i < l->n; i++)
		all += l->files[i].size + 1;
	return all;
}

void sp_listing_free(struct sp_listing *l)
{
	size_t i;

	for (i = 0; i < l->n; i++)
		free(l->files[i].name);
	free(l->files);
	free(l->order);
	*l = (struct sp_listing){.n = 0};
}
