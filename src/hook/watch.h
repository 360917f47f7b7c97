/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of the library that tell us something when they are entered (events/watch.c). */
#ifndef SP_HOOK_WATCH_H
#define SP_HOOK_WATCH_H

#include <stdbool.h>

#include "hook/frames.h"

/* watch.c: functions of the library that tell us something. */
bool sp_watch_wanted(const char *module, const char *name);
/* begins: f is entered now, and was not open before; recorded: that is an event. */
void sp_watch_enter(sp_frame *f, bool begins, bool recorded);

#endif
