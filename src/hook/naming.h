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

/* names.c and cells.c. Requests the slot in the current interpreter. Returns 0, or -1 with an exception. */
int sp_names_init(void);
/* Invalidates all slots, so that each function is decided again. Only the calling thread, which holds the GIL, may
 * record at that time. */
void sp_names_new_generation(void);
/* Sets the directory for relative file names. */
void sp_names_set_directories(const char *cwd);
/* Returns the slot of code, which it decides if necessary; f is a frame that runs it, or NULL. */
uint64_t sp_names_slot(PyCodeObject *code, sp_frame *f);
/* Decides again, for a marked function. module: its module's name, or NULL; qualname: its qualified name. */
uint64_t sp_names_decide(PyCodeObject *code, PyObject *module, PyObject *qualname);
/* Returns the region of a C function or method descriptor; 0 for other callables and filtered functions. *key: for the
 * matching leave. */
uint32_t sp_names_c_function(struct sp_thread *t, PyObject *callable, uint64_t *key);
uint64_t sp_names_c_key(PyObject *callable); /* 0: not a C function */
/* Returns the absolute file and the line of the program's innermost frame; owned. NULL if there is no such frame. */
char *sp_names_caller(uint32_t *line);
char *sp_names_file(PyCodeObject *code);  /* the region's file; owned, NULL: no memory */
char *sp_names_file_of(const char *name); /* the same for a name that belongs to no cell; does not need the GIL */
/* numbers: the dictionary of a notebook's shell that maps the file a cell is compiled as to the cell's number; NULL:
 * no notebook. The module and file of a cell's code are In[NUMBER]. */
void sp_names_set_cells(PyObject *numbers);
/* Writes the cells for the sampler of this process. `first`: this measurement has not written any yet. */
void sp_names_write_cells(bool first);
bool sp_names_is_cell(const char *file); /* whether a region's file is a cell */
/* Writes the source text of the cell In[7] of another process's notebook to a file. Returns 0, or -1 if it is
 * unknown. */
int sp_cells_source(const char *file, FILE *to);

/* label.c. Reads the settings for labels, which apply to slots that are decided later. Returns 0, or -1 with an
 * exception. */
int sp_label_start(const struct sp_settings *s);
/* Replaces the words of the setting while the program runs. Returns 0, or -1 with an exception. */
int sp_label_change(const char *words);
/* Returns the slot of a function with SP_SLOT_LABEL, with the region for this call; f: the frame that is being
 * entered. */
uint64_t sp_label_slot(uint64_t slot, sp_frame *f);
/* Whether the region depends on the call; use sp_label_slot() then. */
static inline bool sp_slot_is_labelled(uint64_t slot)
{
	return (slot & 0xf & ~SP_SLOT_WATCH) == (SP_SLOT_REGION | SP_SLOT_LABEL);
}

#endif
