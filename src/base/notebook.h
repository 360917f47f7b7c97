/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions of a notebook's cells. The kernel writes this list for processes that a measured cell starts
 * (format/FORMAT.md: DIR/cells). Such processes get functions of cells from pickles, which do not contain the cell or
 * its file. */
#ifndef SP_BASE_NOTEBOOK_H
#define SP_BASE_NOTEBOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct sp_notebook_function {
	const char *name; /* unqualified */
	uint32_t line;    /* first line, within the cell */
	uint32_t check;   /* sp_notebook_check() of its instructions; 0: unknown */
	uint32_t cell;
};

struct sp_notebook_cell {
	uint32_t number;
	const char *source;
	size_t n; /* bytes */
};

/* The list as last read. All zero: not read yet. Not thread-safe. */
struct sp_notebook {
	char *dir;                              /* owned */
	struct stat file;                       /* st_ino 0: no file */
	char *text;                             /* owned; cells and functions point into it */
	struct sp_notebook_function *functions; /* owned */
	struct sp_notebook_cell *cells;         /* owned */
	size_t n, n_functions, n_cells, functions_capacity, cells_capacity;
};

void sp_notebook_free(struct sp_notebook *b);

/* Whether code of this file may come from a cell in another process: cloudpickle and ipykernel use such names. */
bool sp_notebook_may_have(const char *file);
/* CRC-32, as in zlib. */
uint32_t sp_notebook_check(const void *p, size_t n);
/* The number of the cell that defined the function, the last one if there are several; 0: not found. dir: directory of
 * the experiment, whose list is read again if it has changed. */
uint32_t sp_notebook_find(struct sp_notebook *b, const char *dir, const struct sp_notebook_function *f);
/* A cell that sp_notebook_find() has returned, valid until its next call. NULL: no such cell. */
const struct sp_notebook_cell *sp_notebook_cell(const struct sp_notebook *b, uint32_t number);

#endif
