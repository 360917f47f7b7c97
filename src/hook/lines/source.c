/* SPDX-License-Identifier: BSD-3-Clause */
/* Stores in the experiment the source of functions whose lines are recorded, as it is when the first function of a
 * file is chosen: DIR/source/NAME, and index.json with {"files": {path: NAME}}. A name is the path with ! instead of
 * /, so that a process that writes the index finds all files in the directory, also those that other processes keep. */
#include "base/regular.h"
#include "hook/lines/lines.h"
#include "hook/naming.h"
#include "hook/slot.h"
#include "record/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define INDEX "index.json"
enum { MAX_NAME = 250, MAX_BYTES = 64 << 20 };

/* Returns false if the path is too long for a file name. */
static bool name_of_path(const char *path, char name[MAX_NAME + 1])
{
	size_t n = 0;
	for (; *path && n + 3 < MAX_NAME; path++) {
		if (*path == '!' || *path == '%')
			n += (size_t)snprintf(name + n, 4, "%%%02x", (unsigned char)*path);
		else
			name[n++] = *path == '/' ? '!' : *path;
	}
	name[n] = 0;
	return !*path && n;
}

/* Writes the path of a file name as a JSON string. */
static void put_path(FILE *f, const char *name)
{
	unsigned code;
	fputc('"', f);
	for (; *name; name++) {
		unsigned char c = (unsigned char)(*name == '!' ? '/' : *name);
		if (*name == '%' && sscanf(name + 1, "%2x", &code) == 1) {
			c = (unsigned char)code;
			name += 2;
		}
		if (c < 0x20 || c == '"' || c == '\\')
			fprintf(f, "\\u%04x", c);
		else
			fputc(c, f);
	}
	fputc('"', f);
}

static void put_string(FILE *f, const char *text)
{
	fputc('"', f);
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == '"' || *text == '\\')
			fprintf(f, "\\u%04x", (unsigned char)*text);
		else
			fputc(*text, f);
	fputc('"', f);
}

/* Returns the number of files; -1 if the directory cannot be read. f: where to write the index, or NULL. */
static long list(const char *dir, FILE *f)
{
	DIR *d = opendir(dir);
	const struct dirent *e;
	long n = 0;
	if (!d)
		return -1;
	while ((e = readdir(d))) {
		/* no path begins with a dot: these are files that are still being written */
		if (e->d_name[0] == '.' || !strcmp(e->d_name, INDEX))
			continue;
		if (f) {
			fputs(n ? ",\n  " : "\n  ", f);
			put_path(f, e->d_name);
			fputs(": ", f);
			put_string(f, e->d_name);
		}
		n++;
	}
	closedir(d);
	return n;
}

/* Repeats until the index contains all files: another process may have written its index later, from an older list. */
static void write_index(const char *dir)
{
	char *part = NULL, *path = NULL;
	long n = 0;
	if (asprintf(&part, "%s/.%d", dir, (int)getpid()) < 0 || asprintf(&path, "%s/" INDEX, dir) < 0)
		goto out;
	for (int again = 0; again < 100 && n >= 0 && (!again || list(dir, NULL) != n); again++) {
		FILE *f = fopen(part, "we");
		if (!f)
			break;
		fputs("{\"files\": {", f);
		n = list(dir, f);
		fputs("\n}}\n", f);
		if (fclose(f) || rename(part, path)) {
			unlink(part);
			break;
		}
	}
out:
	free(part);
	free(path);
}

/* ---- sources ---- */

static int copy_file(FILE *to, const char *path)
{
	struct stat st;
	char part[16 << 10];
	ssize_t n = -1;
	int fd = sp_open_regular(AT_FDCWD, path);
	if (fd >= 0 && !fstat(fd, &st) && st.st_size <= MAX_BYTES)
		while ((n = read(fd, part, sizeof part)) > 0 && fwrite(part, 1, (size_t)n, to) == (size_t)n)
			;
	if (fd >= 0)
		close(fd);
	return n ? -1 : 0;
}

/* Copies lines that were typed in: in an interactive Python or a notebook. Runs no code of the program. */
static int copy_typed(FILE *to, PyObject *name)
{
	PyObject *modules = PyImport_GetModuleDict(); /* borrowed, like all the others */
	PyObject *module = modules ? PyDict_GetItemString(modules, "linecache") : NULL;
	PyObject *cache =
	    module && PyModule_Check(module) ? PyDict_GetItemString(PyModule_GetDict(module), "cache") : NULL;
	PyObject *entry = cache && PyDict_CheckExact(cache) ? PyDict_GetItem(cache, name) : NULL;
	PyObject *lines =
	    entry && PyTuple_CheckExact(entry) && PyTuple_GET_SIZE(entry) == 4 ? PyTuple_GET_ITEM(entry, 2) : NULL;
	if (!lines || !PyList_CheckExact(lines))
		return -1;
	for (Py_ssize_t i = 0; i < PyList_GET_SIZE(lines); i++) {
		Py_ssize_t n = 0;
		PyObject *line = PyList_GET_ITEM(lines, i);
		const char *p = PyUnicode_CheckExact(line) ? PyUnicode_AsUTF8AndSize(line, &n) : NULL;
		if (!p || fwrite(p, 1, (size_t)n, to) != (size_t)n)
			return -1;
	}
	return 0;
}

/* Copies the source of code that a magic runs in a cell: it is stored under the cell's name, not its own. */
static int copy_of_magic(FILE *to, const char *file)
{
	PyObject *name = PyUnicode_FromString(file);
	int r = name ? copy_typed(to, name) : -1;
	Py_XDECREF(name);
	return r;
}

/* Writes to a temporary name first: a file with its final name is complete. */
static int keep(const char *dir, const char *name, const char *file, PyObject *typed)
{
	char *part = NULL, *path = NULL;
	int r = -1;
	if (asprintf(&path, "%s/%s", dir, name) < 0 || asprintf(&part, "%s/.%d", dir, (int)getpid()) < 0)
		goto out;
	FILE *f = access(path, F_OK) ? fopen(part, "we") : NULL;
	if (!f)
		goto out;
	r = *file != '/' || copy_file(f, file) ? copy_typed(f, typed) : 0;
	if (r && *file != '/')
		r = copy_of_magic(f, file) ? sp_cells_source(file, f) : 0;
	if (fclose(f))
		r = -1;
	/* link, not rename: the first process's file is kept */
	if (!r)
		r = link(part, path);
	unlink(part);
out:
	free(part);
	free(path);
	return r;
}

void sp_source_keep(const PyCodeObject *code, const char *file)
{
	static char
	    last[MAX_NAME + 1]; /* under the GIL or sp_serial_names; most consecutive functions are in the same file */
	static uint64_t of;     /* the measurement of `last`: a later one's directory may be at the same address */
	char name[MAX_NAME + 1], *dir = NULL;
	if (!sp_process.settings.source || !sp_process.dir || !name_of_path(file, name) ||
	    (of == sp_slot_ok && !strcmp(name, last)) || asprintf(&dir, "%s/source", sp_process.dir) < 0)
		return;
	strcpy(last, name);
	of = sp_slot_ok;
	if ((!mkdir(dir, 0777) || errno == EEXIST) && !keep(dir, name, file, code->co_filename))
		write_index(dir);
	free(dir);
	PyErr_Clear();
}
