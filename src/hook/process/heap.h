/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory, as control.c begins and ends it. */
#ifndef SP_HOOK_PROCESS_HEAP_H
#define SP_HOOK_PROCESS_HEAP_H

#include <stdbool.h>

/* Whether the library with the wrappers is loaded. And if so, the name of the object whose malloc() the program calls
 * in the place of ours ("": not known), NULL: it calls ours. */
bool sp_hook_heap_find(void);
const char *sp_hook_heap_before(void);
/* Where settings ask for it. 0, or -1 with a Python exception. */
int sp_hook_heap_start(void);
void sp_hook_heap_stop(void);

#endif
