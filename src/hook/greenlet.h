/* SPDX-License-Identifier: BSD-3-Clause */
/* A separate stack for each greenlet (events/greenlet.c). */
#ifndef SP_HOOK_GREENLET_H
#define SP_HOOK_GREENLET_H

/* Watch the switches between greenlets: in the calling thread; and once greenlet's package begins to run. */
void sp_greenlet_watch_thread(void);
void sp_greenlet_loaded(void);

#endif
