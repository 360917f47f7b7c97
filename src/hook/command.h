/* SPDX-License-Identifier: BSD-3-Clause */
/* A command line as text; words with blanks are quoted (process/command.c). */
#ifndef SP_HOOK_COMMAND_H
#define SP_HOOK_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "hook/frames.h"

/* A command line that is being composed. */
struct sp_command {
	char *p; /* owned; not NUL-terminated; NULL: empty */
	size_t n, capacity;
};
/* Adds one word of n bytes. */
void sp_command_word(struct sp_command *c, const char *p, size_t n);
void sp_command_own(struct sp_command *c); /* adds the command line of this process */
/* Adds a str, bytes or path, without running code of the program. whole: o is a complete command line, not a word. */
void sp_command_add(struct sp_command *c, PyObject *o, bool whole);
void sp_command_sequence(struct sp_command *c, PyObject *words); /* adds the words of a list or tuple */
void sp_command_free(struct sp_command *c);

#endif
