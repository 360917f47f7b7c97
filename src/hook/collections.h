/* SPDX-License-Identifier: BSD-3-Clause */
/* Garbage collections of the interpreter (process/collections.c). */
#ifndef SP_HOOK_COLLECTIONS_H
#define SP_HOOK_COLLECTIONS_H

/* Begin and end recording them in the current interpreter: a function at the end of gc.callbacks, which the program may
 * remove; then nothing more is recorded. Keep the Python exception. */
void sp_collections_start(void);
void sp_collections_stop(void);

#endif
