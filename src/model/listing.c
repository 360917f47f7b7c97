/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of an experiment. */
#include "model/private.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), k = strlen(end);

	return n > k && strcmp(s + n - k, end) == 0;
}

static int is_raw(const struct dirent *d)
{
	return ends_with(d->d_name, ".raw") || ends_with(d->d_name, ".error");
}

/* Not alphasort(), which orders as the locale does. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int describe(struct sp_listed *f, DIR *raw, const char *name)
{
	struct stat st;

	f->name = strdup(name);
	if (!f->name)
		return -1;
	f->error = ends_with(name, ".error");
	if (fstatat(dirfd(raw), name, &st, 0) == 0) {
		f->size = (uint64_t)st.st_size;
		f->changed = (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
	}
	return 0;
}

int sp_listing_read(struct sp_listing *l, const char *dir, struct sp_err *e)
{
	struct dirent **names = NULL;
	DIR *raw = NULL;
	char path[4096];
	int n, i, rc = 0;

	*l = (struct sp_listing){.n = 0};
	if (snprintf(path, sizeof(path), "%s/raw", dir) > SP_MOST_PATH)
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
out:
	for (i = 0; i < n; i++)
		free(names[i]);
	free(names);
	if (rc)
		sp_listing_free(l);
	return rc;
}

void sp_listing_free(struct sp_listing *l)
{
	size_t i;

	for (i = 0; i < l->n; i++)
		free(l->files[i].name);
	free(l->files);
	*l = (struct sp_listing){.n = 0};
}
