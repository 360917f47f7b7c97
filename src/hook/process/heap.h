/* SPDX-License-Identifier: BSD-3-Clause */
/* Begin and end of memory recording, for control.c. */
#ifndef SP_HOOK_PROCESS_HEAP_H
#define SP_HOOK_PROCESS_HEAP_H

#include <stdbool.h>

/* sp_hook_heap_find(): whether the library with the wrappers is loaded. sp_hook_heap_before(): the name of the object
 * whose malloc() the program calls instead of the wrapper ("": unknown); NULL if it calls the wrapper. */
bool sp_hook_heap_find(void);
const char *sp_hook_heap_before(void);
/* Starts recording if the settings request it. Returns 0, or -1 with a Python exception. */
int sp_hook_heap_start(void);
void sp_hook_heap_stop(void);

#endif
