/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts the program for the launcher. With vfork, as a fork copies the page tables of a whole interpreter, for each of
 * many ranks; in C, as after it no Python may run. Not posix_spawn: glibc's leaves signals 32 and 33 ignored in the
 * program, and it cannot set a signal to be ignored, which a parent that ignores SIGCHLD asks for. */
#include "hook/hook.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct start {
	char **words, **environment;
	sigset_t mask, by_default, ignored;
	int error; /* of exec */
};

/* What exec does too: but until then a handler would run in the parent's memory. */
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

/* Runs in the child, in its parent's memory: nothing may be changed that the parent looks at but s->error. */
static void become(struct start *s)
{
	forget_handlers();
	dispose(&s->by_default, SIG_DFL);
	dispose(&s->ignored, SIG_IGN);
	pthread_sigmask(SIG_SETMASK, &s->mask, NULL);
	/* it takes PATH from the launcher's own environment, and what has no #! line to the shell, as shells do */
	execvpe(s->words[0], s->words, s->environment);
	s->error = errno;
	_exit(127);
}

/* A function of its own: vfork returns twice into it. */
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

/* A list of bytes as exec takes it; NULL with an exception. */
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
	free_words(s.words);
	free_words(s.environment);
	return answer;
}
