/* SPDX-License-Identifier: BSD-3-Clause */
/* Where nothing may be recorded: in the recording itself, in the handler of a signal, which may have interrupted an
 * event of its own thread or an allocator, and between vfork and exec, where parent and child share their memory.
 * signals.c is in each library that asks. */
#ifndef SP_INJECT_SHARED_QUIET_H
#define SP_INJECT_SHARED_QUIET_H

#include <stdbool.h>
#include <stdint.h>

/* Of the calling thread. 0: it may record. Otherwise the address of the outermost frame that asked for quiet, 0 where
 * vfork did; and whether it was called, and a handler runs. */
extern __thread uintptr_t sp_quiet __attribute__((tls_model("initial-exec"), visibility("hidden")));
#define SP_QUIET_VFORKED ((uintptr_t)1)
#define SP_QUIET_HANDLER ((uintptr_t)2)

/* Whether sp_quiet, which is not 0, still holds; if whoever asked for it is gone, by longjmp, it is taken back. Keeps
 * errno. */
bool sp_is_quiet(void);

/* From now on handlers of signals are quiet: those that are set, and those that will be. Keeps errno. */
void sp_signals_watch(void);

#endif
