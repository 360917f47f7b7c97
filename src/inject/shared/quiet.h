/* SPDX-License-Identifier: BSD-3-Clause */
/* When nothing may be recorded: inside the recorder; in a signal handler, which may have interrupted an event of the
 * same thread or an allocator; and between vfork and exec, when parent and child share their memory. Each library that
 * uses this contains signals.c. */
#ifndef SP_INJECT_SHARED_QUIET_H
#define SP_INJECT_SHARED_QUIET_H

#include "base/compiler.h"

#include <stdbool.h>
#include <stdint.h>

/* State of the calling thread. 0: it may record. Otherwise the address of the outermost frame that disabled recording
 * (0 for vfork), and bits for vfork and for a handler. */
extern __thread uintptr_t sp_quiet SP_TLS_MODEL __attribute__((visibility("hidden")));
#define SP_QUIET_VFORKED ((uintptr_t)1)
#define SP_QUIET_HANDLER ((uintptr_t)2)

/* Whether sp_quiet, which is not 0, is still valid. If its frame was left by longjmp, sp_quiet is reset. Keeps
 * errno. */
bool sp_is_quiet(void);

/* From now on signal handlers disable recording: those that are set now, and those that will be set. Keeps errno. */
void sp_signals_watch(void);

#endif
