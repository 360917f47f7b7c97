/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory, as control.c begins and ends it. */
#ifndef SP_HOOK_HEAP_H
#define SP_HOOK_HEAP_H

#include <stdbool.h>

/* Whether the library with the wrappers is loaded. And if so, whether those of malloc() are what the program calls,
 * because it was loaded before all others. */
bool sp_hook_heap_find(void);
bool sp_hook_heap_first(void);
/* Where settings ask for it. 0, or -1 with a Python exception. */
int sp_hook_heap_start(void);
void sp_hook_heap_stop(void);

#endif
