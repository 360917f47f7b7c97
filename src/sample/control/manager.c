/* SPDX-License-Identifier: BSD-3-Clause */
#include "sample/control/manager.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/grow.h"
#include "format/format.h"
#include "sample/control/family.h"

enum {
	SOON = 1,        /* ms; until the header of a new file is read again */
	LISTING = 100,   /* ms; between listings of the directory if its changes are not reported */
	SELDOM = 1000,   /* ms; between checks whether the run has processes in which Python may still begin */
	PATIENCE = 5000, /* ms; limit for a file to get its header */
	DONE = -2        /* not a time: everything is done */
};

/* A raw file that was found. */
struct seen {
	char *name;            /* owned */
	pid_t target, sampler; /* sampler: process id, 0: none */
	int waited;            /* ms spent waiting for its header; -1: the header is known */
};

struct manager {
	const struct sp_sampler_options *o;
	char raw[PATH_MAX];
	int inotify, end, children;
	bool ended, answered;
	bool announced;   /* o->place may still exist */
	int pause;        /* ms until the next check for processes of the run */
	struct seen *all; /* owned */
	size_t n, buffer;
};

static bool ends_with(const char *s, const char *end)
{
	const size_t n = strlen(s), k = strlen(end);
	return n > k && !strcmp(s + n - k, end);
}

static void add(struct manager *m, const char *name)
{
	if (!ends_with(name, SP_RAW_SUFFIX) || ends_with(name, SP_RAW_SAMPLES))
		return;
	for (size_t i = 0; i < m->n; i++)
		if (!strcmp(m->all[i].name, name))
			return;
	char *copy = strdup(name);
	if (!copy || !sp_grow(&m->all, m->n, &m->buffer, sizeof *m->all))
		free(copy);
	else
		m->all[m->n++] = (struct seen){.name = copy};
}

static void list(struct manager *m)
{
	DIR *d = opendir(m->raw);
	for (const struct dirent *e; d && (e = readdir(d));)
		add(m, e->d_name);
	if (d)
		closedir(d);
}

static void take_events(struct manager *m)
{
	char buffer[4096] __attribute__((aligned(8)));
	ssize_t n = m->inotify >= 0 ? read(m->inotify, buffer, sizeof buffer) : -1;
	for (ssize_t at = 0; at < n;) {
		const struct inotify_event *e = (const struct inotify_event *)(buffer + at);
		if (e->mask & IN_Q_OVERFLOW)
			list(m);
		else if (e->len)
			add(m, e->name);
		at += (ssize_t)(sizeof *e + e->len);
	}
}

/* ---- samplers ---- */

static void sample(const struct manager *m, const char *name, pid_t target)
{
	char why[512];
	close(m->end);
	close(m->children);
	if (m->inotify >= 0)
		close(m->inotify);
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	sp_sampler_run(m->o, target, name, why, sizeof why);
	_exit(0);
}

/* Reads the header of a file. Returns 0; -EAGAIN: it is incomplete; -ENOENT: the file does not exist (any more). */
static int read_header(const struct manager *m, const char *name, struct sp_raw_header *h)
{
	char path[2 * PATH_MAX];
	snprintf(path, sizeof path, "%s/%s", m->raw, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -ENOENT;
	ssize_t n = pread(fd, h, sizeof *h, 0);
	close(fd);
	return n == (ssize_t)sizeof *h && !memcmp(h->magic, SP_RAW_MAGIC, sizeof h->magic) ? 0 : -EAGAIN;
}

/* Reads the header, which shows whether the file's process asked this manager to be sampled. */
static void check(struct manager *m, struct seen *s)
{
	struct sp_raw_header h;
	int r = read_header(m, s->name, &h);
	if (r) {
		s->waited = r == -ENOENT || s->waited >= PATIENCE ? -1 : s->waited + SOON;
		return;
	}
	s->waited = -1;
	s->target = h.pid;
	if (h.version != SP_RAW_VERSION || h.sampler != (uint32_t)getpid() || h.ended != SP_RAW_RUNNING)
		return;
	s->sampler = fork();
	if (s->sampler == 0)
		sample(m, s->name, s->target);
	if (s->sampler < 0)
		s->sampler = 0;
}

static void reap(struct manager *m)
{
	struct signalfd_siginfo info;
	pid_t pid;
	while (read(m->children, &info, sizeof info) > 0)
		;
	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		for (size_t i = 0; i < m->n; i++)
			if (m->all[i].sampler == pid)
				m->all[i].sampler = 0;
}

/* Whether the process exists and is not a zombie. */
static bool runs(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd p = {fd, POLLIN, 0};
	bool is = fd >= 0 && poll(&p, 1, 0) == 0;
	if (fd >= 0)
		close(fd);
	return is;
}

/* Whether the measurement in a file is still running. */
static bool is_running(const struct manager *m, const char *name)
{
	struct sp_raw_header h;
	return !read_header(m, name, &h) && h.ended == SP_RAW_RUNNING;
}

/* Whether Python may still begin in a process of the run. Removes o->place before the last check, so that a process
 * that has read it before is still found. */
static bool may_begin(struct manager *m)
{
	if (sp_family_lives(m->o->dir))
		return true;
	if (!m->announced)
		return false;
	m->announced = false;
	unlink(m->o->place);
	return sp_family_lives(m->o->dir);
}

/* ---- the process ---- */

/* Reports that the run has ended and that the files of its ended processes are complete. */
static void answer(struct manager *m)
{
	m->answered = true;
	const ssize_t written = write(m->end, "", 1);
	(void)written; /* perhaps no process is waiting for it */
	close(m->end);
	m->end = -1;
}

/* How long the manager may sleep after the end of the run, in ms; increases as long as nothing happens. */
static int rest(struct manager *m)
{
	if (!may_begin(m))
		return DONE;
	m->pause = m->pause < SELDOM / 2 ? 2 * m->pause : SELDOM;
	return m->inotify < 0 && m->pause > LISTING ? LISTING : m->pause;
}

/* Does all pending work. Returns how long the manager may sleep, in ms; -1: until something happens. */
static int work(struct manager *m)
{
	bool soon = false, busy = false, unfinished = false;
	for (size_t i = 0; i < m->n; i++) {
		struct seen *s = &m->all[i];
		if (s->waited >= 0)
			check(m, s);
		soon |= s->waited >= 0;
		busy |= s->sampler > 0;
		unfinished |=
		    m->ended && !m->answered && s->sampler > 0 && !(runs(s->target) && is_running(m, s->name));
	}
	if (soon)
		return SOON;
	if (m->ended && !m->answered && !unfinished)
		answer(m);
	if (m->ended && !busy)
		return rest(m);
	m->pause = SOON;
	return m->inotify < 0 ? LISTING : unfinished ? SOON : m->ended && !m->answered ? LISTING : -1;
}

static void manage(struct manager *m)
{
	list(m);
	for (int wait; (wait = work(m)) != DONE;) {
		struct pollfd fds[] = {
		    {m->inotify, POLLIN, 0}, {m->ended ? -1 : m->end, POLLIN, 0}, {m->children, POLLIN, 0}};
		poll(fds, sizeof fds / sizeof *fds, wait);
		take_events(m);
		if (m->inotify < 0)
			list(m);
		if (!m->ended && fds[1].revents) {
			/* include files that were made until now */
			m->ended = true;
			list(m);
		}
		reap(m);
	}
}

/* Closes everything that belongs to the launcher, and ignores the terminal's signals. */
static void detach(int end)
{
	static const int ignored[] = {SIGINT, SIGQUIT, SIGHUP, SIGTSTP, SIGTTIN, SIGTTOU, SIGPIPE, SIGUSR1, SIGUSR2};
	setsid();
	for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
		signal(ignored[i], SIG_IGN);
	signal(SIGTERM, SIG_DFL);
	signal(SIGCHLD, SIG_DFL);
	int null = open("/dev/null", O_RDWR);
	for (int fd = 0; fd < 3 && null >= 0; fd++)
		dup2(null, fd);
	if (dup2(end, 3) == 3)
		sp_close_from(4);
}

/* The main loop of the manager, which starts the samplers. end: becomes descriptor 3. */
static void watch_over(const struct sp_sampler_options *o, int end)
{
	struct manager m = {.o = o, .end = 3, .announced = o->place, .pause = SOON};
	sigset_t children;
	if (snprintf(m.raw, sizeof m.raw, "%s/raw", o->dir) >= (int)sizeof m.raw)
		return;
	detach(end);
	/* samplers inherit the lock: as long as it is held, samples are being written */
	const int place = o->place ? open(o->place, O_RDONLY | O_CLOEXEC) : -1;
	if (place >= 0)
		flock(place, LOCK_EX | LOCK_NB);
	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	sigprocmask(SIG_SETMASK, &children, NULL);
	m.children = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
	m.inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (m.inotify >= 0 && inotify_add_watch(m.inotify, m.raw, IN_CREATE | IN_MOVED_TO) < 0) {
		close(m.inotify);
		m.inotify = -1;
	}
	manage(&m);
}

/* As fork(2), or a negative errno; each process gets one end of a connection. */
static pid_t fork_connected(int *end)
{
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return -errno;
	pid_t pid = fork();
	if (pid < 0)
		pid = -errno;
	close(pair[pid == 0 ? 0 : 1]);
	*end = pair[pid == 0 ? 1 : 0];
	if (pid < 0)
		close(*end);
	return pid;
}

pid_t sp_manager_start(const struct sp_sampler_options *o, int *end)
{
	pid_t pid = fork_connected(end);
	if (pid == 0) {
		watch_over(o, *end);
		_exit(0);
	}
	return pid;
}

/* The main function of a sampler of a process that already runs. */
static void sample_alone(const struct sp_sampler_options *o, pid_t target, int end)
{
	struct sp_sampler_options own = *o;
	char why[512];
	sigset_t none;
	detach(end);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGTERM, SIG_IGN); /* it ends when the connection is closed */
	own.stop = 3;
	if (sp_sampler_run(&own, target, NULL, why, sizeof why) && write(own.stop, why, strlen(why)) < 0)
		_exit(1);
}

pid_t sp_manager_sample(const struct sp_sampler_options *o, pid_t target, int *end)
{
	pid_t pid = fork_connected(end);
	if (pid == 0) {
		sample_alone(o, target, *end);
		_exit(0);
	}
	return pid;
}
