/* SPDX-License-Identifier: BSD-3-Clause */
/* Command lines in a shell's syntax, for people to read. */

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hook/command.h"
#include "hook/task.h"

enum { LONGEST = 1 << 20 /* maximum length of a stored command line, in bytes */ };

static void put(struct sp_command *c, const char *p, size_t n)
{
	if (c->n + n > LONGEST)
		n = LONGEST - c->n;
	if (c->n + n > c->capacity) {
		size_t capacity = (c->n + n) * 2;
		char *larger = realloc(c->p, capacity);
		if (!larger)
			return;
		c->p = larger;
		c->capacity = capacity;
	}
	if (n)
		memcpy(c->p + c->n, p, n);
	c->n += n;
}

void sp_command_word(struct sp_command *c, const char *p, size_t n)
{
	bool quote = n == 0, single = false;
	for (size_t i = 0; i < n; i++) {
		quote |= p[i] == ' ' || p[i] == '\t' || p[i] == '\n' || p[i] == '\'' || p[i] == '"';
		single |= p[i] == '\'';
	}
	const char *mark = single ? "\"" : "'";
	if (c->n)
		put(c, " ", 1);
	if (quote)
		put(c, mark, 1);
	put(c, p, n);
	if (quote)
		put(c, mark, 1);
}

void sp_command_free(struct sp_command *c)
{
	free(c->p);
	*c = (struct sp_command){0};
}

/* Reads a file of /proc, whose size is not known in advance. Returns its contents, owned. */
static char *contents(const char *path, size_t *n)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *text = NULL;
	size_t capacity = 0;
	*n = 0;
	while (fd >= 0 && *n < LONGEST) {
		if (capacity - *n < 4096) {
			capacity = capacity ? capacity * 2 : 16384;
			char *larger = realloc(text, capacity);
			if (!larger)
				break;
			text = larger;
		}
		ssize_t got = read(fd, text + *n, capacity - *n - 1);
		if (got <= 0)
			break;
		*n += (size_t)got;
	}
	if (fd >= 0)
		close(fd);
	return text;
}

void sp_command_own(struct sp_command *c)
{
	size_t n;
	char *text = contents("/proc/self/cmdline", &n);
	if (!text)
		return;
	text[n] = '\0';
	for (const char *word = text; word < text + n; word += strlen(word) + 1)
		sp_command_word(c, word, strlen(word));
	free(text);
}

/* Returns a text for a word that is neither str nor bytes, without running code of the program. A path of pathlib
 * caches its text when it is first converted, as the start of the command did. */
static PyObject *path_text(PyObject *o)
{
	PyObject *key = PyUnicode_InternFromString("__module__"), *text = NULL;
	PyObject *module = key ? _PyType_Lookup(Py_TYPE(o), key) : NULL; /* borrowed */
	const char *name = module && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : NULL;
	if (name && !strncmp(name, "pathlib", 7) && (name[7] == '\0' || name[7] == '.'))
		text = sp_plain_attribute(o, "_str");
	Py_XDECREF(key);
	PyErr_Clear();
	if (text && !PyUnicode_CheckExact(text))
		Py_CLEAR(text);
	return text ? text : PyUnicode_FromFormat("<%s>", Py_TYPE(o)->tp_name);
}

void sp_command_add(struct sp_command *c, PyObject *o, bool whole)
{
	PyObject *text = NULL, *bytes = NULL; /* owned */
	if (PyUnicode_CheckExact(o)) {
		Py_INCREF(o);
		text = o;
	} else if (PyBytes_CheckExact(o)) {
		text = PyUnicode_DecodeFSDefaultAndSize(PyBytes_AS_STRING(o), PyBytes_GET_SIZE(o));
	} else {
		text = path_text(o);
	}
	if (text)
		bytes = PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace");
	if (bytes && whole)
		put(c, PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes));
	else if (bytes)
		sp_command_word(c, PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes));
	PyErr_Clear();
	Py_XDECREF(text);
	Py_XDECREF(bytes);
}

void sp_command_sequence(struct sp_command *c, PyObject *words)
{
	bool list = PyList_CheckExact(words);
	if (!list && !PyTuple_CheckExact(words))
		return;
	for (Py_ssize_t i = 0; i < (list ? PyList_GET_SIZE(words) : PyTuple_GET_SIZE(words)); i++)
		sp_command_add(c, list ? PyList_GET_ITEM(words, i) : PyTuple_GET_ITEM(words, i), false);
}
