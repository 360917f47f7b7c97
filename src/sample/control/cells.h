/* SPDX-License-Identifier: BSD-3-Clause */
/* What is a cell's in the process of a notebook: not the frames of the shell that runs it, nor the kernel's own
 * threads. */
#ifndef SP_SAMPLE_CONTROL_CELLS_H
#define SP_SAMPLE_CONTROL_CELLS_H

#include "base/notebook.h"
#include "sample/python/python.h"

enum { SP_CELL_NAME = 32 };

struct sp_cells {
	int file;                     /* the raw file, which tells their names; -1: nothing here is of a notebook */
	bool kernel;                  /* the process is the kernel itself, and no program that a cell started */
	const char *dir;              /* of the experiment */
	struct sp_notebook *notebook; /* owned; NULL: no memory */
};

/* dir must outlive it; path: of the raw file. */
void sp_cells_open(struct sp_cells *c, bool kernel, const char *dir, const char *path);
void sp_cells_close(struct sp_cells *c);
/* The cell that the code is of, In[7], as hook/naming/names.c has it; false: it is of none. */
bool sp_cells_name(const struct sp_cells *c, const struct sp_python_code *code, char name[SP_CELL_NAME]);
/* How many of the n frames (or an error, which stays), innermost first, are inside of the shell's. */
int sp_cells_within(const struct sp_cells *c, const struct sp_python_frame *frames, int n, bool main_thread);
/* Whether a thread is the kernel's own, as notebook/measuring.py tells them. */
bool sp_cells_servant(const struct sp_cells *c, const struct sp_python_frame *frames, int n, pid_t pid, pid_t tid);

#endif
