/* SPDX-License-Identifier: BSD-3-Clause */
/* Merges with several processes on one machine, which communicate through sockets. */
#include "base/guard.h"
#include "model/builder/listing.h"
#include "model/merge/merge.h"
#include "reader/reader.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <sys/types.h>

enum { MAX = 16 };
#define WORTHWHILE (UINT64_C(64) << 20) /* bytes of raw files; each further process needs at least this share */

struct crew {
	const struct sp_merge_options *options;
	int rank, size;
	int up;        /* socket to the parent rank */
	int down[MAX]; /* socket to each child rank; -1: not a child */
	pid_t pid[MAX];
	bool cancelled;
};

static int move(int fd, char *p, size_t n, bool out)
{
	ssize_t k;

	while (n) {
		k = out ? send(fd, p, n, MSG_NOSIGNAL) : recv(fd, p, n, 0);
		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return -1;
		p += k;
		n -= (size_t)k;
	}
	return 0;
}

static int link_to(const struct crew *c, int rank)
{
	return rank < c->rank ? c->up : c->down[rank];
}

static int send_bytes(void *arg, int to, const void *bytes, size_t n)
{
	struct crew *c = arg;
	uint64_t length = n;

	return c->cancelled || move(link_to(c, to), (char *)&length, sizeof(length), true) ||
	       move(link_to(c, to), (char *)bytes, n, true);
}

static int receive_bytes(void *arg, int from, void **bytes, size_t *n)
{
	struct crew *c = arg;
	uint64_t length;

	*bytes = NULL;
	if (c->cancelled || move(link_to(c, from), (char *)&length, sizeof(length), false))
		return -1;
	*bytes = malloc(length + 1);
	*n = length;
	if (!*bytes || move(link_to(c, from), *bytes, length, false)) {
		free(*bytes);
		*bytes = NULL;
		return -1;
	}
	return 0;
}

/* A cancelled merge does not wait for the other processes. */
static int on_progress(void *arg, uint64_t done, uint64_t total)
{
	struct crew *c = arg;

	if (c->options->progress && c->options->progress(c->options->arg, done, total))
		c->cancelled = true;
	return c->cancelled;
}

static int processors(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}

static int crew_size(const char *dir)
{
	struct sp_listing list;
	struct sp_err e;
	uint64_t bytes = 0;
	size_t i, n;
	int size = processors();

	if (sp_listing_read(&list, dir, &e))
		return 1;
	for (i = 0; i < list.n; i++)
		bytes += list.files[i].size;
	n = list.n;
	sp_listing_free(&list);
	size = size < MAX ? size : MAX;
	if (bytes / WORTHWHILE < (uint64_t)size)
		size = (int)(bytes / WORTHWHILE) + (bytes >= WORTHWHILE);
	return (size_t)size > n ? (int)n : size > 1 ? size : 1;
}

static void close_links(struct crew *c)
{
	int i;

	if (c->up >= 0)
		close(c->up);
	for (i = 0; i < c->size; i++)
		if (c->down[i] >= 0)
			close(c->down[i]);
}

/* The main function of a forked process: it does only its share and prints nothing. */
static void __attribute__((noreturn)) follow(struct crew *c, const char *dir)
{
	const struct sp_merge_options o = {.force = c->options->force};
	const struct sp_links links = {c, c->rank, c->size, send_bytes, receive_bytes};
	struct sp_merge_result r;
	struct sp_err e;

	signal(SIGINT, SIG_IGN); /* the parent process ends this one */
	_exit(sp_merge(dir, &o, &links, &r, &e) ? 1 : 0);
}

/* Forks the ranks below this one in the tree, the furthest last, so that each process holds only its own links. Returns
 * -1 if no more processes can be created; the earlier ones notice when their links close. */
static int fork_crew(struct crew *c, const char *dir, int lowest)
{
	int mask, fd[2];
	pid_t pid;

	for (mask = 1; mask < lowest && c->rank + mask < c->size; mask <<= 1) {
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd))
			return -1;
		pid = fork();
		if (pid < 0) {
			close(fd[0]);
			close(fd[1]);
			return -1;
		}
		if (pid == 0) {
			close(fd[0]);
			close_links(c);
			c->rank += mask;
			c->up = fd[1];
			memset(c->down, 0xff, sizeof(c->down));
			memset(c->pid, 0, sizeof(c->pid));
			if (fork_crew(c, dir, mask))
				_exit(1);
			follow(c, dir);
		}
		close(fd[1]);
		c->down[c->rank + mask] = fd[0];
		c->pid[c->rank + mask] = pid;
	}
	return 0;
}

static void ignore(void *arg, const char *text)
{
	(void)arg;
	(void)text;
}

struct counting {
	const char *dir;
	const struct sp_listing *list;
	uint64_t nodes;
};

static int count(void *arg)
{
	struct counting *c = arg;
	const struct sp_raw_part *p;
	struct sp_raw_file *f;
	struct sp_err e;
	char path[4400];
	size_t i, t, k;

	for (i = 0; i < c->list->n && c->nodes < SP_MERGE_PATHS; i++) {
		snprintf(path, sizeof(path), "%s/raw/%s", c->dir, c->list->files[i].name);
		if (c->list->files[i].error || sp_raw_open(&f, path, path, ignore, NULL, &e))
			continue;
		for (t = 0; t < f->n_threads; t++)
			for (k = 0, p = f->parts + f->threads[t].nodes.first; k < f->threads[t].nodes.count; k++)
				c->nodes += p[k].used;
		sp_raw_close(f);
	}
	return 0;
}

bool sp_merge_pays(const char *dir)
{
	struct sp_listing list;
	struct counting c = {dir, &list, 0};
	struct sp_err e;

	if (sp_listing_read(&list, dir, &e))
		return false;
	if (sp_listing_bytes(&list) > SP_MERGE_PATHS * sizeof(struct sp_raw_node))
		sp_guarded(count, &c, &e);
	sp_listing_free(&list);
	return c.nodes >= SP_MERGE_PATHS;
}

int sp_merge_here(const char *dir, const struct sp_merge_options *o, int processes, struct sp_merge_result *r,
                  struct sp_err *e)
{
	struct crew c = {.options = o, .size = processes > 0 ? processes : crew_size(dir), .up = -1};
	const struct sp_merge_options own = {o->force, on_progress, &c};
	struct sp_links links = {&c, 0, 1, send_bytes, receive_bytes};
	int rc, i;

	if (c.size > MAX)
		c.size = MAX;
	links.size = c.size;
	memset(c.down, 0xff, sizeof(c.down));
	rc = fork_crew(&c, dir, MAX * 2) ? 1 : 0;
	if (rc == 0)
		rc = sp_merge(dir, &own, &links, r, e);
	close_links(&c);
	for (i = 0; i < c.size; i++)
		if (c.pid[i] > 0) {
			if (rc)
				kill(c.pid[i], SIGKILL);
			while (waitpid(c.pid[i], NULL, 0) < 0 && errno == EINTR)
				;
		}
	/* no more processes can be created: merge with this one alone */
	return rc > 0 ? sp_merge(dir, o, NULL, r, e) : rc;
}
