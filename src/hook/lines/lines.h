/* SPDX-License-Identifier: BSD-3-Clause */
/* Recording of lines: which functions, and where their events come from. lines.c decides; monitoring.c (3.12 and
 * later) and trace.c (before) have the events. Neither needs functions to be recorded, nor changes how they are.
 */
#ifndef SP_HOOK_LINES_LINES_H
#define SP_HOOK_LINES_LINES_H

#include "hook/chain.h"
#include "hook/frames.h"
#include "record/lines/lines.h"
#include "record/settings.h"
#include "record/thread.h"

/* ---- lines.c ---- */

/* Reads the patterns of the settings; 0, or a negative errno with a sentence in why[n]. */
int sp_lines_start(const struct sp_settings *s, char *why, size_t n);
/* In the current interpreter, if any function is or may be chosen. Where that cannot be, the file says so. */
void sp_lines_install(void);
bool sp_lines_used(void);
void sp_lines_remove(void);
void sp_lines_pause(void); /* in all threads what is open ends */
/* For names.c: whether the function is chosen, by a pattern or a mark. */
bool sp_lines_wanted(const PyCodeObject *code, const char *module, const char *qualname, const char *file);
/* Chooses a Python function from now on, in this measurement and those that follow. 0, or -1 with an exception. */
int sp_lines_mark(PyObject *function);
void sp_lines_missing(const char *why); /* says in the file that lines are not recorded, because … */

/* A code object that has events of its own: chosen, or (region 0) called by lines. */
struct sp_line_code {
	PyCodeObject *code; /* owned; NULL: free */
	int64_t interpreter;
	PyObject *module, *qualname; /* owned; of marks */
	uint32_t region, first, lines;
	uint32_t *line_at; /* owned; of each instruction; 0: none. NULL: not chosen */
	size_t instructions;
};
/* Notes one; 1: it is new, or chosen only now, 0: it was known, -1: it cannot be. */
int sp_lines_add_code(PyCodeObject *code, uint32_t region);
/* The function as the thread knows it; NULL: it is neither chosen nor called by lines, or there is no room. */
struct sp_line_function *sp_lines_function(struct sp_thread *t, const PyCodeObject *code);
/* The line of the instruction at an offset in bytes; 0: none. */
uint32_t sp_lines_line(const PyCodeObject *code, int offset);
/* The calling thread, where lines are recorded now; NULL otherwise. Keeps errno and exception. */
struct sp_thread *sp_lines_thread(void);

/* source.c: keeps the source of code, file's as the region has it, if that is wanted. */
void sp_source_keep(const PyCodeObject *code, const char *file);

/* ---- the events of this Python version ---- */

int sp_lines_events_install(bool by_pattern); /* in the current interpreter; 0, or -1 with an exception */
void sp_lines_events_remove(void);
/* A function is chosen by a mark, and may run already. 0, or -1 with an exception. */
int sp_lines_events_choose(PyCodeObject *code, uint32_t region);
void sp_lines_events_forget(PyCodeObject *code);
/* trace.c, for setprofile.c: a C function that the frame calls, and its end. */
void sp_lines_c_call(PyFrameObject *f);
void sp_lines_c_return(PyFrameObject *f);

#endif
