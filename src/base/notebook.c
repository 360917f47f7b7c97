/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/notebook.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/regular.h"

enum { MAX_BYTES = 64 << 20 };

void sp_notebook_free(struct sp_notebook *b)
{
	free(b->text);
	free(b->functions);
	free(b->cells);
	free(b->dir);
	*b = (struct sp_notebook){.dir = NULL};
}

bool sp_notebook_may_have(const char *file)
{
	static const char typed[] = "<ipython-input-", pickled[] = "<dynamic-code>";
	if (*file == '<')
		return !strncmp(file, typed, sizeof typed - 1) || !strcmp(file, pickled);
	return strstr(file, "/ipykernel_");
}

uint32_t sp_notebook_check(const void *p, size_t n)
{
	uint32_t crc = ~0u;
	for (const unsigned char *c = p; n; n--) {
		crc ^= *c++;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	}
	return ~crc;
}

/* ---- the list ---- */

/* Returns the line at *at as a string, without its newline, and moves *at after it. NULL: no complete line. */
static char *line_at(const struct sp_notebook *b, size_t *at)
{
	char *line = b->text + *at, *end = *at < b->n ? memchr(line, '\n', b->n - *at) : NULL;
	if (!end)
		return NULL;
	*end = 0;
	*at += (size_t)(end - line) + 1;
	return line;
}

/* Reads a line `cell NUMBER BYTES FUNCTIONS`, and BYTES bytes of source with a newline after them. */
static bool take_cell(struct sp_notebook *b, size_t *at, size_t *functions)
{
	struct sp_notebook_cell c;
	const char *line = line_at(b, at);
	if (!line || sscanf(line, "cell %" SCNu32 " %zu %zu", &c.number, &c.n, functions) != 3 || c.n >= b->n - *at ||
	    !sp_grow(&b->cells, b->n_cells, &b->cells_capacity, sizeof c))
		return false;
	c.source = b->text + *at;
	*at += c.n + 1;
	b->cells[b->n_cells++] = c;
	return true;
}

/* Reads a line `LINE CHECK NAME`. */
static bool take_function(struct sp_notebook *b, size_t *at)
{
	struct sp_notebook_function f = {.cell = b->cells[b->n_cells - 1].number};
	const char *line = line_at(b, at);
	int name = 0;
	if (!line || sscanf(line, "%" SCNu32 " %" SCNx32 " %n", &f.line, &f.check, &name) != 2 || !name ||
	    !sp_grow(&b->functions, b->n_functions, &b->functions_capacity, sizeof f))
		return false;
	f.name = line + name;
	b->functions[b->n_functions++] = f;
	return true;
}

/* Reads the list up to the first invalid line. */
static void list(struct sp_notebook *b)
{
	size_t at = 0, n;
	while (take_cell(b, &at, &n))
		while (n && take_function(b, &at))
			n--;
}

static void load(struct sp_notebook *b, const char *path)
{
	const int fd = sp_open_regular(AT_FDCWD, path);
	ssize_t n = 0;
	if (fd < 0)
		return;
	if (!fstat(fd, &b->file) && b->file.st_size <= MAX_BYTES && (b->text = malloc((size_t)b->file.st_size + 1)))
		n = read(fd, b->text, (size_t)b->file.st_size);
	close(fd);
	b->n = n > 0 ? (size_t)n : 0;
	list(b);
}

static bool has_changed(const struct sp_notebook *b, const char *dir, const char *path)
{
	struct stat now;
	if (!b->dir || strcmp(b->dir, dir) != 0)
		return true;
	if (stat(path, &now))
		return b->file.st_ino;
	return now.st_ino != b->file.st_ino || now.st_size != b->file.st_size ||
	       now.st_mtim.tv_nsec != b->file.st_mtim.tv_nsec || now.st_mtim.tv_sec != b->file.st_mtim.tv_sec;
}

/* Reads the list if it has changed; returns whether it has. */
static bool is_read_again(struct sp_notebook *b, const char *dir)
{
	char *path;
	bool again = false;
	if (asprintf(&path, "%s/cells", dir) < 0)
		return false;
	if (has_changed(b, dir, path)) {
		sp_notebook_free(b);
		b->dir = strdup(dir);
		load(b, path);
		again = b->n_functions;
	}
	free(path);
	return again;
}

/* ---- queries ---- */

static uint32_t find(const struct sp_notebook *b, const struct sp_notebook_function *f)
{
	uint32_t cell = 0;
	for (size_t i = 0; i < b->n_functions; i++) {
		const struct sp_notebook_function *x = &b->functions[i];
		if (x->cell > cell && x->line == f->line && (!f->check || x->check == f->check) &&
		    !strcmp(x->name, f->name))
			cell = x->cell;
	}
	return cell;
}

uint32_t sp_notebook_find(struct sp_notebook *b, const char *dir, const struct sp_notebook_function *f)
{
	const bool known = b->dir && !strcmp(b->dir, dir);
	const uint32_t cell = known ? find(b, f) : 0;
	return cell || !is_read_again(b, dir) ? cell : find(b, f);
}

const struct sp_notebook_cell *sp_notebook_cell(const struct sp_notebook *b, uint32_t number)
{
	const struct sp_notebook_cell *found = NULL;
	for (size_t i = 0; i < b->n_cells; i++)
		if (b->cells[i].number == number)
			found = &b->cells[i];
	return found;
}
