/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes that the program starts (process/children.c). */
#ifndef SP_HOOK_CHILDREN_H
#define SP_HOOK_CHILDREN_H

/* Wraps, once, the functions that start processes, wait for them and end this one. Returns 0, or -1 with an exception
 * of the program. */
int sp_children_watch(void);

#endif
