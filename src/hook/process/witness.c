/* SPDX-License-Identifier: BSD-3-Clause */
/* Who is meant by a signal that the launcher gets: it alone, so that the program has to be told, or the process group,
 * in which the program has got it too? The signal does not say. So there is a second process in the group, which blocks
 * all signals: in the second case it waits there, too. */

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
	OWN = 3,            /* its end of the connection */
	MOMENT_NS = 2000000 /* in which a signal comes to all of a group: the kernel sends it to all under one lock */
};

static pid_t witness;
static int connection = -1;

/* Takes what it is asked to take, until the launcher ends, however it does. Nothing of the launcher's stays open in it.
 */
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
		close(pair[0]); /* otherwise it would never see the launcher's end */
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

/* It has come, and waits there. */
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
	const struct timespec moment = {0, MOMENT_NS};
	const long number = PyLong_AsLong(arg);
	(void)self;
	if (number < 1 || number >= NSIG) {
		if (!PyErr_Occurred())
			PyErr_Format(PyExc_ValueError, "%ld is no number of a signal", number);
		return NULL;
	}
	if (!witness)
		Py_RETURN_FALSE;
	nanosleep(&moment, NULL);
	unsigned char word = (unsigned char)number;
	if (!is_pending((int)number))
		Py_RETURN_FALSE;
	/* the next one of these is another one */
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
