/* SPDX-License-Identifier: BSD-3-Clause */
/* Identifies the host. Two processes are on the same host if each can access the other by its process id: the same
 * kernel and the same pid namespace. Host names do not ensure this. */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hook/control.h"

#define SEPARATOR '\x1f' /* must equal SEPARATOR in otherhost.py */

void sp_host_name(char name[SP_HOST_NAME])
{
	char boot[40] = "", pids[40] = "";
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, boot, sizeof boot - 1) : 0;
	if (fd >= 0)
		close(fd);
	boot[n > 0 ? n : 0] = 0;
	boot[strcspn(boot, "\n")] = 0;
	n = readlink("/proc/self/ns/pid", pids, sizeof pids - 1); /* format: pid:[4026531836] */
	pids[n > 0 ? n : 0] = 0;
	const char *digits = pids + strcspn(pids, "0123456789");
	snprintf(name, SP_HOST_NAME, "%s-%.*s", boot, (int)strspn(digits, "0123456789"), digits);
}

PyObject *sp_host(PyObject *self, PyObject *none)
{
	char name[SP_HOST_NAME];
	(void)self, (void)none;
	sp_host_name(name);
	return PyUnicode_FromString(name);
}

char *sp_host_sampler(const char *dir)
{
	const char *value = getenv("SPARTITO_SAMPLING"), *end = value ? strchr(value, SEPARATOR) : NULL;
	char name[SP_HOST_NAME], *why = NULL;
	if (!end)
		return NULL;
	sp_host_name(name);
	if (strlen(name) == (size_t)(end - value) && !memcmp(name, value, strlen(name)))
		return NULL;
	PyObject *module = PyImport_ImportModule("spartito.sample.otherhost");
	PyObject *path = PyUnicode_DecodeFSDefault(dir);
	PyObject *text = module && path ? PyObject_CallMethod(module, "begin", "Os", path, name) : NULL;
	const char *p = text && PyUnicode_Check(text) ? PyUnicode_AsUTF8(text) : "the sampler of this host failed";
	if (p && *p)
		why = strdup(p);
	PyErr_Clear();
	Py_XDECREF(text);
	Py_XDECREF(path);
	Py_XDECREF(module);
	return why;
}
