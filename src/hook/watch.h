/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of libraries whose enter has a further effect (events/watch.c). */
#ifndef SP_HOOK_WATCH_H
#define SP_HOOK_WATCH_H

#include <stdbool.h>

#include "hook/frames.h"

/* Whether a function is one of them, by its module and name. */
bool sp_watch_wanted(const char *module, const char *name);
/* Handles the enter of f. begins: f is entered now and was not open before; recorded: the enter is recorded. */
void sp_watch_enter(sp_frame *f, bool begins, bool recorded);

#endif
