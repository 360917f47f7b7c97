/* SPDX-License-Identifier: BSD-3-Clause */
/* Names, regions and labels of code objects and C functions (naming/). */
#ifndef SP_HOOK_NAMING_H
#define SP_HOOK_NAMING_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "hook/frames.h"
#include "hook/slot.h"
#include "record/settings.h"
#include "record/thread.h"

/* names.c, of cells cells.c. Asks for the slot in the current interpreter; -1 with an exception. */
int sp_names_init(void);
/* Everything is decided anew: nothing may be recorded at this moment but by the calling thread, which has the GIL. */
void sp_names_new_generation(void);
void sp_names_set_directories(const char *cwd);
/* Decides what code is; f is a frame that runs it, or NULL. */
uint64_t sp_names_slot(PyCodeObject *code, sp_frame *f);
/* The same anew, for a function that was marked: its module's name, or NULL, and its qualified name. */
uint64_t sp_names_decide(PyCodeObject *code, PyObject *module, PyObject *qualname);
/* The region of a C function or method descriptor; 0: not one, or filtered. key is what its leave will be matched with.
 */
uint32_t sp_names_c_function(struct sp_thread *t, PyObject *callable, uint64_t *key);
uint64_t sp_names_c_key(PyObject *callable); /* 0: not a C function */
/* File, absolute, and line of the innermost frame of the program; owned, NULL: there is none. */
char *sp_names_caller(uint32_t *line);
char *sp_names_file(PyCodeObject *code);  /* as regions have it; owned, NULL: no memory */
char *sp_names_file_of(const char *name); /* the same of a name that is of no cell; without the GIL */
/* numbers: the dictionary of a notebook's shell, from the file that a cell is compiled as to the cell's number; NULL:
 * none. Code of a cell is of the module and file In[NUMBER]. */
void sp_names_set_cells(PyObject *numbers);
/* To who samples this process; anew: nothing is told in this measurement yet. */
void sp_names_tell_cells(bool anew);
bool sp_names_is_cell(const char *file); /* a region's file */
/* Writes the text of the cell In[7] of another process's notebook. 0, or -1: it is not known. */
int sp_cells_source(const char *file, FILE *to);
void sp_names_forget(void);

/* label.c. The settings of that name, for functions whose slots are decided from here on. 0, or -1 with an exception.
 */
int sp_label_start(const struct sp_settings *s);
/* Other words for that, while the program runs. 0, or -1 with an exception. */
int sp_label_change(const char *words);
/* The slot of a function with SP_SLOT_LABEL with the region of this call: of frame f, which is being entered. */
uint64_t sp_label_slot(uint64_t slot, sp_frame *f);
static inline bool sp_slot_is_labelled(uint64_t slot)
{
	return (slot & 0xf & ~SP_SLOT_WATCH) == (SP_SLOT_REGION | SP_SLOT_LABEL);
}

#endif
