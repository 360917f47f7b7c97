/* SPDX-License-Identifier: BSD-3-Clause */
/* A stack for each greenlet (events/greenlet.c). */
#ifndef SP_HOOK_GREENLET_H
#define SP_HOOK_GREENLET_H

/* greenlet.c: each greenlet has a stack of its own. */
void sp_greenlet_watch_thread(void);
void sp_greenlet_loaded(void);

#endif
