/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the code of a notebook's cells: in the notebook's kernel by the file, in other processes by properties of the
 * function. */
#include "base/notebook.h"
#include "hook/naming.h"
#include "hook/naming/names.h"
#include "hook/serial.h"
#include "record/definitions.h"
#include "record/heap/recorder.h"
#include "record/process.h"
#include "record/thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Owned; NULL, or a dictionary: the number of a notebook's cell by the name of the file that the cell is compiled as;
 * negative if the code only calls a magic. A name such as <timed exec> is that of code that a magic runs in the cell,
 * and ran in earlier cells before. */
static PyObject *cells;
/* Of the kernel that started this process; under the process lock. */
static struct sp_notebook notebook;

void sp_names_set_cells(PyObject *numbers)
{
	Py_XINCREF(numbers);
	Py_XSETREF(cells, numbers);
	if (sp_recording)
		sp_names_write_cells(false);
}

/* Writes a META record `cell FILE` for each cell whose record is missing or out of date. Samplers read the numbers in
 * these records. */
void sp_names_write_cells(bool first)
{
	static PyObject *written; /* owned; the files that this measurement has records for, and their numbers */
	PyObject *file, *number;
	Py_ssize_t at = 0;
	SP_SERIAL(sp_serial_names);
	if (!cells || !sp_process.settings.sampler)
		return;
	if (first || !written)
		Py_XSETREF(written, PyDict_New());
	while (written && PyDict_Next(cells, &at, &file, &number)) {
		if (!PyUnicode_CheckExact(file) || !PyLong_CheckExact(number) ||
		    PyDict_GetItemWithError(written, file) == number || PyDict_SetItem(written, file, number))
			continue;
		char name[32], *key = NULL;
		const char *path = PyUnicode_AsUTF8(file);
		int n = snprintf(name, sizeof name, "In[%ld]", labs(PyLong_AsLong(number)));
		if (path && asprintf(&key, "cell %s", path) >= 0)
			sp_define_meta(key, name, (size_t)n);
		free(key);
	}
	PyErr_Clear();
}

bool sp_names_is_cell(const char *file)
{
	return (cells || notebook.n_cells) && !strncmp(file, "In[", 3);
}

/* The file name that IPython gives a cell outside of a kernel. */
#define CELL_OF_TERMINAL "<ipython-input-"

bool sp_cells_made_by_magic(const PyCodeObject *code)
{
	struct sp_python_text file = sp_python_text(code->co_filename, "");
	const bool is = file.p[0] == '<' && strncmp(file.p, CELL_OF_TERMINAL, strlen(CELL_OF_TERMINAL));
	Py_XDECREF(file.owner);
	return is;
}

/* Returns the checksum of the bytecode as it was compiled. */
static uint32_t check_of(PyCodeObject *code)
{
#if PY_VERSION_HEX >= 0x030B0000
	PyObject *bytes = PyCode_GetCode(code);
#else
	PyObject *bytes = code->co_code;
	Py_INCREF(bytes);
#endif
	const uint32_t check = bytes ? sp_notebook_check(PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes)) : 0;
	Py_XDECREF(bytes);
	return check;
}

/* The list is read from a file. A cancelled thread would keep the lock. Memory that the C library allocates for
 * reading must not be recorded, because recording takes the lock again. */
static int lock_notebook(void)
{
	int before;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	sp_heap_hush(1);
	pthread_mutex_lock(&sp_process.lock);
	return before;
}

static void unlock_notebook(int before)
{
	pthread_mutex_unlock(&sp_process.lock);
	sp_heap_hush(-1);
	pthread_setcancelstate(before, NULL);
}

/* Returns the cell of a function that was unpickled; 0 if it belongs to no cell. */
static long number_elsewhere(PyCodeObject *code, const char *name)
{
	struct sp_python_text file = sp_python_text(code->co_filename, "");
	long n = 0;
	if (sp_process.dir && sp_notebook_may_have(file.p)) {
		const struct sp_notebook_function f = {name, (uint32_t)code->co_firstlineno, check_of(code), 0};
		const int before = lock_notebook();
		n = sp_notebook_find(&notebook, sp_process.dir, &f);
		unlock_notebook(before);
	}
	Py_XDECREF(file.owner);
	return n;
}

long sp_cells_number(PyCodeObject *code)
{
	SP_SERIAL(sp_serial_names);
	/* a subclass of str could have a __hash__ of the program */
	const bool is = cells && PyUnicode_CheckExact(code->co_filename);
	PyObject *number = is ? PyDict_GetItemWithError(cells, code->co_filename) : NULL; /* borrowed */
	long n = number && PyLong_CheckExact(number) ? PyLong_AsLong(number) : 0;
	struct sp_python_text name = sp_python_text(code->co_name, "");
	if (!number)
		n = number_elsewhere(code, name.p);
	else if (n && strcmp(name.p, "<module>") && sp_cells_made_by_magic(code))
		n = 0; /* its functions may belong to an earlier cell */
	Py_XDECREF(name.owner);
	PyErr_Clear();
	return n;
}

char *sp_cells_of(PyCodeObject *code)
{
	const long n = sp_cells_number(code);
	char *s = NULL;
	return n && asprintf(&s, "In[%ld]", labs(n)) >= 0 ? s : NULL;
}

int sp_cells_source(const char *file, FILE *to)
{
	uint32_t number;
	int r = -1;
	if (sscanf(file, "In[%u]", &number) != 1)
		return -1;
	const int before = lock_notebook();
	const struct sp_notebook_cell *cell = sp_notebook_cell(&notebook, number);
	if (cell)
		r = fwrite(cell->source, 1, cell->n, to) == cell->n ? 0 : -1;
	unlock_notebook(before);
	return r;
}
