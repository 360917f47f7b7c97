/* SPDX-License-Identifier: BSD-3-Clause */
/* Distinguishes a signal to the launcher alone, which the launcher must pass on to the program, from one to the
 * process group, which the program has also received. The signal itself does not contain this. Therefore a second
 * process in the group, the witness, blocks all signals: a signal to the group becomes pending there. */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <sys/types.h>

#include "base/descriptors.h"
#include "hook/launch.h"

enum {
	OWN = 3,           /* descriptor of the witness's end of the connection */
	PAUSE_NS = 2000000 /* the time after which all members of a group have a signal: the kernel sends it to all of
	                       them under one lock */
};

static pid_t witness;
static int connection = -1;

/* Runs in the witness: takes each signal that the launcher names, until the launcher ends in whatever way. Closes all
 * descriptors of the launcher. */
static void stand_by(int end)
{
	const struct timespec now = {0, 0};
	unsigned char number;
	sigset_t set;
	sigfillset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	dup2(end, OWN);
	for (int fd = 0; fd < OWN; fd++)
		close(fd);
	sp_close_from(OWN + 1);
	while (read(OWN, &number, 1) == 1) {
		sigemptyset(&set);
		sigaddset(&set, number);
		sigtimedwait(&set, NULL, &now);
		if (write(OWN, &number, 1) != 1)
			break;
	}
	_exit(0);
}

PyObject *sp_witness_begin(PyObject *self, PyObject *none)
{
	int pair[2];
	(void)self, (void)none;
	if (witness || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		Py_RETURN_NONE;
	const pid_t pid = fork();
	if (pid == 0) {
		close(pair[0]); /* otherwise the witness would not see the launcher's end */
		stand_by(pair[1]);
	}
	close(pair[1]);
	if (pid > 0) {
		witness = pid;
		connection = pair[0];
	} else {
		close(pair[0]);
	}
	Py_RETURN_NONE;
}

/* Whether the signal is pending in the witness. */
static bool is_pending(int number)
{
	char path[64], text[4096];
	snprintf(path, sizeof path, "/proc/%d/status", (int)witness);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	const char *line = strstr(text, "\nShdPnd:");
	return line && strtoull(line + strlen("\nShdPnd:"), NULL, 16) >> (number - 1) & 1;
}

PyObject *sp_witness_has(PyObject *self, PyObject *arg)
{
	const struct timespec pause = {0, PAUSE_NS};
	const long number = PyLong_AsLong(arg);
	(void)self;
	if (number < 1 || number >= NSIG) {
		if (!PyErr_Occurred())
			PyErr_Format(PyExc_ValueError, "%ld is no number of a signal", number);
		return NULL;
	}
	if (!witness)
		Py_RETURN_FALSE;
	nanosleep(&pause, NULL);
	unsigned char word = (unsigned char)number;
	if (!is_pending((int)number))
		Py_RETURN_FALSE;
	/* clears the pending signal, so that the next one is seen */
	if (send(connection, &word, 1, MSG_NOSIGNAL) == 1)
		while (read(connection, &word, 1) < 0 && errno == EINTR)
			;
	Py_RETURN_TRUE;
}

PyObject *sp_witness_end(PyObject *self, PyObject *none)
{
	(void)self, (void)none;
	if (!witness)
		Py_RETURN_NONE;
	close(connection);
	while (waitpid(witness, NULL, 0) < 0 && errno == EINTR)
		;
	witness = 0;
	connection = -1;
	Py_RETURN_NONE;
}
