/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds which frames and threads of a notebook's process belong to a cell, as opposed to the shell that runs the cell
 * and the kernel's own threads. */
#ifndef SP_SAMPLE_CONTROL_CELLS_H
#define SP_SAMPLE_CONTROL_CELLS_H

#include "base/notebook.h"
#include "sample/python/python.h"

enum { SP_CELL_NAME = 32 };

struct sp_cells {
	int file;                     /* the raw file with the names of cells; -1: not a notebook */
	bool kernel;                  /* the process is the kernel, not a program that a cell started */
	const char *dir;              /* directory of the experiment */
	struct sp_notebook *notebook; /* owned; NULL: no memory */
};

/* Opens c. dir must outlive it; path: path of the raw file. */
void sp_cells_open(struct sp_cells *c, bool kernel, const char *dir, const char *path);
void sp_cells_close(struct sp_cells *c);
/* Writes the name of the cell that contains the code, In[7], as hook/naming/names.c does. Returns false if no cell
 * does. */
bool sp_cells_name(const struct sp_cells *c, const struct sp_python_code *code, char name[SP_CELL_NAME]);
/* The number of the n frames, innermost first, that belong to the cell: those inside the shell's frames. A negative n
 * (an error) is returned unchanged. */
int sp_cells_within(const struct sp_cells *c, const struct sp_python_frame *frames, int n, bool main_thread);
/* Whether a thread is one of the kernel's own, as defined in notebook/measuring.py. */
bool sp_cells_servant(const struct sp_cells *c, const struct sp_python_frame *frames, int n, pid_t pid, pid_t tid);

#endif
