/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions of a notebook's cells, as its kernel lists them for processes that a measured cell starts
 * (format/FORMAT.md: DIR/cells). There functions of cells come out of pickles, which hold no cell and no file of it. */
#ifndef SP_BASE_NOTEBOOK_H
#define SP_BASE_NOTEBOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct sp_notebook_function {
	const char *name; /* not qualified */
	uint32_t line;    /* of the cell, the first one */
	uint32_t check;   /* sp_notebook_check() of its instructions; 0: not known */
	uint32_t cell;
};

struct sp_notebook_cell {
	uint32_t number;
	const char *source;
	size_t n; /* bytes */
};

/* What was read last. All zero: nothing. Not for several threads at once. */
struct sp_notebook {
	char *dir;                              /* owned */
	struct stat file;                       /* st_ino 0: there is none */
	char *text;                             /* owned; cells and functions point into it */
	struct sp_notebook_function *functions; /* owned */
	struct sp_notebook_cell *cells;         /* owned */
	size_t n, n_functions, n_cells, room_functions, room_cells;
};

void sp_notebook_free(struct sp_notebook *b);

/* Whether code of that file may be a cell's in another process: cloudpickle and ipykernel call it so. */
bool sp_notebook_may_have(const char *file);
/* CRC-32, as zlib has it. */
uint32_t sp_notebook_check(const void *p, size_t n);
/* The number of the cell that defined the function: the last one, if several did; 0: none. dir: of the experiment,
 * whose list is read again when it has changed. */
uint32_t sp_notebook_find(struct sp_notebook *b, const char *dir, const struct sp_notebook_function *f);
/* A cell that sp_notebook_find() has given, valid until the next call of that. NULL: there is none of that number. */
const struct sp_notebook_cell *sp_notebook_cell(const struct sp_notebook *b, uint32_t number);

#endif
