/* SPDX-License-Identifier: BSD-3-Clause */
#include "model/merge/merge_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX = 4400 };

static bool is_left(const char *name, const char *as)
{
	const size_t n = strlen(as);

	return strncmp(name, as, n) == 0 && name[n] == '.' && strlen(name) == n + sizeof("XXXXXX");
}

/* Removes temporary files of killed writers; an active writer has locked its file. */
static void remove_left(const char *dir, const char *as)
{
	DIR *d = opendir(dir);
	const struct dirent *entry;
	char path[MAX];
	int fd;

	while (d && (entry = readdir(d))) {
		if (!is_left(entry->d_name, as))
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
		if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
			unlink(path);
		if (fd >= 0)
			close(fd);
	}
	if (d)
		closedir(d);
}

/* Creates a new file and locks it, so that no other writer removes it as left over. If another writer has removed it
 * before it was locked, the file has no name any more: then it creates the next one. */
static int create_locked(char *path, const char *dir, const char *as)
{
	struct stat st;
	int fd;

	for (;;) {
		snprintf(path, MAX, "%s/%s.XXXXXX", dir, as);
		fd = mkostemp(path, O_CLOEXEC);
		if (fd < 0)
			return -1;
		while (flock(fd, LOCK_SH) != 0 && errno == EINTR)
			;
		if (fstat(fd, &st) != 0 || st.st_nlink > 0)
			return fd;
		close(fd);
	}
}

int sp_merge_file_create(struct sp_merge_file *f, const char *dir, const char *as, struct sp_err *e)
{
	char path[MAX];
	struct stat st;

	f->as = as;
	remove_left(dir, as);
	f->fd = create_locked(path, dir, as);
	if (f->fd < 0)
		return sp_fail(e, errno, "%s cannot be written: %s", as, strerror(errno));
	snprintf(f->name, sizeof(f->name), "%s", path + strlen(dir) + 1);
	/* the file gets the same read and write permissions as the directory */
	if (stat(dir, &st) == 0)
		fchmod(f->fd, st.st_mode & 0666);
	return 0;
}

int sp_merge_file_open(struct sp_merge_file *f, const char *dir, const char *name, struct sp_err *e)
{
	char path[MAX];

	f->as = SP_IMAGE_NAME;
	snprintf(f->name, sizeof(f->name), "%s", name);
	snprintf(path, sizeof(path), "%s/%s", dir, f->name);
	f->fd = open(path, O_WRONLY | O_CLOEXEC);
	return f->fd < 0 ? sp_fail(e, errno, "%s: %s", f->name, strerror(errno)) : 0;
}

int sp_merge_file_place(struct sp_merge_file *f, const char *dir, struct sp_err *e)
{
	char from[MAX], to[MAX];

	snprintf(from, sizeof(from), "%s/%s", dir, f->name);
	snprintf(to, sizeof(to), "%s/%s", dir, f->as);
	if (rename(from, to) != 0)
		return sp_fail(e, errno, "%s: %s", f->as, strerror(errno));
	f->name[0] = 0;
	return 0;
}

void sp_merge_file_close(struct sp_merge_file *f, const char *dir, bool remove)
{
	char path[MAX];

	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
	if (!f->name[0] || !remove)
		return;
	snprintf(path, sizeof(path), "%s/%s", dir, f->name);
	unlink(path);
}
