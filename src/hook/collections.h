/* SPDX-License-Identifier: BSD-3-Clause */
/* Garbage collections of the interpreter (process/collections.c). */
#ifndef SP_HOOK_COLLECTIONS_H
#define SP_HOOK_COLLECTIONS_H

/* Begins recording them in the current interpreter: with a function at the end of gc.callbacks, which the program may
 * remove; then nothing more is recorded. No exception may be set. Returns 0, or -1 with an exception. */
int sp_collections_start(void);
/* Ends it. Keeps the Python exception. */
void sp_collections_stop(void);

#endif
