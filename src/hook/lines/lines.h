/* SPDX-License-Identifier: BSD-3-Clause */
/* Recording of lines: lines.c decides which functions; monitoring.c (3.12 and later) and trace.c (before) handle their
 * events. Both work without the recording of functions and do not change it. */
#ifndef SP_HOOK_LINES_LINES_H
#define SP_HOOK_LINES_LINES_H

#include "hook/chain.h"
#include "hook/frames.h"
#include "record/lines/lines.h"
#include "record/settings.h"
#include "record/thread.h"

/* ---- lines.c ---- */

/* Reads the patterns of the settings. Returns 0, or a negative errno with a sentence in why (n bytes). */
int sp_lines_start(const struct sp_settings *s, char *why, size_t n);
/* Enables line events in the current interpreter, if a function is or may be chosen. If that fails, a META record says
 * so. */
void sp_lines_install(void);
/* Whether line events are enabled in some interpreter. */
bool sp_lines_used(void);
/* Ends the recording of lines: disables the events and forgets the code objects. */
void sp_lines_remove(void);
void sp_lines_pause(void); /* ends the open calls in all threads */
/* For names.c: whether a pattern or a mark chooses the function. */
bool sp_lines_wanted(const PyCodeObject *code, const char *module, const char *qualname, const char *file);
/* Chooses a Python function from now on, in this and all later measurements. Returns 0, or -1 with an exception. */
int sp_lines_mark(PyObject *function);
void sp_lines_missing(const char *why); /* writes a META record: lines are not recorded, because … */

/* A code object with line events: a chosen function, or (region 0) one that a chosen line calls. */
struct sp_line_code {
	PyCodeObject *code; /* owned; NULL: the entry is free */
	int64_t interpreter;
	PyObject *module, *qualname; /* owned; only of functions chosen by a mark */
	uint32_t region, first, lines;
	uint32_t *line_at; /* owned; line of each instruction, 0: no line. NULL: not chosen */
	size_t instructions;
};
/* Adds an entry. Returns 1 if it is new or only now chosen, 0 if it existed, -1 if that fails. */
int sp_lines_add_code(PyCodeObject *code, uint32_t region);
/* Returns the function's entry in the thread; NULL if it has no line events or there is no space. */
struct sp_line_function *sp_lines_function(struct sp_thread *t, const PyCodeObject *code);
/* Returns the line of the instruction at an offset in bytes; 0: no line. */
uint32_t sp_lines_line(const PyCodeObject *code, int offset);
/* Returns the calling thread if lines are recorded now, otherwise NULL. Keeps errno and exception. */
struct sp_thread *sp_lines_thread(void);

/* source.c: keeps the source of the code's file, if the settings request it. file: the region's file. */
void sp_source_keep(const PyCodeObject *code, const char *file);

/* ---- the events of this Python version ---- */

int sp_lines_events_install(bool by_pattern); /* in the current interpreter; returns 0, or -1 with an exception */
void sp_lines_events_remove(void);
/* A mark chooses a function, which may already be running. Returns 0, or -1 with an exception. */
int sp_lines_events_choose(PyCodeObject *code, uint32_t region);
/* Disables the events of a code object. */
void sp_lines_events_forget(PyCodeObject *code);
/* trace.c, for setprofile.c: the frame calls a C function; the C function ends. */
void sp_lines_c_call(PyFrameObject *f);
void sp_lines_c_return(PyFrameObject *f);

#endif
