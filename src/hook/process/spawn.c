/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts the program for the launcher, and records when it ended. Uses vfork, because a fork copies the page tables of
 * a whole interpreter, for each of many ranks; in C, because no Python code may run after vfork. Not posix_spawn:
 * glibc's leaves signals 32 and 33 ignored in the program, and it cannot set a signal to be ignored, which a parent
 * that ignores SIGCHLD needs. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <stdint.h>
#include <pthread.h>
#include <sys/types.h>

#include "format/format.h"
#include "hook/launch.h"
#include "record/clock.h"

/* The arguments and the result of a start. */
struct start {
	char **words, **environment;
	char **by_shell; /* the same words behind the name of a shell */
	sigset_t mask, by_default, ignored;
	int error; /* errno of exec */
};

/* Resets signal handlers. exec does it too, but until then a handler would run in the parent's memory. */
static void forget_handlers(void)
{
	struct sigaction now;
	for (int n = 1; n < NSIG; n++)
		if (!sigaction(n, NULL, &now) && now.sa_handler != SIG_IGN && now.sa_handler != SIG_DFL)
			signal(n, SIG_DFL);
}

static void dispose(const sigset_t *of, void (*how)(int))
{
	for (int n = 1; n < NSIG; n++)
		if (sigismember(of, n) == 1)
			signal(n, how);
}

/* Runs in the child, in its parent's memory: it must change nothing that the parent reads, except s->error. */
static void become(struct start *s)
{
	forget_handlers();
	dispose(&s->by_default, SIG_DFL);
	dispose(&s->ignored, SIG_IGN);
	pthread_sigmask(SIG_SETMASK, &s->mask, NULL);
	/* like a shell, this searches the PATH of the launcher's own environment and passes files without a #! line to
	 * the shell */
	execvpe(s->words[0], s->words, s->environment);
	if (errno == ENOEXEC && strchr(s->words[0], '/')) /* musl's leaves that to its caller */
		execve(s->by_shell[0], s->by_shell, s->environment);
	s->error = errno;
	_exit(127);
}

/* A separate function that is not inlined, because vfork returns twice into it. */
static __attribute__((noinline)) pid_t start(struct start *s)
{
	pid_t pid = vfork();
	if (pid == 0)
		become(s);
	return pid;
}

static int signals_of(sigset_t *set, PyObject *numbers)
{
	sigemptyset(set);
	PyObject *i = PyObject_GetIter(numbers), *n;
	if (!i)
		return -1;
	while ((n = PyIter_Next(i))) {
		long number = PyLong_AsLong(n);
		Py_DECREF(n);
		if (!PyErr_Occurred() && sigaddset(set, (int)number))
			PyErr_Format(PyExc_ValueError, "%ld is no number of a signal", number);
		if (PyErr_Occurred())
			break;
	}
	Py_DECREF(i);
	return PyErr_Occurred() ? -1 : 0;
}

static void free_words(char **words)
{
	for (char **w = words; w && *w; w++)
		PyMem_Free(*w);
	PyMem_Free(words);
}

/* Converts a list of bytes to the form that exec needs; NULL with an exception. */
static char **words_of(PyObject *list)
{
	if (!PyList_Check(list)) {
		PyErr_SetString(PyExc_TypeError, "a list of bytes is needed");
		return NULL;
	}
	Py_ssize_t n = PyList_GET_SIZE(list);
	char **words = PyMem_Calloc((size_t)n + 1, sizeof *words);
	if (!words)
		return (char **)PyErr_NoMemory();
	for (Py_ssize_t i = 0; i < n; i++) {
		char *text;
		if (PyBytes_AsStringAndSize(PyList_GET_ITEM(list, i), &text, NULL))
			goto bad;
		words[i] = PyMem_Malloc(strlen(text) + 1);
		if (!words[i]) {
			PyErr_NoMemory();
			goto bad;
		}
		strcpy(words[i], text);
	}
	return words;
bad:
	free_words(words);
	return NULL;
}

/* An array of the same strings behind another one; the caller frees only the array. */
static char **behind_shell(char **words)
{
	static char shell[] = "/bin/sh";
	size_t n = 0;
	while (words[n])
		n++;
	char **all = PyMem_Calloc(n + 2, sizeof *all);
	if (all) {
		all[0] = shell;
		memcpy(all + 1, words, n * sizeof *all);
	}
	return all;
}

PyObject *sp_spawn(PyObject *self, PyObject *args)
{
	(void)self;
	PyObject *command, *environment, *mask, *by_default, *ignored;
	struct start s = {0};
	if (!PyArg_ParseTuple(args, "OOOOO", &command, &environment, &mask, &by_default, &ignored))
		return NULL;
	if (signals_of(&s.mask, mask) || signals_of(&s.by_default, by_default) || signals_of(&s.ignored, ignored))
		return NULL;
	PyObject *answer = NULL;
	pid_t pid = -1;
	if ((s.words = words_of(command)) && (s.environment = words_of(environment))) {
		if (!s.words[0])
			PyErr_SetString(PyExc_ValueError, "the command is empty");
		else if (!(s.by_shell = behind_shell(s.words)))
			PyErr_NoMemory();
		else if ((pid = start(&s)) < 0)
			PyErr_SetFromErrno(PyExc_OSError);
	}
	if (pid > 0 && s.error) {
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
		errno = s.error;
		PyErr_SetFromErrno(PyExc_OSError);
	} else if (pid > 0) {
		answer = PyLong_FromLong(pid);
	}
	PyMem_Free(s.by_shell);
	free_words(s.words);
	free_words(s.environment);
	return answer;
}

/* ---- end of the program ---- */

/* Reads the clocks in the same way as the process that wrote the file. */
static struct sp_raw_sync now_by(uint32_t clock)
{
	const enum sp_raw_clock own = sp_clock_kind;
	sp_clock_kind = (enum sp_raw_clock)clock;
	const struct sp_raw_sync now = sp_clock_sync();
	sp_clock_kind = own;
	return now;
}

/* The header has the time of the process's last update, which may be its first event. The process was alive until
 * now. */
static void alive_until_now(int raw, const char *name, pid_t pid)
{
	struct sp_raw_header h;
	struct stat st;
	int fd = openat(raw, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && pread(fd, &h, sizeof h, 0) == (ssize_t)sizeof h &&
	    !memcmp(h.magic, SP_RAW_MAGIC, sizeof h.magic) && h.byte_order == SP_RAW_BYTE_ORDER &&
	    h.version == SP_RAW_VERSION && h.pid == pid && h.ended == SP_RAW_RUNNING && !h.sum &&
	    h.clock <= SP_RAW_CLOCK_CNTVCT) {
		const struct sp_raw_sync now = now_by(h.clock);
		if (now.ticks > h.last.ticks && now.mono_ns > h.last.mono_ns)
			(void)!pwrite(fd, &now, sizeof now,
			              offsetof(struct sp_raw_header, last)); /* if it fails, the older time stays */
	}
	close(fd);
}

PyObject *sp_saw_end(PyObject *self, PyObject *args)
{
	(void)self;
	const char *dir;
	int pid;
	if (!PyArg_ParseTuple(args, "yi", &dir, &pid))
		return NULL;
	char path[4096], host[128] = "unknown", start[160];
	gethostname(host, sizeof host - 1);
	for (char *c = host; *c; c++)
		if (*c == '/')
			*c = '_';
	const size_t n = (size_t)snprintf(start, sizeof start, "%s-%d-", host, pid);
	snprintf(path, sizeof path, "%s/raw", dir);
	DIR *raw = opendir(path);
	for (struct dirent *d; raw && (d = readdir(raw));) {
		const size_t length = strlen(d->d_name), suffix = sizeof SP_RAW_SAMPLES - 1;
		if (!strncmp(d->d_name, start, n) &&
		    (length < suffix || strcmp(d->d_name + length - suffix, SP_RAW_SAMPLES) != 0))
			alive_until_now(dirfd(raw), d->d_name, pid);
	}
	if (raw)
		closedir(raw);
	Py_RETURN_NONE;
}
