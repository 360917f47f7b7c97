/* SPDX-License-Identifier: BSD-3-Clause */
/* A command line as text, words with blanks in quotes (process/command.c). */
#ifndef SP_HOOK_COMMAND_H
#define SP_HOOK_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "hook/frames.h"

struct sp_command {
	char *p; /* owned; not NUL-terminated; NULL: nothing */
	size_t n, room;
};
void sp_command_word(struct sp_command *c, const char *p, size_t n);
void sp_command_own(struct sp_command *c); /* of this process */
/* Runs no code of the program. whole: o is a command line itself. */
void sp_command_add(struct sp_command *c, PyObject *o, bool whole);
void sp_command_sequence(struct sp_command *c, PyObject *words); /* a list or tuple */
void sp_command_free(struct sp_command *c);

#endif
