/* SPDX-License-Identifier: BSD-3-Clause */
#include "sample/target.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/search.h"

enum { MAX_TEXT = 64 << 20 }; /* maximum bytes that are read of a file of /proc */

/* Reads a file of /proc into text[n] and adds a NUL. Returns the number of bytes, or a negative errno. It reads once,
 * so that the contents are a consistent snapshot. */
static ssize_t proc_text(pid_t pid, const char *file, char *text, size_t n)
{
	char path[128];
	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ssize_t got = read(fd, text, n - 1);
	got = got < 0 ? -errno : got;
	close(fd);
	text[got > 0 ? got : 0] = 0;
	return got;
}

/* The fields of …/stat from the third on; NULL: malformed. The name before them may contain spaces and parentheses. */
static const char *after_name(const char *stat)
{
	const char *p = strrchr(stat, ')');
	return p && p[1] == ' ' ? p + 2 : NULL;
}

/* The start of a process in clock ticks since boot, and its state letter; 0: it does not exist. */
static uint64_t start_of(pid_t pid, char *letter)
{
	char text[1024];
	const char *p = proc_text(pid, "stat", text, sizeof text) > 0 ? after_name(text) : NULL;
	if (!p)
		return 0;
	*letter = *p;
	for (int field = 3; field < 22 && p; field++)
		p = strchr(p + 1, ' ');
	return p ? strtoull(p, NULL, 10) : 0;
}

/* A number in …/status; `missing`: not found. */
static long status_number(pid_t pid, const char *name, long missing)
{
	char text[4096];
	if (proc_text(pid, "status", text, sizeof text) <= 0)
		return missing;
	const char *p = strstr(text, name);
	return p ? strtol(p + strlen(name), NULL, 10) : missing;
}

static bool read_file(const struct sp_target *t, uint64_t at, void *to, size_t n)
{
	size_t done = 0;
	while (done < n) {
		ssize_t got = pread(t->memory, (char *)to + done, n - done, (off_t)(at + done));
		if (got <= 0)
			return false;
		done += (size_t)got;
	}
	return true;
}

size_t sp_target_read_many(const struct sp_target *t, const struct iovec *to, const struct iovec *from, size_t n)
{
	size_t i = 0;
	if (t->memory < 0) {
		ssize_t left = process_vm_readv(t->pid, to, n, from, n, 0);
		for (; i < n && left >= (ssize_t)to[i].iov_len; i++)
			left -= (ssize_t)to[i].iov_len;
	} else {
		while (i < n && read_file(t, (uint64_t)(uintptr_t)from[i].iov_base, to[i].iov_base, to[i].iov_len))
			i++;
	}
	return i;
}

bool sp_target_read(const struct sp_target *t, uint64_t at, void *to, size_t n)
{
	struct iovec here = {to, n}, there = {(void *)(uintptr_t)at, n};
	return sp_target_read_many(t, &here, &there, 1) == 1;
}

bool sp_target_alive(const struct sp_target *t)
{
	char letter = 0;
	return start_of(t->pid, &letter) == t->started && letter != 'Z' && letter != 'X';
}

/* ---- opening ---- */

static int fail_with(char *why, size_t n, int error, const char *text)
{
	snprintf(why, n, "%s", text);
	return error;
}

static void tell_user(pid_t pid, long uid, char *why, size_t n)
{
	struct passwd capacity, *found = NULL;
	char text[1024];
	if (getpwuid_r((uid_t)uid, &capacity, text, sizeof text, &found))
		found = NULL;
	if (found)
		snprintf(why, n, "process %d belongs to the user %s: sample it as that user, or as root", (int)pid,
		         found->pw_name);
	else
		snprintf(why, n,
		         "process %d belongs to the user with the number %ld: sample it as that user, or as root",
		         (int)pid, uid);
}

/* Whether /proc/PID is hidden: root owns its contents if the process is not dumpable. */
static bool is_hidden(pid_t pid, long uid)
{
	char path[64];
	struct stat s;
	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	return uid && !stat(path, &s) && !s.st_uid;
}

static int explain(pid_t pid, char *why, size_t n)
{
	char text[16] = "";
	long uid = status_number(pid, "\nUid:", -1);
	int fd = open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		ssize_t got = read(fd, text, sizeof text - 1);
		text[got > 0 ? got : 0] = 0;
		close(fd);
	}
	if (uid < 0) {
		snprintf(why, n, "there is no process %d any more", (int)pid);
		return -ESRCH;
	}
	if ((uid_t)uid != geteuid() && geteuid())
		tell_user(pid, uid, why, n);
	else if (atoi(text) == 3)
		fail_with(
		    why, n, 0,
		    "this system lets no process read another one (/proc/sys/kernel/yama/ptrace_scope is 3 until it is "
		    "booted again)");
	else if (geteuid() && is_hidden(pid, uid))
		snprintf(
		    why, n,
		    "process %d may not be read by its own user (set-uid, or prctl(PR_SET_DUMPABLE) in it): sample "
		    "it as root",
		    (int)pid);
	else if (atoi(text) > 0)
		snprintf(
		    why, n,
		    "this system lets only root read process %d (/proc/sys/kernel/yama/ptrace_scope is %d): sample "
		    "it as root, or have root write 0 there",
		    (int)pid, atoi(text));
	else
		snprintf(
		    why, n,
		    "process %d may not be read from here: a container needs the capability SYS_PTRACE for it "
		    "(docker run --cap-add SYS_PTRACE), a service a filter of system calls that has process_vm_readv",
		    (int)pid);
	return -EPERM;
}

/* Whether its memory is readable by one of the two ways. */
static int try_memory(struct sp_target *t, char *why, size_t n)
{
	struct sp_mappings m;
	int r = sp_target_mappings(t, &m);
	if (r == -EACCES || r == -EPERM)
		return explain(t->pid, why, n);
	if (r == -ENOENT || r == -ESRCH) {
		snprintf(why, n, "there is no process %d any more", (int)t->pid);
		return -ESRCH;
	}
	if (r)
		return fail_with(why, n, r, strerror(-r));
	const struct sp_mapping *first = m.all;
	while (first < m.all + m.n && !first->readable)
		first++;
	char byte, path[64];
	if (first == m.all + m.n) {
		snprintf(why, n, "process %d has no memory to read: it is a thread of the kernel, or it ends",
		         (int)t->pid);
		r = -ESRCH;
	} else if (!sp_target_read(t, first->begin, &byte, 1)) {
		snprintf(path, sizeof path, "/proc/%d/mem", (int)t->pid);
		t->memory = open(path, O_RDONLY | O_CLOEXEC);
		if (t->memory < 0 || !sp_target_read(t, first->begin, &byte, 1))
			r = explain(t->pid, why, n);
	}
	sp_mappings_free(&m);
	return r;
}

int sp_target_open(struct sp_target *t, pid_t pid, char *why, size_t n)
{
	char letter = 0;
	*t = (struct sp_target){.pid = pid, .memory = -1};
	t->started = pid > 0 ? start_of(pid, &letter) : 0;
	long group = t->started ? status_number(pid, "\nTgid:", pid) : pid;
	if (!t->started) {
		if (pid > 0 && !kill(pid, 0))
			snprintf(why, n, "/proc does not show process %d: is it mounted, for this user?", (int)pid);
		else
			snprintf(why, n, "there is no process %d", (int)pid);
		return -ESRCH;
	}
	if (letter == 'Z' || letter == 'X') {
		snprintf(why, n, "process %d has ended", (int)pid);
		return -ESRCH;
	}
	if (group != pid) {
		snprintf(why, n, "%d is a thread of process %ld: say %ld", (int)pid, group, group);
		return -ESRCH;
	}
	int r = try_memory(t, why, n);
	if (r)
		sp_target_close(t);
	return r;
}

void sp_target_close(struct sp_target *t)
{
	if (t->memory >= 0)
		close(t->memory);
	t->memory = -1;
}

/* ---- mappings ---- */

/* Reads a file of /proc that does not fit into one read. */
static int whole(pid_t pid, const char *file, char **text)
{
	char path[64];
	size_t n = 0, capacity = 0;
	ssize_t got = 1;
	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	*text = NULL;
	while (got > 0 && n < MAX_TEXT) {
		if (capacity - n < 2) {
			char *more = realloc(*text, capacity = capacity ? 2 * capacity : 1 << 16);
			if (!more) {
				got = -1;
				errno = ENOMEM;
				break;
			}
			*text = more;
		}
		got = read(fd, *text + n, capacity - n - 1);
		n += got > 0 ? (size_t)got : 0;
	}
	int r = got < 0 ? -errno : 0;
	close(fd);
	if (*text)
		(*text)[n] = 0;
	if (r)
		free(*text);
	return r;
}

static bool read_mapping(char *line, struct sp_mapping *m)
{
	char mode[5];
	int path = 0;
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n", &m->begin, &m->end, mode, &m->offset,
	           &path) < 4 ||
	    !path || m->begin >= m->end)
		return false;
	m->readable = mode[0] == 'r';
	m->writable = mode[1] == 'w';
	m->executable = mode[2] == 'x';
	m->path = line + path;
	return true;
}

int sp_target_mappings(const struct sp_target *t, struct sp_mappings *out)
{
	size_t capacity = 0;
	*out = (struct sp_mappings){0};
	int r = whole(t->pid, "maps", &out->text);
	if (r) {
		out->text = NULL;
		return r;
	}
	for (char *line = out->text, *end; line && *line; line = end) {
		end = line + strcspn(line, "\n");
		if (*end)
			*end++ = 0;
		if (!sp_grow(&out->all, out->n, &capacity, sizeof *out->all)) {
			sp_mappings_free(out);
			return -ENOMEM;
		}
		out->n += read_mapping(line, &out->all[out->n]);
	}
	return 0;
}

void sp_mappings_free(struct sp_mappings *m)
{
	free(m->all);
	free(m->text);
	*m = (struct sp_mappings){0};
}

const struct sp_mapping *sp_mappings_at(const struct sp_mappings *m, uint64_t address)
{
	const size_t i = sp_first_behind(m->all, m->n, sizeof *m->all, offsetof(struct sp_mapping, end), address);
	return i < m->n && m->all[i].begin <= address ? &m->all[i] : NULL;
}

bool sp_target_file(const struct sp_target *t, const struct sp_mapping *m, char *path, size_t n)
{
	char executable[64], target[4096];
	if (m->path[0] != '/')
		return false;
	int length = snprintf(path, n, "/proc/%d/root%s", (int)t->pid, m->path);
	if (length > 0 && (size_t)length < n && !access(path, F_OK))
		return true;
	snprintf(executable, sizeof executable, "/proc/%d/exe", (int)t->pid);
	ssize_t got = readlink(executable, target, sizeof target - 1);
	target[got > 0 ? got : 0] = 0;
	/* if the file is deleted, the link also ends with " (deleted)" */
	if (got <= 0 || strcmp(target, m->path) || strlen(executable) >= n)
		return false;
	strcpy(path, executable);
	return true;
}

/* ---- threads ---- */

int sp_target_threads(const struct sp_target *t, pid_t *ids, size_t capacity)
{
	char path[64];
	size_t n = 0;
	snprintf(path, sizeof path, "/proc/%d/task", (int)t->pid);
	DIR *d = opendir(path);
	if (!d)
		return -errno;
	for (const struct dirent *e; (e = readdir(d));) {
		long id = strtol(e->d_name, NULL, 10);
		if (id <= 0)
			continue;
		if (n < capacity)
			ids[n] = (pid_t)id;
		n++;
	}
	closedir(d);
	return (int)n;
}

bool sp_target_thread_name(const struct sp_target *t, pid_t thread, char name[SP_THREAD_NAME])
{
	char file[64], whole[SP_THREAD_NAME + 1], main_name[SP_THREAD_NAME + 1];
	snprintf(file, sizeof file, "task/%d/comm", (int)thread);
	if (thread == t->pid || proc_text(t->pid, file, whole, sizeof whole) <= 0 ||
	    proc_text(t->pid, "comm", main_name, sizeof main_name) <= 0 || !strcmp(whole, main_name))
		return false;
	snprintf(name, SP_THREAD_NAME, "%.*s", (int)strcspn(whole, "\n"), whole);
	return *name;
}

pid_t sp_target_inner(const struct sp_target *t, pid_t thread)
{
	char file[64], text[4096];
	snprintf(file, sizeof file, "task/%d/status", (int)thread);
	const char *p = proc_text(t->pid, file, text, sizeof text) > 0 ? strstr(text, "\nNSpid:") : NULL;
	if (!p)
		return thread;
	/* one id for each namespace, the innermost last */
	const char *end = p + 1 + strcspn(p + 1, "\n");
	while (end > p && end[-1] >= '0' && end[-1] <= '9')
		end--;
	const int inner = atoi(end);
	return inner > 0 ? inner : thread;
}

static void read_syscall(const char *text, struct sp_thread_times *out)
{
	uint64_t *a = out->arguments;
	out->syscall = -1;
	if (!strncmp(text, "running", 7))
		return;
	long number = -2;
	if (sscanf(text,
	           "%ld %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64,
	           &number, &a[0], &a[1], &a[2], &a[3], &a[4], &a[5], &out->sp, &out->pc) == 9)
		out->syscall = (int32_t)number;
	else if (sscanf(text, "-1 %" SCNx64 " %" SCNx64, &out->sp, &out->pc) != 2)
		out->syscall = -2;
}

int sp_target_times(const struct sp_target *t, pid_t thread, struct sp_thread_times *out)
{
	char file[64], text[1024];
	*out = (struct sp_thread_times){.syscall = -2};
	snprintf(file, sizeof file, "task/%d/stat", (int)thread);
	ssize_t got = proc_text(t->pid, file, text, sizeof text);
	const char *p = got > 0 ? after_name(text) : NULL;
	if (!p)
		return got < 0 && got != -ENOENT ? (int)got : -ESRCH;
	out->letter = *p;
	snprintf(file, sizeof file, "task/%d/schedstat", (int)thread);
	if (proc_text(t->pid, file, text, sizeof text) > 0)
		sscanf(text, "%" SCNu64 " %" SCNu64, &out->cpu, &out->ready);
	snprintf(file, sizeof file, "task/%d/syscall", (int)thread);
	if (proc_text(t->pid, file, text, sizeof text) > 0)
		read_syscall(text, out);
	return 0;
}
