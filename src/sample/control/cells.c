/* SPDX-License-Identifier: BSD-3-Clause */
#include "sample/control/cells.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sample/control/definitions.h"

void sp_cells_open(struct sp_cells *c, bool kernel, const char *dir, const char *path)
{
	*c = (struct sp_cells){open(path, O_RDONLY | O_CLOEXEC), kernel, dir, calloc(1, sizeof(struct sp_notebook))};
}

void sp_cells_close(struct sp_cells *c)
{
	if (c->file >= 0)
		close(c->file);
	if (c->notebook)
		sp_notebook_free(c->notebook);
	free(c->notebook);
	c->notebook = NULL;
	c->file = -1;
}

/* ---- names ---- */

/* A search for META `cell FILE`; the last record counts. */
struct wanted {
	const char *file;
	char *name; /* SP_CELL_NAME bytes */
	bool found;
};

static bool take(void *arg, const struct sp_raw_def *d, const char *text)
{
	static const char key[] = "cell ";
	const size_t k = sizeof key - 1;
	struct wanted *w = arg;
	if (d->kind != SP_RAW_DEF_META || d->len[0] != k + strlen(w->file) || d->len[1] >= SP_CELL_NAME ||
	    memcmp(text, key, k) != 0 || memcmp(text + k, w->file, d->len[0] - k) != 0)
		return false;
	memcpy(w->name, text + d->len[0], d->len[1]);
	w->name[d->len[1]] = 0;
	w->found = true;
	return false;
}

/* Functions in code that a magic runs may have been defined by an earlier cell. */
static bool is_other_cells(const struct sp_python_code *code)
{
	return code->file[0] == '<' && strncmp(code->file, "<ipython-input-", 15) != 0 &&
	       strcmp(code->qualname, "<module>") != 0;
}

/* Names a function that came to this process in a pickle by its name and line, because its bytecode is not read. */
static bool name_elsewhere(const struct sp_cells *cells, const struct sp_python_code *code, char name[SP_CELL_NAME])
{
	const char *dot = strrchr(code->qualname, '.');
	const struct sp_notebook_function f = {dot ? dot + 1 : code->qualname, code->first_line, 0, 0};
	const uint32_t number =
	    cells->notebook && sp_notebook_may_have(code->file) ? sp_notebook_find(cells->notebook, cells->dir, &f) : 0;
	snprintf(name, SP_CELL_NAME, "In[%u]", number);
	return number;
}

bool sp_cells_name(const struct sp_cells *cells, const struct sp_python_code *code, char name[SP_CELL_NAME])
{
	struct wanted w = {.file = code->file, .name = name};
	if (cells->file >= 0 && !is_other_cells(code))
		sp_file_definitions(cells->file, take, &w);
	return w.found || (cells->file >= 0 && name_elsewhere(cells, code, name));
}

/* ---- frames and threads ---- */

static bool is_in(const char *module, const char *package)
{
	const size_t n = strlen(package);
	return !strncmp(module, package, n) && (module[n] == 0 || module[n] == '.');
}

/* Whether a function calls the code of a cell or of a statement: the innermost such functions of Spartito and
 * IPython. */
static bool runs_cell(const struct sp_python_code *c)
{
	return (!strcmp(c->module, "spartito.notebook.cells") && !strcmp(c->qualname, "_awaiting")) ||
	       (!strcmp(c->module, "spartito.notebook.magics") && !strcmp(c->qualname, "run_statement"));
}

/* Whether a function shows a value or an exception, which has a separate region. Before 3.11 names are not
 * qualified. */
static bool shows(const struct sp_python_code *c)
{
	const char *dot = strrchr(c->qualname, '.');
	return !strcmp(c->module, "spartito.notebook.cells") && !strcmp(dot ? dot + 1 : c->qualname, "within");
}

int sp_cells_within(const struct sp_cells *c, const struct sp_python_frame *frames, int n, bool main_thread)
{
	if (c->file < 0 || n <= 0)
		return n;
	for (int i = 0; i < n; i++) {
		if (shows(frames[i].code))
			return 0;
		if (runs_cell(frames[i].code)) {
			/* also skip the shell's functions in between */
			while (i > 0 && is_in(frames[i - 1].code->module, "IPython"))
				i--;
			return i;
		}
	}
	return c->kernel && main_thread ? 0 : n;
}

/* Whether it is a thread of ZeroMQ, which Python does not know. */
static bool is_messenger(pid_t pid, pid_t tid)
{
	static const char name[] = "ZMQbg";
	char text[64];
	snprintf(text, sizeof text, "/proc/%d/task/%d/comm", (int)pid, (int)tid);
	int fd = open(text, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, text, sizeof text) : 0;
	if (fd >= 0)
		close(fd);
	return n >= (ssize_t)sizeof name && !strncmp(text, name, sizeof name - 1);
}

bool sp_cells_servant(const struct sp_cells *c, const struct sp_python_frame *frames, int n, pid_t pid, pid_t tid)
{
	static const char *const servants[] = {"IPython", "ipykernel", "jupyter_client", "zmq",
	                                       "tornado", "debugpy",   "_pydevd_bundle"};
	static const char *const around[] = {"threading", "decorator"};
	if (c->file < 0 || !c->kernel || tid == pid)
		return false;
	if (n == 0)
		return is_messenger(pid, tid);
	while (n > 0 && (is_in(frames[n - 1].code->module, around[0]) || is_in(frames[n - 1].code->module, around[1])))
		n--;
	for (size_t i = 0; n > 0 && i < sizeof servants / sizeof *servants; i++)
		if (is_in(frames[n - 1].code->module, servants[i]))
			return true;
	return false;
}
